"""Batches whose questions are answered as of a later version: they are extended up to it.

Most tests share one warehouse, one after the other: each begins with views that have what the
source has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import pytest

import selfmaint
import selfmaint.extending
from cq.types import Row
from selfmaint.errors import RuntimeStateError
from selfmaint.warehouse import Warehouse
from tests.spark import shops
from tests.spark.shops import Books, Signed, frame
from warehouse.batches import netted
from warehouse.sources import Answer, Join, MemorySource, SimulatedSource, VirtualClock
from warehouse.tables import BatchOrderError, Store, ViewTable

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


def state_of(warehouse: Warehouse) -> object:
    """The views' rows, versions and batches."""
    return {
        name: (table.state(), shops.rows_of(warehouse, name))
        for name, table in warehouse._store.views.items()
    }


@pytest.fixture(scope="module")
def shared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop.new(spark, tmp_path_factory.mktemp("extending"), BEFORE)


@pytest.fixture
def shop(shared: Shop) -> Shop:
    """Views that have what the source has, also if they are new or if an earlier test failed."""
    if not shared.is_settled:
        shared.open().load()
        shared.is_settled = True
    return shared


@contextmanager
def dying_at(view: str) -> Iterator[None]:
    """The process dies before the commit of a view."""
    real = ViewTable.commit

    def dying(table: ViewTable, *arguments: object, **options: object) -> object:
        if table.name == f"view `{view}`":
            raise KeyboardInterrupt
        return real(table, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ViewTable, "commit", dying)
        with pytest.raises(KeyboardInterrupt):
            yield


LIFE: list[dict[str, Signed]] = [
    {
        "orders": [
            *[("+", 10, 11), ("+", 11, 12), ("+", 12, 13), ("+", 13, 14), ("-", 1, 1)],
            *[("+", 20, 16), ("+", 21, 17), ("-", 2, 2)],
        ]
    },
    # Of what the batch inserts a row goes, one is changed, and one has its product changed; rows
    # are added, also of a relation that the batch does not have. What it asks for goes.
    {
        "orders": [("-", 11, 12), ("-", 12, 13), ("+", 12, 1), ("+", 14, 15), ("-", 20, 16)],
        "products": [
            *[("-", 14, "product 14"), ("+", 14, "new"), ("+", 70, "newer")],
            ("-", 17, "product 17"),
        ],
    },
    # What it inserts has gone and comes, and what it deletes comes.
    {"orders": [("+", 20, 16), ("+", 2, 2)]},
]


@pytest.fixture(scope="class")
def extended(shared: Shop) -> tuple[Warehouse, int, int]:
    """The batch, applied: the warehouse, its number, and the number that it got."""
    warehouse = shared.open()
    warehouse.load()
    asked = shared.source.questions
    number, *_, last = [shared.move(**changes) for changes in LIFE]
    report = warehouse.apply(shared.log[number], number)
    assert report.batch == last
    asked = shared.source.questions - asked
    assert asked > 0
    assert sum(view.cost.questions for view in report.views) == asked
    note = f"batch {number} was extended to batch {last}: the source answered as of it"
    assert all(note in view.notes for view in report.views)
    return warehouse, number, last


class TestOneBatch:
    """A batch that is extended by two versions, with changes that bear upon it in many ways."""

    def test_it_is_right(self, shared: Shop, extended: tuple[Warehouse, int, int]) -> None:
        warehouse, number, last = extended
        # Should the journal be late, this is the number to give again.
        (record,) = warehouse._store._journal.last(1)
        assert record.mark is not None
        assert (record.mark.number, record.mark.batch) == (number, last)
        shared.check(warehouse)

    def test_what_it_has_is_a_replay(
        self, shared: Shop, extended: tuple[Warehouse, int, int]
    ) -> None:
        """For who has applied it and for who opens the warehouse."""
        warehouse, number, last = extended
        before = state_of(warehouse)
        for again in (warehouse, shared.open()):
            assert again.next_batch() == last + 1
            with pytest.raises(RuntimeStateError, match=f"RT410(.|\\n)*{last + 1} is the next"):
                again.apply(shared.log[last])
            for old in range(number, last + 1):
                replay = again.apply(shared.log[old], old)
                assert (replay.is_replay, replay.batch) == (True, last)
            for wrong in (number - 1, last + 2):
                with pytest.raises(BatchOrderError, match=f"expected is batch {last + 1}"):
                    again.apply({}, wrong)
            assert state_of(again) == before
        history = [row["batch"] for row in warehouse.history("sales").collect()]
        assert history == [number - 1, last]

    def test_repaired_views_know_it(
        self, shared: Shop, extended: tuple[Warehouse, int, int]
    ) -> None:
        """Also those that somebody else wrote to."""
        warehouse, number, last = extended
        foreign = shared.spark.createDataFrame([("nobody's",)], "name string")
        foreign.write.format("delta").mode("append").save(f"{shared.path}/views/sold")
        for again in (warehouse, shared.open()):
            for view in again.views:
                again.repair(view, number=last)
            with pytest.raises(RuntimeStateError, match="RT410"):
                again.apply(shared.log[last])
            assert all(again.apply(shared.log[old], old).is_replay for old in (number, last))
        shared.check(warehouse)

    def test_the_one_after_it_is_the_next(
        self, shared: Shop, extended: tuple[Warehouse, int, int]
    ) -> None:
        warehouse, _, last = extended
        number = shared.move(orders=[("+", 999, 1)])
        assert number == last + 1
        assert warehouse.apply(shared.log[number], number).batch == number
        assert warehouse.next_batch() == number + 1
        number = shared.move()
        assert warehouse.apply(shared.log[number]).batch == number  # no need of a number any more
        shared.check(warehouse)
        history = [row["batch"] for row in warehouse.history("sales").tail(2)]
        assert history == [number - 1, number]


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


def test_without_the_changes_it_is_refused(shop: Shop) -> None:
    warehouse = shop.open(with_later=False)
    before = state_of(warehouse)
    number = shop.move(orders=[("+", 31, 31)])
    last = shop.move(orders=[("+", 32, 32)])
    with pytest.raises(RuntimeStateError, match=r"RT404(.|\n)*`later`(.|\n)*`load\(\)`"):
        warehouse.apply(shop.log[number], number)
    assert state_of(warehouse) == before
    assert warehouse.next_batch() == number
    assert warehouse.load() == last  # as the error says
    shop.check(warehouse)


def test_a_source_that_moves_on_all_the_time(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selfmaint.extending, "MOST_EXTENSIONS", 1)
    warehouse, source = shop.open(), shop.source
    before, asked = state_of(warehouse), source.questions
    number = shop.move(orders=[("+", 3, 3)])
    source.moves = 100
    with pytest.raises(RuntimeStateError, match=r"RT404(.|\n)*extended 1 times"):
        warehouse.apply(shop.log[number], number)
    assert 2 <= source.questions - asked <= 2 * 2  # at two attempts, and two views ask
    assert state_of(warehouse) == before

    source.moves = 1
    asked = source.questions
    report = warehouse.apply(shop.log[number], number)
    assert report.batch == shop.memory.version()
    # What the source was asked in vain is part of what the batch has cost.
    assert sum(view.cost.questions for view in report.views) == source.questions - asked
    shop.check(warehouse)


def test_a_crash_between_the_commits(shop: Shop) -> None:
    """Some views have the extended batch, some nothing of it; the source moves on meanwhile."""
    warehouse = shop.open()
    number = shop.move(orders=[("+", 4, 4)])
    first = shop.move(products=[("+", 50, "new")])
    with dying_at("sold"):
        warehouse.apply(shop.log[number], number)
    assert batches(warehouse) == [first, first, number - 1]
    with pytest.raises(RuntimeStateError, match=f"RT408(.|\\n)*number={number}`"):
        warehouse.next_batch()
    with pytest.raises(BatchOrderError, match=f"expected is batch {number}"):
        warehouse.apply(shop.log[first], first)
    with pytest.raises(RuntimeStateError, match=r"RT404.*some views(.|\n)*`later`"):
        shop.open(with_later=False).apply(shop.log[number], number)

    # Three views, three versions.
    last = shop.move(orders=[("-", 4, 4), ("+", 5, 5)], products=[("+", 52, "newer")])
    again = shop.open()
    with dying_at("sales"):
        again.apply(shop.log[number], number)
    assert batches(again) == [last, first, number - 1]

    report = shop.open().apply(shop.log[number], number)
    assert report.batch == last
    assert [view.is_replay for view in report.views] == [True, False, False]
    shop.check(again)
    assert again.next_batch() == last + 1
    for old in range(number, last + 1):
        assert again.apply(shop.log[old], old).is_replay


def test_a_crash_before_the_journal(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every view that changed has the batch; `catalogue` did not change and is finished later."""

    def dying(*arguments: object) -> None:
        raise KeyboardInterrupt

    warehouse = shop.open()
    number = shop.move(orders=[("+", 6, 6)])
    last = shop.move(orders=[("+", 7, 7)])
    with monkeypatch.context() as patch:
        patch.setattr(Store, "_record", dying)
        with pytest.raises(KeyboardInterrupt):
            warehouse.apply(shop.log[number], number)
    asked = shop.source.questions
    again = shop.open()
    with pytest.raises(RuntimeStateError, match=f"RT408(.|\\n)*number={number}`"):
        again.apply(shop.log[number])
    report = again.apply(shop.log[number], number)
    assert [view.is_replay for view in report.views] == [False, True, True]
    assert (report.batch, shop.source.questions) == (last, asked)
    assert again.next_batch() == last + 1
    shop.check(again)


def test_a_view_that_is_repaired_meanwhile(shop: Shop) -> None:
    """It has what the extended batch has; the batch's own number is still recognised."""
    warehouse = shop.open()
    number = shop.move(orders=[("+", 8, 8)])
    last = shop.move(products=[("+", 51, "new")])
    with dying_at("sales"):
        warehouse.apply(shop.log[number], number)
    assert batches(warehouse) == [last, number - 1, number - 1]
    warehouse.repair("sales", number=last)
    report = warehouse.apply(shop.log[number], number)
    assert [view.is_replay for view in report.views] == [True, True, False]
    assert report.batch == last
    shop.check(warehouse)


def test_the_first_batch_of_all(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing was loaded, and there was nothing to load. Nobody tells if a source has moved on."""
    shop = Shop.new(spark, tmp_path, {})
    shop.move(products=[("+", 1, "tea"), ("+", 2, "cup")], orders=[("+", 1, 1)])
    shop.move(orders=[("+", 2, 2)])
    with pytest.raises(RuntimeStateError, match="RT401"):
        shop.open().apply(shop.log[1], 1)
    warehouse = Warehouse.open(spark, shop.path, PROGRAM, source=shop.memory)
    with dying_at("sold"):
        warehouse.apply(shop.log[1], 1)
    assert batches(warehouse) == [1, 1, None]
    with pytest.raises(BatchOrderError, match="never loaded"):
        warehouse.apply(shop.log[2], 2)
    for number in (1, 2):
        assert warehouse.apply(shop.log[number], number).batch == number
    shop.check(warehouse)
