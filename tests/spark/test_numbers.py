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
from tests.spark.shops import Signed, frame, rows_of
from warehouse.columns import ColumnError
from warehouse.sources import MemorySource
from warehouse.tables import ConflictError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Without a key of orders, whether a row is new has to be looked up where its key is hidden.
SALES = """
.decl orders(id: long, cust: long)
.decl customers(cust: long, region: string) key(cust)
sales(I, C, R) :- orders(I, C), customers(C, R).
"""
PROGRAM = selfmaint.parse(SALES + 'eu(I) :- orders(I, C), customers(C, "EU").')
CUSTOMERS: list[Row] = [(1, "EU"), (2, "US")]


def batch(spark: SparkSession, **changes: Signed) -> dict[str, DataFrame]:
    return {name: frame(spark, PROGRAM.relations[name], rows) for name, rows in changes.items()}


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


@pytest.mark.slow
def test_a_first_load_and_one_that_goes_nowhere_ask_for_no_number(world: World) -> None:
    world.warehouse.apply(world.order(2, 1))
    assert world.warehouse.load() == 1
    world.warehouse.apply(world.order(3, 1))
    world.check()


@pytest.mark.slow
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


@pytest.mark.slow
def test_batches_of_several_threads_take_turns(world: World) -> None:
    batches = [world.order(id, 1) for id in (8, 9)]
    threads = [threading.Thread(target=world.warehouse.apply, args=(each,)) for each in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert world.warehouse.next_batch() == 3
    assert rows_of(world.warehouse, "eu") == [(1,), (8,), (9,)]


def test_what_is_no_batch_or_no_number(world: World) -> None:
    orders = batch(world.spark, orders=[("+", 8, 1)])["orders"]
    given: Any
    for given in (orders, [orders], None):
        with pytest.raises(selfmaint.InputError, match="RT407"):
            world.warehouse.apply(given)
    for given in (1.0, "1"):
        with pytest.raises(selfmaint.InputError, match="RT407"):
            world.warehouse.apply({"orders": orders}, given)


@pytest.mark.parametrize(
    "text",
    [
        ".decl r(x: long, Change: string)\nv(X) :- r(X, _).",
        ".decl r(x: long)\nv(_metadata) :- r(_metadata).",
    ],
)
def test_names_that_spark_could_not_tell_apart(
    spark: SparkSession, tmp_path: Path, text: str
) -> None:
    with pytest.raises(ColumnError, match="WH320"):
        Warehouse.open(spark, str(tmp_path / "views"), selfmaint.parse(text))
    assert not list(tmp_path.iterdir())


class TestLoaders:
    """Both views have loaders, and the sources are two lists."""

    @pytest.fixture
    def orders(self) -> list[Row]:
        return [(1, 1)]

    @pytest.fixture
    def customers(self) -> list[Row]:
        return list(CUSTOMERS)

    @pytest.fixture
    def sales(self, spark: SparkSession, orders: list[Row], customers: list[Row]) -> Any:
        def sales(keys: DataFrame | None) -> DataFrame:
            one = spark.createDataFrame(orders, "i long, c long")
            rows = one.join(spark.createDataFrame(customers, "c long, r string"), "c")
            rows = rows.select("i", "c", "r")
            return rows if keys is None else rows.join(keys, keys.columns)

        return sales

    def test_a_batch_is_for_all_views_and_applied_once(
        self, spark: SparkSession, tmp_path: Path, orders: list[Row], sales: Any
    ) -> None:
        warehouse = Warehouse.open(spark, str(tmp_path), PROGRAM)
        one = warehouse.maintains("sales")(sales)
        two = warehouse.maintains("eu")(lambda keys: sales(None).where("r = 'EU'").select("i"))
        warehouse.load()
        orders.append((2, 1))
        changes = batch(spark, orders=[("+", 2, 1)])
        with pytest.raises(RuntimeStateError, match=r"RT412(.|\n)*all 2 views"):
            one(changes)
        assert not one(changes, 1).is_replay
        assert two(changes, 1).is_replay
        assert rows_of(warehouse, "sales") == [(1, 1, "EU"), (2, 1, "EU")]
        assert rows_of(warehouse, "eu") == [(1,), (2,)]

    @pytest.mark.slow
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
