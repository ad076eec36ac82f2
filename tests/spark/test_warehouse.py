"""A warehouse, as a user drives it; the same on every kind of session."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as sf

import selfmaint
from cq.diagnostics import InputError
from cq.types import Row
from examples import first_warehouse
from selfmaint.deciding import side_by_side
from selfmaint.measure import JOB_GROUP
from selfmaint.warehouse import Warehouse
from tests.spark import shops
from tests.spark.sessions import Jobs
from tests.spark.shops import Books, Signed, frame
from warehouse.batches import BatchError, checked, netted
from warehouse.columns import ColumnError
from warehouse.requirements import UnfitSessionError
from warehouse.sources import (
    Answer,
    Cost,
    Join,
    MemorySource,
    SimulatedSource,
    SourceError,
    VirtualClock,
)
from warehouse.tables import (
    ForeignWriteError,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


PROGRAM = """
.decl customers(cust: long, name: string, region: string) key(cust)
.decl products(prod: long, category: string, price: decimal(10, 2)) key(prod)
.decl orders(id: long, cust: long, prod: long, day: date)
      key(id) references customers(cust) references products(prod)
.decl notes(id: long, text: string)

sales(Id, Customer, Name, Region, Product, Category, Day) :-
    orders(Id, Customer, Product, Day), customers(Customer, Name, Region),
    products(Product, Category, _).
demand(Region, Category) :-
    orders(_, C, P, _), customers(C, _, Region), products(P, Category, _).
open_for_business() :- notes(_, 'open').
"""
DAY = date(2024, 2, 29)
BEFORE: Mapping[str, list[Row]] = {
    "customers": [(1, "Ann", "EU"), (2, "Bo", "US"), (3, "Ümit", None)],
    "products": [(1, "tools", Decimal("9.99")), (2, "toys", None)],
    "orders": [(1, 1, 1, DAY), (2, 2, 1, DAY), (3, 1, 2, DAY)],
    "notes": [(1, None), (2, ""), (3, "open")],
}


class Meeting(SimulatedSource):
    """A source that answers nobody before two ask at the same time, if it is told to."""

    meeting: Barrier | None = None

    def meet(self) -> None:
        self.meeting = Barrier(2, self.part)

    def part(self) -> None:
        self.meeting = None

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        if (meeting := self.meeting) is not None:
            meeting.wait(timeout=120)
        return super().answer(join, keys, version)


@dataclass
class Shop:
    """A warehouse, its source, and what the source holds."""

    spark: SparkSession
    path: str
    memory: MemorySource
    source: Meeting
    warehouse: Warehouse
    books: Books
    is_settled: bool = False

    @classmethod
    def new(cls, spark: SparkSession, path: Path) -> Shop:
        program = selfmaint.parse(PROGRAM)
        memory = MemorySource.of_rows(spark, program.relations.values(), BEFORE)
        source = Meeting(memory, latency=0.2, clock=VirtualClock())
        warehouse = Warehouse.open(spark, str(path), program, source=source)
        return cls(spark, str(path), memory, source, warehouse, shops.books(BEFORE))

    def batch(self, **changes: Signed) -> dict[str, DataFrame]:
        relations = self.warehouse.program.relations
        return {n: frame(self.spark, relations[n], rows) for n, rows in changes.items()}

    def advance(self, **changes: Signed) -> dict[str, DataFrame]:
        """The source takes a batch, which is returned."""
        self.is_settled = False
        batch = self.batch(**changes)
        self.memory.advance(batch)
        shops.change(self.books, changes)
        return batch

    def apply(self, **changes: Signed) -> selfmaint.Report:
        return self.warehouse.apply(self.advance(**changes))

    def open(self, *, limit_seconds: float | None = None, retries: int = 2) -> Warehouse:
        """The same warehouse, for somebody else."""
        return Warehouse.open(
            self.spark,
            self.path,
            selfmaint.parse(PROGRAM),
            source=self.source,
            limit_seconds=limit_seconds,
            retries=retries,
        )

    def rows(self, view: str) -> list[Row]:
        return shops.rows_of(self.warehouse, view)

    def settled(self) -> Shop:
        """Its views have what the source has, also if they are new or if a test failed before."""
        if not self.is_settled:
            self.warehouse.load()
            self.is_settled = True
        return self

    def check(self) -> None:
        """The views are right, and as of what the source has."""
        assert self.warehouse.next_batch() == self.memory.version() + 1
        shops.check(self.warehouse, self.books)
        self.is_settled = True


@pytest.fixture(scope="module")
def shared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """One warehouse for the tests that need no other program."""
    return Shop.new(spark, tmp_path_factory.mktemp("shop"))


@pytest.fixture
def shop(shared: Shop) -> Shop:
    return shared.settled()


def test_bad_batches_change_nothing(shop: Shop) -> None:
    before = shop.rows("sales")
    apply = shop.warehouse.apply
    with pytest.raises(BatchError, match=r"WH350(.|\n)*did you mean `orders`"):
        apply({"order": shop.batch(orders=[])["orders"]})
    with pytest.raises(ColumnError, match="WH321"):
        apply({"orders": shop.batch(customers=[])["customers"]})
    frame = shop.batch(orders=[("+", 7, 1, 1, DAY)])["orders"]
    with pytest.raises(BatchError, match="WH351"):
        apply({"orders": frame.replace("insert", "upsert", "change")})
    with pytest.raises(BatchError, match="WH352"):
        apply({"orders": frame.unionByName(frame)})
    with pytest.raises(BatchError, match="WH352"):
        apply(shop.batch(orders=[("+", 7, 1, 1, DAY), ("-", 7, 1, 1, DAY)]))
    with pytest.raises(BatchError, match="WH353"):
        apply(shop.batch(orders=[("+", 7, 1, 1, DAY), ("+", 7, 1, 2, DAY)]))
    with pytest.raises(BatchError, match="WH354"):
        apply(shop.batch(orders=[("+", None, 1, 1, DAY)]))
    at_hand = shop.spark.sql("SELECT * FROM VALUES (7L, 1L, 1L, DATE'2024-02-29', 'insert')")
    for rows in (frame, at_hand.toDF(*frame.columns)):
        broken = rows.withColumn("id", sf.expr("raise_error('a password')").cast("long"))
        with pytest.raises(BatchError, match=r"WH357(.|\n)*Nothing was changed") as found:
            apply({"orders": broken})
        assert "password" not in str(found.value)
    assert shop.rows("sales") == before


def test_one_job_computes_and_checks_a_batch(
    shop: Shop, count_jobs: Callable[[], AbstractContextManager[Jobs]]
) -> None:
    batch = shop.batch(
        orders=[("+", 7, 1, 1, DAY), ("-", 8, 1, 1, DAY)], notes=[("+", 7, None)], customers=[]
    )
    # Computed a second time, the rows would be other ones.
    batch["notes"] = batch["notes"].withColumn("text", sf.expr("uuid()"))
    with count_jobs() as jobs:
        found = checked(selfmaint.parse(PROGRAM).relations, batch)
    assert jobs.count == 1
    assert {n: (c.inserts, c.deletes) for n, c in found.items()} == {
        "orders": (1, 1),
        "notes": (1, 0),
    }
    for changes in found.values():
        assert changes.frame.collect() == changes.frame.collect()


def test_a_batch_that_changes_nothing_costs_no_commit(
    shop: Shop, count_jobs: Callable[[], AbstractContextManager[Jobs]]
) -> None:
    with count_jobs() as jobs:
        report = shop.apply()
    assert jobs.count == 1  # the journal's
    with count_jobs() as jobs:
        assert shop.warehouse.apply({}, report.batch).is_replay
    assert jobs.count == 0
    versions = {row["version"] for row in shop.warehouse.history("sales").tail(2)}
    assert len(versions) == 1
    shop.check()


def test_views_that_are_decided_side_by_side_share_no_tags(spark: SparkSession) -> None:
    """A question of one view that takes too long is stopped by its tag; other views go on."""
    meeting = Barrier(2)

    def tagged(name: str) -> set[str]:
        spark.addTag(name)
        meeting.wait()
        try:
            return {tag for tag in spark.getTags() if tag in ("one", "two")}
        finally:
            meeting.wait()
            spark.removeTag(name)

    assert side_by_side(spark, tagged, ["one", "two"]) == [{"one"}, {"two"}]


def test_a_view_that_somebody_else_wrote_to_is_refused_and_repaired(shop: Shop) -> None:
    batch = shop.advance(notes=[("+", 9, "n")])
    view = shop.warehouse.view("sales").read()
    stray = view.limit(1).replace("Ann", "Nobody")
    stray.write.format("delta").mode("append").save(f"{shop.path}/views/sales")
    with pytest.raises(ForeignWriteError, match=r"`verify` shows(.|\n)*repair"):
        shop.warehouse.apply(batch)
    found = shop.warehouse.verify("sales")
    assert (found.missing, found.surplus) == (0, 1)
    shop.warehouse.repair("sales")
    shop.warehouse.apply(batch)
    shop.check()


def test_a_view_whose_columns_somebody_changed_is_refused_and_repaired(shop: Shop) -> None:
    batch = shop.advance(notes=[("+", 10, "n")])
    view = shop.warehouse.view("sales")
    shop.spark.sql(f"ALTER TABLE delta.`{view.path}` ADD COLUMNS (Remark string)")
    with pytest.raises(ForeignWriteError, match="repair"):
        shop.warehouse.apply(batch)
    with pytest.raises(ForeignWriteError, match=r"`Remark` is one too many(.|\n)*`repair`"):
        shop.warehouse.verify("sales")
    shop.warehouse.repair("sales")
    assert "Remark" not in view.read().columns
    shop.warehouse.apply(batch)
    shop.check()


def test_a_batch_that_the_source_does_not_have_yet(shop: Shop) -> None:
    version = shop.warehouse.next_batch()
    early = shop.batch(orders=[("+", 90, 3, 2, DAY)])  # of a customer that no view shows
    with pytest.raises(SourceError, match=rf"WH332(.|\n)*it advance(.|\n)*={version}`") as found:
        shop.warehouse.apply(early)
    assert "unchanged at version" in found.value.message
    assert found.value.message.endswith(f"Batch {version} is not applied")


def test_a_session_on_which_values_mean_something_else_now(shop: Shop) -> None:
    batch = shop.advance(notes=[("+", 11, "n")])
    shop.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        with pytest.raises(UnfitSessionError, match="timeZone=UTC"):
            shop.warehouse.apply(batch)
    finally:
        shop.spark.conf.set("spark.sql.session.timeZone", "UTC")
    shop.warehouse.apply(batch)
    shop.check()


def test_arguments_that_cannot_be_meant(shop: Shop) -> None:
    warehouse: Any = shop.warehouse  # so that types are no obstacle
    text: Any = PROGRAM
    frame = shop.batch(notes=[])["notes"]
    bad_calls: dict[str, Callable[[], object]] = {
        "maps .* not a list": lambda: warehouse.apply([frame]),
        "maps .* not 3": lambda: warehouse.apply({3: frame}),
        "`notes` are a DataFrame, not a list": lambda: warehouse.apply({"notes": []}),
        "program .* not a str": lambda: Warehouse.open(shop.spark, "/x", text),
        "`retries` .* not -1": lambda: shop.open(retries=-1),
        "`limit_seconds` .* not 0": lambda: shop.open(limit_seconds=0),
        "view .* not a type": lambda: warehouse.maintains(Shop),
    }
    for message, call in bad_calls.items():
        with pytest.raises(InputError, match=f"RT407.*{message}"):
            call()


def test_a_log_is_netted(spark: SparkSession) -> None:
    relation = selfmaint.parse(PROGRAM).relations["notes"]
    log = [
        (1, "comes and goes", "insert", 1),
        (2, "goes and comes", "delete", 2),
        (1, "comes and goes", "delete", 3),
        (2, "goes and comes", "insert", 4),
        (3, None, "insert", 5),
        (4, "", "delete", 6),
    ]
    frame = spark.createDataFrame(log, "id long, text string, change string, at int")
    found = sorted(map(tuple, netted(relation, frame, "at").collect()))
    assert found == [(3, None, "insert"), (4, "", "delete")]
    tie = frame.selectExpr("id", "text", "change", "1 AS at")
    with pytest.raises(BatchError, match=r"WH355.*2 rows"):
        netted(relation, tie, "at")
    with pytest.raises(ColumnError, match=r"WH321.*`At` to order by"):
        netted(relation, frame, "At")
    # Said twice it is said once; and a column may have any name.
    names = ("unknown", "Unknown", "words")
    text = f".decl p({names[0]}: long, {names[1]}: string) v(X) :- p(X, _)."
    odd = selfmaint.parse(text).relations["p"]
    renamed = frame.toDF(*names[:2], "change", names[2])
    twice = netted(odd, renamed.unionAll(renamed), names[2])
    assert twice.columns == [*names[:2], "change"]
    assert sorted(map(tuple, twice.collect())) == found
    changes = checked({"p": odd}, {"p": twice})["p"]
    assert (changes.inserts, changes.deletes) == (1, 1)


KNOWN = 1000
"""So many keys of `s`, from 0, are in the view."""


@dataclass
class Measured:
    """A view of many rows behind a source whose questions cost virtual seconds, and another."""

    memory: MemorySource
    warehouse: Warehouse

    @classmethod
    def new(cls, spark: SparkSession, path: Path) -> Measured:
        program = selfmaint.parse("""
        .decl r(a: long, y: long) key(a)
        .decl s(y: long, z: string) key(y)
        .decl t(x: long)
        v(A, Y, Z) :- r(A, Y), s(Y, Z).
        w(X) :- t(X).
        """)
        memory = MemorySource(
            {
                "r": spark.range(10 * KNOWN).selectExpr("id AS a", f"id % {KNOWN} AS y"),
                "s": spark.range(100 * KNOWN).selectExpr("id AS y", "'text' AS z"),
                "t": spark.range(1).toDF("x"),
            }
        )
        source = SimulatedSource(memory, latency=0.2, per_row_sent=0.01, clock=VirtualClock())
        # By the source's clock 50,000 keys take longer than a question may.
        warehouse = Warehouse.open(
            spark, str(path), program, source=source, lookups="always", limit_seconds=None
        )
        warehouse.load()
        return cls(memory, warehouse)

    def advance(self, rows: DataFrame) -> dict[str, DataFrame]:
        """The source takes a batch of insertions, which is returned."""
        batch = {"r": rows.withColumn("change", sf.lit("insert"))}
        self.memory.advance(batch)
        return batch


def test_reports_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    """In columns and as JSON; the jobs are counted, and a job group of the caller stays."""
    measured = Measured.new(spark, tmp_path)
    warehouse = measured.warehouse
    assert warehouse.reports().count() == 0

    def apply(*added: tuple[int, int]) -> selfmaint.Report:
        rows = [(1_000_000 + a, y) for a, y in added]
        return warehouse.apply(measured.advance(spark.createDataFrame(rows, "a long, y long")))

    context = getattr(spark, "sparkContext", None)
    first = apply((3, 1), (4, 2), (5, 2))
    if context is not None:
        assert context.getLocalProperty(JOB_GROUP) is None
        context.setJobGroup("mine", "of the caller")
    second = apply((6, 1), (7, KNOWN + 7), (8, KNOWN + 7), (9, KNOWN + 8))
    if context is not None:
        assert context.getLocalProperty(JOB_GROUP) == "mine"
        context.setLocalProperty(JOB_GROUP, None)
    for report in (first, second):
        if context is None:
            assert report.jobs is None
            assert [view.jobs for view in report.views] == [None, None]
        else:
            in_views = [view.jobs or 0 for view in report.views]
            assert in_views[0] > 0
            assert report.jobs is not None
            assert report.jobs > sum(in_views)

    # Both keys would have been asked for; the view knew them.
    v = first.of("v")
    assert v.traditional == Cost(1, 2, seconds=0.2 + 2 * 0.01)
    assert (v.cost, v.questions_avoided) == (Cost(), 1)
    # Of three keys two were asked for. Each row is a long and four letters.
    v = second.of("v")
    assert v.traditional == Cost(1, 3, seconds=0.2 + 3 * 0.01)
    assert (v.cost.questions, v.cost.keys_sent, v.cost.rows_sent) == (1, 2, 2)
    assert (v.cost.bytes_sent, v.questions_avoided) == (2 * (8 + 4), 0)
    w = second.of("w")
    assert (w.verdicts, w.traditional) == ({"irrelevant": 4}, Cost())

    lines = warehouse.reports().orderBy("batch", "view").collect()
    assert [(line["batch"], line["view"]) for line in lines] == [
        (1, "v"), (1, "w"), (2, "v"), (2, "w"),
    ]  # fmt: skip
    line = lines[2].asDict()
    assert json.loads(line.pop("report")) == json.loads(json.dumps(second.of("v").as_dict()))
    v = second.of("v")
    assert line.pop("stages") == {stage.name: stage.seconds for stage in v.stages}
    assert line == {
        "batch": 2,
        "view": "v",
        "version": v.version,
        "is_changed": True,
        "irrelevant": 0,
        "unaffected": 0,
        "self_maintained": 1,
        "miss": 3,
        "lookups": v.lookups,
        "files_read": v.files_read,
        "files": v.files,
        "rows_read": v.rows_read,
        "rows": v.rows,
        "indexed": v.indexed,
        "questions": 1,
        "questions_avoided": 0,
        "keys_sent": 2,
        "rows_sent": 2,
        "bytes_sent": 24,
        "inserted": 4,
        "deleted": 0,
        "jobs": v.jobs,
        "seconds": v.seconds,
        "source_seconds": v.cost.seconds,
        "traditional_seconds": v.traditional.seconds,
        "seconds_saved": 0.0,
        "notes": [],
    }


def test_the_first_example(spark: SparkSession, tmp_path: Path) -> None:
    known, new = (report.of("sales") for report in first_warehouse.run(spark, str(tmp_path)))
    assert (known.inserted, known.deleted, known.cost.questions) == (1, 1, 0)
    assert (new.inserted, new.deleted, new.cost.questions) == (1, 0, 1)


def test_a_column_called_change_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    program = selfmaint.parse(".decl r(x: long, change: string) v(X) :- r(X, _).")
    with pytest.raises(ColumnError, match=r"WH320(.|\n)*another name"):
        Warehouse.open(spark, str(tmp_path), program)
    assert not list(tmp_path.iterdir())


def test_another_word_for_lookups(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="sometimes"):
        Warehouse.open(spark, str(tmp_path), selfmaint.parse(PROGRAM), lookups="sometimes")
    assert not list(tmp_path.iterdir())


def test_a_program_without_views(spark: SparkSession, tmp_path: Path) -> None:
    program = selfmaint.parse(".decl r(a: long)")
    one = spark.range(3, 4).toDF("a")
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=MemorySource({"r": one}))
    batch = {"r": one.selectExpr("*", "'insert' AS change")}
    assert warehouse.apply(batch, 1).views == ()
