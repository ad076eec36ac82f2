"""Time: the real one, and one that only moves when somebody waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


class Clock(Protocol):
    """What can wait, and give up on work that takes too long."""

    def now(self) -> float:
        """Seconds since some moment."""

    def sleep(self, seconds: float) -> None: ...

    def within(self, seconds: float, work: Callable[[], T], spark: SparkSession | None) -> T:
        """What `work` returns.

        Args:
            spark: where the work runs its jobs; where possible they are stopped when time is up.
        Raises:
            TimeoutError: it took longer.
        """


class VirtualClock:
    """A clock for tests: waiting takes no time and is exact. All threads wait one after another."""

    def __init__(self) -> None:
        self._now = 0.0
        self._moving = threading.Lock()
        self._own = _Deadlines()

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        with self._moving:
            until = self._now + seconds
            deadline = min(self._own.deadlines, default=until)
            self._now = max(self._now, min(until, deadline))  # others may be later already
        if until > deadline:
            raise TimeoutError

    def within(self, seconds: float, work: Callable[[], T], spark: SparkSession | None) -> T:
        self._own.deadlines.append(self._now + seconds)
        try:
            return work()
        finally:
            self._own.deadlines.pop()


class _Deadlines(threading.local):
    def __init__(self) -> None:
        self.deadlines: list[float] = []


class RealClock:
    """The clock on the wall.

    Work with a time limit runs in a thread of its own, which is left alone when time is up: its
    `sleep` ends, by whichever clock it sleeps, and its Spark jobs are stopped, but other waiting
    may go on behind the scenes.
    """

    _own: ClassVar = threading.local()

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        given_up: threading.Event | None = getattr(self._own, "given_up", None)
        if given_up is None:
            time.sleep(seconds)
        elif given_up.wait(seconds):
            raise TimeoutError

    def within(self, seconds: float, work: Callable[[], T], spark: SparkSession | None) -> T:
        results: list[T] = []
        errors: list[BaseException] = []
        given_up = threading.Event()

        def run() -> None:
            self._own.given_up = given_up
            try:
                results.append(work())
            except BaseException as error:  # noqa: BLE001  raised again below, in the caller's thread
                errors.append(error)

        with _tagged(spark) as stop:
            thread = _thread(run, spark)
            thread.start()
            thread.join(seconds)
            if thread.is_alive():
                given_up.set()
                stop()
                raise TimeoutError
        if errors:
            raise errors[0]
        return results[0]


@contextmanager
def _tagged(spark: SparkSession | None) -> Iterator[Callable[[], object]]:
    """A tag for the jobs of this thread and of those that it starts; what this gives stops them.

    A classic session stops the jobs of a tag only for the thread that runs them; its context stops
    them for all.
    """
    tag = f"selfmaint-{uuid4()}"
    context = getattr(spark, "sparkContext", None)
    if spark is None:
        yield lambda: None
    elif context is None:
        spark.addTag(tag)
        try:
            yield lambda: spark.interruptTag(tag)
        finally:
            spark.removeTag(tag)
    else:
        context.addJobTag(tag)
        try:
            yield lambda: context.cancelJobsWithTag(tag)
        finally:
            context.removeJobTag(tag)


def _thread(run: Callable[[], None], spark: SparkSession | None) -> threading.Thread:
    """A thread that does not keep the process alive, with the caller's job group and tags."""
    if spark is None:
        return threading.Thread(target=run, daemon=True)
    from pyspark import InheritableThread

    return InheritableThread(target=run, session=spark, daemon=True)
