"""Safety, arity, types and names: the only producer of semantic diagnostics.

Law: a program that passes has, for every view, one arity and one type per column; every head and
comparison variable is bound by a subgoal; every constant is in the representation of its column;
and no view depends on itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import cast

from cq.diagnostics import Diagnostic, Severity, Span, did_you_mean, shorten
from cq.schema import Column, Reference, Relation
from cq.syntax import (
    Atom,
    Comparison,
    Const,
    Declaration,
    NameRef,
    Rule,
    Syntax,
    Term,
    Var,
    body_terms,
)
from cq.types import (
    ANY,
    MAX_PRECISION,
    TYPE_NAMES,
    Misfit,
    Type,
    Value,
    constant_family,
    constant_type,
)

MAX_SUBGOALS = 250
"""A view may not unfold into more subgoals than this; views over views grow exponentially."""


MAX_DEPTH = 100
"""Views may stand on views, but not on a tower of more than this many."""


@dataclass(frozen=True, slots=True)
class CheckedView:
    """A rule whose constants are in their columns' representation, and its head's types.

    Args:
        constants: per head column the constant that stands there, also one from a view below.
    """

    rule: Rule
    types: tuple[Type, ...]
    constants: tuple[Const | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Checked:
    """A program without errors: its relations and views by name, views before their users."""

    relations: Mapping[str, Relation]
    views: Mapping[str, CheckedView]


def check(syntax: Syntax, given: Iterable[Relation] = ()) -> tuple[Checked, list[Diagnostic]]:
    """Check a whole program.

    Args:
        syntax: as parsed.
        given: relations that come from Python or from tables; a declaration may not redefine one.
    Returns:
        What passed, and everything that did not. With errors, the first part is incomplete.
    """
    checker = _Checker({relation.name: relation for relation in given})
    checker.declare(syntax.declarations)
    checker.define(syntax.rules)
    return Checked(checker.relations, checker.views), checker.found


@dataclass(slots=True)
class _Checker:
    relations: dict[str, Relation]
    views: dict[str, CheckedView] = field(default_factory=dict)
    found: list[Diagnostic] = field(default_factory=list)

    def error(self, code: str, message: str, span: Span, *help_: str) -> None:
        self.found.append(Diagnostic(code, message, span, help_))

    def warn(self, code: str, message: str, span: Span, *help_: str) -> None:
        self.found.append(Diagnostic(code, message, span, help_, Severity.WARNING))

    # Declarations

    def declare(self, declarations: tuple[Declaration, ...]) -> None:
        accepted: list[tuple[Declaration, Relation]] = []
        for declaration in declarations:
            name = declaration.name
            if name.name in self.relations:
                self.error("CQ106", f"relation `{shorten(name.name)}` is declared twice", name.span)
                continue
            relation = self.relation(declaration)
            self.relations[name.name] = relation
            accepted.append((declaration, relation))
        # References come last: they may name relations that are declared further down.
        for declaration, relation in accepted:
            references = tuple(self.references(declaration, relation))
            self.relations[relation.name] = replace(relation, references=references)

    def relation(self, declaration: Declaration) -> Relation:
        columns: list[Column] = []
        seen: set[str] = set()
        for column in declaration.columns:
            name = column.name
            if name.name in seen:
                self.error("CQ110", f"column `{shorten(name.name)}` is declared twice", name.span)
            seen.add(name.name)
            columns.append(Column(name.name, self.type(column.type, column.arguments)))
        keys: list[tuple[int, ...]] = []
        for key in declaration.keys:
            positions = self.positions(key, columns, declaration.name, "key")
            if positions is not None:
                keys.append(positions)
        return Relation(declaration.name.name, tuple(columns), tuple(dict.fromkeys(keys)))

    def type(self, name: NameRef, arguments: tuple[int, ...]) -> Type:
        if name.name == "decimal":
            precision, scale = {0: (10, 0), 1: (*arguments, 0)[:2], 2: arguments}.get(
                len(arguments), (0, 0)
            )
            if not 1 <= precision <= MAX_PRECISION or not 0 <= scale <= precision:
                self.error(
                    "CQ109",
                    "a decimal is written `decimal(precision, scale)`",
                    name.span,
                    f"precision is 1 to {MAX_PRECISION}, scale is 0 to the precision",
                )
                return ANY
            return Type("decimal", precision, scale)
        if name.name == "any" and not arguments:
            return ANY
        if name.name not in TYPE_NAMES:
            near = did_you_mean(name.name, TYPE_NAMES)
            self.error(
                "CQ109",
                f"unknown type `{shorten(name.name)}`",
                name.span,
                *near,
                "types: " + ", ".join(TYPE_NAMES),
            )
            return ANY
        if arguments:
            self.error("CQ109", f"type `{name.name}` takes no numbers", name.span)
        return Type(name.name)

    def positions(
        self, names: tuple[NameRef, ...], columns: list[Column], owner: NameRef, what: str
    ) -> tuple[int, ...] | None:
        """Where `names` stand among `columns`; None, with diagnostics, when they do not."""
        known = [column.name for column in columns]
        good = True
        if not names:
            self.error("CQ111", f"a {what} names at least one column", owner.span)
            good = False
        for index, name in enumerate(names):
            if name.name not in known:
                self.error(
                    "CQ111",
                    f"`{shorten(owner.name)}` has no column `{shorten(name.name)}`",
                    name.span,
                    *did_you_mean(name.name, known),
                )
                good = False
            elif what == "key" and name.name in {earlier.name for earlier in names[:index]}:
                self.error("CQ111", f"column `{shorten(name.name)}` is named twice", name.span)
                good = False
        return tuple(known.index(name.name) for name in names) if good else None

    def references(self, declaration: Declaration, relation: Relation) -> Iterable[Reference]:
        for clause in declaration.references:
            columns = self.positions(
                clause.columns, list(relation.columns), declaration.name, "reference"
            )
            target = self.relations.get(clause.relation.name)
            if target is None:
                self.error(
                    "CQ112",
                    f"`{shorten(clause.relation.name)}` is not a declared relation",
                    clause.relation.span,
                    *did_you_mean(clause.relation.name, self.relations),
                )
            elif columns is not None:
                yield from self.reference(relation, columns, target, clause.relation.span)

    def reference(
        self, relation: Relation, columns: tuple[int, ...], target: Relation, span: Span
    ) -> Iterable[Reference]:
        keys = [key for key in target.keys if len(key) == len(columns)]
        if not keys:
            self.error(
                "CQ113",
                f"`{target.name}` has no key of {len(columns)} column{'s' * (len(columns) != 1)}",
                span,
                "a foreign key refers to a declared key; "
                + (
                    "keys of `{}`: {}".format(
                        target.name,
                        ", ".join(
                            "key(" + ", ".join(target.columns[i].name for i in key) + ")"
                            for key in target.keys
                        ),
                    )
                    if target.keys
                    else f"declare `{target.name}(..) key(..)`"
                ),
            )
            return
        own = [relation.columns[i].type for i in columns]
        fitting = [key for key in keys if own == [target.columns[i].type for i in key]]
        if not fitting:
            theirs = ", ".join(str(target.columns[i].type) for i in keys[0])
            self.error(
                "CQ113",
                f"the columns of type {', '.join(map(str, own))} cannot hold a key of "
                f"`{target.name}`, which is of type {theirs}",
                span,
            )
            return
        # With several keys of one shape the first declared is meant; names decide where they agree.
        names = [relation.columns[i].name for i in columns]
        same = [key for key in fitting if names == [target.columns[i].name for i in key]]
        yield Reference(columns, target.name, (same or fitting)[0])

    # Views

    def define(self, rules: tuple[Rule, ...]) -> None:
        first: dict[str, Rule] = {}
        for rule in rules:
            name = rule.head.predicate
            span = rule.head.span
            if name in first:
                self.error(
                    "CQ105",
                    f"view `{shorten(name)}` is defined twice",
                    span,
                    "a conjunctive view has one rule; give the second one another name",
                )
            elif name in self.relations:
                self.error("CQ107", f"`{shorten(name)}` is both a relation and a view", span)
            else:
                first[name] = rule
        sizes: dict[str, tuple[int, int]] = {}  # how many subgoals, how many views deep
        for name in self.ordered(first):
            rule = first[name]
            parts = [sizes.get(atom.predicate, (1, 0)) for atom in rule.atoms]
            size, depth = sum(p[0] for p in parts), 1 + max((p[1] for p in parts), default=0)
            if size > MAX_SUBGOALS or depth > MAX_DEPTH:
                what = f"unfolds into more than {MAX_SUBGOALS} subgoals"
                deep = f"stands on more than {MAX_DEPTH} views, one over the other"
                self.error(
                    "CQ125",
                    f"view `{shorten(name)}` {what if size > MAX_SUBGOALS else deep}",
                    rule.head.span,
                )
                size, depth = 1, 0  # said once, not again for every view over it
            sizes[name] = size, depth
            self.views[name] = self.view(rule)
        self.report_unknown(rules)

    def ordered(self, rules: dict[str, Rule]) -> list[str]:
        """View names, each after the views it uses; a view on a cycle is an error and left out."""
        order: list[str] = []
        state: dict[str, int] = {}  # 1: on the path, 2: done, 3: on a cycle
        for root in rules:
            stack = [(root, iter(rules[root].atoms))]
            if root in state:
                continue
            state[root] = 1
            while stack:
                name, atoms = stack[-1]
                atom = next((a for a in atoms if a.predicate in rules), None)
                if atom is None:
                    stack.pop()
                    if state[name] == 1:
                        state[name] = 2
                        order.append(name)
                    continue
                used = atom.predicate
                if state.get(used) == 1:
                    cycle = [entry[0] for entry in stack]
                    cycle = cycle[cycle.index(used) :]
                    self.error(
                        "CQ108",
                        f"view `{shorten(used)}` is defined by itself: "
                        + shorten(" -> ".join([*cycle, used]), 200),
                        atom.span,
                        "recursive views are not conjunctive queries",
                    )
                    for member in cycle:
                        state[member] = 3
                elif state.get(used) == 3:
                    for member, _ in stack:
                        state[member] = 3
                elif used not in state:
                    state[used] = 1
                    stack.append((used, iter(rules[used].atoms)))
        return order

    def view(self, rule: Rule) -> CheckedView:
        if not rule.atoms:
            self.error(
                "CQ119",
                f"view `{shorten(rule.head.predicate)}` has no subgoal",
                rule.head.span,
                "a view is written `v(X) :- r(X, Y), s(Y).`",
            )
        types: dict[Var, Type] = {}
        atoms = tuple(self.atom(atom, types) for atom in rule.atoms)
        self.bound(rule)
        comparisons = tuple(self.comparison(comparison, types) for comparison in rule.comparisons)
        self.singletons(rule)
        pinned = self.pinned(atoms, comparisons, types)
        for term in rule.head.terms:
            if isinstance(term, Const):
                self.digits(term)
        plain = (_plain(term) if isinstance(term, Const) else term for term in rule.head.terms)
        head = replace(rule.head, terms=tuple(plain))
        # A constant of the head has no declared type: it is compared with what it meets.
        head_types = tuple(
            types.get(term, ANY) if isinstance(term, Var) else ANY for term in head.terms
        )
        constants = tuple(
            term if isinstance(term, Const) else pinned.get(term) for term in head.terms
        )
        return CheckedView(Rule(head, atoms, comparisons), head_types, constants)

    def pinned(
        self, atoms: Iterable[Atom], comparisons: Iterable[Comparison], types: Mapping[Var, Type]
    ) -> dict[Var, Const]:
        """The variables that stand where a view of the body shows a constant, each with it.

        Such a constant has the representation of no column, so it must be the same in that of the
        columns that it meets here: elsewhere a join compares values of one type.
        """
        found = {
            term: constant
            for atom in atoms
            if atom.predicate in self.views
            for term, constant in zip(
                atom.terms, self.views[atom.predicate].constants, strict=False
            )
            if constant is not None and isinstance(term, Var)
        }
        for term, constant in found.items():
            equal = {
                side
                for c in comparisons
                if c.operator == "=" and term in (c.left, c.right)
                for side in (c.left, c.right)
            }
            for kind in {types.get(side, ANY) for side in (term, *equal) if isinstance(side, Var)}:
                if kind != ANY and not _is_same(constant, kind):
                    self.error(
                        "CQ116",
                        f"variable `{shorten(term.name)}` is the constant "
                        f"{shorten(_shown(constant.value))} in a view below, which is no value of "
                        f"type {kind}",
                        term.span,
                        "write the constant in this rule instead of the variable",
                    )
        return found

    def atom(self, atom: Atom, types: dict[Var, Type]) -> Atom:
        name = atom.predicate
        view = self.views.get(name)
        if view is not None:
            columns: tuple[Type, ...] = view.types
            shown = ", ".join(
                term.name if isinstance(term, Var) else "_" for term in view.rule.head.terms
            )
            help_ = f"defined as {name}({shown})"
        else:
            relation = self.relations.get(name)
            if relation is None:
                relation = Relation.untyped(name, len(atom.terms))
                self.relations[name] = relation
            columns = tuple(column.type for column in relation.columns)
            names = ", ".join(column.name for column in relation.columns)
            uses = f"it is used with {len(columns)} elsewhere"
            help_ = f"declared as {name}({names})" if relation.declared else uses
        if len(columns) != len(atom.terms):
            self.error(
                "CQ102",
                f"`{shorten(name)}` takes {len(columns)} argument{'s' * (len(columns) != 1)}, "
                f"but {len(atom.terms)} {'is' if len(atom.terms) == 1 else 'are'} given",
                atom.span,
                shorten(help_, 200),
            )
            return atom
        terms = tuple(
            self.term(term, kind, types) for term, kind in zip(atom.terms, columns, strict=True)
        )
        return replace(atom, terms=terms)

    def term(self, term: Term, kind: Type, types: dict[Var, Type]) -> Term:
        if isinstance(term, Const):
            return self.constant(term, kind)
        known = types.setdefault(term, kind)
        if known == ANY:
            types[term] = kind
        elif kind not in (ANY, known):
            self.error(
                "CQ114",
                f"variable `{shorten(term.name)}` is {known} elsewhere in the rule, "
                f"but this column is {kind}",
                term.span,
                "a variable has one type: a join compares values of one type",
            )
        return term

    def constant(self, term: Const, kind: Type) -> Const:
        if kind == ANY:
            return _plain(term)
        try:
            return _admitted(term, kind)
        except Misfit:
            hint = {
                "date": ("write a day without quotes: 2024-12-31",),
                "timestamp": ("write a time without quotes: 2024-12-31T23:59:59",),
                "string": ("quote it",),
                "boolean": ("write true or false",),
            }.get(kind.name, ())
            self.error(
                "CQ116",
                f"constant {shorten(_shown(term.value))} does not fit a column of type {kind}",
                term.span,
                *hint,
            )
            return term

    def bound(self, rule: Rule) -> None:
        """Every variable of the head and of a comparison occurs in a subgoal."""
        bound = {term for atom in rule.atoms for term in atom.terms}
        names = [term.name for term in bound if isinstance(term, Var) and not term.is_anonymous]
        for term in rule.head.terms:
            if isinstance(term, Var) and term not in bound and rule.atoms:
                self.error(
                    "CQ104",
                    f"head variable `{_var_name(term)}` is not bound by any body atom",
                    term.span,
                    *did_you_mean(term.name, names),
                )
        for comparison in rule.comparisons:
            for term in (comparison.left, comparison.right):
                if isinstance(term, Var) and term not in bound and rule.atoms:
                    self.error(
                        "CQ118",
                        f"variable `{_var_name(term)}` is compared, but no body atom binds it",
                        term.span,
                        *did_you_mean(term.name, names),
                    )

    def comparison(self, comparison: Comparison, types: dict[Var, Type]) -> Comparison:
        left, right = comparison.left, comparison.right
        kinds = [types.get(t, ANY) if isinstance(t, Var) else None for t in (left, right)]
        families = [
            constant_family(term.value) if isinstance(term, Const) else kind.family if kind else ""
            for term, kind in zip((left, right), kinds, strict=True)
        ]
        strict = comparison.operator == "=" and None not in kinds
        clash = families[0] != families[1] or (strict and kinds[0] != kinds[1])
        if clash and "any" not in families:
            sides = [
                str(kind or f"a {family}") for kind, family in zip(kinds, families, strict=True)
            ]
            self.error(
                "CQ115",
                f"{sides[0]} and {sides[1]} are not comparable",
                comparison.span,
                *(("`=` makes two variables one, so both need the same type",) if strict else ()),
            )
            return comparison
        numeric = families == ["number", "number"]
        sides_ = [
            self.side(term, other, numeric and comparison.operator != "=")
            for term, other in ((left, kinds[1]), (right, kinds[0]))
        ]
        return replace(comparison, left=sides_[0], right=sides_[1], numeric=numeric)

    def side(self, term: Term, other: Type | None, loose: bool) -> Term:
        """A constant in the representation of the other side's type; `loose`: if it fits."""
        if isinstance(term, Var):
            return term
        if other is None or other == ANY:
            return _plain(term)
        if loose:
            try:
                return _admitted(term, other)
            except Misfit:
                self.digits(term)
                return term  # `Q > 1.5` on whole numbers compares by value
        return self.constant(term, other)

    def digits(self, term: Const) -> None:
        """A number that stands in no column still has to be of some type."""
        if constant_type(term.value).precision > MAX_PRECISION:
            self.error(
                "CQ116",
                f"constant {shorten(_shown(term.value))} has more than {MAX_PRECISION} digits: no "
                "type of numbers holds it",
                term.span,
            )

    def singletons(self, rule: Rule) -> None:
        count: dict[Var, int] = {}
        for term in (*rule.head.terms, *body_terms(rule)):
            if isinstance(term, Var):
                count[term] = count.get(term, 0) + 1
        for term in (term for atom in rule.atoms for term in atom.terms):
            if isinstance(term, Var) and not term.is_anonymous and count[term] == 1:
                self.warn(
                    "CQ120",
                    f"variable `{shorten(term.name)}` is used only once",
                    term.span,
                    "write `_` where the value does not matter",
                )

    def report_unknown(self, rules: tuple[Rule, ...]) -> None:
        """A relation that is used undeclared, in a file whose declarations nearly name it."""
        declared = [r.name for r in self.relations.values() if r.declared]
        for rule in rules:
            for atom in rule.atoms:
                relation = self.relations.get(atom.predicate)
                if relation is None or relation.declared:
                    continue
                near = did_you_mean(atom.predicate, declared)
                if near and near[0].startswith("did"):
                    self.warn(
                        "CQ103",
                        f"relation `{shorten(atom.predicate)}` is not declared",
                        atom.span,
                        *near,
                    )


def _var_name(term: Var) -> str:
    return "_" if "#" in term.name else shorten(term.name)


def _plain(term: Const) -> Const:
    """An untyped number with a fraction is a Python float, as a caller would write it."""
    if isinstance(term.value, Decimal):
        return replace(term, value=float(term.value))
    return term


def _admitted(term: Const, kind: Type) -> Const:
    return replace(term, value=cast(Value, kind.admit(term.value)))


def _is_same(term: Const, kind: Type) -> bool:
    """Whether a column of this type has the constant just as it is."""
    try:
        return _admitted(term, kind).value == term.value
    except Misfit:
        return False


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str) else str(value)
