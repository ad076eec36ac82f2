"""View tables and their commits, against a Python set, through replays, crashes and bad days."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions, types
from pyspark.sql.functions import col

from tests.spark.sessions import Jobs, spark_kind
from warehouse.sources import DeltaSource
from warehouse.tables import (
    BatchOrderError,
    Commit,
    ConflictError,
    CorruptLogError,
    ForeignWriteError,
    MissingTableError,
    MissingVersionError,
    Place,
    Program,
    ProgramChangedError,
    State,
    StorageError,
    Store,
    StrangeTableError,
    TableError,
    ViewSpec,
    ViewTable,
)
from warehouse.tables.guarded import GuardedTable
from warehouse.tables.store import view_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[object, ...]

COLUMNS = (("select", types.LongType()), ("größe", types.StringType()))
SCHEMA = types.StructType([types.StructField(name, type) for name, type in COLUMNS])

SETTINGS = (
    "spark.databricks.delta.commitInfo.userMetadata",
    "spark.databricks.delta.write.txnAppId",
    "spark.databricks.delta.write.txnVersion",
    "spark.databricks.delta.maxCommitAttempts",
    "spark.databricks.delta.allFilesInCrc.enabled",
)


@pytest.fixture(autouse=True)
def _no_setting_stays_behind(spark: SparkSession) -> Iterator[None]:
    yield
    assert [spark.conf.get(key, None) for key in SETTINGS] == [None] * len(SETTINGS)


def frame(spark: SparkSession, rows: Iterable[Row]) -> DataFrame | None:
    """The rows as a commit takes them: None for no rows."""
    rows = list(rows)
    return spark.createDataFrame(rows, SCHEMA) if rows else None


def numbers(spark: SparkSession, first: int, count: int) -> DataFrame:
    ids = spark.range(first, first + count, 1, 2)
    return ids.select(col("id").alias("select"), col("id").cast("string").alias("größe"))


def rows_of(table: ViewTable, version: int | None = None) -> list[Row]:
    return sorted(map(tuple, table.read(version).collect()), key=repr)


def intrude(spark: SparkSession, path: str) -> None:
    """What another program would do."""
    numbers(spark, 1_000_000, 1).write.format("delta").mode("append").save(path)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "it's `v`")


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with rows 0 to 9 at version 1, batch 17. To copy it costs less than to make it."""
    folder = tmp_path_factory.mktemp("made") / "v"
    table = ViewTable.create(spark, str(folder), "v", COLUMNS)
    table.replace(0, 17, numbers(spark, 0, 10), {})
    return folder


@pytest.fixture
def table(spark: SparkSession, path: str, made: Path) -> ViewTable:
    """A table of one's own, as it was made."""
    shutil.copytree(made, path)
    return reopened(spark, path)


def reopened(spark: SparkSession, path: str) -> ViewTable:
    return ViewTable.open(spark, path, "v", COLUMNS, State(1, 17))


def test_jobs_do_not_depend_on_the_size(
    spark: SparkSession,
    table: ViewTable,
    path: str,
    count_jobs: Callable[[], AbstractContextManager[Jobs]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first write to a table reads its state once.
    table.commit(1, 18, inserts=numbers(spark, 90_000, 1), deletes=None, info={})
    monkeypatch.setattr("warehouse.tables.merging.MOST_ROWS", 4_000)
    # Hashes that are named one by one, bits of numbers, and more rows than are hashed.
    for version, size in ((2, 10), (5, 4_000), (8, 10_000)):
        counts = {}

        @contextmanager
        def counted(what: str, counts: dict[str, int] = counts) -> Iterator[None]:
            with count_jobs() as jobs:
                yield
            counts[what] = jobs.count

        more, less = numbers(spark, 200_000, size), numbers(spark, 200_000, size)
        with counted("append"):
            table.commit(version, 19, inserts=more, deletes=None, info={})
        with counted("state"):
            assert table.state() == State(version + 1, 19)
        with counted("nothing"):
            table.commit(version + 1, 20, inserts=None, deletes=None, info={})
        more, less = numbers(spark, 300_000, size), less.where("`select` % 2 = 0")
        with counted("merge"):
            done = table.commit(version + 1, 20, inserts=more, deletes=less, info={})
        assert (done.version, done.inserted, done.deleted) == (version + 2, size, size // 2)
        other = ViewTable.open(spark, path, "v", COLUMNS, State(version, 18))
        with counted("state of somebody else's object"):
            assert other.state() == State(version + 2, 20)
        with counted("replace"):
            table.replace(version + 2, 20, numbers(spark, 0, size), {})
        assert counts == {
            "append": 3,  # the fence, the write, the look at its commit
            "state": 0,
            "nothing": 0,
            "merge": 16,  # four fewer if no file keeps a row
            "state of somebody else's object": 1,
            "replace": 4,
        }, size


def test_a_look_at_one_file_of_the_log_agrees_with_delta(
    spark: SparkSession, tmp_path: Path
) -> None:
    odd = tmp_path / "a {b,c} [d]*? %20 ü"
    table = GuardedTable(spark, str(odd), "odd")
    assert not table.is_at(0)
    table.create(numbers(spark, 0, 1))
    # A neighbour that a pattern, taken for one, would find.
    shutil.copytree(odd, tmp_path / "a b d %20 ü")
    for version in range(2):
        assert [v for v in range(4) if table.is_at(v)] == [table.newest()] == [version]
        assert table.entry(version) == table.last(1)[0]
        assert table.entry(version + 1) is None
        intrude(spark, str(odd))
    shutil.rmtree(odd)
    assert not table.is_at(2)
    assert table.entry(2) is None


ALL_TYPES = (
    ("boolean", types.BooleanType()),
    ("int", types.IntegerType()),
    ("a`b", types.LongType()),
    ("float", types.FloatType()),
    ("double", types.DoubleType()),
    ("decimal", types.DecimalType(38, 10)),
    ("string", types.StringType()),
    ("date", types.DateType()),
    ("timestamp", types.TimestampNTZType()),
)


def test_every_type_and_null_goes_in_and_comes_out(spark: SparkSession, path: str) -> None:
    schema = types.StructType([types.StructField(name, type) for name, type in ALL_TYPES])
    values: list[list[object]] = [
        [True, False],
        [2**31 - 1, -(2**31)],
        [2**63 - 1, -(2**63)],
        [1.5, float("-inf")],
        [1e300, -1e-300],
        [Decimal("9999999999999999999999999999.0000000001"), Decimal("0E-10")],
        ["", "naïve 'quoted' `ticks` \U0001f600\n"],
        [date(1, 1, 1), date(9999, 12, 31)],
        [datetime(2026, 3, 29, 2, 30, 0, 1), datetime(1900, 1, 1)],
    ]
    # Each value beside NULLs, in a row of its own; all firsts; all NULLs.
    rows: list[Row] = [
        tuple(value if i == place else None for i in range(len(values)))
        for place, pair in enumerate(values)
        for value in pair
    ]
    rows += [tuple(pair[0] for pair in values), (None,) * len(values)]
    table = ViewTable.create(spark, path, "v", ALL_TYPES)
    table.commit(0, 0, inserts=spark.createDataFrame(rows, schema), deletes=None, info={})

    def expect(kept: list[Row]) -> None:
        assert rows_of(table) == sorted(kept, key=repr)

    expect(rows)
    table.commit(
        1,
        1,
        inserts=spark.createDataFrame([tuple(pair[1] for pair in values)], schema),
        deletes=spark.createDataFrame(rows[::2], schema),
        info={},
    )
    expect([*rows[1::2], tuple(pair[1] for pair in values)])
    table.commit(2, 2, inserts=None, deletes=spark.createDataFrame(rows[1::2], schema), info={})
    expect([tuple(pair[1] for pair in values)])
    assert table.read().schema == schema


@pytest.mark.parametrize(
    ("limit", "value"),
    [("MOST_ROWS", 100), ("FEW", 2), ("LEAST_SLOTS", 1), ("MOST_ROWS", 2)],
    ids=["named one by one", "bits", "few slots", "too many to hash"],
)
@pytest.mark.parametrize("telling", [(), ("x",)], ids=["all", "one"])
def test_only_rows_that_are_equal_in_all_columns_go(
    spark: SparkSession,
    path: str,
    telling: tuple[str, ...],
    limit: str,
    value: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where a column that tells rows apart does not. Zeros are equal, whatever their sign."""
    monkeypatch.setattr(f"warehouse.tables.merging.{limit}", value)
    columns = (("x", types.DoubleType()), ("größe", types.StringType()))
    table = ViewTable.create(spark, path, "v", columns, telling=telling)
    rows: list[Row] = [(n, text) for n in (1.0, 2.0, 0.5, None) for text in ("a", "b", None)]
    zeros: list[Row] = [(0.0, "a"), (-0.0, "b")]
    gone: list[Row] = [(1.0, "a"), (2.0, None), (None, "b"), (None, None)]
    stored = spark.createDataFrame([*rows, *zeros], table.columns)
    table.commit(0, 0, inserts=stored, deletes=None, info={})
    deletes = spark.createDataFrame([*gone, (-0.0, "a"), (0.0, "b")], table.columns)
    inserts = spark.createDataFrame([(1.0, "c")], table.columns)
    table.commit(1, 1, inserts=inserts, deletes=deletes, info={})
    assert rows_of(table) == sorted([(1.0, "c"), *(r for r in rows if r not in gone)], key=repr)


PROGRAM = Program(
    (
        ViewSpec("v", "v(X, Y) :- r(X, Y).", COLUMNS),
        ViewSpec("w", "w(X, Y) :- r(X, Y), s(Y).", COLUMNS),
    ),
    {"r": "r(x: long, y: string)", "s": "s(y: string)"},
)


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed(monkeypatch: pytest.MonkeyPatch, write: int, when: str) -> Iterator[None]:
    """Die before or after the given write, if there are so many."""
    real, done = GuardedTable._write, []

    def dying(self: GuardedTable, *arguments: object, **options: object) -> object:
        done.append(None)
        if len(done) == write and when == "before":
            raise Killed
        result = real(self, *arguments, **options)
        if len(done) == write and when == "after":
            raise Killed
        return result

    with monkeypatch.context() as patch:
        patch.setattr(GuardedTable, "_write", dying)
        yield


Delta = tuple[set[Row], set[Row]]

NOTHING: dict[str, Delta] = {"v": (set(), set()), "w": (set(), set())}


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of which batch 0 gave each view a row. To copy it costs less than to make it."""
    folder = tmp_path_factory.mktemp("begun") / "store"
    apply(spark, Store.open(spark, str(folder), PROGRAM), 0, ROW_EACH)
    return folder


@pytest.fixture
def folder(tmp_path: Path, begun: Path) -> str:
    """The folder of a store of one's own, with batch 0 in it."""
    return str(shutil.copytree(begun, tmp_path / "store"))


ROW_EACH: dict[str, Delta] = {name: ({(1, name)}, set()) for name in ("v", "w")}


def apply(spark: SparkSession, store: Store, batch: int, deltas: dict[str, Delta]) -> None:
    commits = {}
    for name, place in store.check_batch(batch).items():
        if place is Place.NEXT:
            table = store.views[name]
            inserts, deletes = (frame(spark, rows) for rows in deltas[name])
            commits[name] = table.commit(
                table.version(), batch, inserts=inserts, deletes=deletes, info={"of": batch}
            )
    store.record(batch, commits)


def test_batches_against_a_set_through_replays_and_crashes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(4)
    universe: list[Row] = [(i, s) for i in (None, *range(9)) for s in (None, "", "x", "y")]
    store = Store.open(spark, str(tmp_path), PROGRAM)
    model: dict[str, set[Row]] = {"v": set(), "w": set()}
    # Every state in which a batch of two commits and a record can be left, and two whole batches:
    # one that changes a single view, and one that changes nothing.
    crashes = [(1, "before"), (1, "after"), (2, "after"), (3, "after")]
    for batch, crash in enumerate([*crashes, None, None]):
        deltas: dict[str, Delta] = {"v": (set(), set()), "w": (set(), set())}
        for name in ("v", "w")[: 2 if crash else 5 - batch]:
            rows = sorted(model[name], key=repr)
            plus = set(chance.sample(sorted({*universe} - {*rows}, key=repr), 3))
            minus = set(chance.sample(rows, 2)) if name == "v" and batch in (1, 2) else set()
            deltas[name] = (plus, minus)
            model[name] = (model[name] - minus) | plus
        if crash:
            with killed(monkeypatch, *crash), pytest.raises(Killed):
                apply(spark, store, batch, deltas)
            store = Store.open(spark, str(tmp_path), PROGRAM)
        apply(spark, store, batch, deltas)  # after a crash, this finishes it
        if batch in (3, 5):
            versions = [table.version() for table in store.views.values()]
            apply(spark, store, batch, deltas)  # once more changes nothing
            assert versions == [table.version() for table in store.views.values()]
        if batch % 2:
            found = [
                table.read().select("*", functions.lit(name).alias("name"))
                for name, table in store.views.items()
            ]
            assert sorted(map(tuple, found[0].unionAll(found[1]).collect()), key=repr) == sorted(
                ((*row, name) for name, rows in model.items() for row in rows), key=repr
            )

    store = Store.open(spark, str(tmp_path), PROGRAM)
    assert store.check_batch(5) == {"v": Place.REPLAY, "w": Place.REPLAY}
    assert store.check_batch(6) == {"v": Place.NEXT, "w": Place.NEXT}
    for number in (4, 7):
        with pytest.raises(BatchOrderError, match="expected is batch 6"):
            store.check_batch(number)
    # One line per batch and view, also for batches that changed nothing or were cut off.
    lines = [(row["batch"], row["view"], row["is_changed"]) for row in store.history().collect()]
    assert sorted(lines) == [
        (batch, name, not (batch == 5 or (batch == 4 and name == "w")))
        for batch in range(6)
        for name in ("v", "w")
    ]
    assert {row["info"] for row in store.history().where("batch = 3").collect()} == {'{"of":3}'}


def test_a_batch_without_change_is_one_line_of_the_journal(
    spark: SparkSession, tmp_path: Path, count_jobs: Callable[[], AbstractContextManager[Jobs]]
) -> None:
    store = Store.open(spark, str(tmp_path), PROGRAM)
    apply(spark, store, 0, {name: ({(1, name)}, set()) for name in store.views})
    before = store.states()
    nothing: dict[str, Delta] = {name: (set(), set()) for name in store.views}
    with count_jobs() as jobs:
        apply(spark, store, 1, nothing)
    assert jobs.count == 1  # the write
    with count_jobs() as jobs:
        apply(spark, store, 1, nothing)  # a replay
        assert store.states() == {n: State(s.version, 1) for n, s in before.items()}
    assert jobs.count == 0
    # For somebody who opens the folder now, too.
    assert Store.open(spark, str(tmp_path), PROGRAM).states() == store.states()


def test_what_another_maintainer_recorded_is_learned(spark: SparkSession, folder: str) -> None:
    """Batches that change nothing are only in the journal."""
    store = Store.open(spark, folder, PROGRAM)
    other = Store.open(spark, folder, PROGRAM)
    apply(spark, other, 1, NOTHING)
    assert store.check_batch(1) == {"v": Place.REPLAY, "w": Place.REPLAY}
    apply(spark, other, 2, NOTHING)
    apply(spark, store, 3, NOTHING)
    assert store.states() == Store.open(spark, folder, PROGRAM).states()
    with pytest.raises(BatchOrderError, match="expected is batch 4"):
        store.check_batch(5)


def test_a_record_behind_another_one_counts_for_nothing(
    spark: SparkSession, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst moment: it looked before the other one recorded two batches, and writes after."""
    store = Store.open(spark, folder, PROGRAM)
    other = Store.open(spark, folder, PROGRAM)
    apply(spark, other, 1, NOTHING)
    apply(spark, other, 2, NOTHING)
    with monkeypatch.context() as patch:
        patch.setattr(GuardedTable, "_base", lambda self, expected, mark: expected)
        patch.setattr(Store, "learn", lambda self: None)
        with pytest.raises(ConflictError, match="The views have batch 1"):
            apply(spark, store, 1, NOTHING)
    opened = Store.open(spark, folder, PROGRAM)
    assert opened.states() == store.states() == other.states()
    assert {state.batch for state in opened.states().values()} == {2}
    apply(spark, store, 3, NOTHING)
    opened = Store.open(spark, folder, PROGRAM)
    assert opened.check_batch(3) == {"v": Place.REPLAY, "w": Place.REPLAY}


def test_a_commit_after_somebody_elses_is_refused(
    spark: SparkSession, table: ViewTable, path: str
) -> None:
    intrude(spark, path)
    with pytest.raises(ConflictError) as caught:
        table.commit(1, 18, inserts=numbers(spark, 50, 1), deletes=None, info={})
    error = caught.value
    assert (error.code, error.version, error.batch) == ("WH340", 2, 18)
    assert error.is_retryable
    assert "Batch 18 is not applied" in str(error)
    assert len(rows_of(table)) == 11

    # Deciding anew does not help here: the view's rows are no longer the view's.
    for seen in (table, reopened(spark, path)):
        with pytest.raises(ForeignWriteError, match=r"at version 2.*last batch of ours is 17") as e:
            seen.state()
        assert e.value.versions == (2,)
        assert "repair" in str(e.value)

    table.replace(table.newest(), 17, numbers(spark, 0, 10), {"why": "repair"})
    assert table.state() == State(3, 17)
    assert reopened(spark, path).state() == State(3, 17)
    assert rows_of(table) == rows_of(table, 1)


def slowly(rows: DataFrame) -> DataFrame:
    """The same rows, but each takes its time."""
    pause = functions.expr("coalesce(reflect('java.lang.Thread', 'sleep', 250L), 'x') <> 'y'")
    return rows.coalesce(1).where(pause)


@pytest.mark.parametrize("deletes", [False, True])
def test_a_commit_that_is_overtaken_is_refused(
    spark: SparkSession, table: ViewTable, path: str, deletes: bool
) -> None:
    if spark_kind() == "connect":
        pytest.skip("needs a second session, with settings of its own")
    overtaken: list[object] = []
    started = threading.Event()

    def commit() -> None:
        gone = numbers(spark, 0, 1) if deletes else None
        started.set()
        try:
            inserts = slowly(numbers(spark, 50, 12))
            overtaken.append(table.commit(1, 18, inserts=inserts, deletes=gone, info={}))
        except TableError as error:
            overtaken.append(error)

    writer = threading.Thread(target=commit)
    writer.start()
    started.wait()
    writer.join(1.5)
    assert writer.is_alive()
    # With settings of its own: those of the first session are the writer's now.
    intrude(spark.newSession(), path)
    assert writer.is_alive()
    writer.join()
    assert isinstance(overtaken[0], ConflictError)
    assert len(rows_of(table)) == 11
    with pytest.raises(ForeignWriteError):
        table.state()


def test_other_writes_of_the_session_carry_nothing_of_ours(
    spark: SparkSession, table: ViewTable, tmp_path: Path
) -> None:
    source = DeltaSource.create(spark, str(tmp_path / "source"), {"r": numbers(spark, 0, 1)})
    theirs = str(tmp_path / "theirs")
    numbers(spark, 0, 1).write.format("delta").save(theirs)

    @contextmanager
    def meanwhile(deletes: DataFrame | None) -> Iterator[None]:
        version = table.newest()
        inserts = slowly(numbers(spark, 50 * version, 12))
        with ThreadPoolExecutor() as pool:
            made = pool.submit(
                table.commit, version, 17 + version, inserts=inserts, deletes=deletes, info={}
            )
            time.sleep(1)
            assert not made.done()
            yield
            made.result()

    with meanwhile(deletes=None):  # an append: two writes of the same number would be one
        intrude(spark, theirs)
        intrude(spark, theirs)
    with meanwhile(deletes=numbers(spark, 0, 1)):  # a MERGE: our own source waits for its turn
        for first in (1, 2):
            changes = numbers(spark, first, 1).select("*", functions.lit("insert").alias("change"))
            source.advance({"r": changes})

    assert spark.read.format("delta").load(theirs).count() == 3
    assert source.read("r", 2).count() == 3
    for folder in (theirs, str(tmp_path / "source" / "r")):
        for log in Path(folder, "_delta_log").glob("*.json"):
            assert '"txn":' not in log.read_text()
            assert '"userMetadata"' not in log.read_text()


def test_two_maintainers_cannot_apply_the_same_batch(
    spark: SparkSession, table: ViewTable, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = reopened(spark, path)
    assert other.state() == State(1, 17)
    other.commit(1, 18, inserts=numbers(spark, 50, 1), deletes=None, info={})
    # The worst moment: the first one looked before the other committed, and writes after it.
    with monkeypatch.context() as patch:
        patch.setattr(GuardedTable, "_base", lambda self, expected, mark: expected)
        with pytest.raises(ConflictError):
            table.commit(1, 18, inserts=numbers(spark, 50, 1), deletes=None, info={})
    assert table.newest() == 2
    assert table.check_batch(18) is Place.REPLAY
    assert len(rows_of(table)) == 11


def test_upkeep_does_not_hide_a_second_maintainer(
    spark: SparkSession, table: ViewTable, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first one looked before upkeep and has a lower number; a second one looked after it."""
    other = reopened(spark, path)
    assert other.state() == State(1, 17)
    table.optimize(())
    spark.sql(f"ALTER TABLE {table._table.identifier} SET TBLPROPERTIES ('a' = 'b')").collect()
    looked_at = table.newest()
    assert looked_at > 1
    with monkeypatch.context() as patch:
        patch.setattr(GuardedTable, "_base", lambda self, expected, mark: 1)
        other.commit(1, 18, inserts=numbers(spark, 50, 1), deletes=None, info={})
        patch.setattr(GuardedTable, "_base", lambda self, expected, mark: looked_at)
        with pytest.raises(ForeignWriteError, match="in the moment before batch 18"):
            table.commit(1, 18, inserts=numbers(spark, 50, 1), deletes=None, info={})
    # It was committed. Everybody sees that the rows are there twice, and a repair puts it right.
    for each in (table, other, reopened(spark, path)):
        with pytest.raises(ForeignWriteError):
            each.state()
    table.replace(table.newest(), 18, numbers(spark, 0, 10), {"why": "repair"})
    assert reopened(spark, path).state() == table.state() == State(table.newest(), 18)


def test_somebody_else_in_the_last_moment_is_reported(
    spark: SparkSession, table: ViewTable, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = GuardedTable._base

    def base(self: GuardedTable, *arguments: object) -> int:
        found = real(self, *arguments)
        intrude(spark, path)
        return found

    monkeypatch.setattr(GuardedTable, "_base", base)
    with pytest.raises(ForeignWriteError, match="batch 18 was committed at version 3") as caught:
        table.commit(1, 18, inserts=numbers(spark, 50, 1), deletes=None, info={})
    assert caught.value.versions == (2,)
    with pytest.raises(ForeignWriteError):
        reopened(spark, path).state()


def test_upkeep_is_no_write(spark: SparkSession, table: ViewTable, path: str) -> None:
    table.optimize(["select", "größe"])
    spark.sql(f"OPTIMIZE delta.`{path.replace('`', '``')}`").collect()
    spark.sql(f"ALTER TABLE delta.`{path.replace('`', '``')}` SET TBLPROPERTIES ('x' = 'y')")
    newest = table.newest()
    assert newest > 1
    # Decided before it, committed after it.
    done = table.commit(1, 18, inserts=numbers(spark, 50, 2), deletes=None, info={"miss": 1})
    assert done == Commit(newest + 1, 18, True, 2, 0, {"miss": 1})
    assert table.state() == reopened(spark, path).state() == State(newest + 1, 18)
    assert table.applied(18) == done
    with pytest.raises(MissingVersionError, match=f"it has 0 to {newest + 1}") as caught:
        table.read(99)
    assert caught.value.code == "WH348"


def test_upkeep_does_not_take_batches_back(spark: SparkSession, folder: str) -> None:
    """Batches that left the view as it was are only in the journal."""
    store = Store.open(spark, folder, PROGRAM)
    other = Store.open(spark, folder, PROGRAM)
    upkeep = f"ALTER TABLE delta.`{view_path(folder, 'v')}` SET TBLPROPERTIES ('x' = 'y')"
    apply(spark, store, 1, NOTHING)
    spark.sql(upkeep)
    assert store.states() == {"v": State(2, 1), "w": State(1, 1)}
    assert Store.open(spark, folder, PROGRAM).states() == store.states()
    # Nor where the version was known before the batches were.
    other.catch_up()
    assert other.states() == store.states()
    apply(spark, store, 2, NOTHING)
    spark.sql(upkeep)
    assert other.states()["v"] == State(3, 2)
    apply(spark, other, 3, NOTHING)
    assert Store.open(spark, folder, PROGRAM).states()["v"] == State(3, 3)


def test_a_load_that_was_interrupted_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    store = Store.open(spark, str(tmp_path), PROGRAM)
    store.views["v"].replace(0, 0, numbers(spark, 0, 3), {"load": 0})
    for each in (store, Store.open(spark, str(tmp_path), PROGRAM)):
        for number in (0, 1):  # batch 0 is in the rows of `v`; for `w` it would be the first
            with pytest.raises(BatchOrderError, match=r"was interrupted(.|\n)*`load\(\)` again"):
                each.check_batch(number)


def test_views_that_are_far_apart_must_be_loaded_again(spark: SparkSession, folder: str) -> None:
    store = Store.open(spark, folder, PROGRAM)
    table = store.views["v"]
    table.replace(table.newest(), 2, table.read().localCheckpoint(), {"load": 2})
    for number in range(4):  # no number fits both
        with pytest.raises(BatchOrderError, match=r"batches 0 to 2(.|\n)*`load\(\)` again"):
            store.check_batch(number)


def test_an_old_batch_again_is_not_told_again(spark: SparkSession, folder: str) -> None:
    store = Store.open(spark, folder, PROGRAM)
    apply(spark, store, 1, {"v": ({(2, "v")}, set()), "w": (set(), set())})
    store.views["v"].optimize(())
    spark.sql(f"OPTIMIZE delta.`{view_path(folder, 'v')}`").collect()
    intruding = f"ALTER TABLE delta.`{view_path(folder, 'v')}` SET TBLPROPERTIES ('a' = 'b')"
    spark.sql(intruding).collect()
    assert store.check_batch(1) == {"v": Place.REPLAY, "w": Place.REPLAY}
    lines = store.history().count()
    store.record(1, {})
    assert store.history().count() == lines


def test_an_older_copy_is_not_the_table(spark: SparkSession, tmp_path: Path, folder: str) -> None:
    """Put back from a copy and moved on by upkeep, it has the version that we know, no more."""
    store = Store.open(spark, folder, PROGRAM)
    place = view_path(folder, "v")
    copy = shutil.copytree(place, tmp_path / "copy")
    apply(spark, store, 1, {"v": ({(2, "v")}, set()), "w": ({(2, "w")}, set())})
    assert Store.open(spark, folder, PROGRAM).check_batch(2)  # nothing is wrong yet
    shutil.rmtree(place)
    shutil.copytree(copy, place)
    spark.sql(f"ALTER TABLE delta.`{place}` SET TBLPROPERTIES ('a' = 'b')").collect()

    opened = Store.open(spark, folder, PROGRAM)
    assert opened.views["v"].newest() == opened.views["v"].known.version
    for _ in range(2):
        with pytest.raises(ForeignWriteError, match="older copy"):
            opened.check_batch(2)
    table = opened.views["v"]
    rows = frame(spark, [(1, "v"), (2, "v")])
    assert rows is not None
    opened.record_one("v", table.replace(table.newest(), 1, rows, {"why": "repair"}))
    for each in (opened, Store.open(spark, folder, PROGRAM)):
        assert each.check_batch(2) == {"v": Place.NEXT, "w": Place.NEXT}


def test_a_creation_that_was_killed_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Delta makes the folder of the log before it writes anything."""
    for name in ("_selfmaint/program", "_selfmaint/batches", "views/v"):
        (tmp_path / name / "_delta_log").mkdir(parents=True)
    with pytest.raises(MissingTableError):
        GuardedTable(spark, str(tmp_path / "views" / "v"), "view `v`").newest()
    store = Store.open(spark, str(tmp_path), PROGRAM)
    apply(spark, store, 0, {"v": ({(1, "v")}, set()), "w": ({(1, "w")}, set())})
    assert Store.open(spark, str(tmp_path), PROGRAM).check_batch(0) == {
        "v": Place.REPLAY,
        "w": Place.REPLAY,
    }


def test_one_view_is_replaced_while_the_others_are_ahead_or_behind(
    spark: SparkSession, folder: str
) -> None:
    store = Store.open(spark, folder, PROGRAM)
    # Batch 1 reached `v`, and then the process died.
    store.views["v"].commit(1, 1, inserts=frame(spark, [(2, "v")]), deletes=None, info={})
    for name, batch in (("w", 0), ("v", 1)):
        table = store.views[name]
        assert store.states()[name].batch == batch
        rows = table.read().localCheckpoint()
        store.record_one(name, table.replace(table.newest(), batch, rows, {"why": "repair"}))
        opened = Store.open(spark, folder, PROGRAM)
        for seen in (store, opened):
            assert seen.check_batch(1) == {"v": Place.REPLAY, "w": Place.NEXT}
        store = opened


def test_a_dropped_table_is_made_anew(spark: SparkSession, table: ViewTable, path: str) -> None:
    shutil.rmtree(path)
    for attempt in (
        lambda: table.commit(1, 18, inserts=numbers(spark, 50, 1), deletes=None, info={}),
        lambda: table.commit(1, 18, inserts=None, deletes=numbers(spark, 0, 1), info={}),
        table.state,
        lambda: table.replace(1, 17, numbers(spark, 0, 10), {}),
    ):
        with pytest.raises(MissingTableError, match="`repair`"):
            attempt()
    assert not Path(path).exists()

    table.remake()
    # Nobody takes the empty table for the view.
    with pytest.raises(ForeignWriteError):
        table.check_batch(18)
    table.replace(0, 17, numbers(spark, 0, 10), {})
    assert table.state() == reopened(spark, path).state() == State(1, 17)
    with pytest.raises(StrangeTableError):
        ViewTable.create(spark, path, "v", COLUMNS)


def test_a_damaged_log_is_reported_and_the_batch_can_follow(
    spark: SparkSession, table: ViewTable, path: str, tmp_path: Path
) -> None:
    table.commit(1, 18, inserts=numbers(spark, 50, 1), deletes=None, info={})
    copy = shutil.copytree(path, tmp_path / "copy")
    log = Path(path, "_delta_log")

    def damaged(damage: Callable[[], object]) -> None:
        damage()
        with pytest.raises(CorruptLogError, match="put its `_delta_log` back"):
            reopened(spark, path).state(thorough=True)
        shutil.rmtree(path)
        shutil.copytree(copy, path)

    damaged((log / f"{1:020}.json").unlink)
    damaged(lambda: (log / f"{2:020}.json").write_text('{"commitInfo'))
    assert reopened(spark, path).state(thorough=True) == State(2, 18)
    table.commit(2, 19, inserts=numbers(spark, 60, 1), deletes=None, info={})
    assert len(rows_of(table)) == 12


@contextmanager
def full_disk() -> Iterator[None]:
    """No file that Spark writes can be longer than some bytes: the nearest thing to a full disk."""
    if spark_kind() != "local":
        pytest.skip("needs Spark in a process of our own")
    children = subprocess.run(
        ["pgrep", "-P", str(os.getpid()), "java"], capture_output=True, text=True, check=True
    )
    (java,) = map(int, children.stdout.split())
    limits = resource.prlimit(java, resource.RLIMIT_FSIZE)
    resource.prlimit(java, resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        yield
    finally:
        resource.prlimit(java, resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_leaves_the_view_as_it_was(
    spark: SparkSession, table: ViewTable, path: str
) -> None:
    for deletes in (None, numbers(spark, 0, 1)):
        batch, version = table.state().batch, table.state().version
        assert batch is not None
        rows = numbers(spark, 100 * batch, 100)
        with full_disk(), pytest.raises(StorageError) as caught:
            table.commit(version, batch + 1, inserts=rows, deletes=deletes, info={})
        error = caught.value
        assert (error.code, error.version, error.batch) == ("WH345", version, batch + 1)
        assert "File too large" in str(error)
        assert f"is unchanged at version {version}. Batch {batch + 1} is not applied" in str(error)
        assert table.state() == State(version, batch)
        table.commit(version, batch + 1, inserts=rows, deletes=deletes, info={})
    assert len(rows_of(table)) == 209


def test_a_folder_belongs_to_one_program(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path)
    # The first attempt dies between the tables: the second takes over what is there.
    real = GuardedTable.create

    def dying(self: GuardedTable, rows: DataFrame) -> None:
        real(self, rows)
        if self.path.endswith("batches"):
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(GuardedTable, "create", dying)
        with pytest.raises(Killed):
            Store.open(spark, path, PROGRAM)
    Store.open(spark, path, PROGRAM)
    store = Store.open(spark, path + "/", PROGRAM)
    assert store.check_batch(5) == {"v": Place.NEXT, "w": Place.NEXT}

    other = Program(
        (ViewSpec("v", "v(X, Y) :- r(X, Y), X > 1.", COLUMNS), PROGRAM.views[1]),
        {"r": PROGRAM.relations["r"]},
    )
    with pytest.raises(ProgramChangedError) as caught:
        Store.open(spark, path, other)
    assert [name for name, _, _ in caught.value.changes] == ["relation `s`", "view `v`"]
    assert "v(X, Y) :- r(X, Y). as" in str(caught.value)
    assert "-> v(X, Y) :- r(X, Y), X > 1. as" in str(caught.value)

    intrude(spark, view_path(path, "v"))
    with pytest.raises(ForeignWriteError, match="view `v`"):
        store.check_batch(5)
    shutil.rmtree(tmp_path / "_selfmaint" / "program")
    with pytest.raises(StrangeTableError, match="view `v`"):
        Store.open(spark, path, PROGRAM)
