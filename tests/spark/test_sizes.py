"""How many rows were read, of how many: told by commits, by Delta's log, by footers of files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import types

from tests.spark.sessions import Jobs
from warehouse.tables import State, ViewTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def test_a_second_load_leaves_no_file_of_the_first(spark: SparkSession, tmp_path: Path) -> None:
    table = ViewTable.create(spark, str(tmp_path / "v"), "v", COLUMNS)
    for rows in (spark.range(0, 100, 1, 2), spark.range(0, 30, 1, 1)):
        table.replace(table.version(), 0, rows, {})
    assert table.size(table.version()) == (30, 1)
