"""Views that no change of a batch meets are spared, and no others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import selfmaint
from selfmaint.warehouse import Warehouse
from tests.spark.conftest import Jobs
from warehouse.sources import MemorySource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
.decl sale(id: long, region: string, product: long) key(id)
.decl product(product: long, name: string) key(product)
all_of_it(I, R, P, N) :- sale(I, R, P), product(P, N).
in_eu(I, P, N) :- sale(I, 'EU', P), product(P, N).
in_us(I, P, N) :- sale(I, 'US', P), product(P, N).
late(I, R) :- sale(I, R, _), I >= 100.
"""


@pytest.fixture
def warehouse(spark: SparkSession, tmp_path: Path) -> Warehouse:
    program = selfmaint.parse(PROGRAM)
    sales = spark.createDataFrame(
        [(1, "EU", 1), (2, "US", 1)], "id long, region string, product long"
    )
    products = spark.createDataFrame([(1, "tea")], "product long, name string")
    source = MemorySource({"sale": sales, "product": products})
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    return warehouse


def test_views_that_no_change_meets_cost_nothing(
    warehouse: Warehouse, count_jobs: Callable[[], AbstractContextManager[Jobs]]
) -> None:
    def insert(*rows: tuple[object, ...]) -> selfmaint.Report:
        frame = warehouse.spark.createDataFrame(
            list(rows), "id long, region string, product long, change string"
        )
        source = warehouse._source
        assert isinstance(source, MemorySource)
        source.advance({"sale": frame})
        return warehouse.apply({"sale": frame})

    report = insert((3, "EU", 1, "insert"), (4, "EU", 1, "insert"))
    assert {view.view: view.inserted for view in report.views} == {
        "all_of_it": 2, "in_eu": 2, "in_us": 0, "late": 0
    }  # fmt: skip
    for name in ("in_us", "late"):
        (count,) = report.of(name).counts
        assert (count.kind, count.rule, count.changes) == ("irrelevant", "screen", 2)
        assert report.of(name).stages == ()
    with count_jobs() as few:
        insert((5, "AU", 1, "insert"))
    with count_jobs() as more:
        report = insert((6, "EU", 1, "insert"), (107, "US", 1, "insert"))
    assert [view.inserted for view in report.views] == [2, 1, 1, 1]
    assert more.count >= few.count + 2 * 8, "three views more to look into and to commit"
    assert all(warehouse.verify(name).is_right for name in warehouse.views)


def test_a_change_that_fails_the_screen_still_tells_what_its_key_is_worth(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Of a view that is touched no change is left out, or this sale would have to be asked."""
    program = selfmaint.parse("""
        .decl sale(id: long, customer: long) key(id)
        .decl customer(customer: long, region: string) key(customer)
        in_eu(I, C) :- sale(I, C), customer(C, 'EU').
    """)
    source = MemorySource(
        {
            "sale": spark.createDataFrame([(1, 1)], "id long, customer long"),
            "customer": spark.createDataFrame([(1, "EU")], "customer long, region string"),
        }
    )
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    batch = {
        "sale": spark.createDataFrame([(2, 2, "insert")], "id long, customer long, change string"),
        "customer": spark.createDataFrame(
            [(2, "US", "insert")], "customer long, region string, change string"
        ),
    }
    source.advance(batch)
    report = warehouse.apply(batch).of("in_eu")
    assert (report.cost.questions, report.inserted) == (0, 0)
    assert warehouse.verify("in_eu").is_right
