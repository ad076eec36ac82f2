"""How many rows were read, where others wrote too, and in the reports of a warehouse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import selfmaint
from selfmaint import Warehouse
from tests.spark.test_sizes import COLUMNS
from warehouse.columns import struct_type
from warehouse.sources import MemorySource
from warehouse.tables import ViewTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_version_of_others_is_counted_anew(spark: SparkSession, tmp_path: Path) -> None:
    table = ViewTable.create(spark, str(tmp_path / "v"), "v", COLUMNS)
    table.replace(table.version(), 0, spark.range(0, 100, 1, 2), {})
    table.optimize(["id"])
    version = table.version()
    files = table.read(version).inputFiles()
    assert (table.size(version), table.rows_in(files)) == ((100, len(files)), 100)
    table.optimize(["id"])
    table.commit(table.version(), 1, inserts=spark.range(100, 107, 1, 1), deletes=None, info={})
    assert table.size(table.version()) == (107, len(files) + 1)


def test_a_report_says_how_many_rows_were_read(spark: SparkSession, tmp_path: Path) -> None:
    program = selfmaint.parse("""
        .decl r(a: long, y: long) key(a)
        .decl s(y: long, z: long) key(y)
        v(A, Y, Z) :- r(A, Y), s(Y, Z).
    """)
    rows = {"r": [(i, i) for i in range(10)], "s": [(i, i) for i in (*range(10), 100)]}
    source = MemorySource(
        {
            name: spark.createDataFrame(found, struct_type(program.relations[name])).coalesce(1)
            for name, found in rows.items()
        }
    )
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source, lookups="always")
    warehouse.load()

    def read(*changes: tuple[int, int, str]) -> tuple[int, int]:
        batch = {"r": spark.createDataFrame(changes, "a long, y long, change string")}
        source.advance(batch)
        report = warehouse.apply(batch).of("v")
        return report.rows_read, report.rows

    expected = [(10, 10), (1, 10), (10, 11)]
    assert read((100, 100, "insert"), (3, 3, "delete")) == expected[0]
    assert read((101, 100, "insert")) == expected[1]  # of the one file that has such a row
    assert read((102, 5, "insert")) == expected[2]  # the deleted one is still in its file
    lines = warehouse.reports().orderBy("batch").select("rows_read", "rows").collect()
    assert [tuple(line) for line in lines] == expected
