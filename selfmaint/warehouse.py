"""A warehouse: the views of a program as Delta tables that maintain themselves.

    warehouse = Warehouse.open(spark, path, program, source=source)
    warehouse.load()                        # once: the views, computed from the source
    report = warehouse.apply({"orders": changes})
    warehouse.view("sales").read()

A batch is decided view by view from the view's own rows (`lookups.spark`), the source is asked for
what is left, and each view changes in one commit. A batch that was applied is recognised before any
work, so after an error the same batch is applied again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from cq.diagnostics import Diagnostic, InputError, SelfmaintError, did_you_mean, shorten
from cq.printer import print_relation, print_rule
from cq.query import Query
from cq.syntax import Const, Var
from cq.types import ANY, Type, constant_type
from lookups.plan import ACTIONS
from selfmaint.cli.rows import column_names
from selfmaint.program import Program
from selfmaint.report import Count, Report, Stage, ViewReport
from warehouse.batches import Changes, checked
from warehouse.columns import spark_type, struct_type
from warehouse.requirements import require
from warehouse.sources import Answer, Cost, Join, Source, ask, whole
from warehouse.tables import Commit, Place, State, Store, ViewSpec, ViewTable
from warehouse.tables import Program as StoredProgram

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lookups.spark import Ask, Decided, Maintained

SAMPLE: Final = 20
"""How many differing rows `verify` shows."""


class RuntimeStateError(SelfmaintError):
    """A warehouse that cannot do what was asked in the state that it is in.

    Attributes:
        code: stable code, such as `RT401`.
        help: the next step.
    """

    def __init__(self, code: str, message: str, *help: str) -> None:
        super().__init__(Diagnostic(code, message, help=help).render("", ""))
        self.code = code
        self.message = message
        self.help = help


@dataclass(frozen=True)
class Comparison:
    """A view compared with its recomputation.

    Args:
        version: of the view's table.
        missing, surplus: how many rows the view lacks, and has too many.
        sample: some of these rows, with a column `difference`: `missing` or `surplus`.
    """

    view: str
    version: int
    rows: int
    missing: int
    surplus: int
    sample: DataFrame

    @property
    def is_right(self) -> bool:
        return not self.missing and not self.surplus


class WarehouseView:
    """One view of a warehouse."""

    def __init__(self, table: ViewTable, name: str) -> None:
        self.name = name
        self._table = table

    def read(self, version: int | None = None) -> DataFrame:
        """The rows, now or as of a version of the view's table."""
        return self._table.read(version)


@dataclass(frozen=True)
class _Stored:
    """A view with its table.

    Args:
        query: the analysed view; one without columns has the constant `true` as its only one.
        normal: the definition as written, for recomputation.
    """

    name: str
    query: Query
    normal: Query
    table: ViewTable


class Warehouse:
    """The views of a program; made by `Warehouse.open`."""

    def __init__(self, spark: SparkSession, program: Program, store: Store, source: Source) -> None:
        self._spark = spark
        self._program = program
        self._store = store
        self._source = source
        self._views = {
            name: _Stored(
                name,
                _with_column(program.view(name).query),
                _with_column(program.view(name).normal),
                store.views[name],
            )
            for name in program.views
        }

    @classmethod
    def open(cls, spark: SparkSession, path: str, program: Program, *, source: Source) -> Warehouse:
        """Open the warehouse in a folder, or make it there if the folder is empty.

        Args:
            spark: a session that `warehouse.session` built, or one that passes its `require`.
            source: who holds the program's relations.
        Raises:
            UnfitSessionError: WH301, what the session lacks.
            ProgramChangedError: WH346, the folder was made for another program.
            ColumnError: WH320, a relation without declared types.
            InputError: RT402, the source does not hold a relation.
        """
        require(spark)
        if missing := sorted(set(program.relations) - source.relations):
            raise InputError(
                "RT402",
                f"source `{source.name}` holds no relation `{missing[0]}`",
                *did_you_mean(missing[0], source.relations),
            )
        stored = StoredProgram(
            tuple(_spec(program, name) for name in program.views),
            {name: print_relation(relation) for name, relation in program.relations.items()},
        )
        for relation in program.relations.values():
            struct_type(relation)  # refuses a relation without types before anything is made
        return cls(spark, program, Store.open(spark, path, stored), source)

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

    def _stored(self, name: str) -> _Stored:
        if name not in self._views:
            raise InputError(
                "RT403", f"there is no view `{shorten(name)}`", *did_you_mean(name, self._views)
            )
        return self._views[name]

    # Loading

    def load(self) -> int:
        """Compute every view from the source, as of its newest version, which is returned.

        Each view is replaced in one commit. The next batch is the one after this version.
        """
        version = self._source.version()
        commits = {}
        for stored in self._views.values():
            expected = stored.table.newest()
            rows = self._recomputed(stored, version)
            commits[stored.name] = stored.table.replace(expected, version, rows, {"load": version})
        self._store.record(version, commits)
        return version

    def _recomputed(self, stored: _Stored, version: int) -> DataFrame:
        join = whole(stored.normal)
        answer = ask(self._source, join, None, version)
        _require_version(answer, version, stored.name)
        return _view_rows(stored, join, answer.frame)

    # Batches

    def apply(self, batch: Mapping[str, DataFrame], number: int | None = None) -> Report:
        """Maintain every view that a batch of net changes touches.

        Args:
            batch: relation to its changes: the relation's columns, and `change` with `insert` or
                `delete`. `warehouse.batches.netted` makes one from an ordered log.
            number: of the batch, which is also the version of the source that it ends in. The next
                one unless given. A number that was applied already changes nothing.
        Raises:
            BatchError, ColumnError: the batch is not one; nothing was changed.
            BatchOrderError: WH342, a gap or an older number.
            SourceError: the source failed; views that are done stay done, and the same batch
                applied again does the rest.
            ConflictError, ForeignWriteError: somebody else writes, or wrote, to a view.
        """
        started = time.monotonic()
        states = self._store.states()
        if number is None:
            number = self._next(states)
        places = self._store.check_batch(number, states)
        if all(place is Place.REPLAY for place in places.values()):
            return self._replayed(number, started)
        changes = checked(self._program.relations, batch)
        reports, commits = [], {}
        for stored in self._views.values():
            if places[stored.name] is Place.REPLAY:
                reports.append(self._replay_of(stored))
                continue
            report, commit = self._maintain(stored, states[stored.name], changes, number)
            reports.append(report)
            commits[stored.name] = commit
        self._store.record(number, commits)
        return Report(number, tuple(reports), time.monotonic() - started)

    @staticmethod
    def _next(states: Mapping[str, State]) -> int:
        """The number of the next batch: what the views have seen, plus one."""
        seen = {state.batch for state in states.values()}
        if None in seen:
            raise RuntimeStateError(
                "RT401",
                "the warehouse was not loaded yet, so its batches have no number",
                "run `load()`, or give the first batch a number",
            )
        # After a crash some views are ahead by one: then this batch is to be finished first.
        least = min(number for number in seen if number is not None)
        return least + 1

    def _replayed(self, number: int, started: float) -> Report:
        reports = tuple(self._replay_of(stored) for stored in self._views.values())
        self._store.record(number, {})
        return Report(number, reports, time.monotonic() - started)

    @staticmethod
    def _replay_of(stored: _Stored) -> ViewReport:
        return ViewReport(stored.name, stored.table.known.version, is_replay=True)

    def _maintain(
        self, stored: _Stored, state: State, changes: Mapping[str, Changes], number: int
    ) -> tuple[ViewReport, Commit]:
        from lookups.spark import maintain

        table = stored.table
        clock = _Clock()
        costs: list[Cost] = []

        def answer(asked: Ask, keys: DataFrame | None) -> DataFrame:
            join = Join(
                stored.query,
                asked.subgoals,
                asked.comparisons,
                asked.bound,
                asked.wanted,
                asked.is_slice,
            )
            with clock.stage("source"):
                found = ask(self._source, join, keys, number)
            _require_version(found, number, stored.name)
            costs.append(found.cost)
            return found.frame

        used = {atom.predicate for atom in stored.query.atoms}
        mine = {name: c.frame for name, c in changes.items() if name in used}
        if not mine:
            counts = tuple(_unused(changes))
            commit = table.commit(state.version, number, inserts=None, deletes=None, info={})
            return ViewReport(stored.name, state.version, counts), commit
        with clock.stage("decide"):
            size = sum(change.inserts + change.deletes for change in changes.values())
            done = maintain(stored.query, table.read(state.version), mine, answer, size)
        with clock.stage("count"):
            counts, lookups, asking = _verdicts(stored.query, done)
        counts = (*counts, *_unused({n: c for n, c in changes.items() if n not in used}))
        info = {"verdicts": _by_kind(counts), "questions": len(done.asks)}
        with clock.stage("commit"):
            commit = table.commit(
                state.version,
                number,
                inserts=done.inserts if done.inserted else None,
                deletes=done.deletes if done.deleted else None,
                info=info,
            )
        report = ViewReport(
            stored.name,
            commit.version,
            counts,
            lookups,
            sum(costs, Cost()),
            self._traditional(asking, costs),
            done.inserted,
            done.deleted,
            clock.stages(),
        )
        return report, commit

    def _traditional(self, asking: Sequence[int], costs: Sequence[Cost]) -> Cost:
        """What one question per changed subgoal would have cost, with all its keys."""
        keys = sum(asking)
        latency = getattr(self._source, "latency", None)
        if latency is None:
            total = sum(costs, Cost())
            latency = total.seconds / total.questions if total.questions else 0.0
        per_row = getattr(self._source, "per_row_sent", 0.0)
        return Cost(len(asking), keys, 0, 0, len(asking) * latency + keys * per_row)

    # Checks

    def verify(self, name: str) -> Comparison:
        """Recompute a view from the source, as of its last batch, and compare."""
        from pyspark.sql import functions as sf

        stored = self._stored(name)
        state = stored.table.state()
        if state.batch is None:
            raise RuntimeStateError("RT401", f"view `{name}` was not loaded yet", "run `load()`")
        expected = self._recomputed(stored, state.batch)
        found = stored.table.read(state.version)
        missing = expected.exceptAll(found).withColumn("difference", sf.lit("missing"))
        surplus = found.exceptAll(expected).withColumn("difference", sf.lit("surplus"))
        differing = missing.unionByName(surplus).localCheckpoint()
        rows = differing.groupBy("difference").count().collect()
        counts = {row["difference"]: row["count"] for row in rows}
        return Comparison(
            name,
            state.version,
            found.count(),
            counts.get("missing", 0),
            counts.get("surplus", 0),
            differing.limit(SAMPLE),
        )

    def repair(self, name: str) -> int:
        """Replace a view by its recomputation, in one commit; the table's new version.

        Also for a view that somebody else wrote to, and for one whose table has gone.
        """
        from warehouse.tables import ForeignWriteError, MissingTableError

        stored = self._stored(name)
        table = stored.table
        try:
            batch = table.state().batch
        except ForeignWriteError:
            batch = table.known.batch
        except MissingTableError:
            batch = table.known.batch
            table.remake()
        if batch is None:
            raise RuntimeStateError("RT401", f"view `{name}` was not loaded yet", "run `load()`")
        expected = table.newest()
        rows = self._recomputed(stored, batch)
        commit = table.replace(expected, batch, rows, {"repair": batch})
        self._store.record(batch, {name: commit})
        return commit.version

    def optimize(self, name: str) -> tuple[str, ...]:
        """Z-order a view's table by the columns that its plans look up most; these are returned."""
        stored = self._stored(name)
        columns = [field.name for field in stored.table.columns]
        order = tuple(columns[i] for i in lookup_columns(self._program, name))
        stored.table.optimize(order)
        return order

    def history(self, name: str) -> DataFrame:
        """The batches of a view: batch, version, is_changed, and its verdict counts as JSON."""
        from pyspark.sql import functions as sf

        self._stored(name)
        lines = self._store.history().where(sf.col("view") == name)
        return lines.select("batch", "version", "is_changed", "info").orderBy("batch")


MOST_COLUMNS: Final = 3
"""Columns to Z-order by. With more, each of them hardly narrows a lookup down."""


def lookup_columns(program: Program, name: str) -> tuple[int, ...]:
    """The columns that most lookups of a view's plans name, the most frequent first."""
    view = program.view(name)
    weights: dict[int, int] = {}
    for relation in view.relations:
        for action in ACTIONS:
            for lookup in view.plan(relation, action).lookups():
                for column in lookup.columns:
                    weights[column] = weights.get(column, 0) + 1
    return tuple(sorted(weights, key=lambda column: (-weights[column], column))[:MOST_COLUMNS])


# A view's table


def _with_column(query: Query) -> Query:
    """A table has at least one column: that of a view without columns holds `true`."""
    return query if query.head else replace(query, head=(Const(True),))


def _spec(program: Program, name: str) -> ViewSpec:
    view = program.view(name)
    query = _with_column(view.query)
    types = view.query.types or (ANY,)
    names = _unique(column_names(program, name) or ("holds",))
    columns = [
        (column, spark_type(_column_type(term, kind)))
        for column, term, kind in zip(names, query.head, types, strict=True)
    ]
    return ViewSpec(name, print_rule(view.normal.rule()), tuple(columns))


def _column_type(term: object, declared: Type) -> Type:
    return constant_type(term.value) if isinstance(term, Const) else declared


def _unique(names: Sequence[str]) -> list[str]:
    """Names that differ also where case does not count: the second `x` is `x_2`."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return found


def _view_rows(stored: _Stored, join: Join, frame: DataFrame) -> DataFrame:
    """The rows of a view from the values of its variables."""
    from pyspark.sql import functions as sf

    from lookups.spark.columns import literal

    place = {var: f"w{i}" for i, var in enumerate(join.wanted)}
    fields = stored.table.columns.fields
    cells = [
        (sf.col(place[term]) if isinstance(term, Var) else literal(term.value))
        .cast(field.dataType)
        .alias(field.name)
        for term, field in zip(stored.normal.head, fields, strict=True)
    ]
    return frame.select(*cells)


def _require_version(answer: Answer, version: int, view: str) -> None:
    if answer.version > version:
        raise RuntimeStateError(
            "RT404",
            f"the source answered as of version {answer.version}, but the batch ends at version "
            f"{version}. View `{view}` is unchanged",
            f"apply the changes up to version {answer.version} as one batch with that number",
        )


# What was decided, counted


def _verdicts(query: Query, done: Maintained) -> tuple[tuple[Count, ...], int, tuple[int, ...]]:
    """The verdicts by relation, action, kind and rule, and the lookups made; in one job.

    Also how many changes the traditional plan would have asked the source about, per subgoal.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sf

    from lookups.spark.rounds import IRRELEVANT, KINDS

    parts = reduce(DataFrame.unionByName, [_part(query, part) for part in done.decided])
    relevant = sf.col("kind") != IRRELEVANT
    rows = (
        parts.groupBy("relation", "insert", "id")
        .agg(
            sf.max(sf.struct("kind", "rule")).alias("verdict"),
            sf.sum("lookups").alias("lookups"),
            *(
                sf.max((sf.col("subgoal") == p.subgoal) & relevant).alias(f"s{p.subgoal}")
                for p in done.decided
            ),
        )
        .groupBy("relation", "insert", "verdict")
        .agg(
            sf.count(sf.lit(1)).alias("changes"),
            sf.sum("lookups").alias("lookups"),
            *(sf.count_if(sf.col(f"s{p.subgoal}")).alias(f"s{p.subgoal}") for p in done.decided),
        )
        .collect()
    )
    counts = tuple(
        sorted(
            (
                Count(
                    row["relation"],
                    ACTIONS[0] if row["insert"] else ACTIONS[1],
                    str(KINDS[row["verdict"]["kind"]]),
                    row["verdict"]["rule"],
                    row["changes"],
                )
                for row in rows
            ),
            key=lambda count: (count.relation, count.action, count.kind, count.rule),
        )
    )
    asking = [sum(row[f"s{p.subgoal}"] for row in rows) for p in done.decided]
    return counts, sum(row["lookups"] for row in rows), tuple(n for n in asking if n)


def _part(query: Query, part: Decided) -> DataFrame:
    from pyspark.sql import functions as sf

    words = [name for name in part.frame.columns if name.startswith("asked")]
    lookups = reduce(lambda a, b: a + b, (sf.bit_count(sf.col(word)) for word in words))
    return part.frame.select(
        sf.lit(query.atoms[part.subgoal].predicate).alias("relation"),
        sf.lit(part.subgoal).alias("subgoal"),
        "id",
        "insert",
        "kind",
        "rule",
        lookups.cast("long").alias("lookups"),
    )


def _unused(changes: Mapping[str, Changes]) -> Iterator[Count]:
    from lookups.verdict import Because, Kind

    for name, change in sorted(changes.items()):
        for action, number in (("insert", change.inserts), ("delete", change.deletes)):
            if number:
                yield Count(name, action, str(Kind.IRRELEVANT), str(Because.UNUSED), number)


def _by_kind(counts: Sequence[Count]) -> dict[str, int]:
    found: dict[str, int] = {}
    for count in counts:
        found[count.kind] = found.get(count.kind, 0) + count.changes
    return found


class _Clock:
    """Seconds per stage; a stage inside another one is not counted twice."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._inner = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started, outer = time.monotonic(), self._inner
        self._inner = 0.0
        try:
            yield
        finally:
            taken = time.monotonic() - started
            self._seconds[name] = self._seconds.get(name, 0.0) + taken - self._inner
            self._inner = outer + taken

    def stages(self) -> tuple[Stage, ...]:
        return tuple(Stage(name, seconds) for name, seconds in self._seconds.items())
