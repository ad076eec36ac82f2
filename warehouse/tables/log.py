"""Single files of a Delta table, read as its protocol names them.

Delta answers every question about its log from the whole log. What a batch asks most often is about
one version that it knows, and a look at that file costs a fraction. Law: what is found here is what
Delta would say. What is not found here says nothing, and the caller asks Delta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

GLOB: Final = frozenset("{}[]*?\\")

COMMIT: Final = (
    "commitInfo struct<operation: string, userMetadata: string, "
    "operationMetrics: map<string, string>>, add struct<path: string, stats: string>, "
    "remove struct<path: string>"
)
ROWS_ADDED: Final = "CAST(get_json_object(add.stats, '$.numRecords') AS bigint)"


def literally(path: str) -> str:
    r"""A pattern for this path alone: each character means itself.

    Example:
        >>> literally("/data/{a}")
        '/data/\\{a\\}'
    """
    return "".join(f"\\{char}" if char in GLOB else char for char in path)


def commit_files(path: str, *versions: int) -> str:
    r"""A pattern for the files of these commits.

    Example:
        >>> commit_files("/data/{a}", 7)
        '/data/\\{a\\}/_delta_log/{00000000000000000007}.json'
    """
    names = ",".join(f"{version:020}" for version in versions)
    return f"{literally(path)}/_delta_log/{{{names}}}.json"


def is_last_commit(spark: SparkSession, path: str, version: int) -> bool:
    """Whether the log has this commit and not the next one; no Spark job.

    Raises:
        AnalysisException: it has neither.
    """
    reader = spark.read.schema("value string")
    files = reader.text(commit_files(path, version, version + 1)).inputFiles()
    return [file_name(file) for file in files] == [f"{version:020}.json"]


@dataclass(frozen=True, slots=True)
class Logged:
    """A commit as the log has it.

    Args:
        info: what it says about itself: `operation`, `userMetadata`, `operationMetrics`.
        added: the names of the files that it adds to their rows, as far as it says so.
        come, gone: how many files it adds and removes. One of which only rows are deleted counts as
            both.
    """

    info: Row
    added: Mapping[str, int]
    come: int
    gone: int


def logged(spark: SparkSession, path: str, version: int) -> Logged | None:
    """A commit; one job.

    Raises:
        AnalysisException: there is no such commit.
    """
    lines = spark.read.schema(COMMIT).json(commit_files(path, version))
    told = lines.selectExpr(
        "commitInfo", "add.path AS path", f"{ROWS_ADDED} AS rows", "remove.path AS gone"
    ).where("commitInfo IS NOT NULL OR path IS NOT NULL OR gone IS NOT NULL")
    found = told.collect()
    infos = [line["commitInfo"] for line in found if line["commitInfo"] is not None]
    paths = [line["path"] for line in found if line["path"] is not None]
    added = {file_name(line["path"]): line["rows"] for line in found if line["rows"] is not None}
    gone = sum(line["gone"] is not None for line in found)
    return Logged(infos[0], added, len(paths), gone) if len(infos) == 1 else None


def rows_of(spark: SparkSession, files: Sequence[str]) -> dict[str, int]:
    """The names of data files to their rows, deleted ones that are still in them included.

    One job, and another one to find the files if they are many; it reads their footers alone.
    """
    # Nothing is read of a row, so it does not matter which columns there are.
    frame = spark.read.schema("nothing int").parquet(*map(literally, files))
    counted = frame.groupBy("_metadata.file_name").count().collect()
    found = {line["file_name"]: line["count"] for line in counted}
    return {name: found.get(name, 0) for name in map(file_name, files)}


def file_name(file: str) -> str:
    """The last part of a path. Delta gives no two files of a table the same.

    Example:
        >>> file_name("file:/data/sales/part-0.parquet"), file_name("part-0.parquet")
        ('part-0.parquet', 'part-0.parquet')
    """
    return file.rpartition("/")[2]
