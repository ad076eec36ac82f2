"""What would lift a grade: changes of the view or of the declarations, each tried by compiling.

A proposal exposes variables, declares a key, exposes a column and declares it a key, or declares a
foreign key, with the key it needs.
Every candidate is applied to the definition and compiled, and kept only if the grade rises. A
declaration is a statement about the data: it is to be followed only where it is true.

Law: the proposal's `fragment`, put in the place of the rule or the declarations it names, gives a
program in which the cell has the proposal's grade. (Views over a view that exposes more have to
name one more argument; that is not a part of the proposal.)

Bounds. All candidates of a view together compile at most `WORK` subgoals, as `_weight` counts them,
shared evenly among its relations. Per relation at most `MOST_TRIED` sets of variables are exposed,
smallest first, beside those that complete a subgoal, its join variables or a declared key; likewise
at most `MOST_TRIED` keys and foreign keys. Where no key is declared, keys of one and two columns
are tried; a relation with a key gets no second one, since exposing the one it has does the same. Of
each kind the smallest that reach a grade are kept, at most `MOST_ALIKE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations, islice, product
from typing import Final, TypeAlias

from cq.query import Query
from cq.roles import roles
from cq.schema import Relation
from cq.syntax import Const, Rule, Var, variables_of
from cq.types import Type
from lookups.emit import emit
from lookups.plan import ACTIONS, Action
from selfmaint.edits import (
    DeclareKey,
    DeclareReference,
    Draft,
    Edits,
    Expose,
    column_of,
    describe,
)
from selfmaint.grade import Grade, Maintainable, grade

WORK: Final = 20_000
MOST_TRIED: Final = 24
MOST_ALIKE: Final = 2
BEST: Final = Grade(Maintainable.ALWAYS, Maintainable.ALWAYS)

Change: TypeAlias = tuple[str, Action]
"""A relation and what happens to it: what a cell of the matrix stands for."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of the program that lifts one cell.

    Args:
        edits: what to change, together.
        text: the same in one line.
        fragment: the rule or the declarations as they would be written.
        grade: the cell's new grade.
        lowers: other cells whose grade falls when more is exposed, with the new grade.
    """

    edits: Edits
    text: str
    fragment: tuple[str, ...]
    grade: Grade
    lowers: tuple[tuple[Change, Grade], ...] = ()


@dataclass(frozen=True, slots=True)
class _Lift:
    """A candidate that lifts a cell: the view it leads to, and the cell's grade there."""

    edits: Edits
    query: Query
    grade: Grade

    @property
    def kind(self) -> frozenset[str]:
        """What it asks for; a key that only serves a foreign key does not count."""
        kinds = frozenset(edit.kind for edit in self.edits)
        return kinds - {DeclareKey.kind} if DeclareReference.kind in kinds else kinds


def _size(edits: Edits) -> int:
    """How much the edits ask for: one for each variable and column."""
    return sum(len(e.variables if isinstance(e, Expose) else e.columns) for e in edits)


def propose(
    draft: Draft, query: Query, grades: Mapping[Change, Grade]
) -> tuple[dict[Change, tuple[Proposal, ...]], bool]:
    """What lifts each cell of a view; False if the search stopped at its bound.

    Args:
        query: the draft compiled.
        grades: the grade of every cell.
    """
    relations = list(dict.fromkeys(relation for relation, _ in grades))
    most = WORK // max(1, len(relations)) // _weight(draft.rule, query)
    search = _Search(draft, query, grades, most)
    for relation in relations:
        search.lift(relation)
    return search.proposals, search.is_complete


class _Search:
    """The search over one view; compiles at most `most` candidates per relation."""

    def __init__(
        self, draft: Draft, query: Query, grades: Mapping[Change, Grade], most: int
    ) -> None:
        self.draft = draft
        self.query = query
        self.grades = grades
        self.most = most
        self.is_complete = True
        self.proposals: dict[Change, tuple[Proposal, ...]] = dict.fromkeys(grades, ())
        self.fallen: dict[Edits, tuple[tuple[Change, Grade], ...]] = {}

    def lift(self, relation: str) -> None:
        """Find what lifts the cells of `relation` that are not as good as can be."""
        changes = [(relation, a) for a in ACTIONS if self.grades[relation, a] < BEST]
        if not changes:
            return
        tried = list(islice(_candidates(self.draft, self.query, relation), self.most + 1))
        self.is_complete &= len(tried) <= self.most
        found: dict[Change, list[_Lift]] = {change: [] for change in changes}
        for edits in tried[: self.most]:
            query = self.draft.edited(edits).query()
            for change, kept in found.items():
                lift = _Lift(edits, query, grade(emit(query, *change)))
                if lift.grade > self.grades[change] and not _is_needless(lift, kept):
                    kept.append(lift)
        for change, kept in found.items():
            self.proposals[change] = tuple(map(self.proposal, kept))

    def proposal(self, lift: _Lift) -> Proposal:
        edits = lift.edits
        lowers = self.lowered(lift) if Expose.kind in lift.kind else ()
        return Proposal(edits, describe(edits), self.draft.fragment(edits), lift.grade, lowers)

    def lowered(self, lift: _Lift) -> tuple[tuple[Change, Grade], ...]:
        """Cells whose grade falls when more is exposed.

        A declaration lowers none: it only adds knowledge, so where it sharpens a grade no change is
        decided worse than before.
        """
        if lift.edits not in self.fallen:
            used = [change for change in self.grades if change[0] in lift.query.by_name]
            after = ((change, grade(emit(lift.query, *change))) for change in used)
            self.fallen[lift.edits] = tuple(
                (change, found) for change, found in after if found < self.grades[change]
            )
        return self.fallen[lift.edits]


def _weight(rule: Rule, query: Query) -> int:
    """What one candidate costs, in subgoals.

    A change of the head is tried on every cell, which takes quadratic time. Repeated relations are
    searched for redundant subgoals, with comparisons for longer.
    """
    size = len(rule.atoms)
    if len({atom.predicate for atom in rule.atoms}) == size:
        return size + size * size // 20
    return size * size * (20 if not query.is_minimal else 4 if query.comparisons else 1)


def _is_needless(lift: _Lift, kept: list[_Lift]) -> bool:
    """Whether smaller proposals do as much, or enough of the same size do the same."""
    alike = [other for other in kept if (other.kind, other.grade) == (lift.kind, lift.grade)]
    return len(alike) >= MOST_ALIKE or any(_does_as_much(other, lift) for other in kept)


def _does_as_much(lift: _Lift, other: _Lift) -> bool:
    if lift.grade < other.grade:
        return False
    is_less = _size(lift.edits) < _size(other.edits) or lift.grade > other.grade
    return set(lift.edits) < set(other.edits) or (lift.kind == other.kind and is_less)


# Candidates


def _candidates(draft: Draft, query: Query, relation: str) -> Iterator[Edits]:
    """Edits worth a compilation for `relation`; of each kind the smallest first."""
    if query.is_empty or not query.occurrences(relation):
        return
    for variables in _exposures(query, relation):
        yield (_expose(draft, query, relation, variables),)
    declared = query.by_name[relation]
    for key in islice(_new_keys(query, relation), MOST_TRIED):
        yield (DeclareKey(relation, _column_names(declared, key)),)
    for position, var in islice(_hidden_keys(query, relation), MOST_TRIED):
        key_edit = DeclareKey(relation, _column_names(declared, (position,)))
        yield (key_edit, _expose(draft, query, relation, (var,)))
    yield from islice(_references(query, relation), MOST_TRIED)


def _expose(draft: Draft, query: Query, relation: str, variables: Iterable[Var]) -> Expose:
    spelled = {var: name for name, var in draft.hidden.items()}
    pairs = [(spelled[var], column_of(query, relation, var)) for var in variables]
    return Expose(tuple(name for name, _ in pairs), tuple(column for _, column in pairs))


def _exposures(query: Query, relation: str) -> list[tuple[Var, ...]]:
    """Sets of hidden variables of the relation's subgoals."""
    atoms = {i: query.atoms[i] for i in query.occurrences(relation)}

    def hidden(variables: Iterable[Var]) -> tuple[Var, ...]:
        return tuple(dict.fromkeys(var for var in variables if not query.is_exposed(var)))

    pool = hidden(var for atom in atoms.values() for var in variables_of(*atom.terms))
    small = chain.from_iterable(combinations(pool, n) for n in range(1, len(pool) + 1))
    joins = {i: roles(query, i).join for i in atoms}
    whole = [hidden(chain.from_iterable(joins.values())), pool]
    for i, atom in atoms.items():
        whole += [hidden(joins[i]), hidden(variables_of(*atom.terms))]
        for key in query.by_name[relation].keys:
            whole.append(hidden(variables_of(*(atom.terms[position] for position in key))))
    sets = dict.fromkeys([*islice(small, MOST_TRIED), *filter(None, whole)])
    return sorted(sets, key=len)


def _new_keys(query: Query, relation: str) -> Iterator[tuple[int, ...]]:
    """Columns that may serve as a key: shown by the view, or shared by two subgoals."""
    if query.by_name[relation].keys:
        return
    atoms = [query.atoms[i] for i in query.occurrences(relation)]
    columns = list(zip(*(atom.terms for atom in atoms), strict=True))
    usable = [
        position
        for position, terms in enumerate(columns)
        if any(isinstance(term, Var) for term in terms)
        and (all(map(query.is_exposed, terms)) or len(set(terms)) < len(terms))
    ]
    yield from _ones_and_twos(usable)


def _hidden_keys(query: Query, relation: str) -> Iterator[tuple[int, Var]]:
    """Columns that may serve as a key once their variable is exposed."""
    if query.by_name[relation].keys or len(query.occurrences(relation)) > 1:
        return
    (subgoal,) = query.occurrences(relation)
    for position, term in enumerate(query.atoms[subgoal].terms):
        if isinstance(term, Var) and not query.is_exposed(term):
            yield position, term


def _ones_and_twos(columns: list[int]) -> Iterator[tuple[int, ...]]:
    yield from combinations(columns, 1)
    yield from combinations(columns, 2)


def _references(query: Query, relation: str) -> Iterator[Edits]:
    """Foreign keys into the relation, or ones that make the view need a subgoal no longer."""
    into: list[Edits] = []
    dropping: list[Edits] = []
    size = len(query.atoms)
    for parent, child in product(range(size), range(size)):
        if parent == child or query.reference(parent, child) is not None:
            continue
        for key in _referable(query, parent, child):
            edits = _reference(query, parent, child, key)
            if edits is not None and _adds_nothing(query, parent, key):
                dropping.append(edits)
            if edits is not None and query.atoms[parent].predicate == relation:
                into.append(edits)
    pairs = combinations(dropping[:MOST_TRIED], 2)
    together = [tuple(dict.fromkeys(first + second)) for first, second in pairs]
    found = dict.fromkeys([*into, *dropping, *together])
    yield from sorted(found, key=lambda edits: (len(edits), _size(edits)))


def _referable(query: Query, parent: int, child: int) -> Iterator[tuple[int, ...]]:
    """Keys of subgoal `parent`, declared or possible, whose terms subgoal `child` has too."""
    theirs, ours = query.atoms[parent].terms, set(query.atoms[child].terms)
    keys = query.by_name[query.atoms[parent].predicate].keys
    shared = [i for i, term in enumerate(theirs) if isinstance(term, Var) and term in ours]
    yield from (key for key in keys if all(theirs[i] in ours for i in key))
    if not keys:
        yield from _ones_and_twos(shared)


def _reference(query: Query, parent: int, child: int, key: tuple[int, ...]) -> Edits | None:
    """The declarations that make `child` refer to `parent`; None if the types forbid it."""
    theirs, ours = query.atoms[parent], query.atoms[child]
    target, relation = query.by_name[theirs.predicate], query.by_name[ours.predicate]
    own = tuple(ours.terms.index(theirs.terms[i]) for i in key)
    types = [target.columns[i].type for i in key]
    if len(set(own)) < len(own) or [relation.columns[i].type for i in own] != types:
        return None
    if relation == target and own == key:
        return None  # every row refers to itself
    reference = DeclareReference(
        relation.name, _column_names(relation, own), target.name, _column_names(target, key)
    )
    if not target.keys:
        return (DeclareKey(target.name, reference.key), reference)
    return (reference,) if _meant(target, reference.columns, types) == key else None


def _meant(target: Relation, names: tuple[str, ...], types: list[Type]) -> tuple[int, ...]:
    """The key that `references target(names)` means: by type, and among several by name."""
    fitting = [key for key in target.keys if [target.columns[i].type for i in key] == types]
    same = [key for key in fitting if _column_names(target, key) == names]
    return (same or fitting)[0]


def _adds_nothing(query: Query, parent: int, key: tuple[int, ...]) -> bool:
    """Whether the view needs subgoal `parent` only to exist: then a foreign key guarantees it."""
    terms = query.atoms[parent].terms
    others = [term for i, term in enumerate(terms) if i not in key]
    return not any(
        isinstance(term, Const) or term in query.non_null or query.is_exposed(term)
        for term in others
    )


def _column_names(relation: Relation, positions: Iterable[int]) -> tuple[str, ...]:
    return tuple(relation.columns[i].name for i in positions)
