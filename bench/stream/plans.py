"""Who maintains the views, and how: five plans with the same batches and the same kind of commits.

    selfmaint      looks things up in the view, and asks for what is missing; keys are declared
    no keys        the same, and nothing is declared
    traditional    looks nothing up: every insertion is asked, distinct keys once per batch
    local copies   the traditional plan, but it asks copies of all relations that it keeps itself
    recompute      computes every view anew and commits the difference

A commit is an append if nothing is deleted, a MERGE otherwise, and none if nothing changes.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from bench.stream.recompute import recomputed
from bench.stream.results import (
    LOCAL_COPIES,
    NO_KEYS,
    RECOMPUTE,
    SELFMAINT,
    TRADITIONAL,
    Asked,
    Decided,
)
from lookups.payoff import Lookups
from selfmaint.stored import view_spec
from selfmaint.warehouse import Warehouse
from warehouse.columns import delta_table, quoted
from warehouse.difference import COPIES, difference
from warehouse.sources import Cost, DeltaSource, SimulatedSource, VirtualClock
from warehouse.sources.protocol import measured
from warehouse.tables import State, ViewSpec, ViewTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from examples.shop.stream import Batch
    from selfmaint import Program
    from selfmaint.report import Report
    from warehouse.sources import Source


@dataclass(frozen=True, slots=True)
class Done:
    """What a plan did with a batch.

    Args:
        seconds: from the call to the last commit, by the clock on the wall. What the source
            computed is in it: it runs on the same machine.
    """

    seconds: float
    views: tuple[Asked, ...]
    decided: tuple[Decided, ...] = ()


class Plan(ABC):
    """A plan and the folder that is its own; what an earlier sitting left there is opened.

    Args:
        source: the sources, shared by all plans.
    """

    name: str

    def __init__(
        self, name: str, spark: SparkSession, folder: Path, program: Program, source: DeltaSource
    ) -> None:
        self.name = name
        self.spark = spark
        self.folder = folder
        self.program = program
        self.source = source

    @abstractmethod
    def load(self) -> None:
        """The views as of the sources' first version."""

    @abstractmethod
    def apply(self, batch: Batch, number: int) -> Done:
        """Maintain every view; the sources have the batch already."""

    @abstractmethod
    def read(self, view: str) -> DataFrame:
        """A view's rows now."""

    @abstractmethod
    def kept(self) -> int:
        """Bytes on disk beyond the view tables."""


class Maintained(Plan):
    """A warehouse of ours.

    Args:
        lookups: always or never. One that adapts would ask more or less with every change of the
            machine's speed, and the figures would be others each time.
    """

    def __init__(
        self,
        name: str,
        spark: SparkSession,
        folder: Path,
        program: Program,
        source: DeltaSource,
        *,
        lookups: Lookups,
    ) -> None:
        super().__init__(name, spark, folder, program, source)
        self.lookups = lookups
        # Far away, but nobody waits: what questions take is computed from their number.
        self.far = SimulatedSource(source, clock=VirtualClock())
        self.warehouse = self._opened(self.far)

    def _opened(self, source: Source) -> Warehouse:
        return Warehouse.open(
            self.spark, str(self.folder), self.program, source=source, lookups=self.lookups
        )

    def load(self) -> None:
        # The first load is no part of the comparison. Read directly, no view is held in memory.
        self._opened(self.source).load()
        self.warehouse = self._opened(self.far)

    def apply(self, batch: Batch, number: int) -> Done:
        started = time.monotonic()
        report = self.warehouse.apply(batch, number)
        return self._done(report, time.monotonic() - started)

    def _done(self, report: Report, seconds: float) -> Done:
        views = tuple(
            _asked(self.name, view.view, view.cost, view.inserted, view.deleted)
            for view in report.views
        )
        decided = tuple(
            Decided(self.name, view.view, c.relation, c.action, str(c.kind), c.rule, c.changes)
            for view in report.views
            for c in view.counts
        )
        return Done(seconds, views, decided)

    def read(self, view: str) -> DataFrame:
        return self.warehouse.view(view).read()

    def kept(self) -> int:
        return size_of(self.folder) - size_of(self.folder / "views")


class LocalCopies(Maintained):
    """The traditional plan that asks nobody else, since it keeps a copy of every relation."""

    def __init__(
        self, name: str, spark: SparkSession, folder: Path, program: Program, source: DeltaSource
    ) -> None:
        self.copies = folder / "copies"
        if self.copies.exists():
            own = DeltaSource.open(spark, str(self.copies), name="copies")
        else:
            version = source.version()
            tables = {relation: source.read(relation, version) for relation in program.relations}
            own = DeltaSource.create(spark, str(self.copies), tables, name="copies")
        super().__init__(name, spark, folder / "warehouse", program, own, lookups=Lookups.NEVER)

    def apply(self, batch: Batch, number: int) -> Done:
        started = time.monotonic()
        self.source.advance(batch)
        report = self.warehouse.apply(batch, number)
        done = self._done(report, time.monotonic() - started)
        # What it asks of itself does not travel.
        alone = tuple(
            _asked(view.plan, view.view, Cost(), view.inserted, view.deleted) for view in done.views
        )
        return replace(done, views=alone, decided=())  # the verdicts are the traditional plan's

    def kept(self) -> int:
        """The newest version of the copies alone, without old files and logs, and the journal."""
        tables = (self.copies / relation for relation in self.program.relations)
        return super().kept() + sum(live_bytes(self.spark, table) for table in tables)


class Recomputed(Plan):
    """Every view is computed anew from the sources, and the difference committed."""

    def __init__(
        self, name: str, spark: SparkSession, folder: Path, program: Program, source: DeltaSource
    ) -> None:
        super().__init__(name, spark, folder, program, source)
        specs = [view_spec(program.view(view)) for view in program.views]
        self.tables = {spec.name: self._table(spec) for spec in specs}

    def _table(self, spec: ViewSpec) -> ViewTable:
        path, name = self.folder / spec.name, spec.name
        if path.exists():
            known = State(0, None)
            return ViewTable.open(
                self.spark, str(path), name, spec.columns, known, telling=spec.telling
            )
        return ViewTable.create(self.spark, str(path), name, spec.columns, telling=spec.telling)

    def load(self) -> None:
        version = self.source.version()
        for view, table in self.tables.items():
            table.replace(table.newest(), version, self.computed(view, version), {})

    def computed(self, view: str, version: int) -> DataFrame:
        relations = {name: self.source.read(name, version) for name in self.source.relations}
        return recomputed(self.spark, view, relations)

    def apply(self, batch: Batch, number: int) -> Done:
        started = time.monotonic()
        written = {view: self._replace(view, number) for view in self.tables}
        seconds = time.monotonic() - started
        return Done(
            seconds,
            tuple(
                _asked(self.name, view, self._sent(view), inserted, deleted)
                for view, (inserted, deleted) in written.items()
            ),
        )

    def _sent(self, view: str) -> Cost:
        """One question without keys, and the whole view comes back."""
        rows, size = measured(self.read(view))
        return Cost(questions=1, rows_sent=rows, bytes_sent=size)

    def _replace(self, view: str, number: int) -> tuple[int, int]:
        table = self.tables[view]
        state = table.state()
        changed = difference(self.computed(view, number), table.read(state.version))
        changed = changed.localCheckpoint()
        copies = sf.col(quoted(COPIES))
        (row,) = changed.agg(sf.count_if(copies > 0), sf.count_if(copies < 0)).collect()
        inserted, deleted = int(row[0]), int(row[1])
        rows = changed.drop(COPIES)
        table.commit(
            state.version,
            number,
            inserts=rows.where(copies > 0) if inserted else None,
            deletes=rows.where(copies < 0) if deleted else None,
            info={},
        )
        return inserted, deleted

    def read(self, view: str) -> DataFrame:
        return self.tables[view].read()

    def kept(self) -> int:
        return 0

    def view_bytes(self) -> dict[str, int]:
        """What the tables of the views take; it is about the same for every plan."""
        return {view: live_bytes(self.spark, self.folder / view) for view in self.tables}


def _asked(plan: str, view: str, cost: Cost, inserted: int, deleted: int) -> Asked:
    return Asked(
        plan,
        view,
        cost.questions,
        cost.keys_sent,
        cost.rows_sent,
        cost.bytes_sent,
        inserted,
        deleted,
    )


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def live_bytes(spark: SparkSession, table: Path) -> int:
    """Bytes of the files that hold a Delta table's newest version."""
    detail = spark.sql(f"DESCRIBE DETAIL {delta_table(str(table))}")
    (row,) = detail.select("sizeInBytes").collect()
    return int(row[0])


def plans(
    spark: SparkSession,
    folder: Path,
    programs: Mapping[str, Program],
    source: DeltaSource,
) -> tuple[tuple[Plan, ...], Recomputed]:
    """Every plan, each in a folder of its own, and the one that is the truth among them.

    Args:
        programs: `selfmaint` to the program with keys, `no keys` to the one without.
    """
    keyed, bare = programs[SELFMAINT], programs[NO_KEYS]
    truth = Recomputed(RECOMPUTE, spark, folder / "recompute", keyed, source)

    def maintained(name: str, program: Program, lookups: Lookups) -> Maintained:
        return Maintained(name, spark, folder / name, program, source, lookups=lookups)

    return (
        maintained(SELFMAINT, keyed, Lookups.ALWAYS),
        maintained(NO_KEYS, bare, Lookups.ALWAYS),
        maintained(TRADITIONAL, keyed, Lookups.NEVER),
        LocalCopies(LOCAL_COPIES, spark, folder / LOCAL_COPIES, keyed, source),
        truth,
    ), truth
