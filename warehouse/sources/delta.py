"""A source of Delta tables, answered by time travel.

A version of the source is a number of its own. Which version of each table it means is its
*epoch*. `advance` writes the tables first and the epoch last, in one commit: a version exists only
when all tables have it, and a reader never sees half of one. Whatever was written and not recorded
is invisible; the next `advance` refuses to build on it until `recover` has undone it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

from cq.diagnostics import shown
from warehouse.columns import delta_table
from warehouse.paths import require_absolute
from warehouse.sources.changes import Changes, counted, require_known
from warehouse.sources.errors import SourceError
from warehouse.sources.join import Join
from warehouse.sources.protocol import Answer, computed
from warehouse.sparklog import silent_query_errors, spark_errors
from warehouse.tables.carrying import carrying
from warehouse.tables.errors import reason_of
from warehouse.tables.guarded import GuardedTable
from warehouse.tables.merging import merge_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

EPOCHS: Final = "_epochs"
EPOCH_COLUMNS: Final = "epoch BIGINT, relation STRING, table_version BIGINT"

Epoch: TypeAlias = Mapping[str, int]
"""Relation -> version of its Delta table."""

GONE: Final = (
    "DELTA_VERSION_NOT_FOUND",
    "FILE_NOT_EXIST",
    "_delta_log does not exist",
    "PATH_NOT_FOUND",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_PATH_DOES_NOT_EXIST",
    "DELTA_MISSING_TRANSACTION_LOG",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_VERSIONS_NOT_CONTIGUOUS",
)
"""What Spark and Delta say when a version, its files or its table are no longer there."""


class Epochs(Protocol):
    """Which table versions each version of a source means."""

    def newest(self) -> int: ...

    def epoch(self, version: int) -> Epoch | None:
        """None for a version that there is not."""


class GivenEpochs:
    """Epochs that the caller knows, and may add to, for tables that somebody else writes."""

    def __init__(self, epochs: Mapping[int, Epoch]) -> None:
        assert epochs, "a source has a version"
        self._epochs = epochs

    def newest(self) -> int:
        return max(self._epochs)

    def epoch(self, version: int) -> Epoch | None:
        return self._epochs.get(version)


class RecordedEpochs:
    """Epochs in a small Delta table: one commit for each, with a row for each relation.

    Of several rows for one version and relation the latest table version counts (see `recover`).
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path

    def newest(self) -> int:
        return self.latest()[0]

    def latest(self) -> tuple[int, Epoch]:
        """The newest version and its epoch; one job."""
        from pyspark.sql import functions

        place = functions.max(functions.struct("epoch", "table_version"))
        rows = self._read().groupBy("relation").agg(place.alias("place")).collect()
        epoch = {str(row["relation"]): int(row["place"]["table_version"]) for row in rows}
        return max(int(row["place"]["epoch"]) for row in rows), epoch

    def epoch(self, version: int) -> Epoch | None:
        from pyspark.sql import functions

        rows = self._read().where(functions.col("epoch") == version)
        latest = rows.groupBy("relation").agg(functions.max("table_version")).collect()
        return {str(relation): int(number) for relation, number in latest} or None

    def record(self, version: int, epoch: Epoch, *, is_new: bool = False) -> None:
        """Add an epoch.

        Args:
            is_new: nobody may have recorded this version before. Delta drops the write then, since
                it carries the version as its number; `epoch` tells whose the epoch is.
        """
        rows = [(version, relation, number) for relation, number in sorted(epoch.items())]
        frame = self._spark.createDataFrame(rows, EPOCH_COLUMNS)
        writer = frame.coalesce(1).write.format("delta").mode("append")
        if is_new:
            writer = writer.options(txnAppId="selfmaint epochs", txnVersion=str(version))
        with carrying(self._spark, {}):
            writer.save(self._path)

    def _read(self) -> DataFrame:
        return self._spark.read.format("delta").load(self._path)


class DeltaSource:
    """Relations as Delta tables.

    Use `create` and `open` for a folder of tables that this class writes, `of_tables` for tables
    that somebody else writes.

    Args:
        tables: the path of each relation's table.
        epochs: which table versions each version means.
        name: for messages and reports.
    """

    def __init__(
        self,
        spark: SparkSession,
        tables: Mapping[str, str],
        epochs: Epochs,
        *,
        name: str = "delta",
    ) -> None:
        self._spark = spark
        self._tables = dict(tables)
        self._epochs = epochs
        self._name = name
        self._sizes: dict[tuple[str, int], int] = {}
        self._read_epochs: dict[int, Epoch] = {}

    @classmethod
    def create(
        cls,
        spark: SparkSession,
        path: str,
        tables: Mapping[str, DataFrame],
        *,
        name: str = "delta",
    ) -> DeltaSource:
        """Write the relations as Delta tables into a new folder; this is version 0.

        Raises:
            InputError: WH349, a relative path.
            SourceError: WH339, a table could not be written, or is there already.
        """
        require_absolute(path)
        paths = {relation: _table_path(path, relation) for relation in tables}
        for relation, frame in tables.items():
            writer = frame.write.format("delta").option("delta.enableDeletionVectors", "true")
            try:
                with carrying(spark, {}), silent_query_errors():
                    writer.mode("error").save(paths[relation])
            except spark_errors() as error:
                raise SourceError(
                    "WH339",
                    f"source `{name}`: the table of `{relation}` could not be made in {path} "
                    f"({reason_of(error)})",
                    "take a folder that is new or empty; one that is finished can be opened",
                ) from error
        epochs = RecordedEpochs(spark, f"{path}/{EPOCHS}")
        epochs.record(0, dict.fromkeys(tables, 0))
        return cls(spark, paths, epochs, name=name)

    @classmethod
    def open(cls, spark: SparkSession, path: str, *, name: str = "delta") -> DeltaSource:
        """The source in a folder that `create` wrote.

        Raises:
            SourceError: WH331, there is none.
            InputError: WH349, a relative path.
        """
        require_absolute(path)
        epochs = RecordedEpochs(spark, f"{path}/{EPOCHS}")

        _, found = _unless_gone(
            epochs.latest,
            lambda: SourceError(
                "WH331",
                f"source `{name}`: there are no epochs in {path}",
                "`DeltaSource.create` writes a folder of tables with its epochs; "
                "`DeltaSource.of_tables` reads tables that somebody else writes",
            ),
        )
        tables = {relation: _table_path(path, relation) for relation in found}
        return cls(spark, tables, epochs, name=name)

    @classmethod
    def of_tables(
        cls,
        spark: SparkSession,
        tables: Mapping[str, str],
        versions: Mapping[int, Epoch] | None = None,
        *,
        name: str = "delta",
    ) -> DeltaSource:
        """Tables that somebody else writes; `advance` is not for them.

        Args:
            versions: per version of the source, which is the number of the batch that it ends,
                the version of each relation's table. Add to it before a batch is applied. None for
                one version, 0, of the tables as they are now.
        Raises:
            InputError: WH349, a relative path.
        """
        for path in tables.values():
            require_absolute(path)
        if versions is None:
            versions = {0: {name: _table_version(spark, path) for name, path in tables.items()}}
        for number, epoch in versions.items():
            assert epoch.keys() == tables.keys(), f"version {number} names other relations"
        return cls(spark, tables, GivenEpochs(versions), name=name)

    @property
    def name(self) -> str:
        return self._name

    @property
    def relations(self) -> frozenset[str]:
        return frozenset(self._tables)

    def version(self) -> int:
        return self._epochs.newest()

    def read(self, relation: str, version: int) -> DataFrame:
        """The rows of a relation as of a version of the source.

        Raises:
            SourceError: WH331 or WH332.
        """
        require_known(self.name, [relation], self._tables)
        return self._read(relation, self._epoch(version)[relation], version)

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        epoch = self._epoch(version)

        def size(relation: str) -> int:
            place = relation, epoch[relation]
            if place not in self._sizes:
                # Delta counts from its log, without reading the table.
                self._sizes[place] = self._read(relation, epoch[relation], version).count()
            return self._sizes[place]

        return _unless_gone(
            lambda: computed(
                self,
                join,
                keys,
                version,
                lambda name: self._read(name, epoch[name], version),
                size,
            ),
            lambda: self._gone(version),
        )

    def advance(self, changes: Mapping[str, DataFrame]) -> int:
        """Apply net changes to the tables and record the next version, which they make.

        One append per changed relation, or one MERGE if rows are deleted. One writer at a time.

        Raises:
            ColumnError: WH321, WH322, BatchError: WH352; nothing has been applied.
            SourceError: WH339, a table is not as the recorded version left it, or somebody else
                was faster.
        """
        epochs = self._own_epochs()
        require_known(self.name, changes, self._tables)
        version, before = epochs.latest()
        self._read_epochs[version] = before  # somebody may have recovered it
        epoch = {**before, **self._untouched(version, {name: before[name] for name in changes})}
        netted = {
            relation: counted(relation, frame, self.read(relation, version).schema)
            for relation, frame in changes.items()
        }
        for relation, change in netted.items():
            if change.inserts or change.deletes:
                with carrying(self._spark, {}):
                    self._write(relation, change)
                size = self._sizes.get((relation, epoch[relation]))
                epoch[relation] += 1
                if size is not None:  # or it is counted when somebody asks
                    size += change.inserts - change.deletes
                    self._sizes[relation, epoch[relation]] = size
        epoch |= self._untouched(version, {name: epoch[name] for name in changes})
        epochs.record(version + 1, epoch, is_new=True)
        if epochs.epoch(version + 1) != epoch:
            raise SourceError(
                "WH339",
                f"somebody else made version {version + 1} of source `{self.name}` at the same "
                "time. What was written here is not part of it",
                "`recover()` undoes that; then advance it again, one writer at a time",
            )
        self._read_epochs[version + 1] = epoch
        return version + 1

    def recover(self) -> None:
        """Undo whatever was written to the tables after the newest recorded version."""
        epochs = self._own_epochs()
        version, before = epochs.latest()
        epoch = dict(before)
        for relation, path in self._tables.items():
            if _table_version(self._spark, path) != epoch[relation]:
                restore = f"RESTORE TABLE {delta_table(path)} TO VERSION AS OF {epoch[relation]:d}"
                with carrying(self._spark, {}):
                    self._spark.sql(restore).collect()
                epoch[relation] = _table_version(self._spark, path)
        # A restored table has a newer version with the content of the recorded one.
        epochs.record(version, epoch)
        self._read_epochs[version] = epoch

    def _own_epochs(self) -> RecordedEpochs:
        if isinstance(self._epochs, RecordedEpochs):
            return self._epochs
        raise SourceError(
            "WH339",
            f"the tables of source `{self.name}` are written by somebody else",
            "`DeltaSource.create` makes a source that can be advanced",
        )

    def _write(self, relation: str, change: Changes) -> None:
        path = self._tables[relation]
        if not change.deletes:
            change.inserted.write.format("delta").mode("append").save(path)
            return
        inserts = change.inserted if change.inserts else None
        merge_of(delta_table(path), inserts, change.deleted).merge()

    def _untouched(self, version: int, epoch: Epoch) -> dict[str, int]:
        """The tables' versions now, if they hold the rows of these: upkeep may have come since."""
        found = {}
        for relation, expected in epoch.items():
            table = GuardedTable(self._spark, self._tables[relation], relation)
            newest = expected if table.is_at(expected) else table.newest()
            since = table.entries(expected + 1, newest) if newest > expected else ()
            if len(since) != newest - expected or any(entry.changes_rows for entry in since):
                raise SourceError(
                    "WH339",
                    f"the table of `{relation}` in source `{self.name}` is at version {newest}, "
                    f"but {expected} is expected: an earlier advance was interrupted, or "
                    f"somebody else wrote to it. The source is unchanged at version {version}",
                    "`recover()` undoes whatever was written after that version",
                )
            found[relation] = newest
        return found

    def _epoch(self, version: int) -> Epoch:
        # Recorded once. A recovery names other table versions, but with the same rows.
        if version in self._read_epochs:
            return self._read_epochs[version]
        epoch = self._epochs.epoch(version)
        if epoch is not None:
            self._read_epochs[version] = epoch
            return epoch
        newest = self._epochs.newest()
        if version > newest:
            raise SourceError(
                "WH332",
                f"source `{self.name}` is at version {newest}, asked for is {version}",
                "a source takes a batch before the warehouse does: have it advance, or wait for it",
                retryable=True,
            )
        raise SourceError("WH331", f"source `{self.name}` has no version {version}")

    def _read(self, relation: str, table_version: int, version: int) -> DataFrame:
        reader = self._spark.read.format("delta").option("versionAsOf", table_version)
        return _unless_gone(
            lambda: reader.load(self._tables[relation]), lambda: self._gone(version)
        )

    def _gone(self, version: int) -> SourceError:
        return SourceError(
            "WH331",
            f"source `{self.name}` can no longer be read as of version {version}: "
            "a table was dropped, or its old files were vacuumed",
            "ask for a later version, or load the view anew",
        )


def _unless_gone(work: Callable[[], T], gone: Callable[[], SourceError]) -> T:
    """What `work` returns; `gone()` is raised if a table, a version or a file is not there."""
    try:
        return work()
    except Exception as error:
        # Which class it is depends on the kind of session. The text names the condition.
        if not any(sign in str(error) for sign in GONE):
            raise
    raise gone()


def _table_path(path: str, relation: str) -> str:
    if not re.fullmatch(r"[^\W_]\w*", relation):
        raise SourceError("WH330", f"{shown(relation)} cannot be the name of a table's folder")
    return f"{path}/{relation}"


def _table_version(spark: SparkSession, path: str) -> int:
    (row,) = spark.sql(f"DESCRIBE HISTORY {delta_table(path)} LIMIT 1").select("version").collect()
    return int(row[0])
