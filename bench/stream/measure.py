"""A run: every batch through every plan, in turn, and every view compared after every batch."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bench.machine import machine
from bench.spread import short
from bench.stream import program
from bench.stream.changes import Stream, counted
from bench.stream.check import check, compare
from bench.stream.data import Size, generated, tables
from bench.stream.draws import Draws
from bench.stream.plans import Plan, Recomputed, plans
from bench.stream.results import (
    NO_KEYS,
    SELFMAINT,
    Asked,
    Decided,
    Happened,
    Kept,
    Line,
    Run,
    Settings,
    ViewSize,
)
from bench.stream.sittings import Sitting
from warehouse.sources import DeltaSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from selfmaint import Program


class Screen(Protocol):
    """Where a run shows itself."""

    is_stopping: bool
    """The batch at hand is to be the last one."""

    def stage(self, words: str) -> None:
        """Something begins."""

    def line(self, batch: int, lines: Sequence[Line], rows: int) -> None:
        """A batch has ended, and all views are right; so many rows were compared."""


def measure(
    spark: SparkSession,
    settings: Settings,
    cache: Path,
    screen: Screen,
    folder: Path | None = None,
) -> Iterator[Run]:
    """Run it: after each batch what was found so far.

    It takes hours, and what it has found must not be lost if it dies. The last one counts if the
    iterator comes to its end: then all views have been compared row by row.

    Args:
        folder: for the tables, which stay there, so that another sitting can go on.
    Raises:
        WrongRows: a plan's view was not as recomputed.
        CannotGoOn: there is something else in the folder.
    """
    if folder is not None:
        yield from _measure(spark, settings, cache, screen, folder)
        return
    with tempfile.TemporaryDirectory(prefix="selfmaint-stream-") as new:
        yield from _measure(spark, settings, cache, screen, Path(new))


def _measure(
    spark: SparkSession, settings: Settings, cache: Path, screen: Screen, folder: Path
) -> Iterator[Run]:
    sitting = Sitting.of(folder, settings, machine())
    screen.stage(f"TPC-H at scale factor {settings.scale:g}")
    keyed, bare = program.with_keys(), program.without_keys()
    source = _source(spark, settings, cache, keyed, sitting)
    sitting.require(source.version())
    size = Size.of({name: source.read(name, 0) for name in source.relations})
    programs = {SELFMAINT: keyed, NO_KEYS: bare}
    everyone, truth = plans(spark, sitting.folder, programs, source)
    if sitting.before is None:
        for plan in everyone:
            screen.stage(f"Loading the views: {plan.name}")
            plan.load()
    else:
        yield sitting.before
    record = Record.of(sitting)
    number = sitting.batches
    draws = Draws(settings.seed)
    stream = Stream(spark, keyed, source, size, draws, settings.skew, batch=number)
    others = [plan for plan in everyone if plan is not truth]
    while number < settings.batches:
        number += 1
        screen.stage(f"Batch {number}: what happens")
        batch = stream.next()
        record.happened(number, counted(batch))
        source.advance(batch)
        lines = []
        # Another plan begins each time, so that none always finds the machine in the same state.
        turn = number % len(everyone)
        for plan in everyone[turn:] + everyone[:turn]:
            screen.stage(f"Batch {number}: {plan.name}")
            done = plan.apply(batch, number)
            lines.append(record.done(number, plan, done.seconds, done.views, done.decided))
        screen.stage(f"Batch {number}: comparing all views")
        rows = check(truth, others, keyed.views, number)
        record.compared += len(others) * len(rows)
        screen.line(number, lines, sum(rows.values()) * len(others))
        found = record.run(replace(settings, batches=number), everyone, truth)
        sitting.keep(found)
        yield found
        if screen.is_stopping:
            break
    screen.stage("Comparing all views row by row")
    for view in keyed.views:
        expected = truth.computed(view, number)
        for plan in everyone:
            compare(expected, plan.read(view), plan.name, view, number)


def _source(
    spark: SparkSession, settings: Settings, cache: Path, keyed: Program, sitting: Sitting
) -> DeltaSource:
    path = str(sitting.folder / "source")
    if sitting.before is not None:
        return DeltaSource.open(spark, path, name="tpch")
    start = tables(spark, generated(settings.scale, cache), keyed)
    return DeltaSource.create(spark, path, start, name="tpch")


class Record:
    """What was seen so far."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.asked: dict[tuple[str, str], Asked] = {}
        self.decided: Counter[Decided] = Counter()
        self.changes: list[Happened] = []
        self.compared = 0
        self.sittings = 1

    @classmethod
    def of(cls, sitting: Sitting) -> Record:
        """What earlier sittings saw."""
        record, before = cls(), sitting.before
        record.sittings = sitting.number
        if before is not None:
            record.lines += before.lines
            record.asked = {(asked.plan, asked.view): asked for asked in before.asked}
            record.decided.update({replace(d, changes=0): d.changes for d in before.decided})
            record.changes += before.changes
            record.compared = before.compared
        return record

    def happened(self, batch: int, found: dict[str, tuple[int, int]]) -> None:
        self.changes += (Happened(batch, name, *counts) for name, counts in sorted(found.items()))

    def done(
        self,
        batch: int,
        plan: Plan,
        seconds: float,
        views: Sequence[Asked],
        decided: Sequence[Decided],
    ) -> Line:
        for view in views:
            before = self.asked.get((view.plan, view.view))
            self.asked[view.plan, view.view] = view if before is None else before + view
        for each in decided:
            self.decided[replace(each, changes=0)] += each.changes
        line = Line.of(batch, plan.name, short(seconds), views)
        self.lines.append(line)
        return line

    def run(self, settings: Settings, everyone: Sequence[Plan], truth: Recomputed) -> Run:
        """What it came to; `settings` has the batches that were done."""
        sizes = truth.view_bytes()
        return Run(
            settings,
            machine(),
            tuple(self.changes),
            tuple(self.lines),
            tuple(self.asked.values()),
            tuple(replace(each, changes=count) for each, count in sorted(self.decided.items())),
            tuple(Kept(plan.name, plan.kept()) for plan in everyone),
            tuple(ViewSize(view, truth.read(view).count(), size) for view, size in sizes.items()),
            self.compared,
            self.sittings,
        )
