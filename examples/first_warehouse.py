"""A first warehouse on Spark, from the program to the first batches.

    python -m examples.first_warehouse

The source here is a few rows in memory. With tables of yours it is `DeltaSource`, and a source of
any other kind is a class with the four members of `warehouse.sources.Source`.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import selfmaint
from warehouse.session import session
from warehouse.sources import MemorySource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = selfmaint.parse("""
    .decl orders(id: long, cust: string)           key(id)  references customers(cust)
    .decl customers(cust: string, region: string)  key(cust)

    sales(Id, Cust, Region) :- orders(Id, Cust), customers(Cust, Region).
""")
ROWS = {
    "customers": [("ann", "EU"), ("bob", "US"), ("eve", "EU")],
    "orders": [(1, "ann"), (2, "bob")],
}
ORDERS = "id long, cust string, change string"


def run(spark: SparkSession, path: str) -> list[selfmaint.Report]:
    """Load the view, then apply two batches; their reports."""
    source = MemorySource.of_rows(spark, PROGRAM.relations.values(), ROWS)
    warehouse = selfmaint.Warehouse.open(spark, path, PROGRAM, source=source)
    warehouse.load()
    reports = []
    for rows in (
        [(3, "ann", "insert"), (2, "bob", "delete")],  # order 1 shows where ann lives
        [(4, "eve", "insert")],  # nothing shows eve: the source is asked
    ):
        changes = spark.createDataFrame(rows, ORDERS)
        number = source.advance({"orders": changes})  # the source has a batch before the warehouse
        reports.append(warehouse.apply({"orders": changes}, number))
    assert warehouse.verify("sales").is_right
    return reports


def main() -> None:
    from rich.console import Console

    with tempfile.TemporaryDirectory() as folder:
        for report in run(session(), f"{folder}/warehouse"):
            Console().print(report)


if __name__ == "__main__":
    main()
