"""What a warehouse keeps of its views in memory is what they show, whoever writes to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import selfmaint
from selfmaint.report import ViewReport
from selfmaint.warehouse import Warehouse
from tests.spark.shops import Signed, books, change, check, frame
from warehouse.sources import Fault, MemorySource, SimulatedSource, SourceError, VirtualClock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = selfmaint.parse("""
    .decl sale(id: long, cust: long, prod: long)  key(id)
    .decl cust(cust: long, region: string)        key(cust)
    .decl prod(prod: long, price: long)           key(prod)
    sales(Id, Cust, Region, Prod, Price) :-
        sale(Id, Cust, Prod), cust(Cust, Region), prod(Prod, Price).
""")
BEFORE = {
    "sale": [(i, i % 3, i % 2) for i in range(60)],
    "cust": [(i, f"region {i}") for i in range(5)],
    "prod": [(i, 10 * i) for i in range(5)],
}


class Shop:
    """Sales behind a source that can fail, and the books of it all."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.path = spark, str(folder / "warehouse")
        self.books = books(BEFORE)
        self.tables = MemorySource.of_rows(spark, PROGRAM.relations.values(), BEFORE)
        self.source = SimulatedSource(self.tables, latency=0.1, clock=VirtualClock())
        self.number = 0
        self.warehouse = self.open()
        self.warehouse.load()

    def open(self) -> Warehouse:
        return Warehouse.open(
            self.spark, self.path, PROGRAM, source=self.source, lookups="always", retries=0
        )

    def happens(self, **changes: Signed) -> None:
        """The next batch, in the source."""
        self.batch = {
            name: frame(self.spark, PROGRAM.relations[name], rows) for name, rows in changes.items()
        }
        self.number = self.tables.advance(self.batch)
        change(self.books, changes)

    def apply(self, warehouse: Warehouse | None = None) -> ViewReport:
        """The last batch, here; the view is then as it should be."""
        chosen = warehouse or self.warehouse
        report = chosen.apply(self.batch, self.number).of("sales")
        check(chosen, self.books)
        return report

    def sale(self, cust: int, warehouse: Warehouse | None = None) -> ViewReport:
        """One more sale to this customer."""
        self.happens(sale=[("+", 1_000 + self.number, cust, self.number % 2)])
        return self.apply(warehouse)

    def index(self) -> None:
        """Sales until nothing is read for them: scanned, indexed, looked up."""
        while self.sale(0).rows_read:
            assert self.number < 30


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    shop = Shop(spark, tmp_path_factory.mktemp("shop"))
    reports = [shop.sale(0) for _ in range(3)]
    # Three regions and two prices, and what was added since.
    assert [report.rows_read for report in reports] == [60, 61, 0]
    assert [report.indexed >= 5 for report in reports] == [False, True, True]
    return shop


def test_an_index_follows_the_view(shop: Shop) -> None:
    shop.happens(cust=[("-", 0, "region 0"), ("+", 0, "north")], sale=[("-", 1, 1, 1)])
    assert shop.apply().cost.questions == 0
    report = shop.sale(0)  # in the north
    assert (report.rows_read, report.cost.questions) == (0, 0)
    shop.happens(sale=[("-", i, i % 3, i % 2) for i in range(60) if i % 3 == 2])
    shop.apply()
    report = shop.sale(2)  # of whom nothing is left
    assert (report.rows_read, report.cost.questions) == (0, 1)
    report = shop.sale(2)  # and now there is
    assert (report.rows_read, report.cost.questions) == (0, 0)


def test_rows_that_came_in_another_way_are_looked_for(shop: Shop) -> None:
    shop.index()
    other = shop.open()
    shop.happens(cust=[("-", 1, "region 1"), ("+", 1, "south")])
    shop.apply(other)
    assert shop.sale(1).rows_read > 0  # another maintainer has moved the view on
    shop.index()
    shop.warehouse.repair("sales")
    assert shop.sale(1).rows_read > 0


def test_upkeep_changes_no_row(shop: Shop) -> None:
    shop.index()
    shop.warehouse.optimize("sales")
    assert shop.sale(0).rows_read == 0


def test_after_an_error_there_is_no_index(shop: Shop) -> None:
    shop.index()
    shop.happens(sale=[("+", 5_000, 0, 0), ("+", 5_001, 3, 0)])  # nothing is known of 3
    shop.source.faults[shop.source.questions + 1] = Fault.ERROR
    with pytest.raises(SourceError):
        shop.apply()
    report = shop.apply()
    assert (report.rows_read > 0, report.cost.questions) == (True, 1)
