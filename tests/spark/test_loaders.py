"""Loaders and streams, wrapped: a function is called for what nobody here knows, and only then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import selfmaint
from cq.types import Row
from selfmaint import Warehouse
from selfmaint.errors import RuntimeStateError
from tests.spark.sessions import spark_kind
from warehouse.columns import ColumnError
from warehouse.sources import SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# `note` is in no join and no comparison, so it may be NULL, and a slice may be one of NULLs: the
# note of an order that shows nothing else.
PROGRAM = """
.decl customers(cust: long, region: string)  key(cust)
.decl orders(order_id: long, cust: long, note: string)
notes(Note, Region) :- orders(_, C, Note), customers(C, Region).
"""

Rows = list[Row]


class Shop:
    """Two tables, and the loader that somebody wrote for a view of them."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.orders: Rows = []
        self.customers: Rows = []
        self.calls: list[tuple[tuple[str, ...], int] | None] = []

    def table(self, name: str, columns: str) -> DataFrame:
        return self.spark.createDataFrame(getattr(self, name), columns)

    def notes(self, keys: DataFrame | None) -> DataFrame:
        self.calls.append(keys and (tuple(keys.columns), keys.count()))
        orders = self.table("orders", "order_id long, cust long, note string")
        customers = self.table("customers", "cust long, region string")
        rows = orders.join(customers, "cust").select("note", "region")
        return rows if keys is None else rows.join(keys, keys.columns)

    def changes(self, name: str, rows: Iterable[tuple[str, *tuple[object, ...]]]) -> DataFrame:
        """Changes, which the tables get at once."""
        table: Rows = getattr(self, name)
        for change, *row in rows:
            (table.append if change == "insert" else table.remove)(tuple(row))
        columns = {
            "orders": "change string, order_id long, cust long, note string",
            "customers": "change string, cust long, region string",
        }
        return self.spark.createDataFrame([tuple(row) for row in rows], columns[name])


@pytest.fixture(scope="module")
def shop(spark: SparkSession) -> Shop:
    shop = Shop(spark)
    shop.customers = [(1, "north"), (2, "south"), (3, "west")]
    shop.orders = [(10, 1, "gift"), (11, 2, None), (12, 1, None)]
    return shop


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the one warehouse that most tests here share: each opens it anew, and goes on with it."""
    return str(tmp_path_factory.mktemp("loaders") / "shop")


@pytest.fixture
def warehouse(spark: SparkSession, folder: str) -> Warehouse:
    return Warehouse.open(spark, folder, selfmaint.parse(PROGRAM))


def rows_of(warehouse: Warehouse) -> set[Row]:
    return {tuple(row) for row in warehouse.view("notes").read().collect()}


def check(warehouse: Warehouse, shop: Shop) -> None:
    """The view is as the reference computes it."""
    tables = {"orders": set(shop.orders), "customers": set(shop.customers)}
    assert rows_of(warehouse) == warehouse.program.view("notes").evaluate(tables)


def test_a_view_without_anybody_to_ask_is_refused(warehouse: Warehouse, shop: Shop) -> None:
    with pytest.raises(RuntimeStateError, match="RT405"):
        warehouse.load()
    with pytest.raises(selfmaint.InputError, match="RT403"):
        warehouse.maintains("note")
    warehouse.maintains("notes")(lambda keys: shop.notes(keys).withColumnRenamed("note", "nota"))
    with pytest.raises(selfmaint.InputError, match="RT406"):
        warehouse.maintains("notes")
    with pytest.raises(ColumnError, match="what the loader of notes returned"):
        warehouse.load()
    with pytest.raises(selfmaint.InputError, match="RT407"):
        warehouse.batch_writer("order")
    with pytest.raises(selfmaint.InputError, match="RT407"):
        warehouse.batch_writer(lambda frame: {"orders": frame}, order="at")


def test_a_loader_that_fails_is_told_where(warehouse: Warehouse, shop: Shop) -> None:
    """The text of its error may be a secret; the place is none."""

    def broken(keys: DataFrame | None) -> DataFrame:
        raise KeyError("a password")

    warehouse.maintains("notes")(broken)
    place = r"KeyError \(in `broken`, line \d+ of test_loaders.py\)"
    with pytest.raises(SourceError, match=rf"WH333.*{place}(.|\n)*run `load\(\)` again") as found:
        warehouse.load()
    assert "password" not in str(found.value)
    assert isinstance(found.value.__context__, KeyError)


def test_a_loader_that_returns_nothing(warehouse: Warehouse) -> None:
    def forgetful(keys: DataFrame | None) -> Any:
        """It computes, and forgets to return."""

    warehouse.maintains("notes")(forgetful)
    with pytest.raises(SourceError, match=r"WH336.*no DataFrame, but 'NoneType'"):
        warehouse.load()


def test_a_loader_is_called_for_the_missed_slices(warehouse: Warehouse, shop: Shop) -> None:
    notes = warehouse.maintains("notes")(shop.notes)
    shop.calls.clear()
    assert warehouse.load() == 0
    assert shop.calls == [None]
    assert rows_of(warehouse) == {("gift", "north"), (None, "south"), (None, "north")}

    def step(*changes: tuple[str, *tuple[object, ...]]) -> selfmaint.Report:
        shop.calls.clear()
        report = notes({"orders": shop.changes("orders", changes)})
        check(warehouse, shop)
        return report

    # Nobody here knows where customer 3 lives: the column is hidden.
    step(("insert", 13, 3, "urgent"), ("insert", 14, 3, "gift"))
    assert shop.calls == [(("note",), 2)]
    assert rows_of(warehouse) >= {("urgent", "west"), ("gift", "west"), ("gift", "north")}

    # A slice of NULLs: the function gets no column that it could join by, and is called once.
    report = step(("delete", 12, 1, None))
    assert shop.calls == [None]
    assert (None, "north") not in rows_of(warehouse)
    assert report.of("notes").cost.questions == 1

    # Both kinds at once: everything comes with the first call.
    step(("delete", 11, 2, None), ("delete", 13, 3, "urgent"))
    assert shop.calls == [None]
    assert rows_of(warehouse) == {("gift", "north"), ("gift", "west")}

    # Nothing shows this note, so nothing has to be asked.
    shop.orders.append((20, 99, "lost"))
    report = step(("delete", 20, 99, "lost"))
    assert shop.calls == []
    assert report.of("notes").decided_here == 1

    assert warehouse.verify("notes").is_right
    assert shop.calls == [None]


Stream = Callable[[Sequence[str]], None]


@pytest.fixture
def first(warehouse: Warehouse, shop: Shop) -> int:
    """The number of the next batch for the warehouse, which has a loader and is loaded."""
    warehouse.maintains("notes")(shop.notes)
    if warehouse._store.states()["notes"].batch is None:
        warehouse.load()
    return warehouse.next_batch()


@pytest.fixture
def stream(spark: SparkSession, warehouse: Warehouse, first: int, tmp_path: Path) -> Stream:
    """`stream(lines)`: one more file of changes for a stream that starts where it left off."""
    if spark_kind() == "connect":
        pytest.skip("over Spark Connect the function of a stream runs in another process")
    folder = tmp_path / "log"
    folder.mkdir()
    write = warehouse.batch_writer("orders", order="at", first=first)

    def run(lines: Sequence[str]) -> None:
        (folder / f"{len(list(folder.iterdir()))}.json").write_text("\n".join(lines))
        frames = spark.readStream.schema(LOG).option("maxFilesPerTrigger", 1).json(str(folder))
        query = frames.writeStream.foreachBatch(write)
        query = query.option("checkpointLocation", str(tmp_path / "place"))
        query.trigger(availableNow=True).start().awaitTermination()

    return run


LOG = "change string, order_id long, cust long, note string, at long"


def line(change: str, order: int, cust: int, note: str, at: int) -> str:
    return (
        f'{{"change": "{change}", "order_id": {order}, "cust": {cust}, "note": "{note}", '
        f'"at": {at}}}'
    )


def test_a_stream_of_changes_is_applied_batch_by_batch(
    spark: SparkSession, warehouse: Warehouse, shop: Shop, first: int, stream: Stream
) -> None:
    shop.orders.append((31, 2, "late"))
    stream([line("insert", 30, 1, "x", 1), line("delete", 30, 1, "x", 2)])  # nothing, on the whole
    stream([line("insert", 31, 2, "late", 3)])
    lines = warehouse.history("notes").tail(2)
    assert [(row["batch"], row["is_changed"]) for row in lines] == [
        (first, False),
        (first + 1, True),
    ]
    assert warehouse.next_batch() == first + 2
    assert ("late", "south") in rows_of(warehouse)
    check(warehouse, shop)

    # A stream that lost its memory repeats the last micro-batch: it is recognised.
    frame = spark.createDataFrame([("insert", 31, 2, "late", 3)], LOG)
    version = warehouse._store.views["notes"].newest()
    shop.calls.clear()
    warehouse.batch_writer("orders", order="at", first=first)(frame, 1)
    assert not shop.calls
    assert warehouse._store.views["notes"].newest() == version
