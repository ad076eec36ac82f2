"""The second chance of what missed, for all of it at once.

What a missed insertion still has to know is a set of *pieces*: a group of subgoals with values for
its bound variables. Two changes that need the same group for the same values need the same piece,
whoever knows the answer: a piece is asked and answered once.

    piece      the number of the group
    key        the values of its bound variables, as a struct of all variables
    g          an answer: the values of its exposed variables, as a masked view row
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from cq.dependencies import determined
from cq.partition import Group
from cq.query import Query
from cq.syntax import Const, Var
from lookups.spark.bindings import Case
from lookups.spark.columns import (
    Names,
    Sql,
    all_of,
    certain,
    exploded,
    holds,
    if_,
    with_changed,
    with_columns,
)
from lookups.spark.probes import Families
from lookups.spark.rounds import MISS


@dataclass(frozen=True, slots=True)
class Way:
    """A lookup in the settled view that answers a piece, where `condition` holds."""

    family: int
    key: Sql
    condition: Sql


@dataclass(frozen=True, slots=True)
class Piece:
    """A group as a kind of piece.

    Args:
        wanted: the exposed variables that the group binds.
        ways: how the settled view may show it.
        checked: subgoals whose missed changes could alter the answer, each with the bound variables
            that it has in common with them.
    """

    number: int
    group: Group
    wanted: tuple[Var, ...]
    ways: tuple[Way, ...]
    checked: tuple[tuple[int, tuple[Var, ...]], ...]


class Pieces:
    """The groups that the changes of a batch may leave, by number."""

    def __init__(self, names: Names, families: Families) -> None:
        self._names = names
        self._families = families
        self._pieces: dict[tuple[Group, bool], Piece] = {}

    def of(self, group: Group, *, is_skipped: bool = False) -> Piece:
        """Pieces of insertions whose lookups are skipped are others: no settled view is asked."""
        if (group, is_skipped) not in self._pieces:
            piece = self._skipped(group) if is_skipped else self._piece(group)
            self._pieces[group, is_skipped] = piece
        return self._pieces[group, is_skipped]

    def all(self) -> tuple[Piece, ...]:
        return tuple(self._pieces.values())

    def _skipped(self, group: Group) -> Piece:
        return Piece(len(self._pieces), group, self._wanted(group), (), ())

    def _wanted(self, group: Group) -> tuple[Var, ...]:
        return tuple(var for var in group.free if var in self._names.query.columns)

    def _piece(self, group: Group) -> Piece:
        names, query = self._names, self._names.query
        wanted = self._wanted(group)
        ways: tuple[Way, ...] = ()
        checked: tuple[tuple[int, tuple[Var, ...]], ...] = ()
        if not group.free:
            ways = tuple(self._vouching(group))
        elif all(var in query.columns for var in group.bound):
            columns = {query.columns[var]: names.term(var) for var in group.bound}
            gives = [query.columns[var] for var in wanted]
            ways = (Way(self._families.number(columns, gives), names.mask(columns), "true"),)
            checked = tuple(
                (i, tuple(var for var in group.bound if var in query.variables[i]))
                for i in group.subgoals
            )
        return Piece(len(self._pieces), group, wanted, ways, checked)

    def _vouching(self, group: Group) -> list[Way]:
        """View rows that show the ground row that the group is, in any subgoal of its relation."""
        names, query = self._names, self._names.query
        (subgoal,) = group.subgoals
        atom = query.atoms[subgoal]
        values = [names.term(term) for term in atom.terms]
        ways = []
        for other in query.occurrences(atom.predicate):
            terms = query.atoms[other].terms
            if not all(query.is_exposed(term) for term in terms):
                continue
            shown: dict[Var, Sql] = {}
            conditions: list[Sql] = []
            for term, value in zip(terms, values, strict=True):
                if isinstance(term, Const):
                    conditions.append(holds("=", value, names.constants.name(term)))
                elif term in shown:
                    conditions.append(holds("=", shown[term], value))
                else:
                    shown[term] = value
                    if term in query.non_null:
                        conditions.append(f"{value} IS NOT NULL")
            columns = {query.columns[var]: value for var, value in shown.items()}
            family = self._families.number(columns)
            ways.append(Way(family, names.mask(columns), all_of(conditions)))
        return ways


def is_left(case: Case) -> Sql:
    """Whether this group is left for a change, once the batch has bound what it can."""
    return f"NOT dead AND mask IN ({', '.join(map(str, case.masks))})"


def _piece(names: Names, piece: Piece) -> Sql:
    return f"named_struct('piece', {piece.number}, 'key', {names.bound(piece.group.bound)})"


def needed(names: Names, missed: DataFrame, left: Sequence[tuple[Case, Piece]]) -> DataFrame:
    """The pieces that missed insertions of one subgoal need: `piece`, `key`."""
    structs = [if_(is_left(case), _piece(names, piece)) for case, piece in left]
    return exploded(missed, (), structs, "piece")


def settled_answers(
    names: Names,
    pieces: Sequence[Piece],
    wanted: DataFrame,
    missed: Mapping[int, DataFrame],
    evidence: DataFrame,
) -> DataFrame:
    """What the settled view answers: `piece`, `key`, `g`. Pieces without an answer are left out.

    What the last join gives is not kept yet: see `Names.finished`.

    Args:
        wanted: distinct `piece`, `key`.
        missed: the missed changes of each changed subgoal.
    """
    structs = [
        if_(
            f"piece = {piece.number} AND {way.condition}",
            f"named_struct('f', {way.family}, 'k', {way.key})",
        )
        for piece in pieces
        for way in piece.ways
    ]
    if not structs:
        return wanted.where("false").selectExpr("piece", "key", f"{names.mask({})} AS g")
    variables = [f"key.x{n} AS x{n}" for n in range(len(names.types))]
    unpacked = names.constants.on(wanted.selectExpr("piece", "key", *variables))
    made = exploded(unpacked, ("piece", "key"), structs, "f")
    altered = _altered(names, pieces, wanted, missed)
    found = names.joined_on(made, evidence, ("f", "k"), is_last=altered is None)
    found = found.selectExpr("piece", "key", "g").distinct()
    return (
        found if altered is None else names.filtered(found, altered, ("piece", "key"), "left_anti")
    )


def _altered(
    names: Names, pieces: Sequence[Piece], wanted: DataFrame, missed: Mapping[int, DataFrame]
) -> DataFrame | None:
    """Pieces whose answer a missed change may alter.

    That is a change of one of its subgoals that does not differ on the key's variables.
    """
    checks = [
        (piece.number, subgoal, shared)
        for piece in pieces
        for subgoal, shared in piece.checked
        if subgoal in missed
    ]
    if not checks:
        return None
    of_pieces, of_changes = [], []
    for number, (piece, subgoal, shared) in enumerate(checks):
        terms = names.query.atoms[subgoal].terms
        of_key = names.binding(shared, lambda var: f"key.{names.variable(var)}")
        at = {var: f"c{terms.index(var)}" for var in shared}
        of_pieces.append(
            if_(f"piece = {piece}", f"named_struct('check', {number}, 'shared', {of_key})")
        )
        of_changes.append(
            missed[subgoal].selectExpr(
                f"{number} AS check", f"{names.binding(shared, at.__getitem__)} AS shared"
            )
        )
    asked = exploded(wanted, ("piece", "key"), of_pieces, "check")
    changes = names.together(of_changes).distinct()
    hits = names.filtered(asked, changes, ("check", "shared"), "left_semi")
    return hits.selectExpr("piece", "key").distinct()


def completed_rows(
    names: Names,
    missed: DataFrame,
    left: Sequence[tuple[Case, Piece]],
    answers: DataFrame | None,
) -> DataFrame:
    """The view rows that missed insertions of one subgoal add, once all pieces have answers.

    What the last join gives is not kept yet: see `Names.finished`.

    Args:
        answers: None where nothing was left to ask.
    """
    query = names.query
    wanted = (if_(is_left(case), names.bound(piece.group.bound)) for case, piece in left)
    shown = [term for term in query.head if isinstance(term, Const) or term in names.types]
    rows = missed.where("NOT dead").selectExpr(
        *(f"{key} AS wanted{n}" for n, key in enumerate(wanted)),
        *dict.fromkeys(map(names.term, shown)),
    )
    given: dict[Var, list[Sql]] = {}
    # Pieces that may have several answers come last.
    several = [n for n, (_, piece) in enumerate(left) if not has_one_answer(query, piece)]
    order = [n for n in range(len(left)) if n not in several] + several
    if names.is_small and left:
        # So that there are never many more rows on the way than there are new ones: insertions that
        # look the same come once, and those that some piece has no answer for do not come at all.
        rows = rows.distinct()
        for n in several[1:]:
            rows = _answered(names, rows, n, left[n][1], answers)
    for joins, n in enumerate(order, 1):
        piece, is_last = left[n][1], joins == len(order)
        name = f"g{piece.number}"
        rows = _answered(names, rows, n, piece, answers, (f"g AS {name}",), is_last=is_last).drop(
            f"wanted{n}"
        )
        rows = names.kept_now_and_then(rows, joins)
        for var in piece.wanted:
            given.setdefault(var, []).append(f"{name}.h{query.columns[var]}")
    cells = []
    for i, (term, kind) in enumerate(zip(query.head, names.head, strict=True)):
        if isinstance(term, Const):
            value = names.constants.name(term)
        else:  # bound by the change or the batch, or else by one group
            own = [names.variable(term)] if term in names.types else []
            value = f"coalesce({', '.join([*own, *given.get(term, []), 'NULL'])})"
        cells.append(f"CAST({value} AS {kind}) AS h{i}")
    return rows.selectExpr(*cells).distinct()


def has_one_answer(query: Query, piece: Piece) -> bool:
    """Whether declared keys leave one answer at most for any values of the bound variables."""
    group = piece.group
    return determined(query, group.bound, group.subgoals).issuperset(piece.wanted)


def _answered(
    names: Names,
    rows: DataFrame,
    n: int,
    piece: Piece,
    answers: DataFrame | None,
    columns: Sequence[Sql] = (),
    *,
    is_last: bool = False,
) -> DataFrame:
    """The rows with these columns of the answers to what they want as `wanted{n}`, if anything.

    Those that want a piece without an answer are left out.
    """
    assert answers is not None
    found = answers.where(f"piece = {piece.number}").selectExpr("key AS answered", *columns)
    found = found if columns else found.distinct()
    rows = names.joined(rows, found, f"wanted{n} = answered", is_last=is_last)
    return rows.where(f"wanted{n} IS NULL OR answered IS NOT NULL").drop("answered")


def with_open(
    names: Names,
    frame: DataFrame,
    left: Sequence[tuple[Case, Piece]],
    open_pieces: DataFrame | None,
) -> DataFrame:
    """The parts with `pieces`, how many a missed insertion needs, and whether one is `open`.

    An open piece is left for the source.
    """
    if open_pieces is None or not left:
        return with_columns(frame, {"pieces": "0", "open": "false"})
    needs = [(f"insert AND kind = {MISS} AND {is_left(case)}", piece) for case, piece in left]
    frame = with_columns(frame, {"pieces": " + ".join(if_(need, "1", "0") for need, _ in needs)})
    structs = [if_(need, _piece(names, piece)) for need, piece in needs]
    asked = exploded(frame, ("id",), structs, "piece")
    open_ones = names.filtered(asked, open_pieces, ("piece", "key"), "left_semi")
    waiting = open_ones.selectExpr("id", "true AS open").distinct()
    frame = names.joined_on(frame, waiting, ("id",), "left")
    return with_changed(frame, {"open": certain("open")})
