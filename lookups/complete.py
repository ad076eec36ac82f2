"""The second half of the batch rule: a second chance for what missed.

A missed insertion adds the rows that use it in the state *after* the batch. What it still needs to
know of that state is asked of whoever knows, in this order:

- the batch: a subgoal whose declared key is bound, and whose key the batch changed, is the inserted
  row or nothing. So is a subgoal that is bound as a whole. Its variables are then bound too;
- the settled view, for a group whose key it shows, if no missed change could alter the answer;
- the source, for what is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cq.partition import Group
from cq.query import Query
from cq.roles import Roles
from cq.syntax import Comparison, Const, Var
from cq.types import Row
from lookups.batch import Batch
from lookups.evaluate import Binding, comparison_holds, is_known, match, value_in
from lookups.prepared import Prepared
from lookups.settle import Part, Settled


@dataclass(frozen=True, slots=True)
class Piece:
    """A group of a missed insertion, with its key, and its answer if somebody here knew it.

    Args:
        key: the values of the group's bound variables.
        wanted: the group's exposed free variables.
        answer: their values, one tuple per answer; None when only the source knows.
    """

    group: Group
    key: Row
    wanted: tuple[Var, ...]
    answer: frozenset[Row] | None


@dataclass(frozen=True, slots=True)
class Completion:
    """What a missed insertion adds: `binding` with every combination of its pieces' answers.

    Args:
        binding: the values known from the change and the batch; None when it adds nothing.
    """

    part: Part
    binding: Binding | None
    pieces: tuple[Piece, ...] = ()

    @property
    def is_open(self) -> bool:
        return any(piece.answer is None for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Slice:
    """What a missed deletion replaces: the view rows with these values in these columns."""

    part: Part
    columns: tuple[int, ...]
    values: Row


def complete(prepared: Prepared, batch: Batch, settled: Settled, part: Part) -> Completion:
    """Give a missed insertion its second chance, short of asking a source.

    Where lookups are skipped the settled view is not asked either.
    """
    query = prepared.query
    atom = query.atoms[part.subgoal]
    start = match(query, atom, part.row, {})
    assert start is not None, "a missed change matches its subgoal"
    known = _ask_batch(query, batch, prepared.roles(part.subgoal), start)
    if known is None:
        return Completion(part, None)
    binding, rest, tests = known
    groups = prepared.groups(part.subgoal, rest, tests, binding)
    is_skipped = atom.predicate in settled.skipped
    pieces = []
    for group in groups:
        key = tuple(binding[var] for var in group.bound)
        wanted = tuple(var for var in group.free if var in query.columns)
        answer = None if is_skipped else _ask_settled(query, settled, group, binding, wanted)
        pieces.append(Piece(group, key, wanted, answer))
    return Completion(part, binding, tuple(pieces))


def _ask_batch(
    query: Query, batch: Batch, found: Roles, binding: Binding
) -> tuple[Binding, list[int], list[Comparison]] | None:
    """Bind every subgoal that the batch knows; None when the batch knows that one has no row."""
    rest, tests = list(found.rest), list(found.tests)
    while True:
        ready = [c for c in tests if is_known(c, binding)]
        if not all(comparison_holds(c, binding) for c in ready):
            return None
        tests = [c for c in tests if c not in ready]
        keys = ((s, _changed_key(query, batch, s, binding)) for s in rest)
        step, key = next((found for found in keys if found[1] is not None), (None, None))
        if step is None or key is None:
            return binding, rest, tests
        atom = query.atoms[step]
        values = tuple(value_in(atom.terms[i], binding) for i in key)
        row = batch.inserted(atom.predicate, key, values)
        extended = match(query, atom, row, binding) if row is not None else None
        if extended is None:
            return None
        binding = extended
        rest.remove(step)


def _changed_key(
    query: Query, batch: Batch, subgoal: int, binding: Binding
) -> tuple[int, ...] | None:
    """A bound key of the subgoal, or the whole of it, that the batch changed."""
    atom = query.atoms[subgoal]
    whole = tuple(range(len(atom.terms)))
    for key in (*query.by_name[atom.predicate].keys, whole):
        if all(isinstance(atom.terms[i], Const) or atom.terms[i] in binding for i in key):
            values = tuple(value_in(atom.terms[i], binding) for i in key)
            if batch.is_changed(atom.predicate, key, values):
                return key
    return None


def _ask_settled(
    query: Query, settled: Settled, group: Group, binding: Binding, wanted: tuple[Var, ...]
) -> frozenset[Row] | None:
    """The group's answers, if the settled view shows them and they hold after the batch too."""
    if not group.free:
        return frozenset({()}) if _is_shown(query, settled, group, binding) else None
    if not all(var in query.columns for var in group.bound):
        return None
    if any(_could_alter(query, settled, i, group, binding) for i in group.subgoals):
        return None
    columns, key = _pattern(query, {var: binding[var] for var in group.bound})
    gives = tuple(query.columns[var] for var in wanted)
    answers = settled.view.distinct(columns, key, gives)
    return answers or None


def _is_shown(query: Query, settled: Settled, group: Group, binding: Binding) -> bool:
    """Whether a view row shows the ground row that the group is, in any subgoal of its relation.

    The batch does not change that row, or it would have answered: it is in the same state in every
    subgoal, before and after.
    """
    (subgoal,) = group.subgoals
    atom = query.atoms[subgoal]
    row = tuple(value_in(term, binding) for term in atom.terms)
    for other in query.occurrences(atom.predicate):
        candidate = query.atoms[other]
        if all(query.is_exposed(term) for term in candidate.terms):
            shown = match(query, candidate, row, {})
            if shown is not None and settled.view.has(*_pattern(query, shown)):
                return True
    return False


def _could_alter(
    query: Query, settled: Settled, subgoal: int, group: Group, binding: Binding
) -> bool:
    """Whether a missed change of the subgoal may alter what the group answers for its key.

    It may unless it differs on one of the key's variables: a missed change matches its subgoal.
    """
    shared = tuple(var for var in group.bound if var in query.variables[subgoal])
    return tuple(binding[var] for var in shared) in settled.missed_values(query, subgoal, shared)


def _pattern(query: Query, values: Binding) -> tuple[tuple[int, ...], Row]:
    cells = sorted((query.columns[var], value) for var, value in values.items())
    return tuple(column for column, _ in cells), tuple(value for _, value in cells)


def slice_of(query: Query, settled: Settled, part: Part) -> Slice | None:
    """The slice that a missed deletion replaces; None when the settled view has no row in it.

    Then the deleted row has no part in the settled view, and whatever the other missed changes add
    they add for themselves.
    """
    shown = match(query, query.atoms[part.subgoal], part.row, {})
    assert shown is not None, "a missed change matches its subgoal"
    exposed = {var: value for var, value in shown.items() if var in query.columns}
    columns, values = _pattern(query, exposed)
    if not settled.view.has(columns, values):
        return None
    return Slice(part, columns, values)


def variables_at(query: Query, columns: Iterable[int]) -> tuple[Var, ...]:
    """The head variables in these columns."""
    return tuple(var for column in columns if isinstance(var := query.head[column], Var))
