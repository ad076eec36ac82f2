"""A source behind a network that does not exist: it costs time, and fails when told to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING, Final

from warehouse.sources.clock import Clock, RealClock
from warehouse.sources.join import Join
from warehouse.sources.protocol import Answer, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HANG: Final = 3600.0
"""Seconds that a source hangs for."""


class Fault(StrEnum):
    """What goes wrong with one question."""

    ERROR = "the connection breaks"
    HANG = "it does not answer for an hour"
    CUT = "the second half of the rows gets lost"
    COLUMNS = "the last column has another name"
    OLDER = "it answers as of the version before"


class SimulatedSource:
    """Another source, with the costs of a network and faults at questions chosen beforehand.

    A question costs `latency`, `per_row_sent` for each key and each row that travels, and
    `per_row_scanned` for each row of the relations asked about. The time that the source behind it
    takes is part of that, not added to it: on the real clock a question takes the longer of both.

    Args:
        faults: which questions go wrong, counted from 1, and how.
        newest_only: like a production system, answer only as of the newest version.
    """

    def __init__(
        self,
        source: Source,
        *,
        latency: float = 0.2,
        per_row_sent: float = 0.000_01,
        per_row_scanned: float = 0.000_000_1,
        clock: Clock | None = None,
        faults: Mapping[int, Fault] = {},
        newest_only: bool = False,
    ) -> None:
        self.source = source
        self.latency = latency
        self.per_row_sent = per_row_sent
        self.per_row_scanned = per_row_scanned
        self.clock = clock or RealClock()
        self.faults = dict(faults)
        self.newest_only = newest_only
        self.questions = 0
        self._counting = Lock()

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def relations(self) -> frozenset[str]:
        return self.source.relations

    def version(self) -> int:
        return self.source.version()

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        with self._counting:
            self.questions += 1
            fault = self.faults.get(self.questions)
        started = self.clock.now()
        if fault is Fault.ERROR:
            self.clock.sleep(self.latency)
            raise ConnectionError("simulated")
        if fault is Fault.HANG:
            self.clock.sleep(HANG)
        if fault is Fault.OLDER:
            version -= 1
        elif self.newest_only:
            version = max(version, self.version())
        answer = self.source.answer(join, keys, version)
        answer = replace(answer, cost=replace(answer.cost, seconds=self._seconds(answer)))
        self.clock.sleep(max(0.0, started + answer.cost.seconds - self.clock.now()))
        if fault is Fault.CUT:
            return replace(answer, frame=answer.frame.limit(answer.rows // 2))
        if fault is Fault.COLUMNS and answer.frame.columns:
            *names, last = answer.frame.columns
            return replace(answer, frame=answer.frame.toDF(*names, f"{last}_"))
        return answer

    def _seconds(self, answer: Answer) -> float:
        cost = answer.cost
        return (
            self.latency
            + self.per_row_sent * (cost.keys_sent + cost.rows_sent)
            + self.per_row_scanned * cost.rows_scanned
        )
