"""When an index is worth it, and when it is given up. What it holds is tested on Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from lookups.spark.indexing import LEAST_ALIKE, MOST_IDLE, Index, Met, shared
from lookups.spark.probes import Families, Family

REGION, PRICE = Family((1,), (2,)), Family((3,), (4,))
NOWHERE = cast("Any", None)


def test_what_many_rows_say_alike_is_worth_an_index() -> None:
    index = Index().noting({REGION: Met(10, 10 * LEAST_ALIKE)}, 0, 1_000)
    assert index.worth == {REGION: 125}
    assert Index().noting({REGION: Met(10, 10 * LEAST_ALIKE - 1)}, 0, 1_000).worth == {}


def test_what_no_row_says_is_not() -> None:
    assert Index().noting({REGION: Met(0, 0)}, 1_000, 1_000) == Index()


def test_what_has_too_many_values_is_not() -> None:
    """As many rows to each value in the whole view as among those that were found."""
    found = {REGION: Met(10, 100)}
    assert Index().noting(found, 0, 9_000_000).worth == {REGION: 900_000}
    assert Index().noting(found, 0, 9_000_010).worth == {}


def test_what_had_too_many_values_is_not() -> None:
    refused = Index(refused=frozenset({REGION}))
    assert refused.noting({REGION: Met(1, 100)}, 100, 100) == refused


def test_what_is_indexed_is_not_indexed_again() -> None:
    held = Index(numbers={REGION: 0})
    assert held.noting({REGION: Met(1, 100)}, 100, 100) == held


def test_it_is_due_when_scans_have_read_as_much() -> None:
    once = Index().noting({REGION: Met(1, 100)}, 60, 100)
    assert (once.is_due, once.rows_read) == (False, 60)
    twice = once.noting({PRICE: Met(90, 100)}, 40, 100)
    assert (twice.is_due, twice.worth) == (True, {REGION: 1})


def test_scans_for_nothing_worth_it_do_not_count() -> None:
    once = Index().noting({PRICE: Met(90, 100)}, 100, 100)
    assert (once.is_due, once.rows_read) == (False, 0)


def test_only_what_a_batch_looks_up_is_due() -> None:
    families = Families()
    number = families.number(REGION.pattern, REGION.gives)
    due = Index(worth={REGION: 10, PRICE: 1}, is_due=True)
    assert due.due(families) == {REGION: number}
    assert replace(due, is_due=False).due(families) == {}


def test_only_what_there_is_room_for_is_due() -> None:
    families = Families()
    for family in (REGION, PRICE):
        families.number(family.pattern, family.gives)
    waiting = Index(worth={REGION: 60, PRICE: 30}, entries=9, is_due=True)
    assert set(replace(waiting, most=110).due(families)) == {REGION, PRICE}
    assert set(replace(waiting, most=109).due(families)) == {PRICE}
    assert set(replace(waiting, most=43).due(families)) == set()


def shares(most: int, **indexes: Index) -> dict[str, int]:
    return {name: index.most for name, index in shared(indexes, most).items()}


def waiting(*counts: int, entries: int = 0) -> Index:
    """An index that holds so many values, and waits for families with these."""
    worth = {Family((place,), ()): count for place, count in enumerate(counts)}
    return Index(worth=worth, entries=entries, is_due=bool(counts))


def test_indexes_share_one_room() -> None:
    """An equal part is each one's own. What half of it is not needed is lent to who waits."""
    held, idle = waiting(entries=90), Index(worth={REGION: 500})
    assert shares(100, a=idle, b=idle) == {"a": 50, "b": 50}
    assert shares(1_000, a=held, b=waiting(450), c=idle) == {"a": 222, "b": 556, "c": 222}
    assert shares(1_000, a=held, b=waiting(610)) == {"a": 286, "b": 714}
    assert shares(1_000, a=waiting(180), b=waiting(250), c=idle) == {"a": 318, "b": 396, "c": 284}


def test_room_in_which_nothing_fits_is_not_lent() -> None:
    """It is of use to others: for what batches add, and for families that come to be worth it."""
    assert shares(1_000, a=waiting(800), b=waiting(entries=10)) == {"a": 500, "b": 500}
    assert shares(1_000, a=waiting(700, 200), b=Index()) == {"a": 500, "b": 500}
    half = waiting(500, entries=500)
    assert shares(1_000, a=half, b=waiting(entries=10)) == {"a": 625, "b": 375}


def test_who_has_borrowed_gives_its_index_up_when_others_need_their_own() -> None:
    borrowed = replace(waiting(entries=600), refused=frozenset({PRICE}))
    together = shared({"a": borrowed, "b": waiting(300)}, 1_000)
    assert together["a"] == Index(458, refused=frozenset({PRICE}))
    assert together["b"].most == 542
    together = shared({"a": borrowed, "b": waiting(250)}, 1_000)
    assert [index.size for index in together.values()] == [600, 0]


def test_who_has_filled_its_own_part_keeps_it() -> None:
    full = waiting(entries=499)
    assert shares(1_000, a=full, b=full) == {"a": 500, "b": 500}
    assert shared({"a": full, "b": full}, 1_000)["a"].size == 499


@given(
    st.integers(10, 100),
    st.lists(
        st.tuples(st.integers(0, 100), st.lists(st.integers(1, 100), max_size=3)),
        min_size=1,
        max_size=4,
    ),
)
def test_shares_are_fair_and_no_more_than_there_is(
    most: int, drawn: list[tuple[int, list[int]]]
) -> None:
    """Each view can build what it could with an equal part, and keep that."""
    own = most // len(drawn)
    before = {f"v{i}": waiting(*counts, entries=size) for i, (size, counts) in enumerate(drawn)}
    if sum(index.size for index in before.values()) > most:
        return
    after = shared(before, most)
    assert sum(index.most for index in after.values()) <= most
    for name, index in after.items():
        assert index.size <= index.most
        if before[name].size <= own:
            assert index.size == before[name].size
            alone = replace(before[name], most=own)
            assert built(index).items() >= built(alone).items()


def built(index: Index) -> dict[Family, int]:
    families = Families()
    for family in index.worth:
        families.number(family.pattern, family.gives)
    return index.due(families)


def test_one_that_is_not_looked_into_is_given_up() -> None:
    idle = Index(most=5, numbers={REGION: 0}, frame=cast("Any", object()), idle=MOST_IDLE)
    assert idle.after(NOWHERE, NOWHERE, 1, is_used=False) == Index(most=5)


def test_it_never_has_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookups.spark.indexing._summed", lambda rows: rows)
    held = Index(numbers={REGION: 0}, frame=MagicMock(), entries=850_000)
    names = MagicMock()
    assert held.after(names, MagicMock(), 100_000, is_used=True).size == 950_000
    has(names, 870_000)  # put together: most were there already
    assert held.after(names, MagicMock(), 200_000, is_used=True).size == 870_000
    has(names, 910_000)
    given_up = held.after(names, MagicMock(), 200_000, is_used=True)
    assert given_up == Index(refused=frozenset({REGION}))


def has(names: MagicMock, *counts: int) -> None:
    """Let an index have so many values of its families, in order of their numbers."""
    lines = [{"f": number, "count": count} for number, count in enumerate(counts)]
    names.kept().groupBy().count().collect.return_value = lines


def test_what_another_view_has_the_room_for_waits() -> None:
    """The next time it is known how much it takes. Only what never can have room is refused."""
    names = MagicMock()
    has(names, 30, 70)
    index = Index(100, worth={REGION: 20, PRICE: 40}, rows_read=9, is_due=True)
    both = {REGION: 0, PRICE: 1}
    found = index.extended(names, MagicMock(), both)
    assert (found.numbers, found.size, found.worth) == ({REGION: 0}, 30, {PRICE: 70})
    assert (found.refused, found.rows_read, found.is_due) == (frozenset(), 0, False)
    assert replace(index, most=120).extended(names, MagicMock(), both).numbers == both
    nothing = replace(index, most=30).extended(names, MagicMock(), both)
    assert (nothing.frame, nothing.worth) == (None, {REGION: 30, PRICE: 70})
    has(names, 30, 900_001)
    assert index.extended(names, MagicMock(), both).refused == {PRICE}


def test_what_has_outgrown_its_part_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookups.spark.indexing._summed", lambda rows: rows)
    names = MagicMock()
    has(names, 95)
    held = Index(100, numbers={REGION: 0}, frame=MagicMock(), entries=90)
    assert held.after(names, MagicMock(), 20, is_used=True) == Index(100, worth={REGION: 95})


def test_of_two_estimates_the_greater_one_counts() -> None:
    index = Index(worth={REGION: 100})
    assert index.noting({REGION: Met(1, 100)}, 0, 1_000).worth == {REGION: 100}
    assert index.noting({REGION: Met(1, 10)}, 0, 2_000).worth == {REGION: 200}
    assert index.noting({REGION: Met(1, 10)}, 0, 10_000_000).worth == {}


def test_batches_that_change_nothing_do_not_count() -> None:
    idle = Index(numbers={REGION: 0}, frame=cast("Any", object()), idle=MOST_IDLE)
    assert idle.after(NOWHERE, NOWHERE, 0, is_used=False) == idle
    assert idle.after(NOWHERE, NOWHERE, 0, is_used=True).idle == 0
