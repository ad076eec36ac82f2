"""What a batch does to the views of a warehouse, before anything is committed.

Deciding a view is mostly planning, which keeps one core of the driver busy, and asking, which keeps
none busy. So views that no change meets are spared first, all together, and the others are decided
side by side, each in a thread of its own. They only read: nothing is committed until every view is
decided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from selfmaint.counting import irrelevant, verdicts
from selfmaint.errors import RuntimeStateError
from selfmaint.measure import JobCount, StageClock
from selfmaint.report import Count
from selfmaint.stored import Stored
from warehouse.columns import ColumnError
from warehouse.sources import Answer, Cost, Join, Source, SourceError, ask
from warehouse.tables import State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lookups.spark import Answers, Ask, Changes, Index, Maintained

A = TypeVar("A")
B = TypeVar("B")

MOST_AT_ONCE: Final = 4
"""Views that are decided side by side."""


@dataclass(frozen=True, slots=True)
class Patience:
    """With a source: seconds for one question, None for any, and how often to ask again."""

    limit_seconds: float | None
    retries: int


@dataclass(frozen=True)
class Task:
    """A view that a batch is to be decided for.

    Args:
        state: of its table; the batch is decided on these rows.
        by_slices: the source knows only whole rows of the view.
        skipped: relations whose insertions are not looked up.
        index: of the view's rows in that state.
    """

    stored: Stored
    state: State
    source: Source
    by_slices: bool
    patience: Patience
    skipped: frozenset[str]
    index: Index


@dataclass(frozen=True)
class Decision:
    """What a batch does to a view.

    Args:
        counts: the verdicts.
        done: None if the batch has nothing to do with the view.
        files_read, files, rows_read, rows: see `ViewReport`.
        cost: what the source was asked.
        clock: of the stages so far.
        jobs: Spark jobs so far; None if they cannot be told from others.
        answered_as_of: the source answered as of this version, which is later than that in which
            the batch ends, so nothing is decided; None if all is.
    """

    task: Task
    counts: tuple[Count, ...]
    done: Maintained | None = None
    files_read: int = 0
    files: int = 0
    rows_read: int = 0
    rows: int = 0
    cost: Cost = field(default_factory=Cost)
    clock: StageClock = field(default_factory=StageClock)
    jobs: int | None = 0
    answered_as_of: int | None = None

    @property
    def index(self) -> Index:
        """Of the view with the batch."""
        return self.task.index if self.done is None else self.done.index


def decide_all(
    spark: SparkSession,
    tasks: Sequence[Task],
    changes: Mapping[str, Changes],
    number: int,
    jobs: JobCount,
) -> list[Decision]:
    """Decide a batch for each of these views, in their order.

    Raises:
        SourceError, RuntimeStateError: of the first view that could not be decided.
    """
    from lookups.spark import gathered, touched

    hits = touched([task.stored.query for task in tasks], changes)
    affected = [task for task, is_hit in zip(tasks, hits, strict=True) if is_hit]
    jobs.more()
    if len(affected) == 1:
        found = [replace(decide(spark, affected[0], changes, number), jobs=jobs.more())]
    else:
        together = gathered(changes)

        def alone(task: Task) -> Decision:
            with jobs.aside() as count:
                return replace(decide(spark, task, together, number), jobs=count())

        found = side_by_side(spark, alone, affected)
    decided = iter(found)
    return [
        next(decided) if is_hit else _spared(task, changes)
        for task, is_hit in zip(tasks, hits, strict=True)
    ]


def _spared(task: Task, changes: Mapping[str, Changes]) -> Decision:
    """No change of the batch meets the view."""
    return Decision(task, tuple(irrelevant(changes, task.stored.relations)))


def decide(
    spark: SparkSession, task: Task, changes: Mapping[str, Changes], number: int
) -> Decision:
    """Decide a batch for one view that it may change, or learn that the source has moved on."""
    from pyspark import inheritable_thread_target

    from lookups.spark import Answers, maintain

    stored, clock = task.stored, StageClock()
    costs: list[Cost] = []

    def answer(asked: Ask, keys: DataFrame | None) -> Answers:
        join = Join(
            stored.query,
            asked.subgoals,
            asked.comparisons,
            asked.bound,
            asked.wanted,
            asked.is_slice,
        )
        with clock.stage("source"):
            found = ask(
                task.source,
                join,
                keys,
                number,
                limit_seconds=task.patience.limit_seconds,
                retries=task.patience.retries,
            )
        costs.append(found.cost)
        if found.version > number:
            raise _LaterAnswer(found.version)
        return Answers(found.frame, found.rows)

    inheriting = inheritable_thread_target(spark)
    try:
        with (
            stored.table.unchanged(task.state.version, number),
            clock.stage("decide"),
            ThreadPoolExecutor(2) as beside,
        ):
            reading = _Reading(stored, task.state.version, beside, inheriting)
            size = beside.submit(inheriting(stored.table.size), task.state.version)
            # An index is of the rows that we know, which a copy of the folder may not have.
            is_ours = beside.submit(inheriting(stored.table.compare)) if task.index.size else None
            done = maintain(
                stored.query,
                stored.table.read(task.state.version),
                changes,
                answer,
                by_slices=task.by_slices,
                skipped=task.skipped,
                index=task.index,
                reading=reading,
            )
            if is_ours is not None:
                is_ours.result()
            rows_read = stored.table.rows_in(sorted(reading.files))
    except (SourceError, ColumnError) as error:
        error.add_state(f"View `{stored.name}` is unchanged at version {task.state.version}")
        raise
    except _LaterAnswer as later:
        return Decision(task, (), cost=sum(costs, Cost()), answered_as_of=later.version)
    others = {name: c for name, c in changes.items() if name not in stored.relations}
    counts = (*verdicts(done.counts), *irrelevant(others, stored.relations))
    return Decision(
        task,
        counts,
        replace(done, index=done.index.noting(done.met, rows_read, size.result().rows)),
        files_read=len(reading.files),
        files=size.result().files,
        rows_read=rows_read,
        rows=size.result().rows,
        cost=sum(costs, Cost()),
        clock=clock,
    )


@dataclass
class _Reading:
    """What a batch reads of a view's table.

    Args:
        beside: for what can be done while the batch is being prepared, in a thread that inherits
            from this one by `inheriting`.
    """

    stored: Stored
    version: int
    beside: ThreadPoolExecutor
    inheriting: Callable[[Callable[[], object]], Callable[[], object]]
    files: set[str] = field(default_factory=set)
    is_prepared: bool = False

    def is_likely(self) -> None:
        """Have Delta compute the version's state, which whoever reads it first waits for."""
        if not self.is_prepared:
            self.is_prepared = True
            self.beside.submit(self.inheriting(partial(self.stored.table.rows, self.version)))

    def begins(self, scanned: DataFrame) -> bool:
        files = self.stored.table.files_of(scanned)
        self.files.update(files or ())
        return files is None or bool(files)


class _LaterAnswer(Exception):
    """The source answered as of a later version than that in which the batch ends."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


def require_version(answer: Answer, version: int, view: str) -> None:
    """Refuse an answer that is as of a later version."""
    if answer.version > version:
        raise RuntimeStateError(
            "RT404",
            f"the source answered as of version {answer.version}, not as of version {version}. "
            f"View `{view}` is unchanged",
            "apply the batches up to that version first, or run `load()`, which takes the views to "
            "what the source has now: batches up to the version that it returns are in them then",
        )


def side_by_side(spark: SparkSession, work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """What `work` makes of each item; the first error of one, when all have ended.

    Each begins with the caller's job group and tags, and with a copy of its own: what PySpark wraps
    shares one set of them among all threads that run it, and what one sets, all have.
    """
    from pyspark import inheritable_thread_target

    with ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="selfmaint") as pool:
        futures = [pool.submit(inheritable_thread_target(spark)(work), item) for item in items]
    return [future.result() for future in futures]
