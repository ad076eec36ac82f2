"""Which points, in which order: all of them once per round, shuffled.

The warehouses of all points are made first, on disk, and then visited in rounds, a batch at each
point. A machine that is slow for a minute, or a JVM that still warms up, slows a round down and not
one end of a curve; and since the order differs by round, no point always comes after the same one.
The first round is not counted. In the last one garbage is collected before each batch and the
memory is read after it: by then all that a batch needs has been compiled at every point.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeAlias

from bench.growth.experiment import BASE, Star
from bench.growth.memory import Memory, Peak
from bench.growth.results import Measured, Point, Run, Series
from bench.machine import machine
from bench.spread import short
from selfmaint import Report
from selfmaint.report import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS: Final = 5
SEED: Final = 1

Order: TypeAlias = tuple[int, ...]
"""The numbers of all points."""


def orders(points: int, count: int, seed: int) -> list[Order]:
    """So many orders; the same seed gives the same ones.

    Example:
        >>> [sorted(order) for order in orders(3, 2, seed=1)]
        [[0, 1, 2], [0, 1, 2]]
        >>> orders(9, 4, seed=1) == orders(9, 4, seed=1)
        True
    """
    draw = Random(seed)
    return [tuple(draw.sample(range(points), points)) for _ in range(count)]


def measure(
    spark: SparkSession,
    points: Sequence[Point],
    rounds: int,
    seed: int,
    track: Callable[[Order, str], Iterator[int]],
) -> Run:
    """Measure every point once per round.

    Args:
        rounds: those that count, at least one.
        track: goes through an order, and shows how far it is with what.
    """
    loading, warming, *timed = orders(len(points), 2 + rounds, seed)
    loads: dict[int, float] = {}
    stars: dict[int, Star] = {}
    reports: dict[int, list[Report]] = {number: [] for number in loading}
    peaks: dict[int, Peak] = {}
    with TemporaryDirectory(prefix="selfmaint-bench-") as folder:
        Star(spark, f"{folder}/warm", BASE)  # or the first load would be that of a cold JVM
        for number in track(loading, "Loading"):
            started = time.monotonic()
            stars[number] = Star(spark, f"{folder}/{number}", points[number])
            loads[number] = time.monotonic() - started
        for number in track(warming, "Warming up"):
            stars[number].batch()
        for done, order in enumerate(timed, 1):
            for number in track(order, f"Round {done} of {rounds}"):
                memory = Memory(spark) if done == rounds else None
                reports[number].append(stars[number].batch())
                if memory is not None:
                    peaks[number] = memory.peak()
        for number in track(loading, "Checking"):
            stars[number].check()
    found = (
        measured(point, loads[number], reports[number], peaks[number])
        for number, point in enumerate(points)
    )
    return Run(tuple(found), rounds, machine(), seed)


def measured(point: Point, load: float, reports: Sequence[Report], peak: Peak) -> Measured:
    """What the rounds gave at a point.

    Args:
        reports: of its batches, one per round, in their order.
    """

    def stage(name: str) -> Series:
        seconds = (sum(s.seconds for s in _stages(report, name)) for report in reports)
        return Series.of([short(found) for found in seconds])

    def jobs(name: str) -> int:
        return int(median(sum(s.jobs or 0 for s in _stages(report, name)) for report in reports))

    return Measured(
        point=point,
        seconds=Series.of([short(report.seconds) for report in reports]),
        decide=stage("decide"),
        commit=stage("commit"),
        load=short(load),
        jobs=int(median(report.jobs or 0 for report in reports)),
        driver_mb=peak.driver,
        heap_mb=peak.heap,
        kept_mb=peak.kept,
        decide_jobs=jobs("decide"),
        commit_jobs=jobs("commit"),
    )


def _stages(report: Report, name: str) -> list[Stage]:
    """Of all views, those that are decided side by side included."""
    return [stage for view in report.views for stage in view.stages if stage.name == name]
