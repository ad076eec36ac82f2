"""The shop from its first load to its last batch, checked against full recomputation."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import selfmaint
from examples.shop.data import Size, tables
from examples.shop.stream import Batch, Shop, schedule
from lookups.verdict import Kind
from selfmaint.cli.console import counted
from selfmaint.report import Report
from selfmaint.verifying import Comparison
from selfmaint.warehouse import Warehouse
from warehouse.sources import Cost, DeltaSource, RealClock, SimulatedSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM: Final = Path(__file__).parent / "shop.dl"
CHANGES_PER_ORDER: Final = 0.2
SPARK: Final = {
    "spark.driver.memory": "2g",
    # A run of minutes is mostly Spark's code getting warm. This collector leaves more of two cores
    # to it than Java's usual one does.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
}
"""Settings of a session for a run."""

REPLAY: Final = "the same batch once more"


@dataclass(frozen=True, slots=True)
class Settings:
    """How large a run is.

    Args:
        orders: in the shop before the first batch; a view row and more for each of their lines.
        changes: of all batches together, about.
        batches: the last one is a replay of the one before.
        latency: seconds that the source takes for a question.
    """

    orders: int = 70_000
    changes: int | None = None
    batches: int = 20
    latency: float = 0.2

    @property
    def all_changes(self) -> int:
        return round(self.orders * CHANGES_PER_ORDER) if self.changes is None else self.changes


@dataclass(frozen=True, slots=True)
class Line:
    """A batch in one line.

    Args:
        changes: in the batch. Each is decided once for each view.
        here: decisions that asked nobody.
        asked: decisions that needed the source.
        cost: what the source took.
        traditional: what it would have taken if it had been asked about every change.
        seconds: from the call to the last commit.
    """

    number: int
    words: str
    changes: int
    here: int
    asked: int
    cost: Cost
    traditional: Cost
    inserted: int
    deleted: int
    seconds: float
    is_replay: bool

    @classmethod
    def of(cls, words: str, report: Report) -> Line:
        views = report.views
        return cls(
            report.batch,
            words,
            max(view.changes() for view in views),
            sum(view.decided_here for view in views),
            sum(view.changes(Kind.MISS) for view in views),
            sum((view.cost for view in views), Cost()),
            sum((view.traditional for view in views), Cost()),
            sum(view.inserted for view in views),
            sum(view.deleted for view in views),
            report.seconds,
            report.is_replay,
        )

    @property
    def saved(self) -> float:
        return max(0.0, self.traditional.seconds - self.cost.seconds)


@dataclass(frozen=True)
class Result:
    """What a run found.

    Args:
        checks: every view, compared with its recomputation after the last batch.
    """

    lines: tuple[Line, ...]
    checks: tuple[Comparison, ...]

    @property
    def is_right(self) -> bool:
        return all(check.is_right for check in self.checks)

    def summary(self) -> str:
        """The run in a few sentences."""
        here, asked = sum(x.here for x in self.lines), sum(x.asked for x in self.lines)
        cost = sum((line.cost for line in self.lines), Cost())
        usual = sum((line.traditional for line in self.lines), Cost())
        changes = sum(line.changes for line in self.lines)
        return (
            f"{changes:,} changes in {len(self.lines)} batches: {share(here, here + asked)} of "
            f"{here + asked:,} decisions were made here. The source was asked "
            f"{counted(cost.questions, 'question')} in {cost.seconds:.1f} s; asking it about every "
            f"change takes {counted(usual.questions, 'question')} and {usual.seconds:.1f} s."
        )


def share(part: int, whole: int) -> str:
    """A share in per cent; it says 100 % and 0 % only where that is exact."""
    if not whole:
        return "none"
    percent = 100 * part / whole
    if part not in (0, whole):
        percent = min(max(percent, 0.1), 99.9)
    return f"{percent:.1f} %"


class Screen(Protocol):
    """Where a run shows itself."""

    def stage(self, words: str) -> None:
        """Something begins that is no batch."""

    def views(self, count: int) -> None:
        """So many views are loaded, and the batches begin."""

    def batch(self, number: int, words: str) -> None:
        """A batch begins."""

    def line(self, line: Line) -> None:
        """A batch has ended."""

    def check(self, check: Comparison) -> None:
        """A view was compared with its recomputation."""


def run(spark: SparkSession, settings: Settings, screen: Screen) -> Result:
    """Load the shop, apply the batches, and compare every view with its recomputation."""
    with tempfile.TemporaryDirectory(prefix="selfmaint-shop-") as folder:
        return _run(spark, settings, screen, folder)


def _run(spark: SparkSession, settings: Settings, screen: Screen, folder: str) -> Result:
    program = selfmaint.load(PROGRAM)
    size = Size(settings.orders)
    screen.stage(f"Drawing a shop with {settings.orders:,} orders")
    tables_source = DeltaSource.create(spark, f"{folder}/source", tables(spark, size), name="shop")
    source = SimulatedSource(tables_source, latency=settings.latency, clock=RealClock())
    screen.stage("Loading the views from the source")
    warehouse = Warehouse.open(spark, f"{folder}/warehouse", program, source=source)
    warehouse.load()
    screen.views(len(warehouse.views))
    shop = Shop(spark, program, tables_source, size)
    lines = list(_batches(warehouse, shop, settings, screen))
    checks = []
    for name in warehouse.views:
        screen.stage(f"Recomputing `{name}` from the source")
        check = warehouse.verify(name)
        screen.check(check)
        checks.append(check)
    return Result(tuple(lines), tuple(checks))


def _batches(
    warehouse: Warehouse, shop: Shop, settings: Settings, screen: Screen
) -> Iterator[Line]:
    changes: Batch = {}
    number = shop.source.version()
    for event, count in schedule(settings.batches - 1, settings.all_changes):
        shop.batch = number + 1
        screen.batch(shop.batch, event.words)
        # Once: the source and the warehouse get the same rows.
        changes = {
            relation: frame.localCheckpoint()
            for relation, frame in event.happening(shop, count).items()
        }
        number = shop.source.advance(changes)
        line = Line.of(event.words, warehouse.apply(changes, number))
        screen.line(line)
        yield line
    screen.batch(number, REPLAY)
    line = Line.of(REPLAY, warehouse.apply(changes, number))
    screen.line(line)
    yield line
