"""What a run measured, as data: JSON that reads back, CSV, slopes and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from typing import Final

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
class Measured:
    """What a batch cost at a point.

    Args:
        seconds: of a whole batch, from the call to its end.
        decide, commit: seconds of these stages, of all views together: those that are decided side
            by side count each.
        load: seconds that making and loading the warehouse took, once.
        jobs: Spark jobs of a batch.
        driver_mb, jvm_mb: the most memory that Python and the JVM held during the batches.
    """

    point: Point
    seconds: Spread
    decide: float
    commit: float
    load: float
    jobs: int
    driver_mb: int
    jvm_mb: int

    def of(self, stage: str) -> float:
        value = getattr(self, stage)
        return value.median if isinstance(value, Spread) else float(value)


@dataclass(frozen=True, slots=True)
class Run:
    """The points of a run, and what they were measured on."""

    points: tuple[Measured, ...]
    rounds: int
    machine: Mapping[str, str | int | float]

    @property
    def axes(self) -> list[str]:
        return list(dict.fromkeys(measured.point.axis for measured in self.points))

    def along(self, axis: str) -> list[Measured]:
        return [measured for measured in self.points if measured.point.axis == axis]

    def slope(self, axis: str, stage: str) -> float:
        """The exponent with which a cost grows along an axis: 1 is as fast as the axis itself."""
        along = self.along(axis)
        return exponent([m.point.value for m in along], [m.of(stage) for m in along])

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
        points = (
            Measured(**{**m, "point": Point(**m["point"]), "seconds": Spread(**m["seconds"])})
            for m in data["points"]
        )
        return cls(tuple(points), data["rounds"], data["machine"])

    def to_csv(self) -> str:
        return csv_of(map(asdict, self.points))

    def table(self, axis: str) -> Table:
        head = (axis, "seconds", "quartiles", "decide", "commit", "jobs", "load", "Python MB",
                "JVM MB")  # fmt: skip
        return head, [
            [
                f"{m.point.value:,}",
                amount(m.seconds.median),
                f"{amount(m.seconds.low)} to {amount(m.seconds.high)}",
                amount(m.decide),
                amount(m.commit),
                str(m.jobs),
                amount(m.load),
                str(m.driver_mb),
                str(m.jvm_mb),
            ]
            for m in self.along(axis)
        ]

    def slopes(self) -> Table:
        return ("along", *STAGES), [
            [axis, *(f"{self.slope(axis, stage):.2f}" for stage in STAGES)] for axis in self.axes
        ]

    def block(self, before: Run) -> str:
        """What was found, for the README.

        Args:
            before: some of the axes, as they were before.
        """
        axis, slope = self.worst()
        words = f"""
            {self.rounds} batches at each point; {facts(self.machine)}. The seconds of a batch grow
            fastest with the {axis}: an exponent of {slope:.2f}. {self.gained(before)}"""
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
