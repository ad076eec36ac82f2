"""A warehouse from end to end, with others beside it, crashes, repairs and sources that fail."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as sf

import lookups.spark.indexing
import selfmaint
from lookups.spark.execute import MOST_SMALL
from selfmaint.errors import RuntimeStateError
from selfmaint.warehouse import Warehouse
from tests.spark.sessions import Jobs, spark_kind
from tests.spark.test_warehouse import DAY, KNOWN, PROGRAM, Measured, Shop
from warehouse.batches import Changes, checked
from warehouse.sources import Fault, MemorySource, SourceError
from warehouse.tables import (
    BatchOrderError,
    ConflictError,
    ProgramChangedError,
    StorageError,
    Store,
    ViewTable,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cq.schema import Relation


@pytest.fixture(scope="module")
def shared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """One warehouse for the tests that need no other program; not loaded yet."""
    return Shop.new(spark, tmp_path_factory.mktemp("shop"))


@pytest.fixture
def shop(shared: Shop) -> Shop:
    return shared.settled()


@contextmanager
def dying_in(table: str, method: str) -> Iterator[None]:
    """The process dies before it writes a view's table."""
    real = getattr(ViewTable, method)

    def dying(self: ViewTable, *arguments: object, **options: object) -> object:
        if self.name == f"view `{table}`":
            raise KeyboardInterrupt
        return real(self, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ViewTable, method, dying)
        with pytest.raises(KeyboardInterrupt):
            yield


def test_a_life(shared: Shop) -> None:
    """A load at the second attempt, new facts, an update, new dimensions, a miss, deletions."""
    shop = shared
    with pytest.raises(RuntimeStateError, match="RT401"):
        shop.apply(orders=[("+", 9, 1, 1, DAY)])
    first = shop.memory.version()
    with dying_in("demand", "replace"):
        shop.warehouse.load()
    # `sales` is loaded as of this batch. As a batch it would begin `demand` with one order.
    with pytest.raises(BatchOrderError, match=r"`load\(\)` again"):
        shop.warehouse.apply(shop.batch(orders=[("+", 9, 1, 1, DAY)]), first)
    assert shop.warehouse.load() == first
    shop.check()
    assert shop.rows("open_for_business") == [(True,)]
    asked = shop.source.questions

    # One update changes what no view shows, the other what both show.
    known = shop.apply(
        orders=[("+", 4, 2, 2, DAY)],
        products=[("-", 1, "tools", Decimal("9.99")), ("+", 1, "tools", None)],
        customers=[("-", 1, "Ann", "EU"), ("+", 1, "Ann", "JP")],
    )
    sales = known.of("sales")
    assert sales.changes(selfmaint.Kind.SELF_MAINTAINED) == 3
    assert (sales.cost.questions, sales.inserted, sales.deleted) == (0, 4, 3)
    # An order comes with all that it refers to; another one is a customer's first.
    arrived = shop.apply(
        customers=[("+", 4, "Di", "EU")],
        products=[("+", 3, "books", Decimal("1.00"))],
        orders=[("+", 5, 4, 3, DAY), ("+", 6, 3, 3, DAY)],
        notes=[("-", 3, "open")],
    )
    sales = arrived.of("sales")
    assert (sales.changes(selfmaint.Kind.MISS), sales.cost.questions) == (1, 1)
    assert sales.inserted == 2
    assert shop.rows("open_for_business") == []
    assert shop.source.questions - asked == sum(
        report.cost.questions for applied in (known, arrived) for report in applied.views
    )
    gone = shop.apply(
        orders=[("-", 1, 1, 1, DAY), ("-", 5, 4, 3, DAY)], customers=[("-", 4, "Di", "EU")]
    )
    assert gone.of("sales").deleted == 2
    shop.check()
    for view in shop.warehouse.views:
        found = shop.warehouse.verify(view)
        assert found.is_right, (view, found.sample.collect())

    last = first + 3
    before = shop.rows("sales")
    assert shop.warehouse.apply({}, last).is_replay
    assert shop.rows("sales") == before
    history = shop.warehouse.history("sales").collect()
    assert [(row["batch"], row["is_changed"]) for row in history] == [
        (first + n, True) for n in range(4)
    ]
    reopened = shop.open()
    assert reopened.apply({}, last).is_replay
    with pytest.raises(BatchOrderError, match=f"expected is batch {last + 1}"):
        reopened.apply({}, last + 2)
    other = selfmaint.parse(PROGRAM.replace("demand(Region, Category)", "demand(Category, Region)"))
    with pytest.raises(ProgramChangedError, match="demand"):
        Warehouse.open(shop.spark, shop.path, other, source=shop.source)


def test_two_maintainers_of_one_batch_apply_it_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one comes between the look at the views and the decision."""
    batch = shop.advance(orders=[("+", 69, 1, 2, DAY)])
    slow = shop.open()
    reports = []

    def overtaken(
        relations: Mapping[str, Relation], changes: Mapping[str, DataFrame]
    ) -> dict[str, Changes]:
        monkeypatch.undo()
        reports.append(shop.warehouse.apply(batch))
        return checked(relations, changes)

    monkeypatch.setattr("selfmaint.warehouse.checked", overtaken)
    with pytest.raises(ConflictError, match="sales"):
        slow.apply(batch)
    shop.check()
    # A view that is looked into and not changed gets no commit.
    (report,) = reports
    assert (report.of("demand").inserted, report.of("demand").deleted) == (0, 0)
    assert not shop.warehouse.history("demand").tail(1)[0]["is_changed"]


def test_a_source_that_fails_is_asked_again_by_the_same_batch(shop: Shop) -> None:
    """Two views ask, side by side: in the end the source answers none before both have asked."""
    shop.apply(customers=[("+", 8, "Eve", "EU")])
    batch = shop.advance(orders=[("+", 8, 8, 2, DAY)])
    first = shop.source.questions + 1
    shop.source.faults = {first + n: Fault.ERROR for n in range(6)}  # each asks three times
    before = {name: shop.rows(name) for name in shop.warehouse.views}
    view = shop.warehouse.history("sales").agg({"version": "max"}).collect()[0][0]
    with pytest.raises(SourceError, match="WH333") as caught:
        shop.warehouse.apply(batch)
    number = shop.memory.version()
    assert caught.value.message.endswith(
        f". View `sales` is unchanged at version {view}. Batch {number} is not applied"
    )
    assert caught.value.help[-1] == f"then apply the same batch again, with `number={number}`"
    assert {name: shop.rows(name) for name in shop.warehouse.views} == before
    shop.source.faults = {}
    shop.source.meet()
    report = shop.warehouse.apply(batch)
    assert [view.view for view in report.views if view.cost.questions] == ["sales", "demand"]
    assert shop.source.meeting is None
    assert (8, 8, "Eve", "EU", 2, "toys", DAY) in shop.rows("sales")
    shop.check()


def test_a_repair_that_is_overtaken_is_refused(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another maintainer applies a batch while the rows are computed, without that batch."""
    other = shop.open()
    real = Warehouse._recomputed

    def slow(warehouse: Warehouse, *arguments: object) -> object:
        rows = real(warehouse, *arguments)
        other.apply(shop.advance(orders=[("+", 90, 1, 2, DAY)]))
        return rows

    with monkeypatch.context() as patch:
        patch.setattr(Warehouse, "_recomputed", slow)
        with pytest.raises(ConflictError):
            shop.warehouse.repair("sales")
    shop.warehouse.repair("sales")
    shop.check()


def test_a_load_makes_a_table_anew_that_has_gone(shop: Shop) -> None:
    shop.is_settled = False
    shutil.rmtree(f"{shop.path}/views/sales")
    assert shop.warehouse.load(0) == 0  # as of an older batch
    assert shop.warehouse.next_batch() == 1
    shop.warehouse.load()
    shop.check()


def test_a_view_is_repaired_in_the_middle_of_a_batch(shop: Shop) -> None:
    """The batch reached `sales`, not `demand`, whose repair takes it back from neither."""
    number = shop.warehouse.next_batch()
    batch = shop.advance(orders=[("+", 70, 2, 2, DAY)])
    with dying_in("demand", "commit"):
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
    batch = shop.advance(orders=[("+", 72, 2, 2, DAY)])
    with monkeypatch.context() as patch:
        patch.setattr(Store, "_record", dying)
        with pytest.raises(KeyboardInterrupt):
            shop.warehouse.apply(batch)
    again = shop.open()
    for warehouse in (shop.warehouse, again):
        with pytest.raises(RuntimeStateError, match=f"RT408.*batch {number}"):
            warehouse.apply(batch)
    again.apply(batch, number)
    assert shop.warehouse.next_batch() == number + 1  # it has learned of that
    shop.check()


def test_another_batch_with_the_number_of_the_last_one(shop: Shop) -> None:
    """Two streams that both count from the same number: the second one's changes would be lost.

    The batch deletes and inserts, and comes from another session, if there can be one.
    """
    orders = shop.advance(orders=[("+", 80, 1, 1, DAY), ("-", 3, 1, 2, DAY)])
    if spark_kind() != "connect":
        rows = orders["orders"]
        orders = {"orders": shop.spark.newSession().createDataFrame(rows.collect(), rows.schema)}
    applied = shop.warehouse.apply(orders)
    assert (applied.of("sales").inserted, applied.of("sales").deleted) == (1, 1)
    customers = shop.batch(customers=[("+", 80, "Eve", "EU")])
    number = applied.batch
    for warehouse in (shop.warehouse, shop.open()):
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


@pytest.mark.parametrize(
    ("has_index", "most"),
    [(False, 100_000), (True, MOST_SMALL + 1_000)],
    ids=["by scans", "by an index"],
)
def test_the_number_of_jobs_does_not_depend_on_the_size(
    spark: SparkSession,
    tmp_path: Path,
    count_jobs: Callable[[], AbstractContextManager[Jobs]],
    monkeypatch: pytest.MonkeyPatch,
    has_index: bool,
    most: int,
) -> None:
    """So many changes of the same kind, of which half are asked for and half decided here.

    The last ones are more than one task works through. The first ones are not counted: until then
    something is learned about the view, or its index is built. With very many an index has to be
    put together anew, which takes jobs of its own.
    """
    if not has_index:
        monkeypatch.setattr(lookups.spark.indexing, "LEAST_ALIKE", 10**9)
    measured = Measured.new(spark, tmp_path)
    start, counts = 2_000_000, []
    for size in (10, 10, 10, 1_000, most):
        rows = spark.range(start, start + size)
        # Half of them join with a row that the view shows, half with one that it does not.
        shown = sf.col("id") % KNOWN
        hidden = 2 * KNOWN + sf.col("id") % (97 * KNOWN)
        y = sf.when(sf.col("id") % 2 == 0, shown).otherwise(hidden)
        batch = measured.advance(rows.select(sf.col("id").alias("a"), y.alias("y")))
        with count_jobs() as jobs:
            report = measured.warehouse.apply(batch).of("v")
        assert report.changes() == size
        assert report.cost.questions == 1
        counts.append(jobs.count)
        start += size
    assert len(set(counts[2:])) == 1, counts
    assert (report.rows_read == 0, report.indexed > 0) == (has_index, has_index)
    assert measured.warehouse.verify("v").is_right
