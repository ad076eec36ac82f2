"""The runtime on Spark: batches against plain Delta writes of the same rows, in the same run.

    python -m tests.bench.runtime [--quick] [--million] [--out FILE.json]

A star of sales, customers and products. In each round, on a small and on a large view by turns: a
plain append of as many rows as the batch will add, the lookups of a batch as one would write them
by hand, a batch of insertions that the view decides alone, a batch that changes nothing. Ratios are
of times of one round. The lookups by hand are one scan; a warehouse that has been open for some
batches has an index, and is quicker. With `--million` one batch of a million changes is applied to
a view of ten million rows instead.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as sf

import selfmaint
from selfmaint import Report, Warehouse
from tests.bench.report import Run, table
from tests.bench.timing import Facts, Line, Sample, Unit, line
from warehouse.session import session
from warehouse.sources import MemorySource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROGRAM = """
.decl sale(id: long, cust: long, prod: long, qty: long)  key(id)
.decl cust(cust: long, region: string)                   key(cust)
.decl prod(prod: long, category: string)                 key(prod)
sales(Id, Cust, Region, Prod, Category, Qty) :-
    sale(Id, Cust, Prod, Qty), cust(Cust, Region), prod(Prod, Category).
"""

TIMES_APPEND, TIMES_GROWTH, TIMES_CREATION = 4.0, 3.0, 1.5
SECONDS_OF_NOTHING = 1.5


@dataclass(frozen=True, slots=True)
class Sizes:
    """Args:
    small, large: rows of the two views.
    changes: of a batch.
    rounds: of which the first ones warm up: Java compiles what it runs often, and the warehouses
        find out what is worth an index.
    """

    small: int
    large: int
    changes: int
    rounds: int
    warming: int


FULL = Sizes(500_000, 5_000_000, 10_000, 14, 8)
QUICK = Sizes(500, 2_000, 50, 2, 1)
MILLION = Sizes(0, 10_000_000, 1_000_000, 1, 0)


class Star:
    """A warehouse with one view of `rows` rows, and the next changes for it."""

    def __init__(self, spark: SparkSession, folder: Path, rows: int) -> None:
        self.spark = spark
        self.rows = self.next = rows
        self.customers, self.products = max(rows // 50, 1), max(rows // 500, 1)
        self.tables = {
            "sale": self.sales(0, rows),
            "cust": spark.range(self.customers).selectExpr(
                "id AS cust", "concat('region ', id % 20) AS region"
            ),
            "prod": spark.range(self.products).selectExpr(
                "id AS prod", "concat('category ', id % 30) AS category"
            ),
        }
        program = selfmaint.parse(PROGRAM)
        self.source = MemorySource(self.tables)
        path = str(folder / f"views-{rows}")
        self.warehouse = Warehouse.open(spark, path, program, source=self.source)
        self.plain = str(folder / f"plain-{rows}")
        self.version = 0

    def sales(self, first: int, count: int) -> DataFrame:
        return self.spark.range(first, first + count).selectExpr(
            "id",
            f"id * 7919 % {self.customers} AS cust",
            f"id * 104729 % {self.products} AS prod",
            "id % 10 AS qty",
        )

    def joined(self) -> DataFrame:
        """The view as one would write it by hand."""
        star = self.tables["sale"].join(self.tables["cust"], "cust")
        star = star.join(self.tables["prod"], "prod")
        return star.select("id", "cust", "region", "prod", "category", "qty")

    def create(self) -> tuple[float, float]:
        """Seconds of a load, and of the same join written plainly."""
        loaded = seconds(self.warehouse.load)

        def plainly() -> None:
            self.joined().write.format("delta").mode("overwrite").save(self.plain)

        return loaded, seconds(plainly)

    def append(self, count: int) -> float:
        """A plain append of as many rows."""
        rows = self.warehouse.view("sales").read().limit(count).localCheckpoint()
        return seconds(lambda: rows.write.format("delta").mode("append").save(self.plain))

    def lookups(self, count: int) -> float:
        """One scan that finds what the view shows of the next sales' customers and products."""
        sales = self.sales(self.next, count).localCheckpoint()
        rows = self.warehouse.view("sales").read().select("cust", "region", "prod", "category")
        for name in ("cust", "prod"):
            keys = sales.selectExpr(name, f"true AS is_{name}").distinct()
            rows = rows.join(sf.broadcast(keys), name, "left")
        shown = "stack(2, 1, is_cust, cust, region, 2, is_prod, prod, category) AS (f, m, k, g)"
        found = rows.where("is_cust OR is_prod").selectExpr(shown).where("m").drop("m").distinct()
        return seconds(found.count)

    def insertions(self, count: int) -> Report:
        """A batch of new sales of customers and products that the view shows."""
        rows = self.sales(self.next, count)
        self.next += count
        report = self.warehouse.apply({"sale": rows.selectExpr("*", "'insert' AS change")})
        done = report.of("sales")
        assert (done.inserted, done.cost.questions) == (count, 0), done
        self.version = done.version
        return report

    def nothing(self, count: int) -> Report:
        """A batch of deletions that the view can see to have no effect."""
        rows = self.sales(10**12, count)
        report = self.warehouse.apply({"sale": rows.selectExpr("*", "'delete' AS change")})
        assert report.of("sales").version == self.version, "a batch without effect made a commit"
        return report


class Round(NamedTuple):
    """Seconds of an append and of lookups by hand; a batch of insertions, one without effect."""

    append: float
    lookups: float
    insertions: Report
    nothing: Report


def seconds(work: object) -> float:
    assert callable(work)
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def deciding(report: Report) -> float:
    return sum(stage.seconds for stage in report.of("sales").stages if stage.name == "decide")


def stages(report: Report) -> Facts:
    """What the time of a batch was spent on."""
    found: Facts = {s.name: round(s.seconds, 3) for s in report.of("sales").stages}
    rest = report.seconds - sum(stage.seconds for stage in report.of("sales").stages)
    return {**found, "check and journal": round(rest, 3), "jobs": report.jobs or 0}


def measured(
    name: str, unit: Unit, target: float | None, values: Sequence[float], facts: Facts
) -> Line:
    return line(name, unit, target, (Sample(value, value) for value in values), facts=facts)


def lines(spark: SparkSession, folder: Path, sizes: Sizes) -> Iterator[Line]:
    stars = [Star(spark, folder, rows) for rows in (sizes.small, sizes.large)]
    for star in stars:
        star.create()  # warms up
        pairs = [star.create() for _ in range(3 if sizes is FULL else 1)]
        facts: Facts = {"load": round(pairs[-1][0], 2), "plainly": round(pairs[-1][1], 2)}
        ratios = [loaded / plainly for loaded, plainly in pairs]
        yield measured(
            f"runtime: create a view of {star.rows:,} rows / the same join, plainly",
            "x",
            TIMES_CREATION,
            ratios,
            facts,
        )
    rounds = []
    for number in range(sizes.rounds):
        found = [
            Round(
                star.append(sizes.changes),
                star.lookups(sizes.changes),
                star.insertions(sizes.changes),
                star.nothing(100),
            )
            for star in stars
        ]
        print(f"round {number + 1} of {sizes.rounds}", file=sys.stderr, flush=True)
        if number >= sizes.warming:
            rounds.append(found)
    for place, star in enumerate(stars):
        mine = [found[place] for found in rounds]
        what = f"{sizes.changes:,} insertions on {star.rows:,} rows"
        last = mine[-1]
        facts = {"append": round(last.append, 3), **stages(last.insertions)}
        yield measured(
            f"runtime: look up {what}, by hand / a plain append",
            "x",
            None,
            [one.lookups / one.append for one in mine],
            {"append": round(last.append, 3), "lookups": round(last.lookups, 3)},
        )
        yield measured(
            f"runtime: decide {what} / a plain append",
            "x",
            TIMES_APPEND if star is stars[-1] else None,
            [deciding(one.insertions) / one.append for one in mine],
            facts,
        )
        yield measured(
            f"runtime: apply {what}", "s", None, [one.insertions.seconds for one in mine], facts
        )
        yield measured(
            f"runtime: a batch without effect on {star.rows:,} rows",
            "s",
            SECONDS_OF_NOTHING,
            [one.nothing.seconds for one in mine],
            stages(last.nothing),
        )
    small, large = ([deciding(found[place].insertions) for found in rounds] for place in (0, 1))
    yield measured(
        f"runtime: decide on {sizes.large:,} rows / on {sizes.small:,}",
        "x",
        TIMES_GROWTH,
        [after / before for before, after in zip(small, large, strict=True)],
        {},
    )


def million(spark: SparkSession, folder: Path, sizes: Sizes) -> Iterator[Line]:
    """One batch of very many changes, with the driver's memory that the session has."""
    star = Star(spark, folder, sizes.large)
    star.warehouse.load()
    report = star.insertions(sizes.changes)
    yield measured(
        f"runtime: apply {sizes.changes:,} insertions on {sizes.large:,} rows",
        "s",
        None,
        [report.seconds],
        {"driver memory": spark.conf.get("spark.driver.memory", "?"), **stages(report)},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.runtime", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/bench-runtime.json"))
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--million", action="store_true", help="a million changes on ten million")
    options = parser.parse_args(arguments)
    spark = session(master="local[2]", settings={"spark.driver.memory": "4g"})
    with tempfile.TemporaryDirectory() as folder:
        if options.million:
            found = list(million(spark, Path(folder), MILLION))
        else:
            found = list(lines(spark, Path(folder), QUICK if options.quick else FULL))
    run = Run.of(found, quick=options.quick)
    print(table(run, None))
    for measure in found:
        print(f"{measure.name}: " + ", ".join(f"{k} {v}" for k, v in measure.facts.items()))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(run.to_json(), encoding="utf-8")
    print(f"wrote {options.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
