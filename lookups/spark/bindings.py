"""What the batch itself tells a missed insertion, for all of them at once.

A subgoal whose declared key is bound, and whose key the batch changed, is the inserted row or
nothing; so is a subgoal that is bound as a whole. Its variables are then bound too. Which subgoals
that is differs from change to change: each carries a mask of those that the batch has bound.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from cq.partition import Group, partition
from cq.query import Query
from cq.roles import roles
from cq.syntax import Comparison, Const, Var
from lookups.evaluate import is_known
from lookups.spark.columns import (
    Names,
    Sql,
    all_of,
    any_of,
    certain,
    holds,
    if_,
    not_,
    with_changed,
    with_columns,
)

MOST_BOUND = 8
"""Subgoals that the batch may bind for one change; what depends on more is asked elsewhere. Each
set of them is a case of its own."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Ask the batch for the row of `subgoal` that has the bound key `key`."""

    subgoal: int
    key: tuple[int, ...]
    bit: int


def resolutions(query: Query, updated: int, relations: Collection[str]) -> tuple[Resolution, ...]:
    """What a batch of these relations may bind for an insertion into `updated`, in order.

    A subgoal comes again when one that came before it may have bound another of its variables.
    """
    given = set(query.variables[updated])
    rest = [i for i in roles(query, updated).rest if query.atoms[i].predicate in relations]
    possible, fresh = set(given), set(given)
    bits: dict[int, int] = {}
    found: list[Resolution] = []
    for turn in range(len(rest)):
        bound: set[Var] = set()
        for subgoal in rest:
            for key in _keys(query, subgoal):
                variables = _variables(query, subgoal, key)
                is_new = bool(variables & fresh) or (turn == 0 and not variables)
                if variables <= possible and is_new:
                    if subgoal not in bits and len(bits) == MOST_BOUND:
                        continue
                    number = bits.setdefault(subgoal, len(bits))
                    found.append(Resolution(subgoal, key, number))
                    bound |= set(query.variables[subgoal]) - variables
        fresh = bound - given
        possible |= fresh
        if not fresh:
            break
    return tuple(found)


def _keys(query: Query, subgoal: int) -> tuple[tuple[int, ...], ...]:
    """The declared keys; without one the whole row, which no two rows share either."""
    atom = query.atoms[subgoal]
    return query.by_name[atom.predicate].keys or (tuple(range(len(atom.terms))),)


def _variables(query: Query, subgoal: int, columns: Sequence[int]) -> set[Var]:
    terms = query.atoms[subgoal].terms
    return {term for i in columns if isinstance(term := terms[i], Var)}


def bind(
    names: Names,
    frame: DataFrame,
    changes: Mapping[str, DataFrame],
    steps: Sequence[Resolution],
    tests: Sequence[Comparison],
    *,
    joins: int,
) -> DataFrame:
    """Bind what the batch knows, and find out where that leaves nothing to join with.

    What the last join gives is not kept yet: see `Names.finished`.

    Args:
        joins: how many the frame is already made of.
    """
    frame = _tested(names, frame, tests)
    for number, step in enumerate(steps, 1):
        frame = _resolved(names, frame, changes, step, is_last=number == len(steps))
        frame = names.kept_now_and_then(_tested(names, frame, tests), joins + number)
    return frame


def _tested(names: Names, frame: DataFrame, tests: Sequence[Comparison]) -> DataFrame:
    failed = []
    for test in tests:
        variables = [side for side in (test.left, test.right) if isinstance(side, Var)]
        if all(var in names.types for var in variables):
            known = [f"{names.variable(var)} IS NOT NULL" for var in variables]
            failed.append(all_of([*known, not_(names.comparison(test))]))
    return with_changed(frame, {"dead": any_of(["dead", *failed])}) if failed else frame


def _resolved(
    names: Names,
    frame: DataFrame,
    changes: Mapping[str, DataFrame],
    step: Resolution,
    *,
    is_last: bool,
) -> DataFrame:
    atom = names.query.atoms[step.subgoal]
    cells = ", ".join(f"'r{i}', c{i}" for i in range(len(atom.terms)))
    keys = [f"k{i}" for i in step.key]
    known = (
        changes[atom.predicate]
        .groupBy(*(sf.col(f"c{i}").alias(f"k{i}") for i in step.key))
        .agg(
            sf.expr(f"max({if_('insert', f'named_struct({cells})')}) AS row"),
            sf.expr("true AS changed"),
        )
    )
    same = all_of(f"k{i} = {names.term(atom.terms[i])}" for i in step.key)
    frame = names.joined(frame, known, same, is_last=is_last).drop(*keys)

    bit = 1 << step.bit
    hit = f"insert AND NOT dead AND (mask & {bit}) = 0 AND {certain('changed')}"
    fits, new = _match(names, step.subgoal)
    frame = with_columns(frame, {"hit": hit})
    frame = with_columns(frame, {"resolved": f"hit AND row IS NOT NULL AND {fits}"})
    columns = {
        name: if_("resolved", f"coalesce({name}, {value})", name) for name, value in new.items()
    }
    columns["mask"] = if_("resolved", f"mask | {bit}", "mask")
    columns["dead"] = "dead OR (hit AND NOT resolved)"
    return with_changed(frame, columns).drop("row", "changed", "hit", "resolved")


def _match(names: Names, subgoal: int) -> tuple[Sql, dict[str, Sql]]:
    """Whether the batch's row fits what is bound, and the variables that it binds."""
    query = names.query
    conditions: list[Sql] = []
    new: dict[str, Sql] = {}
    for position, term in enumerate(query.atoms[subgoal].terms):
        value = f"row.r{position}"
        if isinstance(term, Const):
            conditions.append(holds("=", value, names.constants.name(term)))
            continue
        name = names.variable(term)
        before = new.get(name, name)
        # Only a variable that nothing else uses may hold NULL, so NULL means: not yet bound.
        conditions.append(f"{before} IS NULL OR {holds('=', before, value)}")
        if term in query.non_null:
            conditions.append(f"{value} IS NOT NULL")
        new.setdefault(name, value)
    return all_of(conditions), new


@dataclass(frozen=True, slots=True)
class Case:
    """A group that is left when the batch has bound some subgoals, and for which masks it is."""

    group: Group
    masks: tuple[int, ...]


def cases(
    query: Query, updated: int, steps: Sequence[Resolution], masks: Collection[int] | None
) -> tuple[Case, ...]:
    """Every group that may be left for an insertion into `updated`.

    Args:
        masks: the sets of subgoals that the batch binds for any; None: that may be any set.
    """
    subgoals = {step.bit: step.subgoal for step in steps}
    found: dict[Group, list[int]] = {}
    for mask in range(1 << len(subgoals)) if masks is None else sorted(masks):
        bound = [subgoal for bit, subgoal in subgoals.items() if mask & (1 << bit)]
        for group in left(query, updated, bound):
            found.setdefault(group, []).append(mask)
    return tuple(Case(group, tuple(of)) for group, of in found.items())


def left(query: Query, updated: int, bound: Collection[int]) -> tuple[Group, ...]:
    """The groups that are left when these subgoals are bound."""
    role = roles(query, updated)
    known = {var for i in (updated, *bound) for var in query.variables[i]}
    rest = [i for i in role.rest if i not in bound]
    tests = [test for test in role.tests if not is_known(test, known)]
    return partition(query, rest, tests, known)
