"""Batches whose questions are answered as of a later version: they are extended up to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import pytest

import selfmaint
from selfmaint.errors import RuntimeStateError
from selfmaint.extending import MOST_EXTENSIONS
from selfmaint.warehouse import Warehouse
from warehouse.batches import BatchError, checked, followed_by, netted
from warehouse.columns import struct_type
from warehouse.sources import Answer, Join, MemorySource, SimulatedSource, VirtualClock
from warehouse.tables import BatchOrderError, Store, ViewTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cq.schema import Relation

PROGRAM = selfmaint.parse("""
.decl orders(id: long, prod: long) key(id)
.decl products(prod: long, name: string) key(prod)
catalogue(Prod, Name) :- products(Prod, Name).
sales(Id, Prod, Name) :- orders(Id, Prod), products(Prod, Name).
sold(Name) :- orders(_, Prod), products(Prod, Name).
""")
BEFORE: Mapping[str, Sequence[tuple[object, ...]]] = {
    "orders": [(1, 1), (2, 2)],
    "products": [(prod, f"product {prod}") for prod in range(1, 40)],
}
WORDS = {"+": "insert", "-": "delete"}


def frame(spark: SparkSession, relation: Relation, rows: Sequence[tuple[object, ...]]) -> DataFrame:
    """Rows with `+` or `-` in front, as changes."""
    schema = struct_type(relation).add("change", "string")
    return spark.createDataFrame([(*row, WORDS[str(sign)]) for sign, *row in rows], schema)


@dataclass
class Shop:
    """A source that answers only as of what it has now, its log, and the warehouse."""

    spark: SparkSession
    path: str
    memory: MemorySource
    source: SimulatedSource
    log: dict[int, dict[str, DataFrame]] = field(default_factory=dict)

    def open(self, *, with_later: bool = True) -> Warehouse:
        later = self.later if with_later else None
        return Warehouse.open(self.spark, self.path, PROGRAM, source=self.source, later=later)

    def move(self, **changes: Sequence[tuple[object, ...]]) -> int:
        """The source takes a batch, which has the number that is returned."""
        batch = {n: frame(self.spark, PROGRAM.relations[n], rows) for n, rows in changes.items()}
        number = self.memory.advance(batch)
        self.log[number] = batch
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
        """The views are right, as of their batch."""
        self.source.newest_only = False
        for view in warehouse.views:
            found = warehouse.verify(view)
            assert found.is_right, (view, found.sample.collect())
        self.source.newest_only = True


def state_of(warehouse: Warehouse) -> object:
    """The views' rows, versions and batches."""
    return {
        name: (table.state(), sorted(map(tuple, table.read().collect()), key=repr))
        for name, table in warehouse._store.views.items()
    }


def new_shop(spark: SparkSession, path: Path, kind: type[SimulatedSource]) -> Shop:
    memory = MemorySource.of_rows(spark, PROGRAM.relations.values(), BEFORE)
    source = kind(memory, clock=VirtualClock(), newest_only=True)
    return Shop(spark, str(path), memory, source)


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Shop:
    return new_shop(spark, tmp_path, SimulatedSource)


@contextmanager
def dying_at(monkeypatch: pytest.MonkeyPatch, view: str) -> Iterator[None]:
    """The process dies before the commit of a view."""
    real = ViewTable.commit

    def dying(table: ViewTable, *arguments: object, **options: object) -> object:
        if table.name == f"view `{view}`":
            raise KeyboardInterrupt
        return real(table, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(ViewTable, "commit", dying)
        with pytest.raises(KeyboardInterrupt):
            yield


LIVES: dict[str, list[dict[str, list[tuple[object, ...]]]]] = {
    # Of what the batch inserts a row goes, one is changed, and one has its product changed; rows
    # are added, also of a relation that the batch does not have.
    "changed": [
        {"orders": [("+", 10, 11), ("+", 11, 12), ("+", 12, 13), ("+", 13, 14), ("-", 1, 1)]},
        {
            "orders": [("-", 11, 12), ("-", 12, 13), ("+", 12, 1), ("+", 14, 15)],
            "products": [("-", 14, "product 14"), ("+", 14, "new"), ("+", 70, "newer")],
        },
    ],
    # What it inserts goes and comes, what it deletes comes, and what it asks for goes.
    "undone": [
        {"orders": [("+", 20, 16), ("+", 21, 17), ("-", 2, 2)]},
        {"orders": [("-", 20, 16)], "products": [("-", 17, "product 17")]},
        {"orders": [("+", 20, 16), ("+", 2, 2)]},
    ],
    # Nothing of it is left: it has cost a question all the same.
    "gone": [{"orders": [("+", 30, 18)]}, {"orders": [("-", 30, 18)]}],
}


@pytest.mark.parametrize(
    "life",
    ["changed", *(pytest.param(name, marks=pytest.mark.slow) for name in ("undone", "gone"))],
)
def test_a_batch_is_extended(shop: Shop, life: str) -> None:
    """By one version or by two, with changes that bear upon it in different ways."""
    warehouse = shop.open()
    warehouse.load()
    asked = shop.source.questions
    number, *_, last = [shop.move(**changes) for changes in LIVES[life]]
    report = warehouse.apply(shop.log[number], number)
    assert report.batch == last
    asked = shop.source.questions - asked
    assert asked > 0
    assert sum(view.cost.questions for view in report.views) == asked
    note = f"batch {number} was extended to batch {last}: the source answered as of it"
    assert all(note in view.notes for view in report.views)
    # Should the journal be late, this is the number to give again.
    (record,) = warehouse._store._journal.last(1)
    assert record.mark is not None
    assert (record.mark.number, record.mark.batch) == (number, last)
    shop.check(warehouse)


@pytest.mark.slow
def test_what_an_extended_batch_has_is_a_replay(shop: Shop) -> None:
    """For who has applied it and for who opens the warehouse; the one after it is the next."""
    warehouse = shop.open()
    warehouse.load()
    number = shop.move(orders=[("+", 3, 3)])
    shop.move(orders=[("-", 3, 3), ("+", 4, 4)])
    last = shop.move(products=[("+", 50, "new")])
    assert warehouse.apply(shop.log[number], number).batch == last
    before = state_of(warehouse)
    for again in (warehouse, shop.open()):
        assert again.next_batch() == last + 1
        with pytest.raises(RuntimeStateError, match=f"RT410(.|\\n)*{last + 1} is the next"):
            again.apply(shop.log[last])
        for old in range(number, last + 1):
            replay = again.apply(shop.log[old], old)
            assert (replay.is_replay, replay.batch) == (True, last)
        for wrong in (number - 1, last + 2):
            with pytest.raises(BatchOrderError, match=f"expected is batch {last + 1}"):
                again.apply({}, wrong)
        assert state_of(again) == before
    number = shop.move(orders=[("+", 999, 1)])
    assert warehouse.apply(shop.log[number], number).batch == number
    assert warehouse.next_batch() == number + 1
    number = shop.move(orders=[("-", 999, 1)])
    assert warehouse.apply(shop.log[number]).batch == number  # a number is not needed any more
    shop.check(warehouse)
    history = [row["batch"] for row in warehouse.history("sales").collect()]
    assert history == sorted(set(history))


def test_without_the_changes_it_is_refused(shop: Shop) -> None:
    warehouse = shop.open(with_later=False)
    warehouse.load()
    before = state_of(warehouse)
    number = shop.move(orders=[("+", 3, 3)])
    last = shop.move(orders=[("+", 4, 4)])
    with pytest.raises(RuntimeStateError, match=r"RT404(.|\n)*`later`(.|\n)*`load\(\)`"):
        warehouse.apply(shop.log[number], number)
    assert state_of(warehouse) == before
    assert warehouse.next_batch() == number
    assert warehouse.load() == last  # as the error says
    shop.check(warehouse)


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


@pytest.mark.slow
def test_a_source_that_moves_on_all_the_time(spark: SparkSession, tmp_path: Path) -> None:
    shop = new_shop(spark, tmp_path, Restless)
    source = shop.source
    assert isinstance(source, Restless)
    source.shop = shop
    warehouse = shop.open()
    warehouse.load()
    before, asked = state_of(warehouse), source.questions
    number = shop.move(orders=[("+", 3, 3)])
    source.moves = 100
    with pytest.raises(RuntimeStateError, match=f"RT404(.|\\n)*{MOST_EXTENSIONS} times"):
        warehouse.apply(shop.log[number], number)
    attempts = MOST_EXTENSIONS + 1
    assert attempts <= source.questions - asked <= 2 * attempts  # two views ask
    assert state_of(warehouse) == before

    source.moves = 1
    asked = source.questions
    report = warehouse.apply(shop.log[number], number)
    assert report.batch == shop.memory.version()
    # What the source was asked in vain is part of what the batch has cost.
    assert sum(view.cost.questions for view in report.views) == source.questions - asked
    shop.check(warehouse)


@pytest.mark.slow
def test_a_crash_between_the_commits(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some views have the extended batch, some nothing of it; the source moves on meanwhile."""
    warehouse = shop.open()
    warehouse.load()
    number = shop.move(orders=[("+", 3, 3)])
    shop.move(products=[("-", 3, "product 3"), ("+", 3, "better")])
    with dying_at(monkeypatch, "sales"):
        warehouse.apply(shop.log[number], number)
    batches = [table.state().batch for table in warehouse._store.views.values()]
    assert batches == [number + 1, number - 1, number - 1]
    with pytest.raises(RuntimeStateError, match=f"RT408(.|\\n)*number={number}`"):
        warehouse.next_batch()
    with pytest.raises(BatchOrderError, match=f"expected is batch {number}"):
        warehouse.apply(shop.log[number + 1], number + 1)
    with pytest.raises(RuntimeStateError, match=r"RT404.*some views(.|\n)*`later`"):
        shop.open(with_later=False).apply(shop.log[number], number)

    last = shop.move(products=[("-", 3, "better"), ("+", 3, "best"), ("+", 50, "new")])
    again = shop.open()
    with dying_at(monkeypatch, "sold"):
        again.apply(shop.log[number], number)
    batches = [table.state().batch for table in again._store.views.values()]
    assert batches == [last, last, number - 1]
    # Three views, three versions.
    newest = shop.move(orders=[("-", 3, 3), ("+", 5, 5)], products=[("+", 51, "newer")])
    with dying_at(monkeypatch, "sales"):
        again.apply(shop.log[number], number)
    batches = [table.state().batch for table in again._store.views.values()]
    assert batches == [newest, last, number - 1]

    report = shop.open().apply(shop.log[number], number)
    assert report.batch == newest
    assert [view.is_replay for view in report.views] == [True, False, False]
    shop.check(again)
    assert again.next_batch() == newest + 1
    for old in range(number, newest + 1):
        assert again.apply(shop.log[old], old).is_replay


@pytest.mark.slow
def test_a_crash_before_the_journal(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every view that changed has the batch; `catalogue` did not change and is finished later."""

    def dying(*arguments: object) -> None:
        raise KeyboardInterrupt

    warehouse = shop.open()
    warehouse.load()
    number = shop.move(orders=[("+", 3, 3)])
    last = shop.move(orders=[("+", 4, 4)])
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


@pytest.mark.slow
def test_a_view_that_is_repaired_meanwhile(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has what the extended batch has; the batch's own number is still recognised."""
    warehouse = shop.open()
    warehouse.load()
    number = shop.move(orders=[("+", 3, 3)])
    last = shop.move(products=[("+", 50, "new")])
    with dying_at(monkeypatch, "sales"):
        warehouse.apply(shop.log[number], number)
    warehouse.repair("sales", number=last)
    report = warehouse.apply(shop.log[number], number)
    assert [view.is_replay for view in report.views] == [True, True, False]
    assert report.batch == last
    shop.check(warehouse)


@pytest.mark.slow
def test_repaired_views_know_that_their_batch_was_extended(shop: Shop) -> None:
    """Also those that somebody else wrote to."""
    warehouse = shop.open()
    warehouse.load()
    number = shop.move(orders=[("+", 3, 3)])
    last = shop.move(orders=[("+", 4, 4)])
    warehouse.apply(shop.log[number], number)
    foreign = shop.spark.createDataFrame([("nobody's",)], "name string")
    foreign.write.format("delta").mode("append").save(f"{shop.path}/views/sold")
    for again in (warehouse, shop.open()):
        for view in again.views:
            again.repair(view, number=last)
        with pytest.raises(RuntimeStateError, match="RT410"):
            again.apply(shop.log[last])
        assert all(again.apply(shop.log[old], old).is_replay for old in (number, last))
        shop.check(again)


@pytest.mark.slow
def test_the_first_batch_of_all(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing was loaded, and there was nothing to load. Nobody tells if a source has moved on."""
    memory = MemorySource.of_rows(spark, PROGRAM.relations.values(), {})
    source = SimulatedSource(memory, clock=VirtualClock(), newest_only=True)
    shop = Shop(spark, str(tmp_path), memory, source)
    shop.move(products=[("+", 1, "tea"), ("+", 2, "cup")], orders=[("+", 1, 1)])
    shop.move(orders=[("+", 2, 2)])
    with pytest.raises(RuntimeStateError, match="RT401"):
        shop.open().apply(shop.log[1], 1)
    shop.source = SimulatedSource(memory, clock=VirtualClock())
    warehouse = shop.open()
    with pytest.MonkeyPatch.context() as patch, dying_at(patch, "sold"):
        warehouse.apply(shop.log[1], 1)
    assert [t.state().batch for t in warehouse._store.views.values()] == [1, 1, None]
    with pytest.raises(BatchOrderError, match="never loaded"):
        warehouse.apply(shop.log[2], 2)
    for number in (1, 2):
        assert warehouse.apply(shop.log[number], number).batch == number
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
