"""Sources in Delta tables: answers as of each version, upkeep, and others who write to them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cq.diagnostics import InputError
from tests.spark.questions import RELATIONS, rows_of
from tests.spark.test_sources import (
    ANSWERS,
    JOIN,
    changes,
    check_versions,
    code_of,
    keys,
    start,
)
from warehouse.columns import delta_table, struct_type
from warehouse.sources import DeltaSource, SourceError, ask
from warehouse.sources.changes import Changes, counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@pytest.fixture(scope="module")
def created(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source at version 0, in a folder. To copy it costs less than to make it."""
    folder = tmp_path_factory.mktemp("created") / "a `source`"
    DeltaSource.create(spark, str(folder), start(spark, "r", "s"))
    return folder


def test_upkeep_of_a_source_is_no_write(spark: SparkSession, created: Path, tmp_path: Path) -> None:
    source = DeltaSource.open(spark, str(shutil.copytree(created, tmp_path / "source")))
    source.advance(changes(spark, 0, "r", "s"))
    table = delta_table(source._tables["r"])
    spark.sql(f"OPTIMIZE {table}").collect()
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('a' = 'b')")
    source.advance(changes(spark, 1, "r", "s"))
    check_versions(spark, source)
    spark.sql(f"DELETE FROM {table}").collect()
    with pytest.raises(SourceError, match="somebody else wrote to it"):
        source.advance(changes(spark, 1, "r"))


def test_of_two_that_advance_a_source_at_once_one_is_refused(
    spark: SparkSession, created: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They change different relations, so that no table tells of the other one."""
    path = str(shutil.copytree(created, tmp_path / "source"))
    source, other = DeltaSource.open(spark, path), DeltaSource.open(spark, path)

    def overtaken(relation: str, frame: DataFrame, rows: StructType) -> Changes:
        monkeypatch.undo()
        other.advance(changes(spark, 0, "s"))
        return counted(relation, frame, rows)

    monkeypatch.setattr("warehouse.sources.delta.counted", overtaken)
    with pytest.raises(SourceError, match="somebody else made version 1") as caught:
        source.advance(changes(spark, 1, "r"))
    assert caught.value.code == "WH339"
    assert source.version() == 1
    before = rows_of(other.read("r", 0))
    assert rows_of(source.read("r", 1)) == before
    source.recover()
    assert source.advance(changes(spark, 1, "r")) == 2
    assert rows_of(other.read("r", 2)) != before
    with pytest.raises(InputError, match="WH349"):
        DeltaSource.open(spark, "relative")
    with pytest.raises(SourceError, match=r"WH339(.|\n)*could not be made"):
        DeltaSource.create(spark, path, start(spark, "r"))


def test_delta_answers_as_of_every_version(
    spark: SparkSession, created: Path, tmp_path: Path
) -> None:
    path = str(shutil.copytree(created, tmp_path / "a `source`"))
    source = DeltaSource.open(spark, path)
    assert source.advance(changes(spark, 0, "r", "s")) == 1

    # Written and not recorded, as by an advance that was interrupted: nobody sees it.
    stray = spark.createDataFrame([(1, 10, "x")], struct_type(RELATIONS["r"]))
    stray.write.format("delta").mode("append").save(f"{path}/r")
    with pytest.raises(SourceError, match="unchanged at version 1") as caught:
        source.advance(changes(spark, 1, "r", "s"))
    assert caught.value.code == "WH339"
    assert source.read("r", 1).count() == 3
    source.recover()

    assert source.advance(changes(spark, 1, "r", "s")) == 2
    check_versions(spark, DeltaSource.open(spark, path))
    for version, code in ((3, ("WH332", True)), (-1, ("WH331", False))):
        with pytest.raises(SourceError) as caught:
            source.answer(JOIN, keys(spark), version)
        assert code_of(caught) == code

    # The same tables, as somebody who does not write them sees them.
    now = DeltaSource.of_tables(spark, {name: f"{path}/{name}" for name in "rs"})
    assert now.version() == 0
    assert rows_of(now.read("s", 0)) == rows_of(source.read("s", 2))
    given = {5: {"r": 0, "s": 0}, 6: {"r": 0, "s": 1}}
    then = DeltaSource.of_tables(spark, {name: f"{path}/{name}" for name in "rs"}, given)
    assert rows_of(ask(then, JOIN, keys(spark), 6).frame) == ANSWERS[1]
    with pytest.raises(SourceError) as caught:
        then.advance({})
    assert caught.value.code == "WH339"
