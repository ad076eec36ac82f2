"""Single files of a Delta table's log, read as its protocol names them.

Delta answers every question about its log from the whole log. What a batch asks most often is about
one version that it knows, and a look at that file costs a fraction. Law: what is found here is what
Delta would say. What is not found here says nothing, and the caller asks Delta.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

GLOB: Final = frozenset("{}[]*?\\")

COMMIT: Final = (
    "commitInfo struct<operation: string, userMetadata: string, "
    "operationMetrics: map<string, string>>"
)


def commit_files(path: str, *versions: int) -> str:
    r"""A pattern for the files of these commits; each character of the path means itself.

    Example:
        >>> commit_files("/data/{a}", 7)
        '/data/\\{a\\}/_delta_log/{00000000000000000007}.json'
    """
    folder = "".join(f"\\{char}" if char in GLOB else char for char in path)
    return f"{folder}/_delta_log/{{{','.join(f'{version:020}' for version in versions)}}}.json"


def is_last_commit(spark: SparkSession, path: str, version: int) -> bool:
    """Whether the log has this commit and not the next one; no Spark job.

    Raises:
        AnalysisException: it has neither.
    """
    reader = spark.read.schema("value string")
    files = reader.text(commit_files(path, version, version + 1)).inputFiles()
    return [file.rpartition("/")[2] for file in files] == [f"{version:020}.json"]


def commit_info(spark: SparkSession, path: str, version: int) -> Row | None:
    """What a commit says about itself: `operation`, `userMetadata`, `operationMetrics`; one job.

    Raises:
        AnalysisException: there is no such commit.
    """
    lines = spark.read.schema(COMMIT).json(commit_files(path, version))
    found = lines.where("commitInfo IS NOT NULL").collect()
    return found[0]["commitInfo"] if len(found) == 1 else None
