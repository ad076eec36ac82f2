"""Rows with indexes: the same answers as plain rows."""

from __future__ import annotations

import pytest

import selfmaint
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
