"""Views that no change of a batch meets are spared, and no others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import selfmaint
from cq.types import Row
from selfmaint.warehouse import Warehouse
from tests.spark import shops
from tests.spark.sessions import Jobs
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


BEFORE: dict[str, list[Row]] = {"sale": [(1, "EU", 1), (2, "US", 1)], "product": [(1, "tea")]}


def test_views_that_no_change_meets_cost_nothing(
    spark: SparkSession, tmp_path: Path, count_jobs: Callable[[], AbstractContextManager[Jobs]]
) -> None:
    program = selfmaint.parse(PROGRAM)
    source = MemorySource.of_rows(spark, program.relations.values(), BEFORE)
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    books = shops.books(BEFORE)

    def insert(*rows: Row) -> selfmaint.Report:
        changes = [("+", *row) for row in rows]
        batch = {"sale": shops.frame(spark, program.relations["sale"], changes)}
        source.advance(batch)
        shops.change(books, {"sale": changes})
        return warehouse.apply(batch)

    report = insert((3, "EU", 1), (4, "EU", 1))
    assert {view.view: view.inserted for view in report.views} == {
        "all_of_it": 2, "in_eu": 2, "in_us": 0, "late": 0
    }  # fmt: skip
    for name in ("in_us", "late"):
        (count,) = report.of(name).counts
        assert (count.kind, count.rule, count.changes) == ("irrelevant", "screen", 2)
        assert report.of(name).stages == ()
    with count_jobs() as few:
        insert((5, "AU", 1))
    with count_jobs() as more:
        report = insert((6, "EU", 1), (107, "US", 1))
    assert [view.inserted for view in report.views] == [2, 1, 1, 1]
    assert more.count >= few.count + 2 * 8, "three views more to look into and to commit"
    shops.check(warehouse, books)
