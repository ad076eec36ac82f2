"""A warehouse: the views of a program as Delta tables that maintain themselves.

    warehouse = Warehouse.open(spark, path, program, source=source)
    warehouse.load()                        # once: the views, computed from the source
    report = warehouse.apply({"orders": changes})
    warehouse.view("sales").read()

A view may also have a loader instead of the source (`Warehouse.maintains`), and batches may come
from a stream (`Warehouse.batch_writer`).

A batch is decided for each view from the view's own rows (`lookups.spark`), the source is asked for
what is left, and then each view changes in one commit. A batch that was applied is recognised
before any work, so after an error the same batch is applied again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from cq.diagnostics import InputError, did_you_mean, shorten
from cq.printer import print_relation
from lookups.payoff import Lookups
from selfmaint.arguments import require_batch, require_name, require_patience, require_program
from selfmaint.deciding import Decision, Patience, Task, decide_all, require_version
from selfmaint.errors import RuntimeStateError
from selfmaint.extending import Extending, Later, extension_note, extent_of
from selfmaint.loaders import BatchWriter, Loader, Splitting, bound_to, of_relation
from selfmaint.measure import JobCount
from selfmaint.numbering import (
    batch_of,
    next_number,
    require_finished,
    require_number,
    taken,
    unnumbered,
    whole_number,
)
from selfmaint.paying import Paying
from selfmaint.program import Program
from selfmaint.report import Report, ViewReport, report_columns
from selfmaint.stored import Stored, lookup_columns, view_rows, view_spec
from selfmaint.verifying import Comparison, compared
from warehouse.batches import Changes, checked, require_changeable
from warehouse.columns import ColumnError
from warehouse.requirements import require, require_meaning
from warehouse.sources import (
    Cost,
    FederatedSource,
    LoaderSource,
    Source,
    SourceError,
    TableSource,
    ask,
    read_join,
    whole,
)
from warehouse.tables import (
    RELATIONS,
    Commit,
    ConflictError,
    Extent,
    Made,
    Place,
    State,
    Store,
    ViewTable,
)
from warehouse.tables import Program as StoredProgram

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lookups.spark import Index
    from warehouse.sources.loader import Knowing, Loading


class WarehouseView:
    """One view of a warehouse."""

    def __init__(self, table: ViewTable, name: str) -> None:
        self.name = name
        self._table = table

    @property
    def path(self) -> str:
        """The folder of its Delta table."""
        return self._table.path

    def read(self, version: int | None = None) -> DataFrame:
        """The rows, now or as of a version of the view's table."""
        return self._table.read(version)


class Warehouse:
    """The views of a program; made by `Warehouse.open`."""

    def __init__(
        self,
        spark: SparkSession,
        program: Program,
        store: Store,
        source: Source | None,
        lookups: Lookups,
        patience: Patience,
        later: Later | None,
    ) -> None:
        self.spark = spark
        self.program = program
        self._store = store
        self._source = source
        self._loaders: dict[str, LoaderSource] = {}
        self._asked: dict[str, Cost] = {}
        self._is_cold = True
        self._indexes: dict[str, tuple[Made, Index]] = {}
        # Batches come one after the other, also from several threads.
        self._turn = threading.RLock()
        self._lookups = lookups
        self._patience = patience
        self._later = later
        self._views = {
            name: Stored.of(program.view(name), store.views[name]) for name in program.views
        }

    @classmethod
    def open(
        cls,
        spark: SparkSession,
        path: str,
        program: Program,
        *,
        source: Source | None = None,
        lookups: Lookups | str = Lookups.ADAPT,
        limit_seconds: float | None = 300.0,
        retries: int = 2,
        later: Later | None = None,
    ) -> Warehouse:
        """Open the warehouse in a folder, or make it there if the folder is empty.

        Args:
            spark: a session that `warehouse.session` built, or one that passes its `require`.
            source: who holds the program's relations. Not needed if every view gets a loader.
            lookups: when insertions are looked up in a view before the source is asked: as long as
                that pays, always, or never. The views are right in any case.
            limit_seconds: for one question to a source or loader; None for no limit. What computes
                a whole view, as `load` does, may take as long as it does.
            retries: how often to ask again after an error that may pass. A question that took too
                long may still run then.
            later: for a source that answers only as of what it has now. `later(7, 9)` are the net
                changes after version 7, up to version 9, in the form of a batch: with them a batch
                is extended whose questions were answered as of version 9 when it ends at 7.
        Raises:
            UnfitSessionError: WH301, what the session lacks.
            ProgramChangedError: WH346, the folder was made for another program.
            ColumnError: WH320, a relation without declared types, or with a column `change`.
            InputError: RT402, the source does not hold a relation; WH349, a relative path; RT407,
                an argument that is none.
        """
        # All of it before anything is made.
        require(spark)
        require_program(program)
        require_patience(limit_seconds, retries)
        chosen = Lookups(lookups)
        missing = [] if source is None else sorted(program.relations.keys() - source.relations)
        if source is not None and missing:
            raise InputError(
                "RT402",
                f"source `{source.name}` holds no relation `{missing[0]}`",
                *did_you_mean(missing[0], source.relations),
            )
        stored = StoredProgram(
            tuple(view_spec(program.view(name)) for name in program.views),
            {name: print_relation(relation) for name, relation in program.relations.items()},
        )
        for relation in program.relations.values():
            require_changeable(relation)
        store, patience = Store.open(spark, path, stored), Patience(limit_seconds, retries)
        return cls(spark, program, store, source, chosen, patience, later)

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the views, in the order of the program."""
        return tuple(self._views)

    def view(self, name: str) -> WarehouseView:
        """One view.

        Raises:
            InputError: RT403, there is no such view.
        """
        return WarehouseView(self._stored(name).table, name)

    def _stored(self, name: str) -> Stored:
        if name not in self._views:
            raise InputError(
                "RT403", f"there is no view `{shorten(name)}`", *did_you_mean(name, self._views)
            )
        return self._views[name]

    # Loaders and streams

    def maintains(
        self, name: str, *, version: Knowing | None = None
    ) -> Callable[[Loading], Loader]:
        """Give a view a loader: a function that computes its rows from the sources.

        The function takes a frame with some of the view's columns, or None, and returns the rows of
        the view with these values in these columns, or all rows. It is called for the slices of the
        view that nobody here knows, when the sources have the batch, and nothing later: where they
        can be ahead, as behind a stream that catches up, give `version`. The functions of two views
        may run at the same time. What this makes of it takes batches, which are for all views.

        Example:
            @warehouse.maintains("sales")
            def sales(keys):
                ...

            report = sales({"orders": changes})

        Args:
            version: tells the last batch that the sources have now. Where that is a later one than
                a batch that has to ask, the batch is extended with the changes up to it (`later` of
                `open`), or refused (RT404). Without it nobody can notice that.
        Raises:
            InputError: RT403, there is no such view; RT406, it has a loader already.
        """
        require_name(name)
        stored = self._stored(name)
        if name in self._loaders:
            raise InputError("RT406", f"view `{name}` has a loader already")
        relations = frozenset(self.program.relations)

        def wrap(function: Loading) -> Loader:
            columns = stored.table.columns
            self._loaders[name] = LoaderSource(name, columns, relations, function, version)
            return Loader(self, name, function)

        return wrap

    def batch_writer(
        self, changes: str | Splitting, *, first: int = 1, order: str | None = None
    ) -> BatchWriter:
        """A function for `DataStreamWriter.foreachBatch`: every micro-batch is a batch.

        Args:
            changes: the relation that the stream's rows are changes of, with its columns and
                `change`; or a function from a micro-batch to the batch that it is.
            first: the batch that the stream's first micro-batch is, which Spark numbers 0. A new
                stream continues an older warehouse with what `next_batch()` says before its first
                start. Keep that number: with another one a stream that starts again would have its
                last micro-batch applied twice.
            order: with a relation, the column to order by: the stream is then a log of changes, of
                which each micro-batch is applied as its net effect. Declared keys and foreign keys
                hold at the end of each of them: none may end between the two halves of an UPDATE.
        Raises:
            InputError: RT407, no such relation, or an order for a function.
        """
        if callable(changes):
            if order is not None:
                raise InputError("RT407", "`order` goes with the name of a relation")
            return BatchWriter(self, changes, first)
        if changes not in self.program.relations:
            raise InputError(
                "RT407",
                f"there is no relation `{shorten(changes)}`",
                *did_you_mean(changes, self.program.relations),
            )
        return BatchWriter(self, of_relation(self, changes, order), first)

    def _sources(self) -> dict[str, Source]:
        """Who is asked about each view; refused unless somebody can be."""
        return {name: self._source_of(name) for name in self._views}

    def _source_of(self, name: str) -> Source:
        """Who is asked about a view: its loader or the source."""
        source = self._loaders.get(name, self._source)
        if source is None:
            raise RuntimeStateError(
                "RT405",
                f"view `{name}` has neither a source nor a loader. Nothing was changed",
                f"give it a loader: `@warehouse.maintains({name!r})`",
                "or open the warehouse with a source",
            )
        return source

    # Loading

    def load(self, number: int | None = None) -> int:
        """Compute every view from the source, as of a batch, which is returned.

        Each view is replaced in one commit, or made anew if its table has gone. The next batch is
        the one after it.

        Args:
            number: of the batch. The source's newest version unless given; 0 for the first load by
                loaders alone. After that only the caller knows which batch the sources have, and
                with too low a number it would be applied twice.
        Raises:
            RuntimeStateError: RT405, nobody to ask; RT409, no number, and loaders alone.
        """
        require_meaning(self.spark)
        with self._turn:
            journal = self._store.learn()
            self._sources()
            version = self._newest_batch() if number is None else whole_number(number)
            first = self._first_brought(version)
            commits = {}
            for stored in self._views.values():
                expected = _newest(stored.table)
                with _unchanged(stored.name, "load()"):
                    rows = self._recomputed(stored, version)
                commits[stored.name] = stored.table.replace(
                    expected, version, rows, {"load": version}, extended_from=first
                )
            self._store.record(version, commits, follows=journal, extended_from=first)
            return version

    def _batches_seen(self) -> list[int]:
        """The last batches of those views that were loaded."""
        seen = (stored.table.last_state().batch for stored in self._views.values())
        return [batch for batch in seen if batch is not None]

    def _newest_batch(self) -> int:
        if self._source is not None:
            return self._source.version()
        if seen := self._batches_seen():
            raise unnumbered("the loaders compute", "load(", max(seen))
        return 0

    def _first_brought(self, version: int) -> int | None:
        """The first batch that a load as of a version brings with it; None if it brings none.

        All of them must be recognised afterwards. To views that were never loaded it brings none.
        """
        seen = self._batches_seen()
        if len(seen) < len(self._views) or not seen or min(seen) >= version:
            return None
        return min(seen) + 1

    def _recomputed(self, stored: Stored, version: int) -> DataFrame:
        join, source = whole(stored.normal), self._source_of(stored.name)
        if isinstance(source, TableSource):
            return view_rows(stored, join, read_join(source, join, version))
        answer = ask(
            source, join, None, version, limit_seconds=None, retries=self._patience.retries
        )
        require_version(answer, version, stored.name)
        return view_rows(stored, join, answer.frame.distinct())  # a row of a view is there once

    # Batches

    def apply(self, batch: Mapping[str, DataFrame], number: int | None = None) -> Report:
        """Maintain every view that a batch of net changes touches.

        Where the source answers as of a later version, the batch is extended with the changes up to
        it (`later` of `open`) and gets its number, which the report says. The batches in between
        are then recognised: they are in it.

        Args:
            batch: relation to its changes: the relation's columns, and `change` with `insert` or
                `delete`. `warehouse.batches.netted` makes one from an ordered log.
            number: of the batch, which is also the version of the source that it ends in. The next
                one unless given. A number that was applied already changes nothing: after an error,
                or with a second process, give it.
        Raises:
            RuntimeStateError: RT401, a view was not loaded, and there was something to load; RT408,
                RT410, no number, and the last batch was not finished, or was extended; RT411, the
                number is that of another batch; RT404, the source answered as of a later version,
                and the batch could not be extended. Nothing was changed.
            BatchError, ColumnError: the batch is not one; nothing was changed.
            SetupError: WH308, the session was stopped; WH301, values mean something else in it now.
            BatchOrderError: WH342, a gap or an older number.
            SourceError: the source failed; nothing was changed.
            ConflictError, ForeignWriteError: somebody else writes, or wrote, to a view.
        """
        require_meaning(self.spark)
        require_batch(batch)
        given = None if number is None else whole_number(number)
        started = time.monotonic()
        jobs = JobCount(self.spark)
        with self._turn, jobs.counting():
            before = self._made()
            journal = self._store.learn()
            states = self._store.states()
            # Another thread may have looked meanwhile: then it is not known what the states are of.
            made = before if before == self._made() else {}
            if given is None:
                require_finished(self._store.unfinished(states), states)
                require_number(states)
            number = next_number(states) if given is None else given
            last, reports = self._apply(
                batch, number, journal, states, made, jobs, is_chosen=given is None
            )
            return Report(last, reports, time.monotonic() - started, jobs.total())

    def _apply(
        self,
        batch: Mapping[str, DataFrame],
        number: int,
        journal: int,
        states: Mapping[str, State],
        made: Mapping[str, Made | None],
        jobs: JobCount,
        *,
        is_chosen: bool,
    ) -> tuple[int, tuple[ViewReport, ...]]:
        """Apply a batch under a number, which the caller gave or which was chosen for it.

        Args:
            journal: its version before the views were looked at.
            made: the commits of ours that made the views as they are in these states, if known.
        """
        places = self._store.check_batch(number, states)
        if Place.REPLAY in places.values():
            self._require_same(batch, number)
        self._require_loaded(number, states)
        reached = {
            name: batch_of(name, states[name]) if place is Place.REPLAY else number - 1
            for name, place in places.items()
        }
        extent = extent_of(number, max([number, *reached.values()]), states)
        if all(version == extent.last for version in reached.values()):
            self._store.record(extent.last, {}, follows=journal, extended_from=extent.extended_from)
            return extent.last, tuple(map(_replay_of, self._views.values()))
        sources = self._sources()
        changes = self._checked(batch)
        paying = Paying.noted(self._lookups, self._store.note)
        indexes = self._take_indexes(made)
        tasks = [
            Task(
                stored,
                states[name],
                sources[name],
                name in self._loaders,
                self._patience,
                paying.skipped(name, stored.relations, is_new=not states[name].version),
                indexes[name],
            )
            for name, stored in self._views.items()
        ]
        extending = Extending(self.program.relations, number, changes, self._checked_later())
        try:
            decided, last = extending.decided(
                tasks,
                reached,
                lambda tasks, changes, upto: decide_all(self.spark, tasks, changes, upto, jobs),
            )
        except (SourceError, ColumnError) as error:
            again = f"then apply the same batch again, with `number={number}`"
            error.add_state(f"Batch {number} is not applied", again)
            raise
        decisions = {decision.task.stored.name: decision for decision in decided}
        extent = replace(extent, last=last)
        reports: list[ViewReport] = []
        commits: dict[str, Commit] = {}
        jobs.more()
        for name, stored in self._views.items():
            if name not in decisions:
                reports.append(_replay_of(stored))
                continue
            paying.learn(decisions[name], is_cold=self._is_cold)
            try:
                report, commit = self._commit(decisions[name], extent, changes)
            except ConflictError as error:
                if is_chosen and not any(done.is_changed for done in commits.values()):
                    raise taken(error, number) from error
                raise  # some views have the batch: it must be finished under its number
            report = replace(report, notes=(*extension_note(extent), *paying.sentences(name)))
            report = report.with_jobs(decide=decisions[name].jobs, commit=jobs.more())
            reports.append(report)
            # The report goes into the journal with the batch: one commit for both.
            info = {**commit.info, "report": report.as_dict()}
            commits[name] = replace(commit, info=info)
            self._keep_index(name, commit.made or made.get(name), decisions[name].index)
        self._is_cold = False
        self._store.record(
            last, commits, paying.note(), follows=journal, extended_from=extent.extended_from
        )
        return last, tuple(reports)

    def _made(self) -> dict[str, Made | None]:
        return {name: stored.table.made for name, stored in self._views.items()}

    def _take_indexes(self, made: Mapping[str, Made | None]) -> dict[str, Index]:
        """What is kept of the views' rows, if they are those that these commits of ours made.

        A batch takes it, and what it makes of it is kept when its commit is there. So after any
        error, and after rows have come in another way, there is none, and the view is scanned.
        """
        from lookups.spark import Index, shared

        kept, self._indexes = self._indexes, {}
        return shared(
            {
                name: kept[name][1] if name in kept and kept[name][0] == made.get(name) else Index()
                for name in self._views
            }
        )

    def _keep_index(self, name: str, made: Made | None, index: Index) -> None:
        if made is not None:
            self._indexes[name] = (made, index)

    def _require_same(self, batch: Mapping[str, DataFrame], number: int) -> None:
        """Refuse a batch that cannot be the one which was applied under its number.

        That it is another one shows if relations are missing which that one changed; of one without
        any relation nothing can get lost. No job: a replay costs none.
        """
        missing = sorted((self._store.relations_of(number) or frozenset()) - batch.keys())
        if batch and missing:
            raise RuntimeStateError(
                "RT411",
                f"batch {number} was applied with changes of `{missing[0]}`, and is given again "
                "without them: it is another batch. Nothing was changed",
                f"the next batch is number {next_number(self._store.states())}",
                "batches of several streams need one sequence of numbers",
            )

    def _require_loaded(self, number: int, states: Mapping[str, State]) -> None:
        """Refuse a batch for a view that was never loaded, unless there was nothing to load."""
        for name, state in states.items():
            if state.batch is None and not self._was_empty(self._views[name], number - 1):
                raise RuntimeStateError(
                    "RT401",
                    f"view `{name}` was not loaded yet, and before batch {number} there may have "
                    "been rows to load. Nothing was changed",
                    f"run `load({number - 1})` first, and then this batch; or `load()`, which has "
                    "it if the source does",
                )

    def _was_empty(self, stored: Stored, version: int) -> bool:
        """Whether a view is known to have no rows as of a version."""
        if not isinstance(self._source_of(stored.name), TableSource):
            return False  # who knows; the whole view is too much to ask a far source for
        try:
            return self._recomputed(stored, version).isEmpty()
        except (SourceError, RuntimeStateError):
            return False  # a version that nobody can tell of any more

    def _checked(self, batch: Mapping[str, DataFrame]) -> dict[str, Changes]:
        # What a commit carries is set in our session, and a MERGE runs in that of its frames.
        own = {name: bound_to(self.spark, frame) for name, frame in batch.items()}
        return checked(self.program.relations, own)

    def _checked_later(self) -> Callable[[int, int], Mapping[str, Changes]] | None:
        later = self._later
        return None if later is None else lambda after, upto: self._checked(later(after, upto))

    def next_batch(self) -> int:
        """The number of the next batch: what the views have seen, plus one.

        What they have seen may be more than was given to `apply`: a load takes them to what the
        source has, and a batch may have been extended. Do not give this number to a batch of which
        you do not know that it is the one after that.

        Raises:
            RuntimeStateError: RT401, nothing was loaded yet; RT408, the last batch was not
                finished, so that another one must not get its number.
        """
        states = self._store.states()
        require_finished(self._store.unfinished(states), states)
        return next_number(states)

    def _commit(
        self, decision: Decision, extent: Extent, changes: Mapping[str, Changes]
    ) -> tuple[ViewReport, Commit]:
        task, done = decision.task, decision.done
        told = {RELATIONS: sorted(changes)}
        table, version = task.stored.table, task.state.version
        own = extent.extended_from
        report = ViewReport(
            task.stored.name,
            version,
            decision.counts,
            indexed=decision.index.size,
            cost=decision.cost,
        )
        name = task.source.name
        self._asked[name] = self._asked.get(name, Cost()) + decision.cost
        if done is None:
            commit = table.commit(
                version, extent.last, inserts=None, deletes=None, info=told, extended_from=own
            )
            return report, commit
        report = replace(
            report,
            lookups=done.counts.lookups,
            files_read=decision.files_read,
            files=decision.files,
            rows_read=decision.rows_read,
            rows=decision.rows,
            traditional=self._traditional(task, done.counts.asking),
            inserted=done.counts.inserted,
            deleted=done.counts.deleted,
        )
        with decision.clock.stage("commit"):
            commit = table.commit(
                version,
                extent.last,
                inserts=done.inserts if done.counts.inserted else None,
                deletes=done.deletes if done.counts.deleted else None,
                info={"verdicts": report.verdicts, "questions": len(done.asks), **told},
                extended_from=own,
            )
        return replace(report, version=commit.version, stages=decision.clock.stages()), commit

    def _traditional(self, task: Task, asking: Mapping[int, int]) -> Cost:
        """See `ViewReport.traditional`.

        Args:
            asking: subgoal to the number of keys that it is asked for.
        """
        source, keys = task.source, sum(asking.values())
        questions = len(asking)
        if isinstance(source, FederatedSource):  # each source that holds one of the others is asked
            atoms = task.stored.query.atoms
            others = ([a.predicate for i, a in enumerate(atoms) if i != own] for own in asking)
            questions = sum(map(source.holders, others))
        latency = getattr(source, "latency", None)
        if latency is None:
            asked = self._asked.get(source.name, Cost())
            latency = asked.seconds / max(1, asked.questions)
        per_row = getattr(source, "per_row_sent", 0.0)
        return Cost(questions, keys, seconds=questions * latency + keys * per_row)

    # Checks

    def verify(self, name: str) -> Comparison:
        """Recompute a view from the source, as of its last batch, and compare.

        Raises:
            ForeignWriteError: WH341, its table has other columns, so that rows do not compare.
        """
        stored = self._stored(name)
        state = stored.table.last_state()
        stored.table.require_columns(state.version)
        with stored.table.translated():
            expected = self._recomputed(stored, batch_of(name, state))
            return compared(name, state.version, expected, stored.table.read(state.version))

    def repair(self, name: str, number: int | None = None) -> int:
        """Replace a view by its recomputation, in one commit; the table's new version.

        Also for a view that somebody else wrote to, and for one whose table has gone.

        Args:
            number: the batch to recompute it as of; the last one that it has seen unless given.
                For a view with a loader it must be given, and be what the sources have: a loader
                computes that, and with a lower number a batch would be applied twice.
        Raises:
            RuntimeStateError: RT401, nothing was loaded yet; RT409, no number for a loader.
        """
        with self._turn:
            return self._repair(self._stored(name), number)

    def _repair(self, stored: Stored, number: int | None) -> int:
        from warehouse.tables import MissingTableError

        name, table = stored.name, stored.table
        journal = self._store.learn()
        state = table.last_state()
        batch = batch_of(name, state)
        if number is None and name in self._loaders:
            raise unnumbered(f"the loader of view `{name}` computes", f"repair({name!r}, ", batch)
        batch = batch if number is None else whole_number(number)
        expected: int | None
        try:
            expected = table.newest()  # before the rows are computed
        except MissingTableError:
            expected = None
        with _unchanged(name, f"repair({name!r})"):
            rows = self._recomputed(stored, batch)
        if expected is None:
            expected = _newest(table)
        # The batches that one which was extended brought with it must still be recognised.
        first = state.extended_from if batch == state.batch else None
        commit = table.replace(expected, batch, rows, {"repair": batch}, extended_from=first)
        self._store.record_one(name, commit, follows=journal)
        return commit.version

    def optimize(self, name: str) -> tuple[str, ...]:
        """Z-order a view's table by the columns that its plans look up most; these are returned."""
        stored = self._stored(name)
        columns = [field.name for field in stored.table.columns]
        order = tuple(columns[i] for i in lookup_columns(self.program.view(name)))
        with self._turn:
            stored.table.optimize(order)
        return order

    def history(self, name: str) -> DataFrame:
        """The batches of a view: batch, version, is_changed, and what was recorded as JSON."""
        from pyspark.sql import functions as sf

        self._stored(name)
        lines = self._store.history().where(sf.col("view") == name)
        return lines.select("batch", "version", "is_changed", "info").orderBy("batch")

    def reports(self) -> DataFrame:
        """The reports of all batches, a line per batch and view, in columns and whole as JSON.

        They are kept in the journal, the Delta table `_selfmaint/batches` in the warehouse's
        folder. A batch whose process died after the last view's commit and before the journal's is
        not lost, but it has no report.
        """
        return report_columns(self._store.history())


@contextmanager
def _unchanged(view: str, call: str) -> Iterator[None]:
    """A block that asks for a whole view: where that fails, the error says what to do about it."""
    try:
        yield
    except (SourceError, ColumnError) as error:
        error.add_state(f"View `{view}` is as it was", f"then run `{call}` again")
        raise


def _newest(table: ViewTable) -> int:
    """The table's newest version; it is made anew, empty, if it has gone."""
    from warehouse.tables import MissingTableError

    try:
        return table.newest()
    except MissingTableError:
        table.remake()
        return table.newest()


def _replay_of(stored: Stored) -> ViewReport:
    return ViewReport(stored.name, stored.table.known.version, is_replay=True)
