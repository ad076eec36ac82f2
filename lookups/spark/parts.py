"""A change as it meets one subgoal: everything that the batch alone says about it.

One frame per changed subgoal, a row per change of its relation:

    id, insert       which change, and its action
    c0, c1, ...      the change's row
    q0, q1, ...      the constants of the query
    failed           the number of the first test of the screen that it fails; NULL: it matches
    unseen           the batch also does the opposite to a row that looks the same to the view
    kept0, ...       the batch replaces the row by one with the same key, per key referred to
    fleeting         it makes such a key come or go
    taken            a deletion: its key belongs to an inserted row that is there already
    guard0, ...      the batch changes the row that a lookup would vouch for
    mask, dead       an insertion: which subgoals the batch binds, and whether that leaves nothing
    x0, x1, ...      an insertion: the variables bound by the change and by the batch
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from cq.query import Query
from cq.roles import roles
from cq.syntax import Var
from lookups.plan import Step
from lookups.spark.bindings import Resolution, bind
from lookups.spark.changes import Kinds
from lookups.spark.columns import (
    Names,
    Sql,
    all_of,
    any_of,
    certain,
    with_changed,
    with_columns,
)
from lookups.spark.probes import Guard, Probes
from lookups.spark.screens import first_failed, tests_of


@dataclass(frozen=True, slots=True)
class Open:
    """Which parts of a subgoal the batch alone leaves open.

    Args:
        inserts, deletes: some of these are to be looked up.
        waiting: some deletions make a key go for good, and it may be kept alive; see `rounds`.
        masks: what the batch binds for insertions that are looked up; None: that is not known.
    """

    inserts: bool
    deletes: bool
    waiting: bool
    masks: frozenset[int] | None

    @classmethod
    def maybe(cls, kinds: Kinds) -> Open:
        """All that may be, before anything is computed."""
        return cls(kinds.inserts, kinds.deletes, kinds.deletes, None)


@dataclass(frozen=True, slots=True)
class Changed:
    """One changed subgoal: its frame of parts and its steps."""

    subgoal: int
    kinds: Kinds
    insert: Probes
    delete: Probes
    frame: DataFrame
    open: Open

    @property
    def is_open(self) -> bool:
        """Whether anything is to be decided that the batch alone does not settle."""
        return self.open.inserts or self.open.deletes or self.open.waiting


OPEN: Sql = "failed IS NULL AND NOT unseen"
"""Parts that are still to be decided by lookups, or put off."""

LOOKED_UP: Sql = f"{OPEN} AND NOT fleeting"


def parts_of(
    names: Names,
    changes: Mapping[str, DataFrame],
    subgoal: int,
    kinds: Kinds,
    insert: Probes,
    delete: Probes,
    resolutions: Sequence[Resolution],
) -> DataFrame:
    """The parts of `subgoal`, kept."""
    query, both = names.query, kinds.both
    relation = query.by_name[query.atoms[subgoal].predicate]
    frame = names.constants.on(changes[relation.name])
    tests = tests_of(names.constants, relation, insert.step.screen)
    kept = {
        f"kept{n}": _both(key, "insert", "NOT insert") if both else "false"
        for n, key in enumerate(child_keys(insert.step))
    }
    # Columns that do not need each other come together: each step is analysed by itself.
    frame = with_columns(frame, {"failed": first_failed(tests), **kept})
    unseen = _unseen(query, subgoal) if both else "false"
    fleeting = any_of(f"NOT {name}" for name in kept)
    frame = with_columns(frame, {"unseen": unseen, "fleeting": fleeting})
    taken = _taken(delete.step) if both else "false"
    bound = {**_start(names, subgoal), "mask": "0", "dead": "false"}
    frame = with_columns(frame, {"taken": taken, **bound})
    guards = len(insert.guards)
    for number, guard in enumerate(insert.guards, 1):
        is_last = number == guards and not resolutions
        frame = _guarded(names, frame, f"guard{number - 1}", guard, changes, is_last=is_last)
        frame = names.kept_now_and_then(frame, number)
    others = roles(query, subgoal).tests
    frame = bind(names, frame, changes, resolutions, others, joins=guards)
    return names.finished(frame) if guards or resolutions else names.kept(frame)


def open_parts(names: Names, frames: Mapping[int, DataFrame]) -> dict[int, Open]:
    """What is open of each subgoal; one job, which computes the parts.

    Most subgoals of a batch that changes many relations have nothing open: a new order makes its
    key come, and a part's price is nothing that the view shows. What is not there needs no plan.
    """
    mask = "CASE WHEN insert AND NOT fleeting AND NOT dead THEN mask END AS mask"
    lines = [
        frame.where(OPEN).selectExpr(f"{subgoal} AS subgoal", "insert", "fleeting", mask).distinct()
        for subgoal, frame in frames.items()
    ]
    found = {
        (row["subgoal"], row["insert"], row["fleeting"], row["mask"])
        for row in names.together(lines).collect()
    }
    kinds = {line[:3] for line in found}
    return {
        subgoal: Open(
            inserts=(subgoal, True, False) in kinds,
            deletes=(subgoal, False, False) in kinds,
            waiting=(subgoal, False, True) in kinds,
            masks=frozenset(
                line[3] for line in found if line[0] == subgoal and line[3] is not None
            ),
        )
        for subgoal in frames
    }


def child_keys(step: Step) -> tuple[tuple[int, ...], ...]:
    """The keys of a relation that foreign keys of the view refer to."""
    return tuple(dict.fromkeys(child.key for child in step.children))


def over(columns: Sequence[int]) -> Sql:
    """Over all changes of the relation with the same values in these columns."""
    by = ", ".join(f"c{i}" for i in columns)
    return f"OVER (PARTITION BY {by or '0'})"


def _both(columns: Sequence[int], insert: Sql, delete: Sql) -> Sql:
    """Whether rows with the same values in these columns include one of each kind."""
    alike = over(columns)
    return f"max({insert}) {alike} AND max({delete}) {alike}"


def _unseen(query: Query, subgoal: int) -> Sql:
    """Deleted and inserted rows that the view cannot tell apart cancel out."""
    found = roles(query, subgoal)
    seen = {*found.join, *(var for var in found.own if var in query.columns)}
    terms = query.atoms[subgoal].terms
    if all(term in seen for term in terms if isinstance(term, Var)):
        return "false"  # rows that match and look the same are the same row
    at = [i for i, term in enumerate(terms) if term in seen]
    both = _both(at, "failed IS NULL AND insert", "failed IS NULL AND NOT insert")
    return f"failed IS NULL AND {both}"


def _taken(step: Step) -> Sql:
    """Deletions whose exposed key a row has that appeared before: see `settle.is_key_taken`."""
    if not step.key:
        return "false"
    there = "insert AND failed IS NULL AND (unseen OR fleeting)"
    return f"NOT insert AND max({there}) {over(step.key)}"


def _guarded(
    names: Names,
    frame: DataFrame,
    name: str,
    guard: Guard,
    changes: Mapping[str, DataFrame],
    *,
    is_last: bool,
) -> DataFrame:
    if guard.relation not in changes:
        return with_columns(frame, {name: "false"})
    keys = [f"k{n}" for n in range(len(guard.columns))]
    picked = [f"c{i} AS {key}" for i, key in zip(guard.columns, keys, strict=True)]
    changed = changes[guard.relation].selectExpr(*picked, f"true AS {name}").distinct()
    values = zip(keys, guard.values, strict=True)
    same = all_of(f"{key} <=> {names.given(ref)}" for key, ref in values)
    frame = names.joined(frame, changed, same, is_last=is_last).drop(*keys)
    return with_changed(frame, {name: certain(name)})


def _start(names: Names, subgoal: int) -> dict[str, Sql]:
    """The variables that an insertion binds by itself."""
    terms = names.query.atoms[subgoal].terms
    return {
        names.variable(var): f"CAST({f'c{terms.index(var)}' if var in terms else 'NULL'} AS {kind})"
        for var, kind in names.types.items()
    }
