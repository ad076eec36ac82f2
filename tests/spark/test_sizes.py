"""How many rows were read, of how many: told by commits, by Delta's log, by footers of files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import types

import selfmaint
from selfmaint import Warehouse
from tests.spark.sessions import Jobs
from warehouse.sources import MemorySource
from warehouse.tables import State, ViewTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COLUMNS = (("id", types.LongType()),)


def test_a_commit_tells_what_would_else_be_asked(
    spark: SparkSession, tmp_path: Path, count_jobs: Callable[[], AbstractContextManager[Jobs]]
) -> None:
    path = str(tmp_path / "a {b,c} [d]*? %20 ü")
    table = ViewTable.create(spark, path, "v", COLUMNS)
    table.replace(table.version(), 0, spark.range(0, 100, 1, 2), {})
    inserts, deletes = spark.range(100, 130), spark.range(10)
    table.commit(table.version(), 1, inserts=inserts, deletes=None, info={})
    table.commit(table.version(), 2, inserts=spark.range(130, 131), deletes=deletes, info={})
    version = table.version()
    files = table.read(version).inputFiles()
    few = table.read(version).where("id >= 100").inputFiles()
    assert len(few) == len(files) - 2
    opened = ViewTable.open(spark, path, "v", COLUMNS, State(version, 2))
    with count_jobs() as jobs:
        told = table.size(version), table.rows_in(files), table.rows_in(few)
    assert jobs.count == 0
    assert told == ((121, len(files)), 131, 31)
    assert opened.size(version) == (121, len(files))
    assert (opened.rows_in(few), opened.rows_in(files)) == (31, 131)


@pytest.mark.slow
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


def test_a_second_load_leaves_no_file_of_the_first(spark: SparkSession, tmp_path: Path) -> None:
    table = ViewTable.create(spark, str(tmp_path / "v"), "v", COLUMNS)
    for rows in (spark.range(0, 100, 1, 2), spark.range(0, 30, 1, 1)):
        table.replace(table.version(), 0, rows, {})
    assert table.size(table.version()) == (30, 1)


def test_a_report_says_how_many_rows_were_read(spark: SparkSession, tmp_path: Path) -> None:
    program = selfmaint.parse("""
        .decl r(a: long, y: long) key(a)
        .decl s(y: long, z: long) key(y)
        v(A, Y, Z) :- r(A, Y), s(Y, Z).
    """)
    rows = {"r": [(i, i) for i in range(10)], "s": [(i, i) for i in (*range(10), 100)]}
    source = MemorySource.of_rows(spark, program.relations.values(), rows)
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
