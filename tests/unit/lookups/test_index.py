"""Rows with indexes: the same answers as plain rows."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import selfmaint
from cq.types import Row
from lookups.index import RowIndex
from selfmaint import InputError

ROWS = [(1, "a", None), (1, "b", 3), (2, "a", 3)]


def test_has() -> None:
    index = selfmaint.index(ROWS)
    assert index.has((0,), (1,))
    assert index.has((0, 1), (1, "b"))
    assert not index.has((0, 1), (2, "b"))
    assert index.has((2,), (None,))
    assert index.has((), ())
    assert not selfmaint.index([]).has((), ())


def test_distinct() -> None:
    index = selfmaint.index(ROWS)
    assert index.distinct((0,), (1,), (1,)) == {("a",), ("b",)}
    assert index.distinct((), (), (2, 0)) == {(None, 1), (3, 1), (3, 2)}
    assert index.distinct((0,), (1,), ()) == {()}
    assert index.distinct((0,), (9,), (1,)) == set()


def test_matching() -> None:
    assert selfmaint.index(ROWS).matching((1,), ("a",)) == {(1, "a", None), (2, "a", 3)}


def test_changed_is_a_new_index() -> None:
    index = selfmaint.index(ROWS)
    index.has((0,), (1,))
    after = index.changed([(1, "a", None), (1, "b", 3)], [(5, "c", 6)])
    assert not after.has((0,), (1,))
    assert after.has((0,), (5,))
    assert index.rows == set(ROWS)


def test_changed_adds_what_it_also_removes() -> None:
    assert selfmaint.index([(1,)]).changed([(1,)], [(1,)]).rows == {(1,)}


def test_an_index_of_no_rows_can_grow() -> None:
    assert selfmaint.index([]).changed([], [(1, 2)]).rows == {(1, 2)}


def test_rows_may_be_lists_and_repeat() -> None:
    assert selfmaint.index([[1, 2], (1, 2)]).rows == {(1, 2)}


def test_boolean_view() -> None:
    assert selfmaint.index([()]).has((), ())


@pytest.mark.parametrize("rows", [[(1,), (1, 2)], [([],)], [7]])
def test_no_rows_of_a_view(rows: list) -> None:
    with pytest.raises(InputError):
        RowIndex(rows)


def test_rows_of_another_width_than_the_view() -> None:
    plan = selfmaint.parse("v(X, Y, Z) :- r(X, Y), s(Y, Z).").view("v").plan("r", "insert")
    with pytest.raises(InputError) as caught:
        plan.decide([(1, 2)], (1, 2))
    assert caught.value.code == "LP202"
    with pytest.raises(InputError) as caught:
        plan.decide(selfmaint.index([(1, 2)]), (1, 2))
    assert caught.value.code == "LP202"


def test_decide_takes_an_index() -> None:
    plan = selfmaint.parse("v(X, Y, Z) :- r(X, Y), s(Y, Z).").view("v").plan("r", "insert")
    rows = [(9, 2, 5)]
    assert plan.decide(selfmaint.index(rows), (1, 2)) == plan.decide(rows, (1, 2))


rows = st.frozensets(st.tuples(*[st.integers(0, 2)] * 3), max_size=20)


@given(rows, st.lists(st.tuples(rows, rows), max_size=3))
def test_a_changed_index_answers_like_a_new_one(
    before: frozenset[Row], changes: list[tuple[frozenset[Row], frozenset[Row]]]
) -> None:
    changed = RowIndex(before, 3)
    expected = before
    for removed, added in changes:
        changed = changed.changed(removed, added)
        expected = (expected - removed) | added
    fresh = RowIndex(expected, 3)
    assert changed.rows == fresh.rows
    assert changed.added == expected - before
    assert changed.removed == before - expected
    for columns in ((), (0,), (1, 2), (0, 1, 2)):
        for values in product(range(3), repeat=len(columns)):
            assert changed.has(columns, values) == fresh.has(columns, values)
            assert changed.matching(columns, values) == fresh.matching(columns, values)
            for gives in ((), (1,), (2, 0)):
                found = changed.distinct(columns, values, gives)
                assert found == fresh.distinct(columns, values, gives)
    everything = frozenset(product(range(3), repeat=3))
    assert changed.absent(everything) == everything - expected
