"""Whether a change matches a subgoal, and which views a batch touches at all.

A program may have many views, and most batches concern few of them: an order from France has
nothing to do with what was sold in Peru. Their screens are tested together, before anything is
planned for a single view: E. Hanson, *A Performance Analysis of View Materialization Strategies*
(1986), screens changes against all views at once, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame

from cq.query import Query
from cq.schema import Relation
from cq.syntax import Const
from cq.types import Type, constant_type
from lookups.emit import emit_step
from lookups.plan import Ref, Screen
from lookups.spark.changes import Changes, rows_of
from lookups.spark.columns import Constants, Sql, all_of, balanced, compares, holds


def tests_of(constants: Constants, relation: Relation, screen: Screen) -> list[Sql]:
    """What a change must pass, in the order in which the reference tests it."""

    def kind(ref: Ref) -> Type:
        if isinstance(ref, Const):
            return constant_type(ref.value)
        return relation.columns[ref.position].type

    tests = ["false"] if screen.is_closed else []
    tests += [holds("=", f"c{i}", constants.name(const)) for i, const in screen.constants]
    tests += [f"c{i} IS NOT NULL" for i in screen.non_null]
    tests += [holds("=", f"c{first}", f"c{second}") for first, second in screen.equal]
    tests += [
        compares(
            test.operator,
            constants.given(test.left),
            constants.given(test.right),
            kind(test.left),
            kind(test.right),
        )
        for test in screen.tests
    ]
    return tests


def first_failed(tests: Sequence[Sql]) -> Sql:
    """The number of the first test that fails; NULL if all pass."""
    cases = " ".join(f"WHEN NOT ({test}) THEN {number}" for number, test in enumerate(tests))
    return f"CAST({f'CASE {cases} END' if cases else 'NULL'} AS int)"


def touched(queries: Sequence[Query], changes: Mapping[str, Changes]) -> list[bool]:
    """For each view, whether a change of the batch matches one of its subgoals.

    Where none does, every change is irrelevant to the view by its screen. It is enough that none
    does: a change that fails the screen may still tell others what its key is worth, so of a view
    that is touched nothing is left out.

    At most one job, and none where every view has a subgoal that takes any row of a relation that
    changes. NULL alone is not looked for.
    """
    constants = Constants(queries)
    tests = [_tests(constants, query, changes) for query in queries]
    doubtful = dict.fromkeys(test for of_view in tests for test in of_view or ())
    passing = _passing(constants, changes, doubtful)
    return [of_view is None or not passing.isdisjoint(of_view) for of_view in tests]


def _tests(
    constants: Constants, query: Query, changes: Mapping[str, Changes]
) -> list[tuple[str, Sql]] | None:
    """By relation, what its changes must pass to meet a subgoal; None if one takes any row."""
    found = []
    for subgoal, atom in enumerate(query.atoms):
        if atom.predicate not in changes:
            continue
        screen = emit_step(query, subgoal, "insert").screen  # the same for both actions
        if screen == Screen(non_null=screen.non_null):
            return None
        tests = tests_of(constants, query.by_name[atom.predicate], screen)
        found.append((atom.predicate, all_of(tests)))
    return found


def _passing(
    constants: Constants, changes: Mapping[str, Changes], tests: Iterable[tuple[str, Sql]]
) -> set[tuple[str, Sql]]:
    """The tests that some change of their relation passes."""
    by_relation: dict[str, list[Sql]] = {}
    for name, test in tests:
        by_relation.setdefault(name, []).append(test)
    frames = [
        constants.on(rows_of(changes[name])).selectExpr(
            f"{place} AS place", f"array({', '.join(f'bool_or({each})' for each in listed)}) AS met"
        )
        for place, (name, listed) in enumerate(by_relation.items())
    ]
    if not frames:
        return set()
    relations = list(by_relation.items())
    found = set()
    for row in balanced(DataFrame.unionByName, frames).collect():
        name, listed = relations[row["place"]]
        found |= {(name, test) for test, is_met in zip(listed, row["met"], strict=True) if is_met}
    return found
