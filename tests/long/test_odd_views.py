"""Views and values that are out of the ordinary, all of them in one warehouse with three batches.

A warehouse costs seconds whatever it holds, so a new oddity gets a view here, and its changes
become part of these batches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import pytest

import selfmaint
from cq.types import Row
from selfmaint.warehouse import Warehouse
from tests.spark.shops import Signed, frame
from warehouse.batches import BatchError
from warehouse.sources import Answer, Join, MemorySource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = date(1582, 10, 10)
MANY = [f"c{i}" for i in range(40)]

PROGRAM = selfmaint.parse(f"""
.decl days(day: date, x: long)
.decl worth(x: long, y: long) key(x)
on_days(D, X, Y) :- days(D, X), worth(X, Y).
that_day(X) :- days({DAY.isoformat()}, X).

.decl named(x: string, y: long)
.decl seen(y: long)
names(X) :- named(X, Y), seen(Y).

.decl customers(cust: long, name: string) key(cust)
.decl orders(id: long, cust: long) key(id)
buying(Name) :- customers(Cust, Name), orders(_, Cust).

.decl bytes(x: string, d: date)
.decl texts(x: string)
written(X, D) :- bytes(X, D), texts(X).

.decl open()
.decl numbers(a: long)
while_open(A) :- open(), numbers(A).

.decl broad({", ".join(f"{name}: long" for name in MANY)}, k: long) key(k)
.decl named_keys(k: long) key(k)
wide({", ".join(map(str.upper, MANY))}, K) :-
    broad({", ".join(map(str.upper, MANY))}, K), named_keys(K).

.decl pairs(x: long, y: long)
.decl ones(y: long)
left(X) :- pairs(X, Y), ones(Y).

.decl sales(id: long, buyer: long) key(id)
.decl buyers(buyer: long, region: string) key(buyer)
in_eu(I, B) :- sales(I, B), buyers(B, 'EU').

.decl floats(x: long, y: double)
floating(X, Difference) :- floats(X, Difference).
""")

BEFORE: Mapping[str, list[Row]] = {
    "days": [(DAY, 1)],
    "worth": [(1, 7)],
    "named": [(None, 1), (None, 2), ("a", 1)],
    "seen": [(1,), (2,)],
    "customers": [(1, "Ann"), (2, "Bo"), (3, None), (4, None), (5, "Cy"), (6, "Ann")],
    "orders": [(1, 1), (2, 3), (3, 5)],
    "numbers": [(3,)],
    "pairs": [(1, 1), (1, 2), (2, 2), (3, 1)],
    "ones": [(1,), (2,)],
    "sales": [(1, 1)],
    "buyers": [(1, "EU")],
    "floats": [(1, 2.5), (1, 2.5)],
}

BATCHES: list[Mapping[str, Signed]] = [
    {
        "days": [("-", DAY, 1)],
        "named": [("-", None, 1)],
        "orders": [("+", 10 + n, cust) for n, cust in enumerate((2, 4, 6, 1, 2, 99))],
        "open": [("+",)],
        "pairs": [("-", 1, 1)],
        "sales": [("+", 2, 2)],
        "buyers": [("+", 2, "US")],
    },
    {"named": [("-", None, 2)], "orders": [("-", 3, 5), ("+", 20, 6)]},
    {"orders": [("+", 21, 5)]},
]


class Generous(MemorySource):
    """Sends all of `left`, whatever slice of it is asked for."""

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        if keys is not None and "pairs" in join.relations:
            keys = keys.sparkSession.createDataFrame([(1,), (2,), (3,)], keys.schema)
        return super().answer(join, keys, version)


@dataclass
class Odd:
    """The warehouse after its batches, and their reports."""

    spark: SparkSession
    warehouse: Warehouse
    reports: list[selfmaint.Report]

    def of(self, view: str, batch: int = 1) -> tuple[int, int, int]:
        """What the source was asked, and the rows that came and went."""
        report = self.reports[batch - 1].of(view)
        return report.cost.questions, report.inserted, report.deleted

    def rows(self, view: str, batch: int) -> set[Row]:
        """As they were after a batch; 0 is the load."""
        version = self.reports[batch - 1].of(view).version if batch else 1
        found = [tuple(row) for row in self.warehouse.view(view).read(version).collect()]
        assert len(found) == len(set(found)), "a view is a set"
        return set(found)


@pytest.fixture(scope="module")
def odd(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Odd:
    relations = PROGRAM.relations
    rows = MemorySource.of_rows(spark, relations.values(), BEFORE)
    tables = {name: rows.read(name, 0) for name in relations}
    # Bytes that are no text, and a day that Python does not have.
    tables["bytes"] = spark.sql(
        "SELECT CAST(unhex('636166E9') AS string) AS x, make_date(20224, 5, 1) AS d "
        "UNION ALL SELECT 'tea', make_date(2024, 5, 1)"
    )
    tables["texts"] = tables["bytes"].select("x")
    source = Generous(tables)
    path = str(tmp_path_factory.mktemp("odd"))
    warehouse = Warehouse.open(spark, path, PROGRAM, source=source, lookups="always")
    assert warehouse.load() == 0
    reports = []
    for number, changes in enumerate(BATCHES, 1):
        batch = {name: frame(spark, relations[name], rows) for name, rows in changes.items()}
        if number == 1:
            gone = tables["bytes"].where("x <> 'tea'")
            batch["bytes"] = gone.selectExpr("*", "'delete' AS change")
        # Of `floats` the source gets a change in the end that no batch has.
        more = {"floats": frame(spark, relations["floats"], [("+", 3, 4.5)])} if number == 3 else {}
        source.advance({**batch, **more})
        reports.append(warehouse.apply(batch, number))
    return Odd(spark, warehouse, reports)


def test_a_day_that_calendars_disagree_on_is_found(odd: Odd) -> None:
    """Where a file holds no later day, Parquet's reader skips it if it is told another day."""
    assert (odd.rows("on_days", 0), odd.rows("that_day", 0)) == ({(DAY, 1, 7)}, {(1,)})
    assert (odd.rows("on_days", 1), odd.rows("that_day", 1)) == (set(), set())


def test_a_slice_of_nulls_is_asked_for_as_such(odd: Odd) -> None:
    """A row that shows NULL goes only if no other one shows it: the source finds NULL by NULL."""
    assert (odd.of("names", 1), odd.rows("names", 1)) == ((1, 0, 0), {(None,), ("a",)})
    assert (odd.of("names", 2), odd.rows("names", 2)) == ((1, 0, 1), {("a",)})


def test_insertions_of_which_the_view_shows_nothing(odd: Odd) -> None:
    """Whether their rows are there is looked up when the source has told them, and only these."""
    shown = {("Ann",), (None,), ("Cy",)}
    assert odd.rows("buying", 0) == shown
    assert (odd.of("buying", 1)[1:], odd.rows("buying", 1)) == ((1, 0), shown | {("Bo",)})
    assert (odd.of("buying", 2)[1:], odd.rows("buying", 2)) == (
        (0, 1),
        {("Ann",), (None,), ("Bo",)},
    )
    # What was deleted is not there any more, though its file still has it.
    assert (odd.of("buying", 3)[1:], odd.rows("buying", 3)) == ((1, 0), shown | {("Bo",)})


def test_values_that_python_does_not_have(odd: Odd) -> None:
    """Bytes that are no text, and days after the year 9999, are found in the view all the same."""
    assert odd.of("written")[1:] == (0, 1)
    assert [row["x"] for row in odd.warehouse.view("written").read().collect()] == ["tea"]


def test_a_relation_without_columns(odd: Odd) -> None:
    """It has one row or none: the view is all of `numbers` or empty."""
    assert (odd.rows("while_open", 0), odd.rows("while_open", 1)) == (set(), {(3,)})
    comes = odd.spark.range(1).selectExpr("'insert' AS change")
    with pytest.raises(BatchError, match="WH352"):
        odd.warehouse.apply({"open": comes.unionAll(comes)})


def test_a_source_that_sends_more_than_it_was_asked_for(odd: Odd) -> None:
    assert odd.of("left") == (1, 0, 0)
    assert odd.rows("left", 1) == {(1,), (2,), (3,)}


def test_a_change_that_fails_the_screen_still_tells_what_its_key_is_worth(odd: Odd) -> None:
    """Of a view that is touched no change is left out, or this sale would have to be asked."""
    assert odd.of("in_eu") == (0, 0, 0)
    assert odd.rows("in_eu", 1) == {(1, 1)}


def test_a_wide_view_is_ordered_by_any_of_its_columns(odd: Odd) -> None:
    assert odd.warehouse.optimize("wide")[0] == "k"


def test_differing_rows_are_shown_as_they_are(odd: Odd) -> None:
    found = odd.warehouse.verify("floating")
    assert found.rows == 1  # a relation is a set
    assert (found.missing, found.surplus) == (1, 0)
    assert found.sample.columns == ["x", "difference", "difference_"]
    assert [tuple(row) for row in found.sample.collect()] == [(3, 4.5, "missing")]


def test_what_is_no_number_is_refused(odd: Odd) -> None:
    new = frame(odd.spark, PROGRAM.relations["floats"], [("+", 4, math.nan)])
    with pytest.raises(BatchError, match="WH356"):
        odd.warehouse.apply({"floats": new})
