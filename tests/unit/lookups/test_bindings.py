"""What a batch may bind for an insertion, as a plan of joins: each at most once for what is new."""

from __future__ import annotations

import pytest

import selfmaint
from cq.query import Query

pytest.importorskip("pyspark")


RELATIONS = [f"r{i}" for i in range(6)]


@pytest.fixture
def chain() -> Query:
    declared = "\n".join(f".decl {name}(a: long, b: long) key(a)" for name in RELATIONS)
    body = ", ".join(f"r{i}(X{i}, X{i + 1})" for i in range(6))
    return selfmaint.parse(f"{declared}\nv(X0, X6) :- {body}.").view("v").query


def test_a_chain_is_followed_without_going_back(chain: Query) -> None:
    from lookups.spark.bindings import resolutions

    found = [[step.subgoal for step in resolutions(chain, i, RELATIONS)] for i in range(6)]
    # Each subgoal binds the next one's key, and the whole chain is five joins, not fifteen.
    assert found == [[1, 2, 3, 4, 5], [2, 3, 4, 5], [3, 4, 5], [4, 5], [5], []]


EVERY = {(0, 1, 2): (0, 1, 2, 3), (4, 5): (0,), (5,): (1,), (4,): (2,)}


@pytest.mark.parametrize(
    ("masks", "expected"),
    [
        (None, EVERY),
        ({0, 3}, {(0, 1, 2): (0, 3), (4, 5): (0,)}),
        ({1}, {(0, 1, 2): (1,), (5,): (1,)}),
        (set(), {}),
    ],
)
def test_groups_are_left_for_the_sets_that_the_batch_binds(
    chain: Query, masks: set[int] | None, expected: dict[tuple[int, ...], tuple[int, ...]]
) -> None:
    from lookups.spark.bindings import cases, resolutions

    steps = resolutions(chain, 3, RELATIONS)
    assert [(step.subgoal, step.bit) for step in steps] == [(4, 0), (5, 1)]
    found = {case.group.subgoals: case.masks for case in cases(chain, 3, steps, masks)}
    assert found == expected
