"""A loader that returns more than it was asked for, and whose sources move on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import selfmaint
from selfmaint import Warehouse
from selfmaint.errors import RuntimeStateError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def test_a_loader_may_return_more_than_the_view_shows(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of other regions, and rows that show one variable as two values."""
    program = selfmaint.parse(
        ".decl customers(cust: long, region: string)\neu(C, 'EU', C) :- customers(C, 'EU')."
    )
    warehouse = Warehouse.open(spark, str(tmp_path), program)
    rows = [(1, "EU", 1), (2, "US", 2), (3, "EU", 4)]

    def eu(keys: DataFrame | None) -> DataFrame:
        names = warehouse.view("eu").read().columns
        return spark.createDataFrame(rows, "c long, r string, d long").toDF(*names)

    load = warehouse.maintains("eu")(eu)
    warehouse.load()
    found = {tuple(row) for row in warehouse.view("eu").read().collect()}
    assert found == {(1, "EU", 1)}

    rows.append((5, "EU", 5))
    change = spark.createDataFrame([(5, "EU", "insert")], "cust long, region string, change string")
    load({"customers": change})
    with pytest.raises(RuntimeStateError, match=r"RT409(.|\n)*`load\(number=1\)`"):
        warehouse.load()
    assert warehouse.load(1) == 1  # again, and the batch is not forgotten
    with pytest.raises(RuntimeStateError, match=r"RT409(.|\n)*number=1\)"):
        warehouse.repair("eu")  # what the loader computes now may hold the next batch
    warehouse.repair("eu", number=1)
    assert warehouse.next_batch() == 2
    assert warehouse.verify("eu").is_right
