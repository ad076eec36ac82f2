"""The analysed view: one conjunctive query over base relations, in normal form.

`normalize` unfolds views into their definitions and settles what can be settled from the text
alone: equalities become one variable or one constant, comparisons between constants are decided.

NULL. A NULL never joins, so a variable that occurs twice in the body, or in a comparison, never
takes NULL. That is decided here, on the text as written, and remembered as `non_null`: later
passes remove subgoals, and a variable that has lost its second occurrence must still refuse NULL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from cq.check import Checked, CheckedView
from cq.order import contradict
from cq.schema import Reference, Relation
from cq.syntax import FLIPPED, Atom, Comparison, Const, Rule, Term, Var, body_terms, variables_of
from cq.types import ANY, Type, holds


@dataclass(frozen=True, slots=True)
class Dropped:
    """A subgoal that analysis removed, and why the view does not need it."""

    atom: Atom
    reason: str


@dataclass(frozen=True)
class Query:
    """`name(head) :- atoms, comparisons`, every atom over a base relation.

    Args:
        non_null: variables that refuse NULL.
        relations: the relations of the rule as written, by name, including dropped ones.
        is_empty: no database gives this view a row.
        dropped: what minimization removed.
        is_minimal: False when minimization stopped early; the answer is the same.
    """

    name: str
    head: tuple[Term, ...]
    atoms: tuple[Atom, ...]
    comparisons: tuple[Comparison, ...] = ()
    non_null: frozenset[Var] = frozenset()
    relations: tuple[Relation, ...] = ()
    types: tuple[Type, ...] = ()
    is_empty: bool = False
    dropped: tuple[Dropped, ...] = field(default=(), compare=False)
    is_minimal: bool = field(default=True, compare=False)

    @cached_property
    def columns(self) -> Mapping[Var, int]:
        """The exposed variables, each with the first head column that shows it."""
        found: dict[Var, int] = {}
        for column, term in enumerate(self.head):
            if isinstance(term, Var):
                found.setdefault(term, column)
        return found

    @cached_property
    def by_name(self) -> Mapping[str, Relation]:
        return {relation.name: relation for relation in self.relations}

    @cached_property
    def variables(self) -> tuple[tuple[Var, ...], ...]:
        """The distinct variables of each subgoal, in order of first use."""
        return tuple(variables_of(*atom.terms) for atom in self.atoms)

    @cached_property
    def type_of(self) -> Mapping[Var, Type]:
        """The type of each variable, dropped subgoals included; the checker sees that it is one."""
        return {
            term: column.type
            for atom in (*self.atoms, *(dropped.atom for dropped in self.dropped))
            for term, column in zip(atom.terms, self.by_name[atom.predicate].columns, strict=True)
            if isinstance(term, Var)
        }

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The subgoals, parents before the subgoals that refer to them; else as in the body.

        Changes that make a parent's key appear come first and those that make it disappear last,
        so that no state in between breaks a foreign key. On a cycle of
        references the body's order decides, and the references against it are not used.
        """
        pending = list(range(len(self.atoms)))
        parents = {
            child: {p for p in pending if p != child and self.reference(p, child) is not None}
            for child in pending
            if self.by_name[self.atoms[child].predicate].references
        }
        order: list[int] = []
        while pending:
            free = (i for i in pending if parents.get(i, set()).isdisjoint(pending))
            order.append(next(free, pending[0]))
            pending.remove(order[-1])
        return tuple(order)

    def reference(self, parent: int, child: int) -> Reference | None:
        """The foreign key by which subgoal `child` refers to `parent` with the same terms."""
        theirs, ours = self.atoms[parent], self.atoms[child]
        for reference in self.by_name[ours.predicate].references:
            if reference.relation == theirs.predicate and all(
                ours.terms[own] == theirs.terms[key]
                for own, key in zip(reference.columns, reference.key, strict=True)
            ):
                return reference
        return None

    def is_exposed(self, term: Term) -> bool:
        """A constant, or a variable of the head: its value can be read off a view row."""
        return isinstance(term, Const) or term in self.columns

    def occurrences(self, relation: str) -> tuple[int, ...]:
        """The subgoals of `relation`, by position in the body."""
        return tuple(i for i, atom in enumerate(self.atoms) if atom.predicate == relation)

    def rule(self) -> Rule:
        return Rule(Atom(self.name, self.head), self.atoms, self.comparisons)


def normalize(name: str, checked: Checked) -> Query:
    """The view `name` of a checked program as one query over base relations.

    Law: on every database the query and the rule as written have the same answers.
    """
    view = checked.views[name]
    unfolded = _unfold(view, checked.views)
    relations = {a.predicate: checked.relations[a.predicate] for a in unfolded.rule.atoms}
    query = _settle(unfolded)
    return replace(
        query,
        relations=tuple(relations[key] for key in sorted(relations)),
        types=view.types or (ANY,) * len(view.rule.head.terms),
        is_empty=query.is_empty or not unfolded.is_possible,
    )


@dataclass(frozen=True, slots=True)
class _Unfolded:
    """A rule over base relations.

    Args:
        written: the variables of the rule as written; their names are kept where possible.
        equal: pairs of terms that the heads of the unfolded definitions make equal.
        joined: the variables that occur twice in the body of some rule as written.
        is_possible: False when a head constant meets another constant.
    """

    rule: Rule
    written: tuple[Var, ...]
    equal: tuple[tuple[Term, Term], ...]
    joined: frozenset[Term]
    is_possible: bool


def _unfold(view: CheckedView, views: Mapping[str, CheckedView]) -> _Unfolded:
    """The rule with the views of its body replaced by their definitions."""
    used = {
        term.name
        for term in (*view.rule.head.terms, *body_terms(view.rule))
        if isinstance(term, Var)
    }
    atoms: list[Atom] = []
    comparisons = list(view.rule.comparisons)
    equal: list[tuple[Term, Term]] = []
    joined = _repeated(view.rule)
    possible = True
    agenda = list(reversed(view.rule.atoms))
    while agenda:
        atom = agenda.pop()
        inner = views.get(atom.predicate)
        if inner is None:
            atoms.append(atom)
            continue
        fresh = _freshen(inner.rule, used)
        for theirs, ours in zip(fresh.head.terms, atom.terms, strict=True):
            if isinstance(theirs, Const) and isinstance(ours, Const):
                possible = possible and theirs.value == ours.value
            else:
                equal.append((ours, theirs))
        joined |= _repeated(fresh)
        comparisons.extend(fresh.comparisons)
        agenda.extend(reversed(fresh.atoms))
    rule = Rule(view.rule.head, tuple(atoms), tuple(comparisons))
    written = variables_of(*view.rule.head.terms, *body_terms(view.rule))
    return _Unfolded(rule, written, tuple(equal), frozenset(joined), possible)


def _repeated(rule: Rule) -> set[Term]:
    """The terms that occur more than once in the body's atoms."""
    count = Counter(term for atom in rule.atoms for term in atom.terms)
    return {term for term, times in count.items() if times > 1}


def _freshen(rule: Rule, used: set[str]) -> Rule:
    """`rule` with its variables renamed away from `used`, which grows by the new names."""
    names: dict[Term, Term] = {}
    for var in variables_of(*rule.head.terms, *body_terms(rule)):
        name, number = var.name, 1
        while name in used:
            number += 1
            name = f"{var.name}_{number}"
        used.add(name)
        names[var] = Var(name, var.span)
    return substitute(rule, names)


def substitute(rule: Rule, mapping: Mapping[Term, Term]) -> Rule:
    """`rule` with every term replaced as `mapping` says."""
    return Rule(
        _substitute_atom(rule.head, mapping),
        tuple(_substitute_atom(atom, mapping) for atom in rule.atoms),
        tuple(
            replace(c, left=mapping.get(c.left, c.left), right=mapping.get(c.right, c.right))
            for c in rule.comparisons
        ),
    )


def _substitute_atom(atom: Atom, mapping: Mapping[Term, Term]) -> Atom:
    return Atom(atom.predicate, tuple(mapping.get(term, term) for term in atom.terms), atom.span)


def _settle(unfolded: _Unfolded) -> Query:
    """Merge what is equal, decide what is ground, and note which variables refuse NULL."""
    rule = unfolded.rule
    classes = _Classes(unfolded.written)
    for left, right in unfolded.equal:
        classes.merge(left, right)
    equalities = [c for c in rule.comparisons if c.operator == "="]
    for comparison in equalities:
        classes.merge(comparison.left, comparison.right)
    # A merged view column may carry NULL; the two sides of a written equality may not.
    strict = {classes.find(side) for c in equalities for side in (c.left, c.right)}
    strict |= {classes.find(term) for term in unfolded.joined}

    terms = {*rule.head.terms, *body_terms(rule)}
    settled = substitute(
        Rule(rule.head, rule.atoms, tuple(c for c in rule.comparisons if c.operator != "=")),
        {term: classes.find(term) for term in terms},
    )
    comparisons, tested, possible = decide_ground(settled.comparisons)
    strict |= tested

    strict |= _repeated(settled)
    strict.update(side for c in comparisons for side in (c.left, c.right))
    return Query(
        name=rule.head.predicate,
        head=settled.head.terms,
        atoms=settled.atoms,
        comparisons=comparisons,
        non_null=frozenset(term for term in strict if isinstance(term, Var)),
        is_empty=not (possible and classes.consistent),
    )


def decide_ground(
    comparisons: Iterable[Comparison],
) -> tuple[tuple[Comparison, ...], set[Term], bool]:
    """Decide what needs no database: constants against constants, a term against itself.

    Returns the comparisons left, in canonical direction and once each; the variables that were
    compared with themselves, which only NULL can fail; and False if no values satisfy them all.
    """
    kept: dict[Comparison, None] = {}
    tested: set[Term] = set()
    possible = True
    for comparison in map(_flip, comparisons):
        left, right = comparison.left, comparison.right
        if isinstance(left, Const) and isinstance(right, Const):
            possible &= holds(comparison.operator, left.value, right.value, comparison.numeric)
        elif left == right:
            possible &= comparison.operator in ("=", "<=", ">=")
            tested.add(left)
        else:
            kept[comparison] = None
    return tuple(kept), tested, possible and not contradict(kept)


def _flip(comparison: Comparison) -> Comparison:
    """The same comparison with a variable on the left, if there is one, and without `>`."""
    turn = isinstance(comparison.left, Const) or (
        isinstance(comparison.right, Var) and comparison.operator in (">", ">=")
    )
    if not turn or isinstance(comparison.right, Const):
        return comparison
    return replace(
        comparison,
        left=comparison.right,
        operator=FLIPPED[comparison.operator],
        right=comparison.left,
    )


class _Classes:
    """Union-find over terms: a class is named by its constant, or by its first named variable."""

    def __init__(self, variables: Iterable[Var]) -> None:
        self.parent: dict[Term, Term] = {}
        self.consistent = True
        self.place: dict[Var, int] = {}
        for var in variables:
            self.rank(var)

    def rank(self, var: Var) -> tuple[bool, int]:
        """Named variables before anonymous ones, then in the order in which they are first met."""
        return var.is_anonymous, self.place.setdefault(var, len(self.place))

    def find(self, term: Term) -> Term:
        path = []
        while term in self.parent:
            path.append(term)
            term = self.parent[term]
        for passed in path[:-1]:  # the next search is short
            self.parent[passed] = term
        return term

    def merge(self, left: Term, right: Term) -> None:
        first, second = self.find(left), self.find(right)
        if first == second:
            return
        if isinstance(second, Const):
            first, second = second, first
        if isinstance(second, Const):
            assert isinstance(first, Const)
            self.consistent &= bool(first.value == second.value)
            if not self.consistent:
                return
        elif isinstance(first, Var) and self.rank(second) < self.rank(first):
            first, second = second, first
        self.parent[second] = first
