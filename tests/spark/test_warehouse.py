"""A warehouse from end to end, as a user drives it; the same on every kind of session."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as sf

import selfmaint
from examples import first_warehouse
from selfmaint.deciding import side_by_side
from selfmaint.errors import RuntimeStateError
from selfmaint.measure import JOB_GROUP
from selfmaint.warehouse import Warehouse
from tests.spark.conftest import Jobs, spark_kind
from warehouse.batches import BatchError, Changes, checked, netted
from warehouse.columns import ColumnError, struct_type
from warehouse.sources import (
    Answer,
    Cost,
    DeltaSource,
    Fault,
    Join,
    MemorySource,
    SimulatedSource,
    SourceError,
    VirtualClock,
)
from warehouse.tables import (
    BatchOrderError,
    ConflictError,
    ForeignWriteError,
    ProgramChangedError,
    StorageError,
    Store,
    ViewTable,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cq.schema import Relation

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
BEFORE: Mapping[str, Sequence[tuple[object, ...]]] = {
    "customers": [(1, "Ann", "EU"), (2, "Bo", "US"), (3, "Ümit", None)],
    "products": [(1, "tools", Decimal("9.99")), (2, "toys", None)],
    "orders": [(1, 1, 1, DAY), (2, 2, 1, DAY), (3, 1, 2, DAY)],
    "notes": [(1, None), (2, ""), (3, "open")],
}


@dataclass
class Shop:
    """A warehouse, its source, and frames of changes."""

    spark: SparkSession
    path: str
    source: SimulatedSource
    warehouse: Warehouse

    def batch(self, **changes: Sequence[tuple[object, ...]]) -> dict[str, DataFrame]:
        """Rows with `+` or `-` in front."""
        relations = selfmaint.parse(PROGRAM).relations
        words = {"+": "insert", "-": "delete"}
        frames = {}
        for name, rows in changes.items():
            schema = struct_type(relations[name]).add("change", "string")
            values = [(*row, words[str(sign)]) for sign, *row in rows]
            frames[name] = self.spark.createDataFrame(values, schema)
        return frames

    def advance(self, batch: Mapping[str, DataFrame]) -> None:
        inner = self.source.source
        assert isinstance(inner, MemorySource)
        inner.advance(batch)

    def apply(self, **changes: Sequence[tuple[object, ...]]) -> selfmaint.Report:
        batch = self.batch(**changes)
        self.advance(batch)
        return self.warehouse.apply(batch)

    def rows(self, view: str) -> list[tuple[object, ...]]:
        return sorted(map(tuple, self.warehouse.view(view).read().collect()), key=repr)

    def check(self) -> None:
        for view in self.warehouse.views:
            found = self.warehouse.verify(view)
            assert found.is_right, (view, found.sample.collect())


def open_shop(spark: SparkSession, path: Path) -> Shop:
    program = selfmaint.parse(PROGRAM)
    memory = MemorySource.of_rows(spark, program.relations.values(), BEFORE)
    source = SimulatedSource(memory, latency=0.2, clock=VirtualClock())
    warehouse = Warehouse.open(spark, str(path), program, source=source)
    return Shop(spark, str(path), source, warehouse)


def test_a_life(spark: SparkSession, tmp_path: Path) -> None:
    """New facts, an update, new dimensions with facts, a miss, deletions; then a replay."""
    shop = open_shop(spark, tmp_path)
    with pytest.raises(RuntimeStateError, match="RT401"):
        shop.apply(orders=[("+", 9, 1, 1, DAY)])
    shop = open_shop(spark, tmp_path)
    assert shop.warehouse.load() == 0
    assert shop.rows("open_for_business") == [(True,)]
    asked = shop.source.questions

    old_and_new = shop.apply(orders=[("+", 4, 2, 2, DAY)])
    assert old_and_new.of("sales").cost.questions == 0
    moved = shop.apply(customers=[("-", 1, "Ann", "EU"), ("+", 1, "Ann", "JP")])
    assert moved.of("sales").changes(selfmaint.Kind.SELF_MAINTAINED) == 2
    arrived = shop.apply(
        customers=[("+", 4, "Di", "EU")],
        products=[("+", 3, "books", Decimal("1.00"))],
        orders=[("+", 5, 4, 3, DAY)],
    )
    assert arrived.of("sales").cost.questions == 0
    assert arrived.of("sales").inserted == 1
    assert shop.source.questions - asked == sum(
        report.cost.questions
        for applied in (old_and_new, moved, arrived)
        for report in applied.views
    )
    missed = shop.apply(orders=[("+", 6, 3, 3, DAY)], notes=[("-", 3, "open")])
    assert shop.rows("open_for_business") == []
    assert missed.of("sales").changes(selfmaint.Kind.MISS) == 1
    assert missed.of("sales").cost.questions == 1
    gone = shop.apply(
        orders=[("-", 1, 1, 1, DAY), ("-", 5, 4, 3, DAY)], customers=[("-", 4, "Di", "EU")]
    )
    assert gone.of("sales").deleted == 2
    nothing = shop.apply(products=[("-", 1, "tools", Decimal("9.99")), ("+", 1, "tools", None)])
    assert [(view.inserted, view.deleted) for view in nothing.views] == [(0, 0)] * 3
    shop.check()

    before = shop.rows("sales")
    assert shop.warehouse.apply({}, 6).is_replay
    assert shop.rows("sales") == before
    history = shop.warehouse.history("sales").collect()
    assert [(row["batch"], row["is_changed"]) for row in history] == [
        (0, True), (1, True), (2, True), (3, True), (4, True), (5, True), (6, False),
    ]  # fmt: skip

    reopened = Warehouse.open(spark, shop.path, selfmaint.parse(PROGRAM), source=shop.source)
    assert reopened.apply({}, 6).is_replay
    with pytest.raises(BatchOrderError, match="expected is batch 7"):
        reopened.apply({}, 8)
    other = selfmaint.parse(PROGRAM.replace("demand(Region, Category)", "demand(Category, Region)"))
    with pytest.raises(ProgramChangedError, match="demand"):
        Warehouse.open(spark, shop.path, other, source=shop.source)


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    found = open_shop(spark, tmp_path_factory.mktemp("shop"))
    found.warehouse.load()
    return found


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
    broken = frame.withColumn("id", sf.expr("raise_error('a password')").cast("long"))
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
        shop.advance({})
        report = shop.warehouse.apply({})
    assert jobs.count == 2  # the journal's
    with count_jobs() as jobs:
        assert shop.warehouse.apply({}, report.batch).is_replay
    assert jobs.count == 0
    versions = {row["version"] for row in shop.warehouse.history("sales").tail(2)}
    assert len(versions) == 1


def test_two_maintainers_of_one_batch_apply_it_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one comes between the look at the views and the decision."""
    batch = shop.batch(orders=[("+", 69, 1, 2, DAY)])
    shop.advance(batch)
    slow = Warehouse.open(shop.spark, shop.path, selfmaint.parse(PROGRAM), source=shop.source)

    def overtaken(
        relations: Mapping[str, Relation], changes: Mapping[str, DataFrame]
    ) -> dict[str, Changes]:
        monkeypatch.undo()
        shop.warehouse.apply(batch)
        return checked(relations, changes)

    monkeypatch.setattr("selfmaint.warehouse.checked", overtaken)
    with pytest.raises(ConflictError, match="sales"):
        slow.apply(batch)
    shop.check()


def test_a_source_that_fails_is_asked_again_by_the_same_batch(shop: Shop) -> None:
    batch = shop.batch(customers=[("+", 8, "Eve", "EU")])
    shop.advance(batch)
    shop.warehouse.apply(batch)
    batch = shop.batch(orders=[("+", 8, 8, 2, DAY)])
    shop.advance(batch)
    first = shop.source.questions + 1
    # Two views ask, side by side, three times each.
    shop.source.faults = {first + n: Fault.ERROR for n in range(6)}
    before = {name: shop.rows(name) for name in shop.warehouse.views}
    with pytest.raises(SourceError, match="WH333"):
        shop.warehouse.apply(batch)
    assert {name: shop.rows(name) for name in shop.warehouse.views} == before
    shop.source.faults = {}
    shop.warehouse.apply(batch)
    assert (8, 8, "Eve", "EU", 2, "toys", DAY) in shop.rows("sales")
    shop.check()


class Meeting(SimulatedSource):
    """A source that answers a question about one view only when it has one about another."""

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        self.questioners.wait(timeout=120)
        return super().answer(join, keys, version)

    questioners = Barrier(1)


def test_views_are_decided_side_by_side(spark: SparkSession, tmp_path: Path) -> None:
    program = selfmaint.parse("""
    .decl r(x: long, y: long)
    .decl s(y: long, z: long)
    first(X, Z) :- r(X, Y), s(Y, Z).
    second(Y, Z) :- r(X, Y), s(Y, Z).
    """)
    memory = MemorySource.of_rows(spark, program.relations.values(), {"s": [(1, 2)]})
    source = Meeting(memory, clock=VirtualClock())
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    source.questioners = Barrier(2)
    batch = {"r": spark.createDataFrame([(0, 1, "insert")], "x long, y long, change string")}
    memory.advance(batch)
    report = warehouse.apply(batch)
    assert [view.cost.questions for view in report.views] == [1, 1]
    assert [tuple(row) for row in warehouse.view("first").read().collect()] == [(0, 2)]
    assert [tuple(row) for row in warehouse.view("second").read().collect()] == [(1, 2)]


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
    view = shop.warehouse.view("sales").read()
    stray = view.limit(1).replace("Ann", "Nobody")
    stray.write.format("delta").mode("append").save(f"{shop.path}/views/sales")
    batch = shop.batch(notes=[("+", 9, "n")])
    shop.advance(batch)
    with pytest.raises(ForeignWriteError, match=r"`verify` shows(.|\n)*repair"):
        shop.warehouse.apply(batch)
    found = shop.warehouse.verify("sales")
    assert (found.missing, found.surplus) == (0, 1)
    shop.warehouse.repair("sales")
    shop.warehouse.apply(batch)
    shop.check()


def test_a_log_is_netted(shop: Shop) -> None:
    relation = selfmaint.parse(PROGRAM).relations["notes"]
    log = [
        (1, "comes and goes", "insert", 1),
        (2, "goes and comes", "delete", 2),
        (1, "comes and goes", "delete", 3),
        (2, "goes and comes", "insert", 4),
        (3, None, "insert", 5),
        (4, "", "delete", 6),
    ]
    frame = shop.spark.createDataFrame(log, "id long, text string, change string, at int")
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


def test_reports_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    """In columns and as JSON; the jobs are counted, and a job group of the caller stays."""
    text = """
    .decl r(a: long, y: long) key(a)
    .decl s(y: long, z: string) key(y)
    .decl t(x: long)
    v(A, Y, Z) :- r(A, Y), s(Y, Z).
    w(X) :- t(X).
    """
    program = selfmaint.parse(text)
    rows = {"r": [(1, 1), (2, 2)], "s": [(y, "text") for y in range(1, 9)], "t": [(1,)]}
    memory = MemorySource.of_rows(spark, program.relations.values(), rows)
    source = SimulatedSource(memory, latency=0.2, per_row_sent=0.01, clock=VirtualClock())
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    assert warehouse.reports().count() == 0

    def apply(*added: tuple[int, int]) -> selfmaint.Report:
        values = [(*row, "insert") for row in added]
        batch = {"r": spark.createDataFrame(values, "a long, y long, change string")}
        memory.advance(batch)
        return warehouse.apply(batch)

    context = getattr(spark, "sparkContext", None)
    first = apply((3, 1), (4, 2), (5, 2))
    if context is not None:
        assert context.getLocalProperty(JOB_GROUP) is None
        context.setJobGroup("mine", "of the caller")
    second = apply((6, 1), (7, 7), (8, 7), (9, 8))
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
    # Keys 1, 7 and 8 would have been asked for; 7 and 8 were. Each row is a long and four letters.
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


@pytest.mark.parametrize(
    "sizes", [(10, 1_000), pytest.param((10, 1_000, 100_000), marks=pytest.mark.slow)]
)
def test_the_number_of_jobs_does_not_depend_on_the_size(
    spark: SparkSession,
    tmp_path: Path,
    count_jobs: Callable[[], AbstractContextManager[Jobs]],
    sizes: tuple[int, ...],
) -> None:
    """So many changes of the same kind, of which half are asked for and half decided here."""
    text = """
    .decl r(a: long, y: long) key(a)
    .decl s(y: long, z: long) key(y)
    v(A, Y, Z) :- r(A, Y), s(Y, Z).
    """
    program = selfmaint.parse(text)
    numbers = spark.range(10_000)
    memory = MemorySource(
        {
            "r": numbers.select(sf.col("id").alias("a"), (sf.col("id") % 1000).alias("y")),
            "s": spark.range(101_000).select(sf.col("id").alias("y"), sf.col("id").alias("z")),
        }
    )
    source = SimulatedSource(memory, clock=VirtualClock())
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source, lookups="always")
    warehouse.load()
    start, counts = 1_000_000, []
    for size in sizes:
        rows = spark.range(start, start + size)
        inserts = rows.select(
            sf.col("id").alias("a"),
            # Half of them join with a row that the view shows, half with one that it does not.
            sf.when(sf.col("id") % 2 == 0, sf.col("id") % 1000)
            .otherwise(1000 + sf.col("id") % 100_000)
            .alias("y"),
            sf.lit("insert").alias("change"),
        ).localCheckpoint()
        memory.advance({"r": inserts})
        with count_jobs() as jobs:
            report = warehouse.apply({"r": inserts})
        assert report.of("v").changes() == size
        assert report.of("v").cost.questions == 1
        counts.append(jobs.count)
        start += size
    assert len(set(counts)) == 1, counts
    assert warehouse.verify("v").is_right


def test_a_day_that_calendars_disagree_on_is_found(spark: SparkSession, tmp_path: Path) -> None:
    """Where a file holds no later day, Parquet's reader skips it if it is told another day."""
    day = date(1582, 10, 10)
    program = selfmaint.parse(f"""
        .decl r(day: date, x: long)
        .decl s(x: long, y: long) key(x)
        v(D, X, Y) :- r(D, X), s(X, Y).
        w(X) :- r({day.isoformat()}, X).
    """)
    schemas = {"r": "day date, x long", "s": "x long, y long"}
    rows: dict[str, list[tuple[object, ...]]] = {"r": [(day, 1)], "s": [(1, 7)]}
    tables = {name: spark.createDataFrame(rows[name], schemas[name]) for name in schemas}
    source = DeltaSource.create(spark, str(tmp_path / "source"), tables)
    warehouse = Warehouse.open(spark, str(tmp_path / "views"), program, source=source)
    warehouse.load()
    assert [warehouse.view(name).read().count() for name in ("v", "w")] == [1, 1]
    batch = {"r": spark.createDataFrame([(day, 1, "delete")], f"{schemas['r']}, change string")}
    source.advance(batch)
    warehouse.apply(batch)
    assert [warehouse.view(name).read().count() for name in ("v", "w")] == [0, 0]


def test_a_slice_of_nulls_is_asked_for_as_such(spark: SparkSession, tmp_path: Path) -> None:
    """A row that shows NULL goes only if no other one shows it: the source finds NULL by NULL."""
    program = selfmaint.parse(".decl r(x: string, y: long) .decl s(y: long) v(X) :- r(X, Y), s(Y).")
    rows = {"r": [(None, 1), (None, 2), ("a", 1)], "s": [(1,), (2,)]}
    source = MemorySource.of_rows(spark, program.relations.values(), rows)
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    for y, is_left in ((1, True), (2, False)):
        gone = spark.createDataFrame([(None, y, "delete")], "x string, y long, change string")
        source.advance({"r": gone})
        report = warehouse.apply({"r": gone}).of("v")
        assert report.cost.questions == 1
        found = {row["x"] for row in warehouse.view("v").read().collect()}
        assert found == ({None, "a"} if is_left else {"a"})
        assert warehouse.verify("v").is_right


def test_a_repair_that_is_overtaken_is_refused(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another maintainer applies a batch while the rows are computed, without that batch."""
    batch = shop.batch(orders=[("+", 90, 1, 2, DAY)])
    other = Warehouse.open(shop.spark, str(shop.path), shop.warehouse.program, source=shop.source)
    real = Warehouse._recomputed

    def slow(warehouse: Warehouse, *arguments: object) -> object:
        rows = real(warehouse, *arguments)
        shop.advance(batch)
        other.apply(batch)
        return rows

    with monkeypatch.context() as patch:
        patch.setattr(Warehouse, "_recomputed", slow)
        with pytest.raises(ConflictError):
            shop.warehouse.repair("sales")
    shop.warehouse.repair("sales")
    shop.check()


def test_a_wide_view_is_ordered_by_any_of_its_columns(spark: SparkSession, tmp_path: Path) -> None:
    columns = [f"c{i}" for i in range(40)]
    variables = ", ".join(name.upper() for name in columns)
    program = selfmaint.parse(
        f".decl r({', '.join(f'{name}: long' for name in columns)}, k: long) key(k)\n"
        ".decl s(k: long) key(k)\n"
        f"v({variables}, K) :- r({variables}, K), s(K)."
    )
    source = MemorySource.of_rows(spark, program.relations.values(), {})
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    assert warehouse.optimize("v")[0] == "k"


def test_the_first_example(spark: SparkSession, tmp_path: Path) -> None:
    known, new = (report.of("sales") for report in first_warehouse.run(spark, str(tmp_path)))
    assert (known.inserted, known.deleted, known.cost.questions) == (1, 1, 0)
    assert (new.inserted, new.deleted, new.cost.questions) == (1, 0, 1)


def test_a_load_makes_a_table_anew_that_has_gone(shop: Shop) -> None:
    shutil.rmtree(f"{shop.path}/views/sales")
    assert shop.warehouse.load(0) == 0  # as of an older batch
    assert shop.warehouse.next_batch() == 1
    shop.warehouse.load()
    shop.check()


def test_a_load_that_fails_half_way_is_no_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = open_shop(spark, tmp_path)
    batch = shop.batch(orders=[("+", 70, 2, 2, DAY)])
    shop.advance(batch)
    real = ViewTable.replace

    def dying(table: ViewTable, *arguments: object) -> object:
        if table.name == "view `demand`":
            raise KeyboardInterrupt
        return real(table, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ViewTable, "replace", dying)
        with pytest.raises(KeyboardInterrupt):
            shop.warehouse.load()
    # `sales` is loaded as of batch 1. As a batch it would begin `demand` with one order.
    with pytest.raises(BatchOrderError, match=r"`load\(\)` again"):
        shop.warehouse.apply(batch, 1)
    shop.warehouse.load()
    shop.check()


def test_frames_of_another_session(shop: Shop) -> None:
    if spark_kind() == "connect":
        pytest.skip("needs a second session of the same application")
    other = shop.spark.newSession()
    batch = {
        name: other.createDataFrame(frame.collect(), frame.schema)
        for name, frame in shop.batch(orders=[("-", 1, 1, 1, DAY), ("+", 71, 1, 1, DAY)]).items()
    }
    shop.advance(batch)
    assert shop.warehouse.apply(batch).of("sales").deleted == 1
    shop.check()


@pytest.mark.slow
def test_insertions_of_which_the_view_shows_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Whether their rows are there is looked up when the source has told them, and only these."""
    program = selfmaint.parse(
        ".decl customers(cust: long, name: string) key(cust)\n"
        ".decl orders(id: long, cust: long) key(id)\n"
        "v(Name) :- customers(Cust, Name), orders(_, Cust)."
    )
    customers = [(1, "Ann"), (2, "Bo"), (3, None), (4, None), (5, "Cy"), (6, "Ann")]
    rows = {"customers": customers, "orders": [(1, 1), (2, 3), (3, 5)]}
    source = MemorySource.of_rows(spark, program.relations.values(), rows)
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source, lookups="always")
    warehouse.load()

    def apply(*orders: tuple[str, int, int]) -> tuple[int, int]:
        schema = "change string, id long, cust long"
        batch = {"orders": spark.createDataFrame(list(orders), schema)}
        report = warehouse.apply(batch, source.advance(batch)).of("v")
        assert warehouse.verify("v").is_right
        return report.inserted, report.deleted

    assert apply(("insert", 10, 2), ("insert", 11, 4), ("insert", 12, 6)) == (1, 0)  # Bo alone
    assert apply(("insert", 13, 1), ("insert", 14, 2)) == (0, 0)
    assert apply(("delete", 3, 5), ("insert", 15, 6)) == (0, 1)  # Cy goes
    assert apply(("insert", 16, 5), ("insert", 17, 99)) == (1, 0)


def test_values_that_python_does_not_have(spark: SparkSession, tmp_path: Path) -> None:
    """Bytes that are no text, and days after the year 9999, are found in the view all the same."""
    program = selfmaint.parse(
        ".decl r(x: string, d: date) .decl s(x: string) v(X, D) :- r(X, D), s(X)."
    )
    rows = spark.sql(
        "SELECT CAST(unhex('636166E9') AS string) AS x, make_date(20224, 5, 1) AS d "
        "UNION ALL SELECT 'tea', make_date(2024, 5, 1)"
    )
    source = MemorySource({"r": rows, "s": rows.select("x")})
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    gone = rows.where("x <> 'tea'").selectExpr("*", "'delete' AS change")
    source.advance({"r": gone})
    assert warehouse.apply({"r": gone}).of("v").deleted == 1
    assert [row["x"] for row in warehouse.view("v").read().collect()] == ["tea"]


def test_a_source_that_sends_more_than_it_was_asked_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    program = selfmaint.parse(".decl r(x: long, y: long) .decl s(y: long) v(X) :- r(X, Y), s(Y).")
    rows = {"r": [(1, 1), (1, 2), (2, 2), (3, 1)], "s": [(1,), (2,)]}
    memory = MemorySource.of_rows(spark, program.relations.values(), rows)

    class Generous(SimulatedSource):
        """Sends the whole view, whatever slice it is asked for."""

        def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
            if keys is None:
                return super().answer(join, keys, version)
            values = spark.createDataFrame([(x,) for x in (1, 2, 3)], keys.schema)
            return super().answer(join, values, version)

    source = Generous(memory, clock=VirtualClock())
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    gone = spark.createDataFrame([(1, 1, "delete")], "x long, y long, change string")
    memory.advance({"r": gone})
    assert warehouse.apply({"r": gone}).of("v").cost.questions == 1
    assert sorted(row["x"] for row in warehouse.view("v").read().collect()) == [1, 2, 3]


def test_a_column_called_change_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    program = selfmaint.parse(".decl r(x: long, change: string) v(X) :- r(X, _).")
    with pytest.raises(ColumnError, match=r"WH320(.|\n)*another name"):
        Warehouse.open(spark, str(tmp_path), program)
    assert not list(tmp_path.iterdir())


def test_differing_rows_are_shown_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    program = selfmaint.parse(".decl r(x: long, y: double) v(X, Difference) :- r(X, Difference).")
    source = MemorySource.of_rows(spark, program.relations.values(), {"r": [(1, 2.5), (1, 2.5)]})
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    assert warehouse.verify("v").rows == 1  # a relation is a set

    new = spark.createDataFrame([(3, math.nan, "insert")], "x long, y double, change string")
    with pytest.raises(BatchError, match="WH356"):
        warehouse.apply({"r": new})
    source.advance({"r": new.replace(math.nan, 4.5)})
    warehouse.apply({"r": new.limit(0)})  # the source has the change, the batch has not
    found = warehouse.verify("v")
    assert (found.missing, found.surplus) == (1, 0)
    assert found.sample.columns == ["x", "difference", "difference_"]
    assert [tuple(row) for row in found.sample.collect()] == [(3, 4.5, "missing")]


def test_a_view_is_repaired_in_the_middle_of_a_batch(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch reached `sales`, not `demand`, whose repair takes it back from neither."""
    real = ViewTable.commit

    def dying(table: ViewTable, *arguments: object, **options: object) -> object:
        if table.name == "view `demand`":
            raise KeyboardInterrupt
        return real(table, *arguments, **options)

    batch = shop.batch(orders=[("+", 70, 2, 2, DAY)])
    shop.advance(batch)
    number = shop.warehouse.next_batch()
    with monkeypatch.context() as patch:
        patch.setattr(ViewTable, "commit", dying)
        with pytest.raises(KeyboardInterrupt):
            shop.warehouse.apply(batch, number)
    shop.warehouse.repair("demand")
    with pytest.raises(RuntimeStateError, match=f"RT408(.|\\n)*number={number}"):
        shop.warehouse.next_batch()  # another batch must not get its number
    with pytest.raises(RuntimeStateError, match=f"number={number}"):
        shop.warehouse.apply(batch)
    report = shop.warehouse.apply(batch, number)
    assert [view.view for view in report.views if view.is_replay] == ["sales"]
    shop.check()


def test_a_batch_that_is_not_in_the_journal_is_not_applied_twice(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every view has it. Without a number it would be the next batch."""

    def dying(*arguments: object) -> None:
        raise KeyboardInterrupt

    number = shop.warehouse.next_batch()
    batch = shop.batch(orders=[("+", 72, 2, 2, DAY)])
    shop.advance(batch)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "_record", dying)
        with pytest.raises(KeyboardInterrupt):
            shop.warehouse.apply(batch)
    again = Warehouse.open(shop.spark, shop.path, selfmaint.parse(PROGRAM), source=shop.source)
    for warehouse in (shop.warehouse, again):
        with pytest.raises(RuntimeStateError, match=f"RT408.*batch {number}"):
            warehouse.apply(batch)
    again.apply(batch, number)
    assert shop.warehouse.next_batch() == number + 1  # it has learned of that
    shop.check()


def test_a_relation_without_columns(spark: SparkSession, tmp_path: Path) -> None:
    """It has one row or none: the view is all of `s` or empty."""
    program = selfmaint.parse(".decl r() .decl s(a: long) v(A) :- r(), s(A).")
    one = spark.range(3, 4).toDF("a")
    source = MemorySource({"r": one.where("false").select(), "s": one})
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    comes = one.selectExpr("'insert' AS change")
    source.advance({"r": comes})
    assert warehouse.apply({"r": comes}).of("v").inserted == 1
    assert [tuple(row) for row in warehouse.view("v").read().collect()] == [(3,)]
    with pytest.raises(BatchError, match="WH352"):
        warehouse.apply({"r": comes.unionAll(comes)})


def test_another_batch_with_the_number_of_the_last_one(shop: Shop) -> None:
    """Two streams that both count from the same number: the second one's changes would be lost."""
    number = shop.apply(orders=[("+", 80, 1, 1, DAY)]).batch
    orders = shop.batch(orders=[("+", 80, 1, 1, DAY)])
    customers = shop.batch(customers=[("+", 80, "Eve", "EU")])
    reopened = Warehouse.open(shop.spark, shop.path, shop.warehouse.program, source=shop.source)
    for warehouse in (shop.warehouse, reopened):
        with pytest.raises(RuntimeStateError, match=f"RT411(.|\n)*number {number + 1}"):
            warehouse.apply(customers, number)
        assert warehouse.apply(orders, number).is_replay
        nobody = shop.batch(customers=[])
        assert warehouse.apply({**orders, **nobody}, number).is_replay
    shop.check()


def test_a_batch_before_any_load(spark: SparkSession, tmp_path: Path) -> None:
    """With a number it would be taken for the first one, and what the source has be forgotten."""
    program = selfmaint.parse(".decl r(a: long) v(A) :- r(A).")
    one, two = (spark.range(n, n + 1).toDF("a") for n in (1, 2))
    batch = {"r": two.selectExpr("*", "'insert' AS change")}
    for rows, folder in ((one, "rows"), (one.where("false"), "empty")):
        source = MemorySource({"r": rows})
        source.advance(batch)
        warehouse = Warehouse.open(spark, str(tmp_path / folder), program, source=source)
        if folder == "rows":
            with pytest.raises(RuntimeStateError, match=r"RT401(.|\n)*`load\(0\)`"):
                warehouse.apply(batch, 1)
            warehouse.load(0)
        assert warehouse.apply(batch, 1).of("v").inserted == 1
        assert warehouse.verify("v").is_right
    with pytest.raises(selfmaint.InputError, match="WH349"):
        Warehouse.open(spark, "a/relative/path", program, source=source)


def test_a_view_whose_files_are_lost_stays_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    """Found out while a batch is decided: the error says the state, and what to do."""
    program = selfmaint.parse(
        ".decl r(a: long, b: long) .decl s(b: long) v(A, B) :- r(A, B), s(B)."
    )
    rows = {"r": [(1, 1)], "s": [(1,), (2,)]}
    source = MemorySource.of_rows(spark, program.relations.values(), rows)
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=source)
    warehouse.load()
    (loaded,) = warehouse.history("v").collect()
    for file in (tmp_path / "views" / "v").glob("*.parquet"):
        file.unlink()
    change = spark.createDataFrame([(5, 1, "insert")], "a long, b long, change string")
    source.advance({"r": change})
    said = rf"unchanged at version {loaded['version']}(.|\n)*Batch 1 is not applied"
    with pytest.raises(StorageError, match=said):
        warehouse.apply({"r": change})
    assert warehouse.repair("v")
    assert warehouse.apply({"r": change}).of("v").inserted == 1
    assert warehouse.verify("v").is_right


def test_a_program_without_views(spark: SparkSession, tmp_path: Path) -> None:
    program = selfmaint.parse(".decl r(a: long)")
    one = spark.range(3, 4).toDF("a")
    warehouse = Warehouse.open(spark, str(tmp_path), program, source=MemorySource({"r": one}))
    batch = {"r": one.selectExpr("*", "'insert' AS change")}
    assert warehouse.apply(batch, 1).views == ()
