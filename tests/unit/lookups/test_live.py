"""Rows that come and go: the same answers as a new index of the rows that are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cq.types import Row
from lookups.index import RowIndex
from lookups.live import LiveIndex, Pattern
from selfmaint import InputError

PATTERNS = ((), (0,), (1, 2), (0, 1, 2))
GIVES = ((), (1,), (2, 0))
LOOKUPS = tuple(product(PATTERNS, GIVES))
VALUES = (0, 1, None)


def assert_same_answers(live: RowIndex, rows: frozenset[Row]) -> None:
    fresh = RowIndex(rows, 3)
    assert live.rows == rows
    for columns in PATTERNS:
        for values in product(VALUES, repeat=len(columns)):
            assert live.has(columns, values) == fresh.has(columns, values)
            assert live.matching(columns, values) == fresh.matching(columns, values)
            for gives in GIVES:
                expected = fresh.distinct(columns, values, gives)
                assert live.distinct(columns, values, gives) == expected
    everything = frozenset(product(VALUES, repeat=3))
    assert live.absent(everything) == everything - rows


rows = st.frozensets(st.tuples(*[st.sampled_from(VALUES)] * 3), max_size=12)
changes = st.tuples(rows, rows, st.booleans())
hints = st.tuples(st.frozensets(st.integers(0, 2)), st.frozensets(st.sampled_from(LOOKUPS)))


def shown(rows: frozenset[Row], columns: Iterable[int]) -> set[Row]:
    return {tuple(row[i] for i in columns) for row in rows}


@given(rows, st.lists(changes, max_size=6))
def test_a_live_index_answers_like_a_new_one(
    before: frozenset[Row], steps: list[tuple[frozenset[Row], frozenset[Row], bool]]
) -> None:
    live, expected = LiveIndex(before, 3), before
    for removed, added, is_looked_at in steps:
        after = (expected - removed) | added
        live.update(expected - after, after - expected)
        expected = after
        assert len(live) == len(expected)
        if is_looked_at:  # otherwise the change waits in the backlog
            assert_same_answers(live, expected)
    assert_same_answers(live, expected)


@given(rows, st.lists(st.tuples(changes, hints), max_size=6))
def test_what_is_known_of_rows_changes_no_answer(
    before: frozenset[Row],
    steps: list[
        tuple[
            tuple[frozenset[Row], frozenset[Row], bool],
            tuple[frozenset[int], frozenset[Pattern]],
        ]
    ],
) -> None:
    live, expected = LiveIndex(before, 3), before
    assert_same_answers(live, expected)
    for (removed, wanted, is_shrinking), (columns, lookups) in steps:
        gone = expected & removed if is_shrinking else frozenset()
        added = wanted - expected
        same = {i for i in columns if max(len(shown(gone, [i])), len(shown(added, [i]))) < 2}
        left = expected - gone
        answered = {(at, of) for at, of in lookups if shown(added, at + of) <= shown(left, at + of)}
        live.update(gone, added, frozenset(same), frozenset(answered))
        expected = left | added
        assert_same_answers(live, expected)


@given(rows, rows, rows)
def test_a_change_on_top_of_a_live_index(
    before: frozenset[Row], removed: frozenset[Row], added: frozenset[Row]
) -> None:
    live = LiveIndex(before, 3)
    on_top = live.changed(removed, added)
    assert_same_answers(on_top, (before - removed) | added)
    assert on_top.added == added - before
    assert on_top.removed == (before - removed - added) ^ (before - added)
    assert_same_answers(live, before)


def test_a_value_stays_while_one_row_shows_it() -> None:
    live = LiveIndex([(1, "a"), (1, "b"), (2, "a")], 2)
    assert live.distinct((1,), ("a",), (0,)) == {(1,), (2,)}
    live.update(frozenset({(1, "a")}), frozenset())
    assert live.distinct((1,), ("a",), (0,)) == {(2,)}
    assert live.has((0,), (1,))
    live.update(frozenset({(1, "b")}), frozenset())
    assert not live.has((0,), (1,))


def test_the_caller_is_believed() -> None:
    live = LiveIndex([(1, 1, 1)], 3)
    assert live.has((0, 1), (1, 1))
    assert live.distinct((0,), (1,), (2,)) == {(1,)}
    live.update(frozenset(), frozenset({(1, 2, 1)}), frozenset({0, 1}), frozenset({((0,), (2,))}))
    assert live._nothing is set
    assert live.has((0, 1), (1, 2))
    live.update(frozenset({(1, 1, 1)}), frozenset())
    assert live._nothing is Counter  # from now on it matters how many rows show a value
    assert live.distinct((0,), (1,), (2,)) == {(1,)}
    live.update(frozenset(), frozenset({(1, 3, 1)}), frozenset({0, 1}), frozenset({((0,), (2,))}))
    assert live.distinct((0,), (1,), (2,)) == {(1,)}
    live.update(frozenset({(1, 2, 1)}), frozenset())
    assert live.distinct((0,), (1,), (2,)) == {(1,)}
    live.update(frozenset({(1, 3, 1)}), frozenset())
    assert live.distinct((0,), (1,), (2,)) == set()


def test_rows_that_nobody_looks_up_are_not_indexed() -> None:
    live = LiveIndex([(0, 0)], 2)
    live.update(frozenset({(0, 0)}), frozenset())
    live.update(frozenset(), frozenset({(1, 2), (3, 4)}))
    assert live.has((0,), (1,))
    live.update(frozenset(), frozenset({(5, 6)}))
    assert live._behind == 1
    live.update(frozenset(), frozenset((i, i) for i in range(10, 20)))
    assert live._behind == 11  # not more than the view has: still worth catching up
    live.update(frozenset((i, i) for i in range(10, 20)), frozenset())
    assert live._behind == 0  # forgotten: the next lookup reads the view
    assert live.has((0,), (5,))


def test_a_row_comes_once_and_goes_once() -> None:
    live = LiveIndex([(1, 2)], 2)
    with pytest.raises(AssertionError):
        live.update(frozenset(), frozenset({(1, 2)}))
    with pytest.raises(AssertionError):
        live.update(frozenset({(3, 4)}), frozenset())


def test_rows_of_another_width_than_the_view() -> None:
    with pytest.raises(InputError):
        LiveIndex([(1, 2)], 3)


def test_changes_that_change_nothing_leave_nothing_behind() -> None:
    live = LiveIndex([(0, 0, 0)], 3)
    assert live.has((0,), (0,))  # there is an index that could fall behind
    for _ in range(3):
        live.update(frozenset(), frozenset())
    assert not live._backlog
