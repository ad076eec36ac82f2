"""What a session must have to keep Delta views, and what a given one lacks.

Everything is asked through the session's public interface, so that the answer is the same for a
classic session and for one over Spark Connect.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from warehouse.errors import SetupError
from warehouse.sparklog import silent_query_errors
from warehouse.versions import DELTA, DELTA_PACKAGE, SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSIONS: Final = "spark.sql.extensions"
DELTA_EXTENSION: Final = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG: Final = "spark.sql.catalog.spark_catalog"
DELTA_CATALOG: Final = "org.apache.spark.sql.delta.catalog.DeltaCatalog"

PACKAGES: Final = "spark.jars.packages"

NEW_PROCESS: Final = "start a new Python process (in a notebook: restart the kernel)"
"""PySpark starts one JVM per Python process and keeps it, also when a session is stopped."""

MEANING: Final = {
    # A number that does not fit, or a text that is no number, is an error and not a NULL or
    # another number that would go into a view unnoticed.
    "spark.sql.ansi.enabled": "true",
    # A time in a program or a change names no zone. Read in the machine's zone, the same view
    # would hold other rows on another machine, and two times an hour apart could be one.
    "spark.sql.session.timeZone": "UTC",
    # Otherwise Spark hands a day that it compares with to Parquet's reader by way of another
    # calendar, in the machine's zone: 1582-10-10 and days that the zone has skipped come out as
    # later ones, and rows of such a day are not found.
    "spark.sql.datetime.java8API.enabled": "true",
    # A file of a source or a view that has gone, or cannot be read, is an error. Passed over, its
    # rows would be missing in an answer, and from then on in a view.
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
}
"""What decides what a value means, and that all are read. A view is right only if all that touch it
agree on this."""

SAME: Final = frozenset(("UTC", name) for name in ("Etc/UTC", "GMT", "Etc/GMT", "Z"))
"""Needed values and other ways to write them."""

SMALL_BATCHES: Final = {
    # Delta rebuilds a table's state in this many tasks after each commit. The default, 50, costs
    # seconds for a table of a few files.
    "spark.databricks.delta.snapshotPartitions": "1",
    # What is in one partition stays there. Spark would share it out again, in a shuffle per join,
    # if it expects more than 128 MB, and of a batch that it has not seen it expects the worst.
    "spark.sql.maxSinglePartitionBytes": str(2**62),
    # Spark would serialize every step of a plan as soon as it is built, only to see whether it can
    # be, and with each step all that comes before it: a fifth of the driver's time.
    "spark.sql.execution.usePartitionEvaluator": "true",
    # Compiled queries to keep. A batch uses some two hundred; with the default, 100, each batch
    # compiles all of them again.
    "spark.sql.codegen.cache.maxEntries": "5000",
    # A small batch is one task of many joins and aggregations, and each takes a page of memory,
    # however few rows it has. Spark would make them so large that a task gets as few as eight: with
    # two tasks at a time a batch could fail for want of memory.
    "spark.buffer.pageSize": "1m",
}
"""What makes small batches fast on any master."""

FIXED: Final = frozenset({"spark.sql.codegen.cache.maxEntries", "spark.buffer.pageSize"})
"""Those of them that a running session no longer takes."""


class Remedy(StrEnum):
    """What fills a gap."""

    RUN = "run {name} {needed}"
    BUILD = "build the session with {name}={needed}"
    SET = "set {name}={needed}, also on a running session"


@dataclass(frozen=True, slots=True)
class Gap:
    """One thing that a session lacks.

    Attributes:
        name: a setting, or a program.
        found: what the session has; None for nothing.
        needed: the value or version it must have.
        remedy: what to do about it.
    """

    name: str
    found: str | None
    needed: str
    remedy: Remedy = Remedy.BUILD

    def __str__(self) -> str:
        todo = self.remedy.format(name=self.name, needed=self.needed)
        return f"{todo} (now: {self.found or 'not set'})"


class UnfitSessionError(SetupError):
    """A session that cannot keep Delta views.

    Attributes:
        gaps: everything it lacks.
    """

    def __init__(self, gaps: tuple[Gap, ...]) -> None:
        advice = [str(gap) for gap in gaps]
        if any(gap.name == PACKAGES for gap in gaps):
            advice.append(
                f"jars come only with the JVM: {NEW_PROCESS} and call `session()` first;"
                " where it is a Spark Connect server's, start that anew"
            )
        super().__init__("WH301", "this Spark session cannot keep Delta views", *advice)
        self.gaps = gaps


class SlowSessionWarning(UserWarning):
    """A session on which batches take longer than they need to, and what to set.

    Attributes:
        gaps: the settings that nobody has made.
    """

    def __init__(self, gaps: tuple[Gap, ...]) -> None:
        advice = "\n".join(f"  {gap}" for gap in gaps)
        super().__init__(f"small batches take longer than need be on this Spark session:\n{advice}")
        self.gaps = gaps


def require(spark: SparkSession) -> SparkSession:
    """The given session, if it can keep Delta views; with a warning, if it keeps them slowly.

    Raises:
        SetupError: WH308, if it is no session, or one that has been stopped.
        UnfitSessionError: WH301, with everything that it lacks and what to set.
    """
    _check_alive(spark)
    if gaps := tuple(_gaps(spark)):
        raise UnfitSessionError(gaps)
    if slow := tuple(_slow(spark)):
        warnings.warn(SlowSessionWarning(slow), stacklevel=2)
    return spark


def require_meaning(spark: SparkSession) -> None:
    """Refuse a session on which values have come to mean something else.

    The settings of `MEANING` can be made on a running session, so that one which passed `require`
    can be changed afterwards. This asks for them alone and runs no job: it is cheap enough to be
    called before each batch.

    Raises:
        SetupError: WH308, it has been stopped meanwhile.
        UnfitSessionError: WH301, with the settings to put back.
    """
    _check_alive(spark)
    if gaps := tuple(_other_meanings(spark)):
        raise UnfitSessionError(gaps)


def _check_alive(spark: SparkSession) -> None:
    """Refuse what cannot be asked anything: Spark itself would fail inside of Java."""
    advice = "build a new one with `session()`, or with Spark's own builder"
    # Classic sessions and those over Spark Connect have no class in common.
    if not hasattr(type(spark), "conf"):
        raise SetupError("WH308", f"a Spark session is needed, not {_named(spark)}", advice)
    if _is_stopped(spark):
        raise SetupError("WH308", "this Spark session has been stopped", advice)


def _named(thing: object) -> str:
    """What somebody gave for a session, by its kind: its value may be long, or secret."""
    return "None" if thing is None else f"a value of type `{type(thing).__name__}`"


def _is_stopped(spark: SparkSession) -> bool:
    """Whether somebody has stopped it.

    Over Spark Connect a session knows. A classic one does not, and still answers some questions,
    but its context then has no application any more.
    """
    known: bool | None = getattr(spark, "is_stopped", None)
    return not hasattr(spark.sparkContext, "applicationId") if known is None else known


def _slow(spark: SparkSession) -> Iterator[Gap]:
    """What would make small batches faster. A setting that somebody has made is a choice."""
    for name, value in SMALL_BATCHES.items():
        if spark.conf.get(name, None) is None:
            yield Gap(name, None, value, Remedy.BUILD if name in FIXED else Remedy.SET)


def _gaps(spark: SparkSession) -> Iterator[Gap]:
    if spark.version != SPARK:
        yield Gap("Spark", spark.version, SPARK, Remedy.RUN)

    delta = _delta_version(spark)
    if delta != DELTA:
        found = f"Delta {delta}" if delta else "no Delta on the class path"
        yield Gap(PACKAGES, found, DELTA_PACKAGE)

    extensions = spark.conf.get(EXTENSIONS, None)
    if DELTA_EXTENSION not in map(str.strip, (extensions or "").split(",")):
        yield Gap(EXTENSIONS, extensions, ",".join(filter(None, [extensions, DELTA_EXTENSION])))

    catalog = spark.conf.get(CATALOG, None)
    if catalog != DELTA_CATALOG:
        yield Gap(CATALOG, catalog, DELTA_CATALOG)

    yield from _other_meanings(spark)


def _other_meanings(spark: SparkSession) -> Iterator[Gap]:
    for name, needed in MEANING.items():
        value = spark.conf.get(name)
        if value != needed and (needed, value) not in SAME:
            yield Gap(name, value, needed, Remedy.SET)


def _delta_version(spark: SparkSession) -> str | None:
    """The release of Delta on the session's class path; None if there is none.

    A SQL function calls the method behind `io.delta.VERSION`, Delta's public constant.
    """
    from pyspark.errors import AnalysisException

    try:
        with silent_query_errors():
            rows = spark.sql("SELECT reflect('io.delta.package', 'VERSION')").collect()
    except AnalysisException:  # there is no such class
        return None
    return str(rows[0][0])
