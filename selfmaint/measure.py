"""What a batch took: the seconds of its stages, and the jobs that Spark ran."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from selfmaint.report import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class StageClock:
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


JOB_GROUP: Final = "spark.jobGroup.id"


class JobCount:
    """Counts the Spark jobs that this thread, and threads that inherit from it, start in a block.

    Spark finds the jobs of a group. A group that the caller has set stays: jobs of the block are
    those that it did not have before, and what other threads run under it at that time counts as
    well. Without one, the block has a group of its own. The status tracker hears of a job some
    milliseconds after its start. Over Spark Connect there is no tracker, and no count.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._context = getattr(spark, "sparkContext", None)
        self._is_own = False
        self._groups: list[str] = []
        self._seen: set[int] = set()
        self._total = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        context = self._context
        if context is None:
            yield
            return
        given = context.getLocalProperty(JOB_GROUP)
        if given:
            self._groups = [given]
            self._seen = self._known()
            yield
            return
        self._is_own = True
        with self._new_group():
            yield

    @contextmanager
    def aside(self) -> Iterator[Callable[[], int | None]]:
        """Count the jobs of this thread, one of several that work for the block, on their own.

        What this gives tells how many there are so far. They cannot be told apart under the
        caller's group. They are part of the block's total.
        """
        if self._context is None or not self._is_own:
            yield lambda: None
            return
        with self._new_group() as group:
            yield lambda: len(self._jobs(group))

    @contextmanager
    def _new_group(self) -> Iterator[str]:
        context, group = self._context, f"selfmaint-{uuid4()}"
        assert context is not None
        before = context.getLocalProperty(JOB_GROUP)
        self._groups.append(group)
        context.setLocalProperty(JOB_GROUP, group)
        try:
            yield group
        finally:
            context.setLocalProperty(JOB_GROUP, before)

    def _jobs(self, group: str) -> list[int]:
        assert self._context is not None
        return list(self._context.statusTracker().getJobIdsForGroup(group))

    def _known(self) -> set[int]:
        return {job for group in self._groups for job in self._jobs(group)}

    def more(self) -> int | None:
        """How many jobs there were since the last call, or since the block began."""
        if self._context is None:
            return None
        new = self._known() - self._seen
        self._seen |= new
        self._total += len(new)
        return len(new)

    def total(self) -> int | None:
        """How many jobs there were since the block began."""
        self.more()
        return None if self._context is None else self._total
