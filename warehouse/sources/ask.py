"""Asking a source, and believing only what can be checked."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from sysconfig import get_path
from typing import TYPE_CHECKING, Final, TypeVar

from cq.diagnostics import SelfmaintError
from warehouse.columns import misfits_of
from warehouse.sources.clock import Clock, RealClock
from warehouse.sources.errors import SourceError
from warehouse.sources.join import Join, joined
from warehouse.sources.protocol import (
    Answer,
    Cost,
    Source,
    TableSource,
    checked_tables,
    require_relations,
)
from warehouse.sources.simulated import SimulatedSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

NOT_THEIRS: Final = (Path(__file__).parent.parent, Path(get_path("stdlib")))
"""Folders of code that asks a source, or that anybody uses."""

LIBRARIES: Final = frozenset({"site-packages", "dist-packages"})
"""Folders of code that somebody has installed."""

FIRST_PAUSE: Final = 0.5
"""Seconds before the second attempt; each later pause is twice as long."""


def ask(
    source: Source,
    join: Join,
    keys: DataFrame | None,
    version: int,
    *,
    limit_seconds: float | None = 300.0,
    retries: int = 2,
    clock: Clock | None = None,
) -> Answer:
    """The answer of a source, checked: columns, types, number of rows, and version.

    Law: what is returned has the columns of `join.schema`, as many rows as the source announced,
    and is as of `version` or later. Its cost has the attempts in it that failed.

    Args:
        limit_seconds: for one attempt; None for no limit.
        retries: further attempts after an error that may pass, with growing pauses.
        clock: that of a simulated source, or the real one, unless given.
    Raises:
        SourceError: why the last attempt failed. Nothing has been changed.
        ColumnError: the source's relations have not the declared columns.
    """
    clock = clock or (source.clock if isinstance(source, SimulatedSource) else RealClock())
    spark = _session(keys)

    def limited(work: Callable[[], T]) -> Callable[[], T]:
        if limit_seconds is None:
            return work
        return lambda: clock.within(limit_seconds, work, spark)

    pause, in_vain = FIRST_PAUSE, Cost()
    for attempt in range(retries + 1):
        started = clock.now()

        def work() -> Answer:
            return checked(source, join, version, source.answer(join, keys, version))

        try:
            answer = _told(source, join, version, limited(work))
            return replace(answer, cost=in_vain + answer.cost)
        except SourceError as error:
            if not error.retryable or attempt == retries:
                if attempt:
                    error.add_note(f"asked {attempt + 1} times")
                raise
        in_vain += Cost(questions=1, seconds=clock.now() - started)
        clock.sleep(pause)
        pause *= 2
    raise AssertionError("the last attempt returns or raises")


def read_join(source: TableSource, join: Join, version: int) -> DataFrame:
    """The rows of a join without keys, not yet computed: who uses them computes them, once.

    Raises:
        SourceError: as `ask`, without further attempts.
        ColumnError: the source's relations have not the declared columns.
    """
    require_relations(source, join)
    tables = checked_tables(join, lambda relation: source.read(relation, version))
    return joined(join, tables)


def checked(source: Source, join: Join, version: int, answer: Answer) -> Answer:
    """The answer, if it is what was asked for; one job.

    Raises:
        SourceError: WH335, WH336 or WH337.
    """
    asked = _asked(source, join, version)
    if answer.version < version:
        raise SourceError(
            "WH337",
            f"{asked}, but answered as of version {answer.version}",
            "the source has fallen behind: wait until it has caught up",
            retryable=True,
        )
    if misfits := tuple(misfits_of(answer.frame.schema, join.schema)):
        raise SourceError(
            "WH336",
            f"{asked}, but answered with other columns: {'; '.join(map(str, misfits))}",
            "the source does not fit the program; compare its tables with the declarations",
        )
    received = answer.frame.count()
    if received != answer.rows:
        raise SourceError(
            "WH335",
            f"{asked}, and announced {answer.rows} rows, but {received} arrived",
            "the answer was cut short: ask again",
            retryable=True,
        )
    return answer


def _told(source: Source, join: Join, version: int, work: Callable[[], T]) -> T:
    """What `work` returns; what another program raises, in our words.

    The text of a foreign error may hold values and passwords. It is not repeated, only its kind
    and where it was raised.
    """
    try:
        return work()
    except (SelfmaintError, AssertionError, MemoryError):
        raise
    except TimeoutError:
        raise SourceError(
            "WH334",
            f"{_asked(source, join, version)}, and did not answer in time",
            "see whether the source is well, or open the warehouse with more `limit_seconds`",
            retryable=True,
        ) from None
    except Exception as error:  # noqa: BLE001  whatever the source's own code raises
        raise SourceError(
            "WH333",
            f"{_asked(source, join, version)}, and failed: {kind_of(error)}{_place_of(error)}",
            "see what the source itself reports; the error that it raised, with its text, is the "
            "`__context__` of this one",
            retryable=True,
        ) from None


def kind_of(error: BaseException) -> str:
    """The name of an error and, if it is one of Spark's, its condition; no text with values."""
    from pyspark.errors import PySparkException

    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return type(error).__name__ + (f" ({condition})" if condition else "")


def _place_of(error: BaseException) -> str:
    """Where in the code of a source that the user wrote an error was raised, if it was there."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if not any(map(path.is_relative_to, NOT_THEIRS)) and not LIBRARIES & {*path.parts}:
            return f" (in `{frame.name}`, line {frame.lineno} of {path.name})"
    return ""


def _asked(source: Source, join: Join, version: int) -> str:
    return f"source `{source.name}` was asked for {join}, as of version {version}"


def _session(keys: DataFrame | None) -> SparkSession | None:
    from pyspark.sql import SparkSession

    return keys.sparkSession if keys is not None else SparkSession.getActiveSession()
