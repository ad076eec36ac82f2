"""What a run measured, as data: JSON that reads back, CSV, slopes and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from typing import Any, Final

from bench.machine import facts
from bench.readme import RESULTS, folded, paragraph, shown
from bench.spread import Spread, amount
from bench.tables import Table, csv_of, markdown

RESULT: Final = RESULTS / "growth.json"

BEFORE: Final = RESULTS / "growth-before.json"
"""The worst slope before it was bent: this benchmark on the last revision that planned a batch for
views that it does not meet."""

STAGES: Final = ("seconds", "decide", "commit", "jobs")
"""What slopes are given of: the whole batch, its stages, its Spark jobs."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where the cost of a batch is measured.

    Args:
        axis: which of the others grows.
        rows: of each view.
        changes: of a batch.
        subgoals: of each view.
        views: that every change adds a row to.
        spared: views beside them that no change of a batch meets.
    """

    axis: str
    rows: int
    changes: int
    subgoals: int
    views: int
    spared: int = 0

    @property
    def value(self) -> int:
        """How far it has grown."""
        found = asdict(self)[self.axis]
        assert isinstance(found, int)
        return found


@dataclass(frozen=True, slots=True)
class Series(Spread):
    """What each round gave, in their order, with median and quartiles.

    Args:
        each: empty in results from before there were rounds.
    """

    each: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Sequence[float]) -> Series:
        found = Spread.of(values)
        return cls(found.median, found.low, found.high, tuple(values))

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Series:
        return cls(**{**found, "each": tuple(found.get("each", ()))})


@dataclass(frozen=True, slots=True)
class Measured:
    """What a batch cost at a point.

    Args:
        seconds: of a whole batch, from the call to its end.
        decide, commit: seconds of these stages, of all views together: those that are decided side
            by side count each. Results from before there were rounds kept their medians alone.
        load: seconds that making and loading the warehouse took, once.
        jobs: Spark jobs of a batch.
        decide_jobs, commit_jobs: of these stages, of all views together; None in older results.
        driver_mb: the most memory that Python held during a batch.
        jvm_mb: in results from before there were rounds, the most that the JVM held by then.
        heap_mb, kept_mb: the most of the JVM's heap that was in use during a batch, with and
            without new objects (`bench.growth.memory`); None in those results.
    """

    point: Point
    seconds: Series
    decide: Series | float
    commit: Series | float
    load: float
    jobs: int
    driver_mb: int
    jvm_mb: int | None = None
    heap_mb: int | None = None
    kept_mb: int | None = None
    decide_jobs: int | None = None
    commit_jobs: int | None = None

    def of(self, stage: str) -> float:
        return middle(getattr(self, stage))

    def each(self, stage: str) -> tuple[float, ...]:
        """What the rounds gave, if that is known."""
        value = getattr(self, stage)
        return value.each if isinstance(value, Series) else ()

    def spark_jobs(self) -> str:
        """With those of the stages, if they are known."""
        if self.decide_jobs is None:
            return str(self.jobs)
        return f"{self.jobs} ({self.decide_jobs} + {self.commit_jobs})"

    def memory(self) -> dict[str, int | None]:
        """As far as it was measured, by title."""
        if self.heap_mb is None:
            return {"Python MB": self.driver_mb, "JVM MB": self.jvm_mb}
        return {"Python MB": self.driver_mb, "heap MB": self.heap_mb, "kept MB": self.kept_mb}


@dataclass(frozen=True, slots=True)
class Run:
    """The points of a run, and what they were measured on.

    Args:
        rounds: in each of which every point was visited once.
        seed: of the orders in which they were; None in results from before there were rounds, when
            the points came one after another, each with `rounds` batches.
    """

    points: tuple[Measured, ...]
    rounds: int
    machine: Mapping[str, str | int | float]
    seed: int | None = None

    @property
    def axes(self) -> list[str]:
        return list(dict.fromkeys(measured.point.axis for measured in self.points))

    def along(self, axis: str) -> list[Measured]:
        return [measured for measured in self.points if measured.point.axis == axis]

    def exponents(self, axis: str, stage: str) -> Spread | float:
        """Those of the rounds, with which a cost grows along an axis; else that of the medians.

        Each round passes all points, so that a slow round alone bends no exponent.
        """
        along = self.along(axis)
        places = [m.point.value for m in along]
        rounds = list(zip(*(m.each(stage) for m in along), strict=True))
        if not rounds:
            return exponent(places, [m.of(stage) for m in along])
        return Spread.of([exponent(places, costs) for costs in rounds])

    def slope(self, axis: str, stage: str) -> float:
        """The exponent with which a cost grows along an axis: 1 is as fast as the axis itself."""
        return middle(self.exponents(axis, stage))

    def worst(self) -> tuple[str, float]:
        """The axis along which the seconds of a whole batch grow fastest, and their exponent."""
        found = [(axis, self.slope(axis, "seconds")) for axis in self.axes]
        return max(found, key=lambda entry: entry[1])

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> Run:
        return cls.from_json(path.read_text(encoding="utf-8"))

    @classmethod
    def from_json(cls, text: str) -> Run:
        data = json.loads(text)
        points = tuple(map(_measured, data["points"]))
        return cls(points, data["rounds"], data["machine"], data.get("seed"))

    def to_csv(self) -> str:
        return csv_of(map(asdict, self.points))

    def table(self, axis: str) -> Table:
        along = self.along(axis)
        head = axis, "seconds", "quartiles", "decide", "commit", "jobs", "load", *along[0].memory()
        return head, [
            [
                f"{m.point.value:,}",
                amount(m.seconds.median),
                f"{amount(m.seconds.low)} to {amount(m.seconds.high)}",
                cell(m.decide),
                cell(m.commit),
                m.spark_jobs(),
                amount(m.load),
                *map(str, m.memory().values()),
            ]
            for m in along
        ]

    def slopes(self) -> Table:
        return ("along", *STAGES), [
            [axis, *(cell(self.exponents(axis, stage)) for stage in STAGES)] for axis in self.axes
        ]

    def order(self) -> str:
        return f"Rounds that count: {self.rounds}, in orders drawn with seed {self.seed}."

    def block(self, before: Run) -> str:
        """What was found, for the README.

        Args:
            before: some of the axes, as they were before.
        """
        axis, slope = self.worst()
        words = f"""
            {self.order()} Measured with {facts(self.machine)}. The seconds of a batch grow fastest
            with the {axis}: an exponent of {slope:.2f}. {self.gained(before)}"""
        parts = [
            paragraph(words),
            shown("growth", "Seconds and Spark jobs of a batch as things grow"),
            "**Exponents**",
            markdown(self.slopes()),
        ]
        for name in self.axes:
            parts.append(folded(f"Along {name}", markdown(self.table(name))))
            if name in before.axes:
                parts.append(folded(f"Along {name}, before", markdown(before.table(name))))
        return "\n\n".join(parts)

    def gained(self, before: Run) -> str:
        """What came of bending: the farthest point that both have, of each axis of `before`."""
        found = []
        for axis in before.axes:
            was = {m.point.value: m.seconds.median for m in before.along(axis)}
            now = {m.point.value: m.seconds.median for m in self.along(axis)}
            far = max(was.keys() & now.keys())
            slopes = [f"{run.slope(axis, 'seconds'):.2f}" for run in (before, self)]
            found.append(
                f"At {far} {axis} a batch took {amount(was[far])} s before, and takes "
                f"{amount(now[far])} s; the exponent was {slopes[0]} and is {slopes[1]}."
            )
        return " ".join(found)


def middle(value: Spread | float) -> float:
    return value.median if isinstance(value, Spread) else float(value)


def cell(value: Spread | float) -> str:
    """With its quartiles, if they are known."""
    return str(value) if isinstance(value, Spread) else amount(value)


def _measured(found: Mapping[str, Any]) -> Measured:
    """From JSON, whatever it keeps of a stage."""
    series = {
        name: Series.read(found[name]) if isinstance(found[name], Mapping) else found[name]
        for name in ("seconds", "decide", "commit")
    }
    return Measured(**{**found, **series, "point": Point(**found["point"])})


def exponent(places: Sequence[float], costs: Sequence[float]) -> float:
    """The slope of the line through the points in a picture with logarithmic axes.

    Example:
        >>> round(exponent([1, 10, 100], [2.0, 20.0, 200.0]), 3)
        1.0
        >>> round(exponent([1, 10, 100], [5.0, 5.0, 5.0]), 3)
        0.0
    """
    xs, ys = [log(place) for place in places], [log(max(cost, 1e-3)) for cost in costs]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - x_mean) ** 2 for x in xs)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / spread
