"""One view as a Delta table: its rows, its version, and the last batch that they include.

Law: the rows of a view's table are those of one batch, whole. A batch is one commit, or none if it
changes nothing; its number is in the commit, so a crash leaves either all of it or nothing.

Real columns only: any other tool can read the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from warehouse.columns import Misfit, check_columns, misfits_of, quoted
from warehouse.tables.errors import (
    REPAIR,
    ForeignWriteError,
    MissingTableError,
    StrangeTableError,
)
from warehouse.tables.guarded import Entry, GuardedTable
from warehouse.tables.marks import Kind, Mark
from warehouse.tables.order import Place, place_of
from warehouse.tables.sizes import Size, Sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType


@dataclass(frozen=True, slots=True)
class State:
    """A version that is known to hold our rows, and the last batch that they include.

    Args:
        extended_from: that batch's own number, if it was extended to `batch`, or a load took the
            rows from the batch before to it.
    """

    version: int
    batch: int | None
    extended_from: int | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """The last commit of ours that changed a view: by its mark a table is told from a copy of it.

    A version alone tells nothing: an older copy gets there, too, by OPTIMIZE.
    """

    version: int
    id: str


@dataclass(frozen=True, slots=True)
class Commit:
    """What applying a batch did to a view.

    Attributes:
        version: the table's version with this batch, new or not.
        is_changed: False if no row changed, so that there was no commit.
        is_load: all rows were replaced.
        inserted, deleted: rows, as Delta counted them while writing.
        extended_from: the batch's own number, if it was extended to `batch`.
        made: how the table is told from a copy now; None if no row changed.
    """

    version: int
    batch: int
    is_changed: bool
    inserted: int = 0
    deleted: int = 0
    info: Mapping[str, object] = field(default_factory=dict)
    is_load: bool = False
    extended_from: int | None = None
    made: Made | None = field(default=None, compare=False)


class ViewTable:
    """The table of one view.

    It remembers the last state that it has verified; `state` verifies what came after it.
    """

    def __init__(
        self,
        table: GuardedTable,
        columns: StructType,
        known: State,
        made: Made | None = None,
        telling: Sequence[str] = (),
    ) -> None:
        self._table = table
        self._columns = columns
        self._telling = telling
        self._known = known
        self._made = made
        self._is_compared = made is None
        self._applied: Commit | None = None
        self._sizes = Sizes(table)

    @classmethod
    def create(
        cls,
        spark: SparkSession,
        path: str,
        name: str,
        columns: Sequence[tuple[str, DataType]],
        *,
        telling: Sequence[str] = (),
    ) -> ViewTable:
        """An empty table; one that an interrupted creation left behind is taken over.

        Args:
            telling: columns that tell most rows apart, such as a key. With them a MERGE finds the
                rows to delete sooner; it compares all columns in any case.
        Raises:
            StrangeTableError: WH347, if there is another table already.
        """
        table, schema = _table_of(spark, path, name, columns)
        if not _is_left_behind(table, schema):
            table.create(spark.createDataFrame([], schema))
        return cls(table, schema, State(0, None), telling=telling)

    @classmethod
    def open(
        cls,
        spark: SparkSession,
        path: str,
        name: str,
        columns: Sequence[tuple[str, DataType]],
        known: State,
        made: Made | None = None,
        *,
        telling: Sequence[str] = (),
    ) -> ViewTable:
        """The table as it is; `state` says whether it can be used.

        Args:
            known: a state that was verified before; version 0 if there is none.
            made: the last commit of ours at that time.
            telling: as in `create`.
        """
        return cls(*_table_of(spark, path, name, columns), known, made, telling)

    @property
    def name(self) -> str:
        """As messages name it."""
        return self._table.name

    @property
    def path(self) -> str:
        return self._table.path

    @property
    def known(self) -> State:
        """The last state that was verified."""
        return self._known

    @property
    def made(self) -> Made | None:
        """The last commit of ours that is known to have changed it."""
        return self._made

    @property
    def columns(self) -> StructType:
        return self._columns

    def applied(self, batch: int) -> Commit | None:
        """The commit of this batch, if it is the last one seen; also after a crash."""
        return self._applied if self._applied and self._applied.batch == batch else None

    def remember(self, state: State, made: Made | None) -> None:
        """Take a state as verified: what `Store.record` has written, or another maintainer."""
        if made != self._made:
            self._made, self._is_compared = made, made is None
        self._known = state

    def state(self, *, thorough: bool = False) -> State:
        """The state now, if all rows are ours.

        Costs no Spark job if nothing was committed since the last time, one otherwise.

        Args:
            thorough: read the log also if there is no new version, to see that it can be read.
        Raises:
            ForeignWriteError: WH341, if somebody else changed rows.
            MissingTableError: WH343, CorruptLogError: WH344.
        """
        if thorough or not self._table.is_at(self._known.version):
            self._known = self._verified(self._table.newest())
        if not self._is_compared:
            self.compare()
        return self._known

    def compare(self) -> None:
        """See that this is the table that we have written to, and no copy; one job.

        Each process does so once, and whoever relies on what it remembers of the rows each time.

        Raises:
            ForeignWriteError: WH341, if it is a copy.
        """
        assert self._made is not None
        entry = self._table.entry(self._made.version)
        if entry is not None and (entry.mark is None or entry.mark.id != self._made.id):
            newest = self._table.newest()
            later = self._table.entries(self._made.version, newest)
            if not any(e.mark is not None and e.mark.kind is Kind.LOAD for e in later):
                raise ForeignWriteError(
                    f"{self.name} is at version {newest}, but version {self._made.version} is not "
                    "the one that we have written: its folder was put back from an older copy. "
                    "Nothing was changed",
                    REPAIR,
                    table=self.name,
                    version=newest,
                    versions=[self._made.version],
                )
        self._is_compared = True  # a commit that has gone from the log says nothing

    def last_state(self) -> State:
        """What we know of it, also where others have written, or the table has gone."""
        try:
            return self.state()
        except ForeignWriteError:
            return replace(self._known, version=self.newest())
        except MissingTableError:
            return self._known

    def version(self) -> int:
        return self.state().version

    def newest(self) -> int:
        """The newest version, whoever wrote it; for `replace` after a write by somebody else."""
        return self._table.newest()

    def check_batch(self, number: int, state: State | None = None) -> Place:
        """See `place_of`; as of a state that was seen, or as of now."""
        state = state or self.state()
        return place_of(number, state.batch, self.name, state.extended_from)

    def read(self, version: int | None = None) -> DataFrame:
        """The rows, now or at a version."""
        return self._table.read(version)

    @contextmanager
    def unchanged(self, version: int, batch: int) -> Iterator[None]:
        """A block that decides on a batch: where Spark fails in it, the error says so.

        Raises:
            TableError: with the version that the view stays at, and the batch that it lacks.
        """
        with self._table.translated(version, Mark(Kind.BATCH, batch)):
            yield

    @contextmanager
    def translated(self) -> Iterator[None]:
        """A block that reads: where Spark fails in it, the error is one of ours.

        Raises:
            TableError: WH345, and as `state`.
        """
        with self._table.translated():
            yield

    def size(self, version: int) -> Size:
        """How large the newest version is; a job, unless it is the last one that we have made."""
        return self._sizes.of(version)

    def rows(self, version: int) -> int:
        """How many rows a version has; one job, which reads the log alone."""
        return self._table.rows(version)

    def files_of(self, frame: DataFrame) -> list[str] | None:
        """See `Sizes.files_of`."""
        return self._sizes.files_of(frame)

    def rows_in(self, files: Sequence[str]) -> int:
        """See `Sizes.rows_in`."""
        return self._sizes.rows_in(files)

    def commit(
        self,
        expected: int,
        batch: int,
        *,
        inserts: DataFrame | None,
        deletes: DataFrame | None,
        info: Mapping[str, object],
        extended_from: int | None = None,
    ) -> Commit:
        """Apply a batch's change in one commit: an append, a MERGE, or none if nothing changes.

        Law: the rows become (rows at `expected` - deletes) + inserts, or nothing happens.

        A batch without change is not remembered here, but by `Store.record`.

        Args:
            expected: the version on which the batch was decided.
            inserts: rows that are not in the view, each once; None for no rows.
            deletes: rows of the view; None for no rows.
            info: JSON that is stored with the commit.
            extended_from: the batch's own number, if it was extended to `batch`.
        Raises:
            ConflictError: WH340, if somebody else committed since `expected`.
            ForeignWriteError: WH341, StorageError: WH345, and as `state`.
        """
        if inserts is None and deletes is None:
            return Commit(expected, batch, False, info=info, extended_from=extended_from)
        mark = Mark(Kind.BATCH, batch, info, extended_from=extended_from)
        if deletes is None:
            assert inserts is not None
            entry = self._table.append(self._fitting(inserts), expected, mark)
        else:
            more = None if inserts is None else self._fitting(inserts)
            gone = self._fitting(deletes)
            entry = self._table.merge(more, gone, expected, mark, telling=self._telling)
        return self._done(entry)

    def replace(
        self,
        expected: int,
        batch: int,
        rows: DataFrame,
        info: Mapping[str, object],
        *,
        extended_from: int | None = None,
    ) -> Commit:
        """Put these rows in the place of all others in one commit: a load, or a repair.

        Args:
            expected: the newest version when the rows were computed.
            batch: the last batch that the rows include.
            extended_from: that batch's own number, if it was extended to `batch`.
        Raises:
            ConflictError: WH340, if somebody else committed since `expected`.
        """
        mark = Mark(Kind.LOAD, batch, info, extended_from=extended_from)
        is_altered = bool(self._misfits(expected))
        rows = self._fitting(rows)
        return self._done(self._table.overwrite(rows, expected, mark, with_columns=is_altered))

    def require_columns(self, version: int) -> None:
        """Refuse a version whose columns are not the view's.

        Raises:
            ForeignWriteError: WH341, somebody else has changed them.
        """
        if misfits := self._misfits(version):
            raise ForeignWriteError(
                f"{self.name} is at version {version}, and somebody else changed its columns: "
                f"{'; '.join(map(str, misfits))}. Nothing was changed",
                "`repair` puts the view right, columns and all",
                table=self.name,
                version=version,
            )

    def _misfits(self, version: int) -> list[Misfit]:
        return list(misfits_of(self._table.read(version).schema, self._columns))

    def remake(self) -> None:
        """Make a table that has gone anew, empty; nothing but `replace` can follow.

        Raises:
            StrangeTableError: WH347, if there is a table.
        """
        if not _is_left_behind(self._table, self._columns):
            self._table.create(self._table.spark.createDataFrame([], self._columns))

    def optimize(self, columns: Sequence[str]) -> None:
        """Write small files together, Z-ordered by these columns; no row changes."""
        self._table.optimize(columns)

    def _done(self, entry: Entry) -> Commit:
        commit = _commit_of(entry)
        assert commit is not None
        self._known = State(entry.version, commit.batch, commit.extended_from)
        self._made, self._is_compared = _made_by(entry), True
        self._applied = commit
        self._sizes.learn(entry, commit.inserted, commit.deleted, is_load=commit.is_load)
        return commit

    def _fitting(self, frame: DataFrame) -> DataFrame:
        check_columns(frame, self._columns, f"the rows for {self.name}")
        return frame.select(*(quoted(field.name) for field in self._columns))

    def _verified(self, newest: int) -> State:
        # A table that was made anew has fewer versions than the one we knew. Only a load makes it
        # the view again.
        is_same = self._known.version <= newest
        since = self._known.version if is_same else 0

        def is_old(batch: int) -> bool:
            return self._known.batch is not None and batch <= self._known.batch

        entries = self._table.entries(since, newest)
        last = next(filter(None, map(_commit_of, entries)), None)
        # The commit that made the version we know is no news: later batches may have left it alone.
        news = None if last is not None and is_same and last.version == since else last
        told = self._known if news is None else news
        foreign = []
        later: int | None = None
        for entry in entries:
            mark = entry.mark
            if mark is not None and mark.kind is Kind.LOAD:
                break  # nothing of what was there before is left
            if entry.is_foreign or not is_same:
                foreign.append(entry.version)
            elif mark is not None and mark.kind is Kind.BATCH and mark.batch is not None:
                # Two of one number: two maintainers have applied it, and both think they are alone.
                if mark.batch == later or (is_old(mark.batch) and entry.version > since):
                    foreign.append(entry.version)
                later = mark.batch
        else:
            if entries[-1].version > since + 1:
                foreign.append(entries[-1].version - 1)
        if foreign:
            raise self._foreign(newest, foreign, told.batch, entries[-1].version)
        self._applied = last or self._applied
        if news is not None:
            found = next(entry for entry in entries if entry.version == news.version)
            self._made, self._is_compared = _made_by(found), True
        return State(newest, told.batch, told.extended_from)

    def _foreign(
        self, newest: int, foreign: Sequence[int], batch: int | None, oldest: int
    ) -> ForeignWriteError:
        if min(foreign) < oldest:
            what = f"its history before version {oldest} is gone, so others may have written to it"
        else:
            what = f"somebody else wrote to it, at version {', '.join(map(str, sorted(foreign)))}"
        return ForeignWriteError(
            f"{self.name} is at version {newest}, and {what}. Nothing was changed; the last batch "
            f"of ours is {'none' if batch is None else batch}",
            REPAIR,
            table=self.name,
            version=newest,
            versions=sorted(foreign),
        )


def _made_by(entry: Entry) -> Made:
    assert entry.mark is not None
    return Made(entry.version, entry.mark.id)


def _commit_of(entry: Entry) -> Commit | None:
    """What a commit of ours did, from the history; None if it is not one of a batch or a load."""
    mark = entry.mark
    if mark is None or mark.batch is None or mark.kind not in (Kind.BATCH, Kind.LOAD):
        return None
    count = entry.metrics.get
    inserted = count("numTargetRowsInserted", count("numOutputRows", "0"))
    deleted = count("numTargetRowsDeleted", count("numDeletedRows", "0"))
    return Commit(
        entry.version,
        mark.batch,
        True,
        int(inserted),
        int(deleted),
        mark.info,
        mark.kind is Kind.LOAD,
        mark.extended_from,
        _made_by(entry),
    )


def _table_of(
    spark: SparkSession, path: str, name: str, columns: Sequence[tuple[str, DataType]]
) -> tuple[GuardedTable, StructType]:
    from pyspark.sql.types import StructField, StructType

    schema = StructType([StructField(column, type) for column, type in columns])
    return GuardedTable(spark, path, f"view `{name}`"), schema


def _is_left_behind(table: GuardedTable, columns: StructType) -> bool:
    """Whether there is a table of ours that never got a row; no other may be there."""
    try:
        entries = table.last(2)
    except MissingTableError:
        return False
    is_ours = len(entries) == 1 and entries[0].mark and entries[0].mark.kind is Kind.CREATE
    if is_ours and not list(misfits_of(table.read().schema, columns)):
        return True
    raise StrangeTableError(
        f"there is a table already where {table.name} must be, and it is not a new one of ours. "
        "Nothing was changed",
        "open another folder, or put this one's `_selfmaint` back from a copy",
        table=table.name,
    )
