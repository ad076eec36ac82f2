"""Batches and their numbers: none is applied twice, none is lost, whoever calls and when."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import selfmaint
from cq.types import Row
from selfmaint import Warehouse
from selfmaint.errors import RuntimeStateError
from tests.spark.shops import rows_of
from tests.spark.test_numbers import CUSTOMERS, PROGRAM, SALES, Lists, batch
from warehouse.sources import MemorySource
from warehouse.tables import ConflictError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class World:
    """A source, and a warehouse that is loaded from it."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark, self.path = spark, str(path / "views")
        rows: Mapping[str, list[Row]] = {"orders": [(1, 1)], "customers": CUSTOMERS}
        self.source = MemorySource.of_rows(spark, PROGRAM.relations.values(), rows)
        self.warehouse = self.open()
        self.warehouse.load()

    def open(self) -> Warehouse:
        return Warehouse.open(self.spark, self.path, PROGRAM, source=self.source, lookups="always")

    def order(self, id: int, cust: int) -> dict[str, DataFrame]:
        """A new order, which the source has at once."""
        found = batch(self.spark, orders=[("+", id, cust)])
        self.source.advance(found)
        return found

    def check(self) -> None:
        assert all(self.warehouse.verify(view).is_right for view in self.warehouse.views)


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> World:
    return World(spark, tmp_path)


def test_a_load_that_goes_further_is_not_gone_over_again(world: World) -> None:
    first, second = world.order(2, 1), world.order(3, 2)
    world.warehouse.apply(first, 1)
    assert world.warehouse.load() == 2
    with pytest.raises(RuntimeStateError, match=r"RT410(.|\n)*from batch 1 to batch 2"):
        world.warehouse.apply(second)
    world.warehouse = world.open()  # as another process finds it
    with pytest.raises(RuntimeStateError, match="RT410"):
        world.warehouse.apply(second)
    assert world.warehouse.apply(second, 2).is_replay
    world.warehouse.apply(world.order(4, 2), 3)
    world.warehouse.apply(world.order(5, 2))  # all is told
    world.check()


def test_a_first_load_and_one_that_goes_nowhere_ask_for_no_number(world: World) -> None:
    world.warehouse.apply(world.order(2, 1))
    assert world.warehouse.load() == 1
    world.warehouse.apply(world.order(3, 1))
    world.check()


def test_another_batch_got_the_number_that_was_chosen(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, apply = world.open(), Warehouse._commit
    theirs, mine = world.order(8, 1), world.order(9, 1)

    def overtaken(self: Warehouse, *given: Any) -> Any:
        monkeypatch.setattr(Warehouse, "_commit", apply)
        other.apply(theirs)
        return apply(self, *given)

    monkeypatch.setattr(Warehouse, "_commit", overtaken)
    with pytest.raises(ConflictError) as conflict:
        world.warehouse.apply(mine)
    assert "again without a number" in str(conflict.value)
    assert "number=1" not in str(conflict.value)
    assert world.warehouse.apply(mine).batch == 2
    assert rows_of(world.warehouse, "eu") == [(1,), (8,), (9,)]


def test_a_thread_looks_while_a_view_is_repaired_ahead(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that leaves a view as it is has no commit there that would fail: the journal's does.

    The repair goes further than the batch, and the look lets this maintainer know of it.
    """
    other, apply = world.open(), Warehouse._commit
    first, second = world.order(2, 2), world.order(3, 1)

    def look(maintainer: Warehouse) -> None:
        with pytest.raises(RuntimeStateError, match="RT408"):  # the views are apart
            maintainer.next_batch()

    def overtaken(self: Warehouse, *given: Any) -> Any:
        monkeypatch.setattr(Warehouse, "_commit", apply)
        other.repair("eu", 2)
        thread = threading.Thread(target=look, args=(self,))
        thread.start()
        thread.join()
        return apply(self, *given)

    monkeypatch.setattr(Warehouse, "_commit", overtaken)
    with pytest.raises(ConflictError):
        world.warehouse.apply(first, 1)
    world.warehouse.apply(second, 2)
    assert world.warehouse.next_batch() == 3
    assert rows_of(world.warehouse, "eu") == [(1,), (3,)]
    world.check()


def test_batches_of_several_threads_take_turns(world: World) -> None:
    batches = [world.order(id, 1) for id in (8, 9)]
    threads = [threading.Thread(target=world.warehouse.apply, args=(each,)) for each in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert world.warehouse.next_batch() == 3
    assert rows_of(world.warehouse, "eu") == [(1,), (8,), (9,)]


class TestLoaders(Lists):
    def test_sources_that_are_ahead(
        self,
        spark: SparkSession,
        tmp_path: Path,
        orders: list[Row],
        customers: list[Row],
        sales: Any,
    ) -> None:
        program = selfmaint.parse(SALES)
        later = batch(spark, customers=[("-", 9, "EU"), ("+", 9, "US")])
        known = [0]
        warehouse = Warehouse.open(
            spark, str(tmp_path), program, later=lambda after, upto: later, lookups="always"
        )
        load = warehouse.maintains("sales", version=lambda: known[0])(sales)
        customers.append((9, "EU"))
        warehouse.load(0)
        orders.append((3, 9))
        customers[-1] = (9, "US")
        known[0] = 2  # both batches are in the sources before the first one is applied
        report = load(batch(spark, orders=[("+", 3, 9)]), 1)
        assert report.batch == 2
        assert load(later, 2).is_replay
        assert rows_of(warehouse, "sales") == [(1, 1, "EU"), (3, 9, "US")]
        plain = Warehouse.open(spark, str(tmp_path), program, lookups="always")
        refused = plain.maintains("sales", version=lambda: 4)(sales)
        orders.append((5, 2))
        with pytest.raises(RuntimeStateError, match="RT404"):
            refused(batch(spark, orders=[("+", 5, 77)]), 3)
