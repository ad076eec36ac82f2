"""A star that can grow in four directions, and the points at which it is measured.

    v(Key, Dim1, Name1, ..., Measure) :- fact(Key, Dim1, ..., Measure), dim1(Dim1, Name1), ...

A batch inserts facts whose dimensions the view shows, so that it is decided here and every change
adds a row to every view: deciding and writing are measured, and no source.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import selfmaint
from bench.growth.memory import Memory
from bench.growth.results import Measured, Point, Run
from bench.machine import machine
from bench.spread import Spread, short
from selfmaint import Report, Warehouse
from warehouse.sources import MemorySource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BASE: Final = Point("", rows=100_000, changes=1_000, subgoals=3, views=1)

AXES: Final = {
    "rows": tuple(replace(BASE, axis="rows", rows=10**n) for n in (4, 5, 6, 7)),
    "changes": tuple(replace(BASE, axis="changes", changes=10**n) for n in range(6)),
    "subgoals": tuple(replace(BASE, axis="subgoals", subgoals=n) for n in (2, 3, 4, 6, 8)),
    "views": tuple(
        replace(BASE, axis="views", rows=10_000, changes=100, views=n)
        for n in (1, 2, 5, 10, 20, 50)
    ),
    "spared": tuple(
        replace(BASE, axis="spared", rows=10_000, changes=100, spared=n)
        for n in (1, 2, 5, 10, 20, 50)
    ),
}
"""By what grows; the rest stays as it is."""

QUICK: Final = {axis: points[:2] for axis, points in AXES.items()}

STEPS: Final = (7919, 104_729, 1_299_709, 15_485_863, 32_452_843, 49_979_687, 67_867_967)
"""Primes by which facts stride through their dimensions."""


MEASURES: Final = 10
"""Values of the measure that changes have."""


class WrongRows(AssertionError):
    """A view is not what recomputation says."""


def program(point: Point) -> selfmaint.Program:
    """The star, as often as there are views; each leaves out another value of the measure.

    A view that is spared shows one value of the measure alone, which no change has.
    """
    dims = range(1, point.subgoals)
    keys = "".join(f"d{i}: long, " for i in dims)
    lines = [f".decl fact(k: long, {keys}m: long) key(k)"]
    lines += [f".decl dim{i}(d: long, name: string) key(d)" for i in dims]
    head = ", ".join(f"D{i}, N{i}" for i in dims)
    body = ", ".join(
        [f"fact(K, {''.join(f'D{i}, ' for i in dims)}M)", *(f"dim{i}(D{i}, N{i})" for i in dims)]
    )
    lines += [f"v{n}(K, {head}, M) :- {body}, M != {-n}." for n in range(1, point.views + 1)]
    others = range(MEASURES, MEASURES + point.spared)
    lines += [f"only{n}(K, {head}, M) :- {body}, M = {n}." for n in others]
    return selfmaint.parse("\n".join(lines))


class Star:
    """A warehouse of one point, and the next changes for it."""

    def __init__(self, spark: SparkSession, folder: str, point: Point) -> None:
        self._spark = spark
        self._point = point
        self._next = point.rows
        self._members = max(point.rows // 100, 10)
        tables = {"fact": self._facts(0, point.rows, MEASURES + point.spared)}
        for i in range(1, point.subgoals):
            tables[f"dim{i}"] = spark.range(self._members).selectExpr(
                "id AS d", f"concat('member {i} of ', id) AS name"
            )
        self._source = MemorySource(tables)
        self.warehouse = Warehouse.open(spark, folder, program(point), source=self._source)
        self.warehouse.load()

    def _facts(self, first: int, count: int, measures: int) -> DataFrame:
        dims = (
            f"id * {STEPS[i - 1]} % {self._members} AS d{i}" for i in range(1, self._point.subgoals)
        )
        return self._spark.range(first, first + count).selectExpr(
            "id AS k", *dims, f"id % {measures} AS m"
        )

    def batch(self) -> Report:
        """Apply the next changes; all of them are decided here."""
        rows = self._facts(self._next, self._point.changes, MEASURES)
        rows = rows.selectExpr("*", "'insert' AS change")
        self._next += self._point.changes
        batch = {"fact": rows.localCheckpoint()}
        self._source.advance(batch)
        report = self.warehouse.apply(batch)
        for number, view in enumerate(report.views):
            expected = self._point.changes if number < self._point.views else 0
            if (view.inserted, view.cost.questions) != (expected, 0):
                raise WrongRows(f"{self._point}: {view}")
        return report


def measure(
    spark: SparkSession,
    points: Sequence[Point],
    rounds: int,
    track: Callable[[Sequence[Point]], Iterator[Point]],
) -> Run:
    """Measure every point; the first batch of each is not counted.

    Args:
        track: goes through the points, and shows how far it is.
    """
    found = []
    with TemporaryDirectory(prefix="selfmaint-bench-") as folder:
        _at(spark, f"{folder}/warm", BASE, 2)
        for number, point in enumerate(track(points)):
            found.append(_at(spark, str(Path(folder) / str(number)), point, rounds))
    return Run(tuple(found), rounds, machine())


def _at(spark: SparkSession, folder: str, point: Point, rounds: int) -> Measured:
    started = time.monotonic()
    star = Star(spark, folder, point)
    loading = time.monotonic() - started
    star.batch()
    memory = Memory()
    reports = [star.batch() for _ in range(rounds)]
    peak = memory.peak()
    # The last one may be spared: then no batch has touched it.
    for name in {star.warehouse.views[0], star.warehouse.views[-1]}:
        if not star.warehouse.verify(name).is_right:
            raise WrongRows(f"{point}: {name}")

    def stage(name: str) -> float:
        return short(median(_seconds(report, name) for report in reports))

    return Measured(
        point=point,
        seconds=Spread.of([short(report.seconds) for report in reports]),
        decide=stage("decide"),
        commit=stage("commit"),
        load=short(loading),
        jobs=int(median(report.jobs or 0 for report in reports)),
        driver_mb=peak.driver,
        jvm_mb=peak.jvm,
    )


def _seconds(report: Report, name: str) -> float:
    """Of all views together, those that are decided side by side included."""
    stages = (stage for view in report.views for stage in view.stages)
    return sum(stage.seconds for stage in stages if stage.name == name)
