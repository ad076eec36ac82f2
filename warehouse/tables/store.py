"""A program's folder: one table per view, and beside them what must be remembered.

    views/<view>              its rows
    _selfmaint/program        the program that the folder was made for; written last
    _selfmaint/batches        the journal: a line per batch and view

A batch is done when the journal says so. Until then each view knows from its own commit whether it
has the batch, so after a crash at any point the same batch, applied again, changes only the views
that lack it. The journal is what moves the number of a view on that a batch did not change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from warehouse.paths import require_absolute
from warehouse.tables.errors import (
    BatchOrderError,
    ConflictError,
    CorruptLogError,
    ForeignWriteError,
    MissingTableError,
    ProgramChangedError,
    StrangeTableError,
    TableError,
)
from warehouse.tables.guarded import GuardedTable
from warehouse.tables.marks import Kind, Mark, compact
from warehouse.tables.order import Extent, Place
from warehouse.tables.views import Commit, Made, State, ViewTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
RELATIONS: Final = "relations"
"""Where a commit says which relations its batch changed."""

LAST_RECORDS: Final = (4, 100, 10_000)
"""How far back to look for the journal's last line, in steps: only upkeep can come behind it."""


FROM_A_COPY: Final = (
    "put the folder's `_selfmaint` back from a copy, or open an empty folder and `load`"
)


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """A view as its table must be.

    Args:
        telling: columns that tell rows apart, as far as is known; see `ViewTable.create`.
    """

    name: str
    definition: str
    columns: tuple[tuple[str, DataType], ...]
    telling: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """What a folder was made for.

    Args:
        relations: name to declaration, as text.
    """

    views: tuple[ViewSpec, ...]
    relations: Mapping[str, str] = field(default_factory=dict)

    def parts(self) -> dict[str, str]:
        """Everything that must not change, by the name that messages use."""
        found = {f"relation `{name}`": text for name, text in sorted(self.relations.items())}
        for view in self.views:
            columns = ", ".join(f"{n} {t.simpleString()}" for n, t in view.columns)
            found[f"view `{view.name}`"] = f"{view.definition} as ({columns})"
        return found


Note: TypeAlias = Mapping[str, Mapping[str, object]]
"""What a maintainer wants remembered of each view; JSON."""


@dataclass(frozen=True, slots=True)
class Record:
    """What the journal says last.

    Args:
        version: of the journal's table.
        states: of the views.
        made: the last commit of ours that changed each of them.
        batch: the number of the last batch, and the relations that it changed; None for a load, or
            if that is not known.
    """

    version: int
    states: Mapping[str, State] = field(default_factory=dict)
    made: Mapping[str, Made] = field(default_factory=dict)
    note: Note = field(default_factory=dict)
    batch: tuple[int, frozenset[str]] | None = None


class Store:
    """A program's folder, open.

    Attributes:
        views: the tables, by the view's name.
        note: what the maintainer wanted remembered with the last batch.
    """

    def __init__(self, journal: GuardedTable, last: Record, views: Mapping[str, ViewTable]) -> None:
        self._journal = journal
        self._version = last.version
        self._recorded = dict(last.states)
        self._batch = last.batch
        self.note = last.note
        self.views = MappingProxyType(dict(views))

    @classmethod
    def open(cls, spark: SparkSession, path: str, program: Program) -> Store:
        """Open the folder, or make it if it is empty.

        A view whose table has gone, is damaged or was written to by somebody else does not keep
        the others from being opened: `check_batch` and `ViewTable.state` say so.

        Raises:
            ProgramChangedError: WH346, if it was made for another program.
            StrangeTableError: WH347, if it holds tables that are not ours.
            CorruptLogError: WH344, if what must be remembered cannot be read.
            InputError: WH349, a relative path.
        """
        require_absolute(path)
        path = path.rstrip("/")
        memory = GuardedTable(spark, f"{path}/_selfmaint/program", "the warehouse's program")
        journal = GuardedTable(spark, f"{path}/_selfmaint/batches", "the warehouse's journal")
        if _is_made(memory, program):
            last = _last_record(journal)
            tables = {
                view.name: ViewTable.open(
                    spark,
                    view_path(path, view.name),
                    view.name,
                    view.columns,
                    last.states.get(view.name, State(0, None)),
                    last.made.get(view.name),
                    telling=view.telling,
                )
                for view in program.views
            }
            return cls(journal, last, tables)
        tables = {
            view.name: ViewTable.create(
                spark,
                view_path(path, view.name),
                view.name,
                view.columns,
                telling=view.telling,
            )
            for view in program.views
        }
        if not _exists(journal):
            journal.create(spark.createDataFrame([], _journal_columns()))
        _remember(memory, program)
        return cls(journal, Record(0), tables)

    def states(self) -> dict[str, State]:
        """Each view's state now: what a batch is checked against, decided on and committed to.

        One look per batch is enough. What somebody commits after it, the commit's own guard sees:
        a batch is never decided on rows that are newer than the number it was checked against.
        Batches that left a view as it was are only in the journal, so that is looked at first.

        Raises:
            TableError: as `ViewTable.state`.
        """
        self.learn()
        return {name: table.state() for name, table in self.views.items()}

    def learn(self) -> int:
        """Learn what another maintainer has recorded, if anything; no Spark job if nothing.

        Returns:
            The journal's version. Whoever decides something now says with it what that is to follow
            (`record`): another thread that looks meanwhile learns more.
        """
        version = self._version
        if not self._journal.is_at(version):
            self.catch_up()
            version = self._version
        return version

    def unfinished(self, states: Mapping[str, State]) -> Extent | None:
        """The last batch, if not every view has it, or the journal does not say so; else None.

        Args:
            states: as `states` found them.
        """
        known = {name: state.batch for name, state in self._recorded.items()}
        batches = {state.batch for state in states.values()} - {None}
        is_told = all(state.batch == known.get(name) for name, state in states.items())
        return None if is_told and len(batches) == 1 else last_batch(states)

    def check_batch(
        self, number: int, states: Mapping[str, State] | None = None
    ) -> dict[str, Place]:
        """Per view, whether this batch is the next one or was the last one, or part of it.

        Views that have the last batch may have been extended to different versions, after a crash.

        Args:
            states: as `states` found them; looked up now unless given.
        Raises:
            BatchOrderError: WH342, if it is neither for some view, or loading was interrupted.
            TableError: as `ViewTable.state`.
        """
        seen = self.states() if states is None else states
        last = last_batch(seen)
        if last is not None:
            _require_together(number, seen, last)
            self._require_loaded(number, seen)
            # A view that was repaired meanwhile does not know where the batch began; others do.
            seen = {name: replace(s, extended_from=last.first) for name, s in seen.items()}
        return {name: table.check_batch(number, seen[name]) for name, table in self.views.items()}

    def _require_loaded(self, number: int, states: Mapping[str, State]) -> None:
        """Refuse a batch where only some views were loaded.

        The first batch of all may be finished: a view that has it was never loaded before.
        """
        loaded = {name: state.batch for name, state in states.items() if state.batch is not None}
        if len(loaded) == len(states):
            return
        applied = (self.views[name].applied(batch) for name, batch in loaded.items())
        if all(
            commit is not None
            and not commit.is_load
            and number == (commit.batch if commit.extended_from is None else commit.extended_from)
            for commit in applied
        ):
            return
        missing = next(name for name in states if name not in loaded)
        raise _interrupted(f"view `{missing}` was never loaded, but others were", number, loaded)

    def catch_up(self) -> bool:
        """Learn what another maintainer of this folder has recorded; False if that is nothing.

        A view's own commits are seen by each look at it. A batch that did not change it is only in
        the journal.
        """
        last = _last_record(self._journal)
        if last.version == self._version:
            return False
        self._version, self._recorded, self.note = last.version, dict(last.states), last.note
        self._batch = last.batch
        for name, state in last.states.items():
            # What came after it, the next look will see.
            self.views[name].remember(state, last.made.get(name))
        return True

    def record(
        self,
        batch: int,
        commits: Mapping[str, Commit],
        note: Note | None = None,
        *,
        follows: int | None = None,
        extended_from: int | None = None,
    ) -> None:
        """Note that a batch is done, in one commit of the journal; also for unchanged views.

        A record that says nothing new is not written again.

        Args:
            commits: by view. One that is not named had the batch already, before a crash, or
                has nothing to do with it: its number moves on, too.
            note: to be remembered, in place of the last one; None leaves it.
            follows: what `learn` said before the batch was checked. A view that has no commit of
                this batch is as the batch left it only if nothing was recorded since; the newest
                version that is known unless given.
            extended_from: the batch's own number, if it was extended to `batch`.
        Raises:
            ConflictError: WH340, if another maintainer recorded meanwhile. That is known then,
                so that the same batch can be applied again.
        """
        seen = {name: table.applied(batch) for name, table in self.views.items()}
        states = {
            name: State(table.known.version, batch, extended_from)
            for name, table in self.views.items()
        }
        if not commits and all(
            name in self._recorded and self._recorded[name].batch == batch for name in states
        ):
            seen = {}  # all is told already; a version that upkeep moved on is no news
        done = {**{name: commit for name, commit in seen.items() if commit}, **commits}
        self._record(batch, states, done, note, follows, extended_from)

    def record_one(self, name: str, commit: Commit, *, follows: int | None = None) -> None:
        """Note that one view was replaced. The others keep the batches that they have.

        Args:
            follows: as in `record`.

        Raises:
            ConflictError: WH340, as `record`.
        """
        states = {other: table.known for other, table in self.views.items()}
        self._record(commit.batch, states, {name: commit}, None, follows, commit.extended_from)

    def _record(
        self,
        batch: int,
        states: Mapping[str, State],
        commits: Mapping[str, Commit],
        note: Note | None,
        follows: int | None,
        extended_from: int | None,
    ) -> None:
        # Without a line there is no news: upkeep moved a version on, which the next line will say.
        if commits and states != self._recorded:
            lines = [
                (batch, name, c.version, c.is_changed, compact(dict(c.info)))
                for name, c in sorted(commits.items())
            ]
            note = self.note if note is None else note
            views = {n: [s.version, s.batch, s.extended_from] for n, s in states.items()}
            made = {n: [t.made.version, t.made.id] for n, t in self.views.items() if t.made}
            changed = changed_relations(commits.values())
            told = {"views": views, "made": made, "note": note, RELATIONS: changed}
            mark = Mark(Kind.RECORD, batch, told, extended_from=extended_from)
            frame = _lines_frame(self._journal.spark, lines)
            try:
                expected = self._version if follows is None else follows
                self._version = self._journal.note(frame, expected, mark).version
            except ConflictError:
                self.catch_up()
                raise
            self._recorded, self.note = dict(states), note
            self._batch = None if changed is None else (batch, frozenset(changed))
        for name, table in self.views.items():
            table.remember(states[name], table.made)

    def relations_of(self, batch: int) -> frozenset[str] | None:
        """The relations that the last batch changed, if it has this number and that is known."""
        if self._batch is not None and self._batch[0] == batch:
            return self._batch[1]
        applied = (table.applied(batch) for table in self.views.values())
        found = changed_relations([commit for commit in applied if commit is not None])
        return None if found is None else frozenset(found)

    def history(self) -> DataFrame:
        """The journal: batch, view, version, is_changed, info (JSON).

        A line that came too late to count (`GuardedTable.note`) is in it as well: its batch is then
        in it twice.
        """
        return self._journal.read()


def changed_relations(commits: Iterable[Commit]) -> list[str] | None:
    """The relations that a batch changed, as its commits say; None if they do not say it.

    A load does not, and a batch that was extended is several.
    """
    for commit in commits:
        found = commit.info.get(RELATIONS)
        if isinstance(found, list) and commit.extended_from is None and not commit.is_load:
            return [str(name) for name in found]
    return None


def last_batch(states: Mapping[str, State]) -> Extent | None:
    """The last batch that any view has, with all its numbers; None if there was none."""
    seen = [state for state in states.values() if state.batch is not None]
    if not seen:
        return None
    last = max(state.batch for state in seen if state.batch is not None)
    own = (state.extended_from for state in seen if state.batch == last)
    return Extent(min((number for number in own if number is not None), default=last), last)


def _require_together(number: int, states: Mapping[str, State], last: Extent) -> None:
    """Refuse a batch where views are more than one batch apart: no number fits all of them."""
    seen = {name: state.batch for name, state in states.items() if state.batch is not None}
    if last.first - min(seen.values()) > 1:
        apart = f"the views are at batches {min(seen.values())} to {max(seen.values())}"
        raise _interrupted(apart, number, seen)


def _interrupted(what: str, number: int, seen: Mapping[str, int]) -> BatchOrderError:
    last = max(seen.values())
    return BatchOrderError(
        f"{what}: a load as of batch {last} was interrupted. Nothing was changed now",
        "run `load()` again",
        table="warehouse",
        batch=number,
        expected=last,
    )


def view_path(path: str, name: str) -> str:
    """The folder of a view's table.

    Law: different names have different folders, also where case does not count, and every
    folder is directly in `views`.

    Example:
        >>> view_path("/data", "eu_sales"), view_path("/data", "../Ä")
        ('/data/views/eu_sales', '/data/views/-2e--2e--2f--c4-')
    """
    # A leading underscore would hide the folder from tools that follow Hadoop's custom.
    spelt = (
        char if char in PLAIN and (place or char != "_") else f"-{ord(char):x}-"
        for place, char in enumerate(name)
    )
    return f"{path}/views/{''.join(spelt)}"


def _is_made(memory: GuardedTable, program: Program) -> bool:
    """Whether the folder was made, and then for this program."""
    try:
        if not _exists(memory):
            return False
    except CorruptLogError as error:
        raise _unreadable(memory, error) from error
    stored = {row["part"]: row["definition"] for row in memory.read().collect()}
    given = program.parts()
    names = sorted(stored.keys() | given.keys())
    changes = [(n, stored.get(n), given.get(n)) for n in names if stored.get(n) != given.get(n)]
    if changes:
        raise ProgramChangedError(changes)
    return True


def _remember(memory: GuardedTable, program: Program) -> None:
    from pyspark.sql.types import StringType, StructField, StructType

    columns = StructType([StructField(name, StringType()) for name in ("part", "definition")])
    rows = list(program.parts().items())
    memory.create(memory.spark.createDataFrame(rows, columns).coalesce(1))


def _exists(table: GuardedTable) -> bool:
    try:
        table.newest()
    except MissingTableError:
        return False
    return True


def _last_record(journal: GuardedTable) -> Record:
    """What the journal says last."""
    try:
        for limit in LAST_RECORDS:
            entries = journal.last(limit)
            for entry in entries:
                if entry.is_foreign:
                    raise ForeignWriteError(
                        f"{journal.name} was written to by somebody else, at version "
                        f"{entry.version}. Nothing was changed",
                        FROM_A_COPY,
                        table=journal.name,
                        version=entries[0].version,
                        versions=[entry.version],
                    )
                if entry.is_late:
                    continue
                if entry.mark is not None and entry.mark.kind is Kind.RECORD:
                    views, note = entry.mark.info["views"], entry.mark.info.get("note", {})
                    assert isinstance(views, dict)
                    assert isinstance(note, dict)
                    states = {name: State(*parts) for name, parts in views.items()}
                    found = entry.mark.info.get("made", {})
                    assert isinstance(found, dict)
                    made = {name: Made(*pair) for name, pair in found.items()}
                    changed, number = entry.mark.info.get(RELATIONS), entry.mark.batch
                    batch = None
                    if isinstance(changed, list) and number is not None:
                        batch = number, frozenset(map(str, changed))
                    return Record(entries[0].version, states, made, note, batch)
            if entries[-1].version == 0:
                return Record(entries[0].version)
    except (MissingTableError, CorruptLogError) as error:
        raise _unreadable(journal, error) from error
    raise StrangeTableError(
        f"{journal.name} has no record among its last {LAST_RECORDS[-1]:,} commits",
        FROM_A_COPY,
        table=journal.name,
    )


def _unreadable(table: GuardedTable, error: TableError) -> CorruptLogError:
    what = "has gone" if isinstance(error, MissingTableError) else "cannot be read"
    return CorruptLogError(
        f"{table.name} {what}. No view was changed", FROM_A_COPY, table=table.name
    )


def _lines_frame(spark: SparkSession, lines: Sequence[tuple[object, ...]]) -> DataFrame:
    """Lines of the journal, as one constant: rows of Python take as long again to be written."""
    from pyspark.sql import functions as sf
    from pyspark.sql.types import ArrayType

    columns = _journal_columns()
    text = json.dumps([dict(zip(columns.names, line, strict=True)) for line in lines])
    return spark.range(0, 1, 1, 1).select(sf.inline(sf.from_json(sf.lit(text), ArrayType(columns))))


def _journal_columns() -> StructType:
    from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

    return StructType(
        [
            StructField("batch", LongType()),
            StructField("view", StringType()),
            StructField("version", LongType()),
            StructField("is_changed", BooleanType()),
            StructField("info", StringType()),
        ]
    )
