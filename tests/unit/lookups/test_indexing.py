"""When an index is worth it, and when it is given up. What it holds is tested on Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

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


def test_indexes_share_one_room() -> None:
    """First what they hold, then what waits, the small ones first; then all alike."""
    held, idle = Index(entries=90), Index(worth={REGION: 500})
    small, large = (Index(worth={REGION: count}, is_due=True) for count in (180, 450))
    assert shares(100, a=idle, b=idle) == {"a": 50, "b": 50}
    together = shares(1_000, a=held, b=large, c=small, d=idle)
    assert together == {"a": 150, "b": 550, "c": 250, "d": 50}
    assert shares(500, a=held, b=large, c=small) == {"a": 100, "b": 200, "c": 200}
    assert shares(60, a=held, b=large) == {"a": 90, "b": 0}


def test_who_gets_room_for_what_waits_may_build_it() -> None:
    families = Families()
    families.number(REGION.pattern, REGION.gives)
    for count in range(1, 50):
        index = Index(worth={REGION: count}, entries=7, is_due=True)
        assert shared({"v": index}, index.wanted)["v"].due(families)
        assert not shared({"v": index}, index.wanted - 1)["v"].due(families)


def test_one_that_is_not_looked_into_is_given_up() -> None:
    idle = Index(most=5, numbers={REGION: 0}, frame=cast("Any", object()), idle=MOST_IDLE)
    assert idle.after(NOWHERE, NOWHERE, 1, is_used=False) == Index(most=5)


def test_it_never_has_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookups.spark.indexing._summed", lambda rows: rows)
    held = Index(numbers={REGION: 0}, frame=MagicMock(), entries=850_000)
    names = MagicMock()
    assert held.after(names, MagicMock(), 100_000, is_used=True).size == 950_000
    names.kept().count.return_value = 870_000  # put together: most were there already
    assert held.after(names, MagicMock(), 200_000, is_used=True).size == 870_000
    names.kept().count.return_value = 910_000
    given_up = held.after(names, MagicMock(), 200_000, is_used=True)
    assert (given_up.size, given_up.refused) == (0, {REGION})


def test_batches_that_change_nothing_do_not_count() -> None:
    idle = Index(numbers={REGION: 0}, frame=cast("Any", object()), idle=MOST_IDLE)
    assert idle.after(NOWHERE, NOWHERE, 0, is_used=False) == idle
    assert idle.after(NOWHERE, NOWHERE, 0, is_used=True).idle == 0
