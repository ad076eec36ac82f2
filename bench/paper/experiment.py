"""The experiment: a view, streams of insertions, and a source that charges for its answers."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeAlias

import selfmaint
from cq.types import Row
from lookups.live import LiveIndex
from lookups.maintain import Question, ask

TEXT: Final = """
.decl r(u: int, x: int, y: int)
.decl s(x: int, z: int)
v(X, Y, Z) :- r(U, X, Y), s(X, Z).
"""
VIEW: Final = selfmaint.parse(TEXT).view("v")
VALUES: Final = 100
"""`s` holds (x, z) for x and z in 1..100."""

RHOS: Final = (1, 4, 10, 40, 100)
S: Final = frozenset((x, z) for x in range(1, VALUES + 1) for z in range(1, VALUES + 1))

Change: TypeAlias = tuple[str, str, Row]


@dataclass(frozen=True, slots=True)
class Mix:
    """Insertions into `r` over u in 1..u, x in 1..x, y in 1..y, nested in that order."""

    u: int
    x: int
    y: int

    @property
    def changes(self) -> list[Change]:
        return [
            ("r", "insert", (u, x, y))
            for u in range(1, self.u + 1)
            for x in range(1, self.x + 1)
            for y in range(1, self.y + 1)
        ]

    @property
    def rows(self) -> frozenset[Row]:
        """The view after all of them, recomputed."""
        return VIEW.evaluate({"r": [row for _, _, row in self.changes], "s": S})

    def __str__(self) -> str:
        return f"({self.u}, {self.x}, {self.y})"


MIXES: Final = (Mix(1, 100, 1), Mix(1, 1, 100), Mix(10, 10, 10), Mix(2, 50, 2))
"""The four of Figure 3(a), numbered from 1."""

BY_VSM: Final = tuple(Mix(1, x, 100 // x) for x in (100, 50, 20, 10, 5, 2, 1))
"""Figure 3(b): no insertion is unaffected; the share that VSM decides grows from 0 to 99 %."""

BY_VDU: Final = tuple(Mix(u, 10, 100 // u) for u in (1, 2, 4, 5, 10, 20, 50, 100))
"""Figure 3(c): VSM holds for 99 %; the share that is unaffected grows from 0 to 99 %."""


def answer(index: LiveIndex, columns: tuple[int, int], question: Question) -> list[Row]:
    """The z-values for the x-values asked, from `s` or from the view: the same question to either.

    Args:
        columns: where x and z stand.
    """
    x, z = columns
    return [key + found for key in question.keys for found in index.distinct((x,), key, (z,))]


def question_for(count: int) -> Question:
    """The question that a missed insertion leads to, for so many values of x."""
    keys = frozenset((x,) for x in range(1, count + 1))
    return Question((1,), ("X",), ("Z",), keys)


@dataclass(frozen=True, slots=True)
class Price:
    """What a question to the view takes: `first` for one key, and `each` for every further one."""

    first: float
    each: float

    def of(self, question: Question) -> float:
        return self.first + self.each * (len(question.keys) - 1)


SOURCE: Final = LiveIndex(S, 2)
SHOWN: Final = LiveIndex(((x, 1, z) for x, z in S), 3)
"""A view that shows what `s` holds, to put the same questions to."""


def from_source(question: Question) -> list[Row]:
    return answer(SOURCE, (0, 1), question)


def from_view(question: Question) -> list[Row]:
    return answer(SHOWN, (0, 2), question)


def price(repeats: int) -> Price:
    """Measure the question to the view: asked, its answer checked and sorted by key."""

    def taken(question: Question, times: int) -> float:
        samples = []
        for _ in range(times):
            started = time.process_time()
            ask(VIEW.query, from_view, question)
            samples.append(time.process_time() - started)
        return median(samples)

    first = taken(question_for(1), repeats)
    return Price(first, (taken(question_for(VALUES), max(1, repeats // 10)) - first) / (VALUES - 1))


class Meter:
    """The source of one run, and the clock that knows its price.

    A question is really answered, from `s` with an index as in the paper, and takes what the same
    question to the view takes. The other `rho` - 1 times are charged to the clock: nobody waits for
    them. (The paper runs the query that many times more.) All else is processor time as it passes.
    """

    def __init__(self, rho: int, view_price: Price) -> None:
        self._rho = rho
        self._price = view_price
        self.charged = 0.0
        self.questions = 0
        self.keys = 0

    def source(self, question: Question) -> Iterable[Row]:
        self.charged += (self._rho - 1) * self._price.of(question)
        self.questions += 1
        self.keys += len(question.keys)
        return from_source(question)

    def clock(self) -> float:
        """What a run is measured by; to ask for processor time takes microseconds itself."""
        return time.process_time() + self.charged

    def ticks(self) -> float:
        """What a plan goes by while it runs: the clock that a maintainer has without being told."""
        return time.perf_counter() + self.charged
