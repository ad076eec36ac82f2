"""Batches whose questions are answered as of a later version: they are extended up to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import pytest

import selfmaint
from cq.types import Row
from selfmaint.warehouse import Warehouse
from tests.spark import shops
from tests.spark.shops import Books, Signed, frame
from warehouse.batches import BatchError, checked, followed_by, netted
from warehouse.sources import Answer, Join, MemorySource, SimulatedSource, VirtualClock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = selfmaint.parse("""
.decl orders(id: long, prod: long) key(id)
.decl products(prod: long, name: string) key(prod)
catalogue(Prod, Name) :- products(Prod, Name).
sales(Id, Prod, Name) :- orders(Id, Prod), products(Prod, Name).
sold(Name) :- orders(_, Prod), products(Prod, Name).
""")
BEFORE: Mapping[str, list[Row]] = {
    "orders": [(1, 1), (2, 2)],
    "products": [(prod, f"product {prod}") for prod in range(1, 40)],
}


@dataclass
class Shop:
    """A source that answers only as of what it has now, its log, and the warehouse."""

    spark: SparkSession
    path: str
    memory: MemorySource
    source: Restless
    books: Books
    log: dict[int, dict[str, DataFrame]] = field(default_factory=dict)
    is_settled: bool = False

    @classmethod
    def new(cls, spark: SparkSession, path: Path, rows: Mapping[str, list[Row]]) -> Shop:
        memory = MemorySource.of_rows(spark, PROGRAM.relations.values(), rows)
        source = Restless(memory, clock=VirtualClock(), newest_only=True)
        shop = source.shop = cls(spark, str(path), memory, source, shops.books(rows))
        return shop

    def open(self, *, with_later: bool = True) -> Warehouse:
        later = self.later if with_later else None
        return Warehouse.open(
            self.spark, self.path, PROGRAM, source=self.source, later=later, lookups="always"
        )

    def move(self, **changes: Signed) -> int:
        """The source takes a batch, which has the number that is returned."""
        self.is_settled = False
        batch = {n: frame(self.spark, PROGRAM.relations[n], rows) for n, rows in changes.items()}
        number = self.memory.advance(batch)
        self.log[number] = batch
        shops.change(self.books, changes)
        return number

    def later(self, after: int, upto: int) -> dict[str, DataFrame]:
        """As a user has it: the net effect of a piece of the log."""
        from pyspark.sql import functions as sf

        assert after < upto
        found: dict[str, list[DataFrame]] = {}
        for number in range(after + 1, upto + 1):
            for name, changes in self.log[number].items():
                found.setdefault(name, []).append(changes.withColumn("at", sf.lit(number)))
        return {
            name: netted(PROGRAM.relations[name], reduce(type(parts[0]).unionByName, parts), "at")
            for name, parts in found.items()
        }

    def settled(self) -> Shop:
        """Its views have what the source has, also if they are new or if a test failed before."""
        if not self.is_settled:
            self.open().load()
            self.is_settled = True
        return self

    def check(self, warehouse: Warehouse) -> None:
        """The views are right, and as of what the source has."""
        assert batches(warehouse) == [self.memory.version()] * len(PROGRAM.views)
        shops.check(warehouse, self.books)
        self.is_settled = True


class Restless(SimulatedSource):
    """A source that has a new order whenever somebody asks, so many times."""

    shop: Shop
    moves = 0
    moving = Lock()

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        with self.moving:  # two views ask side by side
            if self.moves:
                self.moves -= 1
                self.shop.move(orders=[("+", 1000 + self.moves, 30)])
        return super().answer(join, keys, version)


def batches(warehouse: Warehouse) -> list[int | None]:
    """The batch that each view has."""
    return [table.state().batch for table in warehouse._store.views.values()]


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop.new(spark, tmp_path_factory.mktemp("extending"), BEFORE).settled()


def test_nothing_is_left_of_a_batch(shop: Shop) -> None:
    """It has cost a question all the same."""
    warehouse = shop.open()
    asked = shop.source.questions
    number, last = shop.move(orders=[("+", 30, 18)]), shop.move(orders=[("-", 30, 18)])
    report = warehouse.apply(shop.log[number], number)
    assert report.batch == last
    assert 0 < shop.source.questions - asked == sum(v.cost.questions for v in report.views)
    assert all("was extended" in note for view in report.views for note in view.notes)
    assert all(view.notes for view in report.views)
    shop.check(warehouse)


def test_two_batches_in_a_row(spark: SparkSession) -> None:
    relations = selfmaint.parse("""
    .decl p(id: long, Id: string) key(id)
    .decl q(x: double)
    .decl r()
    v(X) :- p(X, _), q(_), r().
    """).relations

    def both(first: dict[str, list], then: dict[str, list]) -> dict[str, list]:
        one, two = (
            checked(relations, {n: frame(spark, relations[n], rows) for n, rows in batch.items()})
            for batch in (first, then)
        )
        found = followed_by(relations, one, two)
        for changes in found.values():
            assert changes.frame.count() == changes.inserts + changes.deletes
        return {
            name: sorted(
                ["+" if row["insert"] else "-", *row[2:]] for row in changes.frame.collect()
            )
            for name, changes in found.items()
        }

    assert both({}, {}) == {}
    assert both({"q": [("+", 1.0)]}, {"p": [("-", 1, None)]}) == {
        "q": [["+", 1.0]],
        "p": [["-", 1, None]],
    }
    # Comes and goes, goes and comes, an UPDATE of an UPDATE, and what only one of them has.
    assert both(
        {"p": [("+", 1, None), ("-", 2, "b"), ("-", 3, "c"), ("+", 3, "d"), ("+", 4, "")]},
        {"p": [("-", 1, None), ("+", 2, "b"), ("-", 3, "d"), ("+", 3, "e"), ("-", 5, "")]},
    ) == {"p": [["+", 3, "e"], ["+", 4, ""], ["-", 3, "c"], ["-", 5, ""]]}
    assert both({"r": [("+",)], "q": [("-", 0.0)]}, {"r": [("-",)], "q": [("+", -0.0)]}) == {}
    for row, again, code in (
        (("+", 1, "a"), ("+", 1, "a"), "WH352"),
        (("-", 1, "a"), ("-", 1, "a"), "WH352"),
        (("+", 1, "a"), ("+", 1, "b"), "WH353"),
    ):
        with pytest.raises(BatchError, match=code):
            both({"p": [row]}, {"p": [again]})
