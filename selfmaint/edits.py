"""Changes of a view's definition as data: what to expose, which key or foreign key to declare.

Law: `draft.fragment(edits)` is text that, put in the place of the rule or the declarations it
names, gives a program whose view is `draft.query()`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from cq.check import Checked, CheckedView
from cq.minimize import minimize
from cq.printer import print_relation, print_rule, print_term
from cq.program import Source
from cq.query import Query, normalize, substitute
from cq.schema import Reference, Relation
from cq.syntax import Comparison, Rule, Term, Var, body_terms, variables_of


@dataclass(frozen=True, slots=True)
class Expose:
    """Add variables to the head.

    Args:
        variables: as the changed rule spells them.
        columns: for each variable that had no name the column it stands in, else an empty string.
    """

    kind: ClassVar = "expose"
    variables: tuple[str, ...]
    columns: tuple[str, ...]

    def __str__(self) -> str:
        names = [
            f"`{name}` (column {column})" if column else f"`{name}`"
            for name, column in zip(self.variables, self.columns, strict=True)
        ]
        return f"expose {listed(names)}"


@dataclass(frozen=True, slots=True)
class DeclareKey:
    """Declare that no two rows of `relation` agree on `columns`."""

    kind: ClassVar = "key"
    relation: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"declare `key({', '.join(self.columns)})` on {self.relation}"


@dataclass(frozen=True, slots=True)
class DeclareReference:
    """Declare that `columns` of `relation` hold a value of the key `key` of `target`."""

    kind: ClassVar = "reference"
    relation: str
    columns: tuple[str, ...]
    target: str
    key: tuple[str, ...]

    def __str__(self) -> str:
        own = ", ".join(self.columns)
        columns = own if len(self.columns) == 1 else f"({own})"
        return f"declare that {self.relation}.{columns} references {self.target}"


Edit: TypeAlias = Expose | DeclareKey | DeclareReference
Edits: TypeAlias = tuple[Edit, ...]


def listed(items: Iterable[str]) -> str:
    """`a, b and c`."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def describe(edits: Edits) -> str:
    """The edits as one sentence.

    Example:
        >>> print(describe((DeclareKey("s", ("a",)), DeclareReference("r", ("b",), "s", ("a",)))))
        declare `key(a)` on s and that r.b references s
    """
    first, *rest = map(str, edits)
    return listed([first, *(text.removeprefix("declare ") for text in rest)])


@dataclass(frozen=True, slots=True)
class Draft:
    """A definition that can be edited: one rule over base relations, and their declarations.

    Args:
        hidden: the variables that may be exposed, by the name they are then written with.
    """

    rule: Rule
    relations: Mapping[str, Relation]
    hidden: Mapping[str, Var]

    def edited(self, edits: Edits) -> Draft:
        draft = self
        for edit in edits:
            draft = draft._with(edit)
        return draft

    def _with(self, edit: Edit) -> Draft:
        match edit:
            case Expose():
                names: dict[Term, Term] = {self.hidden[name]: Var(name) for name in edit.variables}
                rule = substitute(self.rule, names)
                head = replace(rule.head, terms=(*rule.head.terms, *names.values()))
                return replace(self, rule=replace(rule, head=head))
            case DeclareKey():
                relation = self.relations[edit.relation]
                key = _positions(relation, edit.columns)
                return self._declared(replace(relation, keys=(*relation.keys, key)))
            case DeclareReference():
                relation, target = self.relations[edit.relation], self.relations[edit.target]
                own, key = _positions(relation, edit.columns), _positions(target, edit.key)
                references = (*relation.references, Reference(own, target.name, key))
                return self._declared(replace(relation, references=references))

    def _declared(self, relation: Relation) -> Draft:
        changed = replace(relation, declared=True)
        return replace(self, relations={**self.relations, relation.name: changed})

    def fragment(self, edits: Edits) -> tuple[str, ...]:
        """What is to be written anew after `edits`: the rule, or one line per declaration."""
        draft = self.edited(edits)
        touched = dict.fromkeys(e.relation for e in edits if not isinstance(e, Expose))
        lines = [print_relation(draft.relations[name]) for name in touched]
        if any(isinstance(edit, Expose) for edit in edits):
            lines.append(print_rule(draft.rule))
        return tuple(lines)

    def query(self) -> Query:
        """The draft compiled: the analysed view."""
        name = self.rule.head.predicate
        checked = Checked(self.relations, {name: CheckedView(self.rule, ())})
        return minimize(normalize(name, checked))


def draft_of(source: Source, query: Query) -> Draft:
    """The definition of an analysed view as written; as analysed if it is a view over views."""
    rule = source.checked.views[query.name].rule
    if any(atom.predicate in source.checked.views for atom in rule.atoms):
        rule = _rule_of(query)
    return Draft(rule, query.by_name, _names(rule, query))


def _rule_of(query: Query) -> Rule:
    """An analysed view as a rule; `X = X` keeps NULL from variables that lost what refused it.

    Exposing a variable of the analysed body needs no subgoal that analysis removed: what implies or
    guarantees a removed subgoal leaves every variable of the others as it is.
    """
    rule = query.rule()
    count = Counter(body_terms(rule))
    alone = [v for v in variables_of(*body_terms(rule)) if v in query.non_null and count[v] == 1]
    tests = tuple(Comparison(var, "=", var) for var in alone)
    return replace(rule, comparisons=(*rule.comparisons, *tests))


def _names(rule: Rule, query: Query) -> dict[str, Var]:
    """The hidden variables of `query`, each by its own name or by one made from its column's."""
    used = {var.name for var in variables_of(*rule.head.terms, *body_terms(rule))}
    names: dict[str, Var] = {}
    for atom in query.atoms:
        for position, term in enumerate(atom.terms):
            if not isinstance(term, Var) or query.is_exposed(term) or term in names.values():
                continue
            name = term.name
            if print_term(term) == "_":
                name = _fresh(query.by_name[atom.predicate].columns[position].name, used)
            names[name] = term
    return names


def _fresh(column: str, used: set[str]) -> str:
    """A variable named after a column, which `used` grows by."""
    word = re.sub(r"\W", "_", column).lstrip("_")
    base = word[:1].upper() + word[1:]
    if not re.match(r"[A-Z]", base):
        base = f"X{base}"
    name, number = base, 1
    while name in used:
        number += 1
        name = f"{base}{number}"
    used.add(name)
    return name


def column_of(query: Query, relation: str, var: Var) -> str:
    """The column of `relation` in which a variable without a name stands; empty if it has one."""
    if print_term(var) != "_":
        return ""
    atoms = [query.atoms[i] for i in query.occurrences(relation)]
    positions = (atom.terms.index(var) for atom in atoms if var in atom.terms)
    return query.by_name[relation].columns[next(positions)].name


def _positions(relation: Relation, names: tuple[str, ...]) -> tuple[int, ...]:
    columns = [column.name for column in relation.columns]
    return tuple(columns.index(name) for name in names)
