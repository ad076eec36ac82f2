"""A Delta table that is changed only as it was when the change was decided.

Law: a write with `expected` goes through only if no commit that changed rows came between version
`expected` and the write's own commit. Otherwise it is refused, or, in one case, reported:

1. Before the write, the newest version is compared with `expected` (no Spark job).
2. Delta tries a commit once. By default it tries again behind whatever came first, and a plain
   append conflicts with nothing; with one attempt, any commit that comes first makes it fail.
3. Writers of this project fence each other: each commit carries the version it means to make as
   Delta's application transaction, and Delta skips a write whose number has been used. Delta
   computes the table's state for that, which a batch needs of a view in any case, but of the
   journal never: see `GuardedTable.note`.
4. After the write, its commit is read: it must be the first one after the first step. A commit of
   somebody else between that and the start of Delta's transaction, some milliseconds, is seen
   here: by then the write is committed, and the table is reported as written to by somebody else.
   A line of the journal needs no reading if the log has one commit more than before, which costs
   no Spark job to see: a write that did not fail has made it.

Commits that do not change rows, such as OPTIMIZE, are no conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from warehouse.columns import delta_table, quoted
from warehouse.sparklog import silent_query_errors, spark_errors
from warehouse.tables.carrying import carrying
from warehouse.tables.errors import (
    REPAIR,
    ConflictError,
    CorruptLogError,
    ForeignWriteError,
    MissingTableError,
    MissingVersionError,
    StorageError,
    TableError,
    kind_of,
    reason_of,
    versions_of,
)
from warehouse.tables.log import Logged, is_last_commit, logged, rows_of
from warehouse.tables.marks import Kind, Mark
from warehouse.tables.merging import merge_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

Write: TypeAlias = Callable[[Mapping[str, str]], None]
"""Writes and commits; the commit is to carry these options."""

NO_SUCH_VERSION: Final = 2**62
APPLICATION: Final = "selfmaint"

HARMLESS: Final = frozenset(
    {
        "ADD CONSTRAINT",
        "ANALYZE TABLE",
        "COMPUTE STATS",
        "DROP CONSTRAINT",
        "OPTIMIZE",
        "REORG",
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
        "UPGRADE PROTOCOL",
        "VACUUM END",
        "VACUUM START",
    }
)
"""Operations that leave every row as it is. One that is not listed counts as a write."""

RECENT: Final = 4
"""How many commits to look at after a write: more than one only if somebody else wrote, too."""

PROPERTIES: Final = {
    # A deleted row is noted beside its file, which is not written again.
    "delta.enableDeletionVectors": "true",
    # A checkpoint costs three jobs; the default is one every ten commits.
    "delta.checkpointInterval": "100",
}


MOST_WITH_STATISTICS: Final = 32
"""Columns by which Delta skips files and orders them, unless told otherwise: the first ones."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One commit of a table's history.

    Args:
        logged: what its file in the log says; None if only Delta's history was read.
    """

    version: int
    operation: str
    mark: Mark | None
    metrics: Mapping[str, str]
    logged: Logged | None = field(default=None, compare=False)

    @classmethod
    def of(cls, version: int, row: Row, logged: Logged | None = None) -> Entry:
        """From Delta's words for what a commit says about itself."""
        mark = Mark.parse(row["userMetadata"])
        return cls(version, row["operation"], mark, row["operationMetrics"] or {}, logged)

    @property
    def changes_rows(self) -> bool:
        if self.mark is not None:
            return self.mark.kind is not Kind.OPTIMIZE
        return self.operation not in HARMLESS

    @property
    def is_foreign(self) -> bool:
        return self.mark is None and self.changes_rows

    @property
    def is_late(self) -> bool:
        """Whether it counts for nothing: it was meant for a version that somebody else made."""
        only_at = None if self.mark is None else self.mark.only_at
        return only_at is not None and only_at != self.version


@dataclass(frozen=True, slots=True)
class GuardedTable:
    """A Delta table at `path`; `name` is what messages call it."""

    spark: SparkSession
    path: str
    name: str

    @property
    def identifier(self) -> str:
        return delta_table(self.path)

    def create(self, frame: DataFrame) -> None:
        """A new table with these columns and rows."""
        carried = {"userMetadata": Mark(Kind.CREATE).dump()}
        with self.translated(), carrying(self.spark, {}):
            writer = frame.write.format("delta").mode("error").options(**PROPERTIES, **carried)
            if len(frame.columns) > MOST_WITH_STATISTICS:
                writer = writer.option("delta.dataSkippingNumIndexedCols", len(frame.columns))
            writer.save(self.path)

    def read(self, version: int | None = None) -> DataFrame:
        """The rows, now or at a version.

        Raises:
            MissingTableError: WH343, CorruptLogError: WH344.
            MissingVersionError: WH348, if there is no such version, or no longer.
        """
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        with self.translated():
            frame = reader.load(self.path)
            _ = frame.schema  # a Connect session finds out only now
        return frame

    def files(self) -> int:
        """How many files the newest version consists of."""
        with self.translated():
            (row,) = (
                self.spark.sql(f"DESCRIBE DETAIL {self.identifier}").select("numFiles").collect()
            )
        return int(row["numFiles"])

    def rows(self, version: int) -> int:
        """How many rows a version has; one job, which reads the log alone."""
        with self.translated():
            return self.read(version).count()

    def rows_of(self, files: Sequence[str]) -> dict[str, int]:
        """See `warehouse.tables.log.rows_of`."""
        with self.translated():
            return rows_of(self.spark, files)

    def newest(self) -> int:
        """The newest version, without a Spark job.

        Delta's answer to a question for a version that cannot exist says which ones do.

        Raises:
            MissingTableError: WH343, CorruptLogError: WH344.
        """
        try:
            with silent_query_errors():
                frame = self.spark.read.format("delta").option("versionAsOf", NO_SUCH_VERSION)
                _ = frame.load(self.path).schema
        except spark_errors() as error:
            versions = versions_of(error)
            if versions is None:
                self._raise(error)
            return versions.latest
        raise AssertionError(f"{self.name} has version {NO_SUCH_VERSION}")

    def is_at(self, version: int) -> bool:
        """Whether this is the newest version: `newest() == version`, in a third of the time.

        Law: it is, if this says so. A log that cannot be read is not at any version.
        """
        try:
            with silent_query_errors():
                return is_last_commit(self.spark, self.path, version)
        except spark_errors():
            return False

    def entries(self, since: int, newest: int) -> tuple[Entry, ...]:
        """The commits from version `since` to `newest`, newest first; one Spark job.

        Those that Delta has already removed from the log are missing at the end.
        """
        # Some more: somebody may commit now.
        return tuple(e for e in self.last(newest - since + RECENT) if since <= e.version <= newest)

    def last(self, limit: int) -> tuple[Entry, ...]:
        """At most `limit` of the last commits, newest first; one Spark job."""
        with self.translated():
            rows = self.spark.sql(
                f"DESCRIBE HISTORY {self.identifier} LIMIT {max(1, int(limit))}"
            ).collect()
        return tuple(Entry.of(int(row["version"]), row) for row in rows)

    def append(self, frame: DataFrame, expected: int, mark: Mark) -> Entry:
        return self._write(expected, mark, self._append(frame))

    def note(self, frame: DataFrame, expected: int, mark: Mark) -> Entry:
        """Append rows whose mark is what matters, without the fence of step 3.

        Instead the mark says for which version it was meant. Whoever reads it passes over one that
        came later (`Entry.is_late`), and its writer is told of the conflict, as a fence would have
        done. Its rows stay, which a fence would have dropped.
        """
        return self._write(expected, mark, self._append(frame), is_fenced=False)

    def _append(self, frame: DataFrame) -> Write:
        return lambda carried: frame.writeTo(self.identifier).options(**carried).append()

    def overwrite(
        self, frame: DataFrame, expected: int, mark: Mark, *, with_columns: bool = False
    ) -> Entry:
        """Replace all rows in one commit.

        Args:
            with_columns: the columns as well, where somebody else has changed them.
        """
        from pyspark.sql.functions import lit

        def overwrite(carried: Mapping[str, str]) -> None:
            if with_columns:
                writer = frame.write.format("delta").mode("overwrite").options(**carried)
                writer.option("overwriteSchema", "true").save(self.path)
            else:
                frame.writeTo(self.identifier).options(**carried).overwrite(lit(True))

        return self._write(expected, mark, overwrite)

    def merge(
        self,
        inserts: DataFrame | None,
        deletes: DataFrame,
        expected: int,
        mark: Mark,
        *,
        telling: Sequence[str] = (),
    ) -> Entry:
        """Delete and insert whole rows in one commit; rows compare null-safely.

        Args:
            telling: columns that tell most rows apart, if any are known: for speed.
        """

        def merge(carried: Mapping[str, str]) -> None:
            writer = merge_of(self.identifier, inserts, deletes, telling)
            with carrying(self.spark, carried):  # a MERGE takes no options
                writer.merge()

        return self._write(expected, mark, merge)

    def optimize(self, columns: Sequence[str]) -> None:
        """Write small files together, by these columns if any; no row changes.

        Raises:
            ConflictError: WH340, if somebody else was writing.
        """
        order = f" ZORDER BY ({', '.join(map(quoted, columns))})" if columns else ""
        carried = {"userMetadata": Mark(Kind.OPTIMIZE).dump()}
        with self.translated(), carrying(self.spark, carried):
            self.spark.sql(f"OPTIMIZE {self.identifier}{order}").collect()

    def _write(self, expected: int, mark: Mark, write: Write, *, is_fenced: bool = True) -> Entry:
        settings = {"spark.databricks.delta.maxCommitAttempts": "0"}
        if not is_fenced:
            # Delta would list all files of a small table with every commit. Nobody reads the list
            # of a table whose marks are what matters, and it grows with each of them.
            settings["spark.databricks.delta.allFilesInCrc.enabled"] = "false"
            # Its lines are mostly JSON, which takes less so than with Spark's own choice.
            settings["spark.sql.parquet.compression.codec"] = "zstd"
            # Parquet would repeat the least and the greatest of them, as they are.
            settings["parquet.column.statistics.enabled"] = "false"
        with carrying(self.spark, {}, settings):
            # Only now: whoever had the turn before may have committed.
            base = self._base(expected, mark)
            if is_fenced:
                # Versions of one table only grow, those of several have no order.
                fence = {"txnAppId": f"{APPLICATION} {self.name}", "txnVersion": str(base + 1)}
            else:
                fence = {}
                mark = replace(mark, only_at=base + 1)
            try:
                with silent_query_errors():
                    write({"userMetadata": mark.dump(), **fence})
            except spark_errors() as error:
                # Delta can fail after its commit, for example while it writes a checkpoint.
                entry = self._committed(base, mark, error)
                if entry is None:
                    self._raise(error, base, mark)
            else:
                if not is_fenced and self.is_at(base + 1):
                    # One commit came since the look, and a write that did not fail is that one.
                    return Entry(base + 1, "WRITE", mark, {})
                entry = self._committed(base, mark, None)
        if entry is None or entry.is_late:
            raise self._conflict(base, mark)
        return entry

    def _base(self, expected: int, mark: Mark) -> int:
        """The version to write on: the newest, if it has the rows of version `expected`."""
        if self.is_at(expected):
            return expected
        newest = self.newest()
        if newest < expected:
            raise ForeignWriteError(
                f"{self.name} was at version {expected} and is now at version {newest}: it was "
                f"replaced by another table. {_not_applied(mark)}",
                REPAIR,
                table=self.name,
                version=newest,
                batch=mark.number,
            )
        if newest > expected:
            entries = self.entries(expected + 1, newest)
            is_known = entries[-1].version == expected + 1
            if not is_known or any(e.changes_rows and not e.is_late for e in entries):
                raise self._conflict(newest, mark)
        return newest

    def _committed(self, base: int, mark: Mark, error: Exception | None) -> Entry | None:
        """The commit that carries this mark; None if there is none."""
        next_one = self.entry(base + 1)
        if next_one is not None and next_one.mark is not None and next_one.mark.id == mark.id:
            return next_one
        try:
            entries = self.last(RECENT)
            if entries[-1].version > base + 1:
                entries = self.last(entries[0].version - base)
        except TableError as unreadable:
            failure = error or unreadable
            raise type(unreadable)(
                f"{self.name} was at version {base}; after the attempt to write, its log could "
                f"not be read ({reason_of(failure)}), so it is not known whether batch "
                f"{mark.number} was applied",
                *unreadable.help,
                *_again(mark),
                table=self.name,
                version=base,
                batch=mark.number,
            ) from failure
        own = next((e for e in entries if e.mark is not None and e.mark.id == mark.id), None)
        before = [
            e.version
            for e in entries
            if own
            and base < e.version < own.version
            # Another maintainer's line of the journal makes ours late, which says enough.
            and (e.is_foreign or (mark.kind is Kind.BATCH and e.changes_rows))
        ]
        if own is not None and before and mark.kind is not Kind.LOAD:
            raise ForeignWriteError(
                f"{self.name} was written to by somebody else, at version {before[0]}, in the "
                f"moment before batch {mark.number} was committed at version {own.version}",
                REPAIR,
                table=self.name,
                version=own.version,
                batch=mark.number,
                versions=before,
            )
        return own

    def entry(self, version: int) -> Entry | None:
        """The commit that made a version; None if the log does not have it, or not clearly."""
        try:
            with silent_query_errors():
                found = logged(self.spark, self.path, version)
        except spark_errors():
            return None
        return None if found is None else Entry.of(version, found.info, found)

    def _conflict(self, version: int, mark: Mark) -> ConflictError:
        return ConflictError(
            f"somebody else committed to {self.name} meanwhile; it is now at version {version} or "
            f"later. {_not_applied(mark)}",
            *_again(mark),
            table=self.name,
            version=version,
            batch=mark.number,
        )

    @contextmanager
    def translated(self, version: int | None = None, mark: Mark | None = None) -> Iterator[None]:
        """A block in which an error of Spark becomes one of ours."""
        try:
            with silent_query_errors():
                yield
        except spark_errors() as error:
            self._raise(error, version, mark)

    def _raise(
        self, error: BaseException, version: int | None = None, mark: Mark | None = None
    ) -> NoReturn:
        kind = kind_of(error)
        if kind is ConflictError and mark is not None:
            raise self._conflict(self.newest(), mark) from error
        if versions := versions_of(error):
            raise MissingVersionError(
                f"{self.name} has no version {versions.asked}: it has "
                f"{versions.earliest} to {versions.latest}",
                "older versions go with Delta's retention of its log; `history` lists what is left",
                table=self.name,
                version=versions.latest,
            ) from error
        problem, told = _PROBLEMS[kind]
        help = tuple(line.replace("{path}", self.path) for line in told)
        if mark is not None:
            help = (*help, *_again(mark))
            if mark.kind is Kind.LOAD and kind is StorageError:
                problem = "could not be written, or what it is computed from could not be read"
        state = ""
        if version is not None and mark is not None:
            state = f". {self.name} is unchanged at version {version}. {_not_applied(mark)}"
        raise kind(
            f"{self.name} {problem} ({reason_of(error)}){state}",
            *help,
            table=self.name,
            version=version,
            batch=None if mark is None else mark.number,
        ) from error


_PROBLEMS: Final[dict[type[TableError], tuple[str, tuple[str, ...]]]] = {
    MissingTableError: (
        "has gone: there is no table any more",
        ("put its folder back from a copy, or run `repair`, which makes it anew",),
    ),
    CorruptLogError: (
        "cannot be read: its log has a gap or is damaged",
        ("put its `_delta_log` back from a copy, or remove its folder {path} and run `repair`",),
    ),
    StorageError: (
        "could not be read or written",
        (
            "see to the cause in brackets; then do the same again",
            "if one of its files is lost, `repair` puts the view right",
        ),
    ),
    ConflictError: ("is being written to by somebody else", ("try again",)),
}


def _not_applied(mark: Mark) -> str:
    match mark.kind:
        case Kind.RECORD:
            return f"The views have batch {mark.number}; only the journal does not say so yet"
        case Kind.BATCH:
            return f"Batch {mark.number} is not applied"
        case _:
            return "Its rows are as they were"


def _again(mark: Mark) -> tuple[str, ...]:
    """What to do about a write that failed."""
    match mark.kind:
        case Kind.BATCH | Kind.RECORD:
            again = f"apply the same batch again, with `number={mark.number}`"
            return (f"{again}: it is decided anew, and views that have it are left alone",)
        case Kind.LOAD:
            return ("run `load()` or `repair()` again, whichever it was",)
        case _:
            return ()
