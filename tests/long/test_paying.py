"""A warehouse stops making lookups that do not pay, says so, and remembers it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import selfmaint
from selfmaint.report import ViewReport
from selfmaint.warehouse import Warehouse
from warehouse.columns import struct_type
from warehouse.sources import MemorySource, SimulatedSource, VirtualClock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = selfmaint.parse("""
.decl r(u: long, x: long, y: long)
.decl s(x: long, z: long)
v(X, Y, Z) :- r(_, X, Y), s(X, Z).
""")
BEFORE = {"r": [(0, 0, 0)], "s": [(x, z) for x in range(100) for z in range(2)]}


class World:
    """Huyn's view, kept in a folder behind a source whose questions take `seconds`."""

    def __init__(self, spark: SparkSession, path: Path, seconds: float) -> None:
        self.spark, self.path = spark, str(path / "warehouse")
        self.tables = MemorySource.of_rows(spark, PROGRAM.relations.values(), BEFORE)
        self.source = SimulatedSource(
            self.tables, latency=seconds, per_row_sent=0, per_row_scanned=0, clock=VirtualClock()
        )
        self.warehouse = self.open()
        self.warehouse.load()

    def open(self, lookups: str = "adapt") -> Warehouse:
        return Warehouse.open(self.spark, self.path, PROGRAM, source=self.source, lookups=lookups)

    def insert(self, xs: Iterable[int], u: int = 1) -> ViewReport:
        schema = struct_type(PROGRAM.relations["r"]).add("change", "string")
        rows = [(u, x, 0, "insert") for x in xs]
        batch = {"r": self.spark.createDataFrame(rows, schema)}
        self.tables.advance(batch)
        return self.warehouse.apply(batch).of("v")

    def rules(self, report: ViewReport) -> dict[str, int]:
        return {count.rule: count.changes for count in report.counts}


def test_lookups_that_do_not_pay_are_off(spark: SparkSession, tmp_path: Path) -> None:
    world = World(spark, tmp_path, seconds=0.0)
    assert world.insert(range(30, 40)).notes == ()  # Java may be cold, which is no evidence
    first = world.insert(range(10, 20))
    assert world.rules(first) == {"insert-exposed": 10}
    assert first.lookups > 0
    assert first.notes == ("lookups off for r: 0 of the last 10 helped",)

    # The value that the view shows is asked for like the others, and its rows are not added twice.
    second = world.insert([0, *range(20, 29)])
    assert world.rules(second) == {"skipped": 10}
    assert (second.lookups, second.cost.keys_sent, second.inserted) == (0, 10, 18)

    world.warehouse = world.open()  # as another process finds it
    third = world.insert([0], u=2)
    assert world.rules(third) == {"skipped": 1}
    assert (third.cost.questions, third.inserted) == (1, 0)
    last = world.warehouse.reports().orderBy("batch").collect()[-1]
    assert "lookups off for r" in str(last["notes"])

    world.warehouse = world.open("always")
    fourth = world.insert([0], u=3)
    assert world.rules(fourth) == {"insert-exposed": 1}
    assert (fourth.cost.questions, fourth.notes) == (0, ())
    assert world.warehouse.verify("v").is_right


def test_lookups_stay_where_the_source_is_slow(spark: SparkSession, tmp_path: Path) -> None:
    """Unless there are to be none at all."""
    world = World(spark, tmp_path, seconds=10_000.0)
    assert world.insert(range(10, 20)).notes == ()
    assert world.insert(range(20, 30)).lookups > 0

    world.warehouse = world.open("never")
    report = world.insert([0, 1])
    assert world.rules(report) == {"skipped": 2}
    assert (report.lookups, report.cost.keys_sent, report.inserted) == (0, 2, 2)
    assert world.warehouse.verify("v").is_right
