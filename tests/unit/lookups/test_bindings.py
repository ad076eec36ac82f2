"""What a batch may bind for an insertion, as a plan of joins: each at most once for what is new."""

from __future__ import annotations

import pytest

import selfmaint

pytest.importorskip("pyspark")


def test_a_chain_is_followed_without_going_back() -> None:
    from lookups.spark.bindings import resolutions

    relations = [f"r{i}" for i in range(6)]
    declared = "\n".join(f".decl {name}(a: long, b: long) key(a)" for name in relations)
    body = ", ".join(f"r{i}(X{i}, X{i + 1})" for i in range(6))
    query = selfmaint.parse(f"{declared}\nv(X0, X6) :- {body}.").view("v").query
    found = [[step.subgoal for step in resolutions(query, i, relations)] for i in range(6)]
    # Each subgoal binds the next one's key, and the whole chain is five joins, not fifteen.
    assert found == [[1, 2, 3, 4, 5], [2, 3, 4, 5], [3, 4, 5], [4, 5], [5], []]
