"""Lines of a benchmark and how they are measured: repeat, and keep the median and the quartiles.

Two clocks run. The wall clock is what a user waits for, and what targets are about. Everything
measured here is one thread that computes, so its processor time is what it would take on a machine
with nothing else to do; runs are compared by that.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

ROOT = Path(__file__).resolve().parents[2]

Unit: TypeAlias = Literal["ms", "s", "1/s", "x"]
"""`x`: so many times what something else took in the same round."""
PER_SECOND: Unit = "1/s"
SCALE: dict[Unit, float] = {"ms": 1_000.0, "s": 1.0, "x": 1.0}

TICK = 1e-9
PATIENCE, FEWEST = 15.0, 5
"""A slow line is measured for this many seconds, and at least this many times."""

Facts: TypeAlias = dict[str, int | float | str]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much work the lines do.

    Args:
        repeats: of a compilation.
        rounds: of everything that takes long: processes, files of many views, streams of changes.
        rows: in an indexed view.
        changes: decided one by one in a round.
        views: in one file.
        subgoals: of one relation, in the views that are hard to minimize.
    """

    repeats: int
    rounds: int
    rows: int
    changes: int
    views: int
    subgoals: int


FULL = Sizes(repeats=60, rounds=7, rows=100_000, changes=20_000, views=1_000, subgoals=30)
QUICK = Sizes(repeats=2, rounds=1, rows=300, changes=60, views=8, subgoals=6)


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement.

    Args:
        name: `section: case`; what two runs are compared by.
        target: the most time it may take, or the fewest per second; None: for information.
        median: by the wall clock, in `unit`, as are the quartiles `low` and `high`.
        cpu: the median by processor time, in `unit`.
        samples: how many times it was measured.
        facts: what the work found, so that a fast line can be seen to have done something.
    """

    name: str
    unit: Unit
    target: float | None
    median: float
    low: float
    high: float
    cpu: float
    samples: int
    facts: Facts = field(default_factory=dict)

    @property
    def load(self) -> float | None:
        """The share of the target that is used up: at most 1 is on target."""
        return self.share(self.median)

    @property
    def cpu_load(self) -> float | None:
        """The same on a machine with nothing else to do."""
        return self.share(self.cpu)

    def share(self, value: float) -> float | None:
        if self.target is None:
            return None
        return self.target / value if self.unit == PER_SECOND else value / self.target

    @property
    def spread(self) -> float:
        """How noisy it was: the distance of the quartiles as a share of the median."""
        return (self.high - self.low) / self.median

    def times_slower(self, before: Line) -> float:
        """How many times the processor time of `before` this one takes."""
        ratio = self.cpu / before.cpu
        return 1 / ratio if self.unit == PER_SECOND else ratio


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds that a piece of work took."""

    wall: float
    cpu: float


def timed(work: Callable[[], object]) -> Sample:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Sample(time.perf_counter() - wall, time.process_time() - cpu)


def samples(work: Callable[[], object], count: int) -> Iterator[Sample]:
    """One sample per call, after one call that warms up; fewer where `PATIENCE` is used up."""
    work()
    gc.collect()
    spent = 0.0
    for number in range(count):
        if number >= FEWEST and spent > PATIENCE:
            return
        taken = timed(work)
        spent += taken.wall
        yield taken


def line(
    name: str,
    unit: Unit,
    target: float | None,
    taken: Iterable[Sample],
    *,
    work: int = 1,
    facts: Facts | None = None,
) -> Line:
    """A line from the samples.

    Args:
        work: with a unit per second, how many things one sample did.
    """

    def quartiles(clock: Iterable[float]) -> list[float]:
        values = [
            work / max(taken, TICK) if unit == PER_SECOND else taken * SCALE[unit]
            for taken in clock
        ]
        if len(values) == 1:
            return values * 3
        return statistics.quantiles(values, n=4, method="inclusive")

    listed = list(taken)
    low, median, high = quartiles(sample.wall for sample in listed)
    _, cpu, _ = quartiles(sample.cpu for sample in listed)
    return Line(name, unit, target, median, low, high, cpu, len(listed), facts or {})


def fresh_interpreter(code: str) -> str:
    """What `code` prints in a new process that has loaded nothing yet."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout
