"""Batches and their numbers: what is none is refused, and a batch is for all views."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import selfmaint
from cq.types import Row
from selfmaint import Warehouse
from selfmaint.errors import RuntimeStateError
from tests.spark.shops import Signed, frame, rows_of
from warehouse.columns import ColumnError

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


def test_what_is_no_batch_or_no_number(spark: SparkSession, tmp_path: Path) -> None:
    warehouse = Warehouse.open(spark, str(tmp_path), PROGRAM)
    orders = batch(spark, orders=[("+", 8, 1)])["orders"]
    given: Any
    for given in (orders, [orders], None):
        with pytest.raises(selfmaint.InputError, match="RT407"):
            warehouse.apply(given)
    for given in (1.0, "1"):
        with pytest.raises(selfmaint.InputError, match="RT407"):
            warehouse.apply({"orders": orders}, given)


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


class Lists:
    """The sources are two lists, and there is a loader for `sales`."""

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


class TestLoaders(Lists):
    """Both views have loaders."""

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
