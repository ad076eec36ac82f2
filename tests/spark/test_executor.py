"""The Spark executor says and does what the reference says and does, on chosen programs.

Programs that take long are in `tests/long`, the law for all programs is in `property_tests/spark`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import pytest

import lookups.spark.columns
import lookups.spark.execute
import selfmaint
from cq.printer import print_value
from cq.types import Row
from lookups.decide import mismatch
from lookups.emit import emit_step
from lookups.plan import Action, Screen
from lookups.spark import touched
from tests.spark.agreement import (
    check,
    check_crowded,
    check_indexed,
    check_skipped,
    check_slices,
    low_limits,
    short_memory,
)
from tests.spark.side_by_side import BY_NAME, SideBySide, named, programs
from tests.spark.worlds import VALUES, Scenario, changes_of, run, single

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_asked(scenario: Scenario, spark: SparkSession) -> None:
    assert check_slices(scenario, spark)


def check_refused(scenario: Scenario, spark: SparkSession) -> None:
    """A batch that changes more rows than a frame may hold ends with an error."""
    with pytest.raises(OverflowError, match="100 rows"):
        run(spark, scenario)


# Random programs

PROGRAMS: Mapping[str, tuple[int, ...]] = {
    "pure": (2,),
    "plain nulls": (2,),
    "exposed nulls": (10,),
    "repeats nulls": (13,),
    "comparisons repeats nulls": (9,),
    "keys": (13,),
    "keys exposed": (4, 15),
    "keys repeats": (2,),
    "foreign keys": (6,),
    "foreign keys nulls": (15,),
    "everything": (2, 8, 15),
}
"""Flavour to seeds, most of rich programs: those that `tests/mutants.txt` names, since they notice
some mutant of the executor."""


# Programs that the random ones do not reach


def scenario(
    text: str,
    before: Mapping[str, Collection[Row]],
    *,
    deletes: Mapping[str, Collection[Row]] = {},
    inserts: Mapping[str, Collection[Row]] = {},
) -> Scenario:
    after = {
        name: {*rows, *inserts.get(name, ())} - {*deletes.get(name, ())}
        for name, rows in before.items()
    }
    changes: list[tuple[Action, Mapping[str, Collection[Row]]]] = [
        ("delete", deletes),
        ("insert", inserts),
    ]
    return Scenario(
        text,
        {name: set(rows) for name, rows in before.items()},
        after,
        tuple(
            (name, action, row)
            for action, side in changes
            for name, rows in side.items()
            for row in rows
        ),
    )


TWO_KEYS = """
    .decl p(a: long, b: long, x: long) key(a) key(b)
    .decl c(k: long, a: long, b: long) key(k) references p(a)
    v(B) :- p(A, B, X), c(K, A, B), X >= 0.
    """

TWO_KEYS_IN_A_VIEW = """
    .decl p(a: long, b: long, x: long) {keys}
    .decl c(k: long, a: long, z: long) key(k) references p(a)
    v({head}) :- p(A, B, X), c(K, A, Z).
    """

UPDATES = """
    .decl o(k: long, h: long, s: string) key(k)
    .decl c(h: long, x: string, y: long)
    v(S, X, K) :- o(K, H, S), c(H, X, Y).
"""

TWO_GROUPS = """
    .decl r(h: long, x: long, y: long)
    .decl s(x: long, z: long)
    .decl t(y: long, w: long)
    v(X, Y, Z, W) :- r(H, X, Y), s(X, Z), t(Y, W).
"""

NUMBERS = [(n, d) for n in (0, 2**53 - 1, 2**53, 2**53 + 1, None) for d in (0.5, 2.0**53, 1e300)]
NEARLY = Decimal(10**6) - Decimal(10) ** -30

BY_HAND: Mapping[str, Scenario] = {
    "insertions alone need no lookup": scenario(
        ".decl t(x: long, y: long) key(x)  v(X, Y) :- t(X, Y).",
        {"t": [(1, 1)]},
        inserts={"t": [(2, 2)]},
    ),
    "a key is taken before its last owner is gone": scenario(
        TWO_KEYS,
        {"p": [(1, 7, 0)], "c": [(1, 1, 7)]},
        deletes={"p": [(1, 7, 0)]},
        inserts={"p": [(1, 8, 0), (2, 7, 1)], "c": [(2, 2, 7)]},
    ),
    "a row that does not match takes no key": scenario(
        TWO_KEYS,
        {"p": [(1, 7, 0)], "c": [(1, 1, 7)]},
        deletes={"p": [(1, 7, 0)]},
        inserts={"p": [(1, 8, 0), (2, 7, -1)], "c": [(2, 2, 7)]},
    ),
    "a key is taken by the end": scenario(
        TWO_KEYS,
        {"p": [(1, 7, 0)], "c": [(1, 1, 7)]},
        deletes={"p": [(1, 7, 0)], "c": [(1, 1, 7)]},
        inserts={"p": [(2, 7, 1)], "c": [(2, 2, 7)]},
    ),
    "an insertion that is maintained takes a key": scenario(
        TWO_KEYS_IN_A_VIEW.format(keys="key(b) key(a)", head="A, B, Z"),
        {"p": [(1, 7, 0), (2, 9, 0)], "c": [(1, 1, 100), (2, 2, 200)]},
        deletes={"p": [(1, 7, 0), (2, 9, 0)], "c": [(1, 1, 100)]},
        inserts={"p": [(2, 7, 1)]},
    ),
    "an insertion that misses takes no key": scenario(
        TWO_KEYS_IN_A_VIEW.format(keys="key(a) key(b)", head="B, Z"),
        {"p": [(1, 7, 0), (2, 9, 0)], "c": [(1, 1, 100), (2, 2, 200)]},
        deletes={"p": [(1, 7, 0), (2, 9, 0)], "c": [(1, 1, 100)]},
        inserts={"p": [(2, 7, 1)]},
    ),
    "a key that two rows share on the way": scenario(
        """
        .decl p(a: long, b: long, x: long) key(b) key(a)
        .decl c(k: long, a: long, z: long) key(k) key(a) references p(a)
        .decl e(m: long, b: long) key(m)
        .decl f(m: long, y: long) key(m)
        v(M, A, B, Y, Z) :- p(A, B, X), c(K, A, Z), e(M, B), f(M, Y).
        """,
        {
            "p": [(1, 7, 0), (2, 9, 0)],
            "c": [(1, 1, 100), (2, 2, 200)],
            "e": [(1, 7), (2, 9)],
            "f": [(1, 3), (2, 4), (5, 6)],
        },
        # Until 1 is gone 7 stands for 1 and for 2. Of 6 nothing is shown.
        deletes={"p": [(1, 7, 0), (2, 9, 0)], "c": [(1, 1, 100)]},
        inserts={"p": [(2, 7, 1)], "e": [(5, 7), (6, 7)]},
    ),
    "a key is gone as soon as one child is": scenario(
        """
        .decl p(a: long, b: long, x: long) key(a) key(b)
        .decl c(k: long, a: long) key(k) references p(a)
        .decl d(l: long, b: long) key(l) references p(b)
        v(X) :- p(A, B, X), c(K, A), d(L, B).
        """,
        {
            "p": [(1, 7, 1), (2, 5, 2), (4, 4, 4)],
            "c": [(1, 1), (2, 2), (4, 4)],
            "d": [(1, 7), (4, 4)],
        },
        # One key of p(1, 7, 1) is kept, the other one's child missed. Of p(2, 5, 2) both go, and
        # one has no child.
        deletes={"p": [(1, 7, 1), (2, 5, 2)], "c": [(2, 2)], "d": [(1, 7)]},
        inserts={"p": [(1, 8, 1)]},
    ),
    "children keep parents alive that keep theirs": scenario(
        """
        .decl g(a: long, x: long) key(a)
        .decl p(b: long, a: long) key(b) references g(a)
        .decl c(k: long, b: long) key(k) references p(b)
        v(X) :- g(A, X), p(B, A), c(K, B).
        """,
        {
            "g": [(1, 5), (2, 5), (3, 6)],  # 6: no deletion of g has it, but that of p may have
            "p": [(1, 1), (2, 2), (3, 3)],
            "c": [(1, 1), (2, 2), (3, 3)],
        },
        deletes={"g": [(1, 5)], "p": [(1, 1)], "c": [(1, 1)]},
    ),
    "a child with NULL in its key keeps its parent alive": scenario(
        """
        .decl p(b: long, x: long) key(b)
        .decl c(k: long, b: long) key(k) references p(b)
        v(K, X) :- p(B, X), c(K, B).
        """,
        {"p": [(1, 5), (2, 6)], "c": [(None, 1), (2, 2)]},
        deletes={"p": [(1, 5), (2, 6)], "c": [(None, 1), (2, 2)]},
    ),
    "a child whose key is taken keeps its parent alive": scenario(
        """
        .decl p(b: long, x: long) key(b)
        .decl c(k: long, j: long, b: long) key(k) key(j) references p(b)
        .decl d(i: long, j: long) key(i) references c(j)
        v(K, X) :- p(B, X), c(K, J, B), d(I, J).
        """,
        {"p": [(1, 5), (2, 5), (3, 6)], "c": [(1, 1, 1)], "d": [(1, 1)]},
        deletes={"p": [(1, 5)], "c": [(1, 1, 1)]},
        inserts={"c": [(1, 2, 2), (2, 1, 3)]},
    ),
    "a child that is updated keeps nothing alive": scenario(
        """
        .decl p(b: long, x: long) key(b)
        .decl c(k: long, b: long) key(k) references p(b)
        v(K, X) :- p(B, X), c(K, B).
        """,
        {"p": [(1, 5), (2, 6)], "c": [(1, 1), (2, 1)]},
        deletes={"p": [(1, 5)], "c": [(1, 1), (2, 1)]},
        inserts={"c": [(1, 2)]},
    ),
    "updates that keep a hidden join value": scenario(
        UPDATES,
        {
            "o": [(None, 0, "n"), *((k, k % 3, f"s{k}") for k in range(8))],
            "c": [(0, "a", 1), (0, "a", 2), (1, None, 1), (9, "b", 1)],
        },
        # Of 2 and 5 nothing is shown; 3 takes another value, 6 another key; NULL names no row.
        deletes={
            "o": [(None, 0, "n"), *((k, k % 3, f"s{k}") for k in range(8))],
            "c": [(9, "b", 1)],
        },
        inserts={
            "o": [(k, k % 3, f"t{k}") for k in (0, 1, 2, 4)]
            + [(3, 1, "t3"), (5, 2, None), (16, 0, "t6"), (7, 1, None), (None, 0, "m")],
            "c": [(9, "b", 2)],
        },
    ),
    "updates of rows that the view shows, and of rows that it does not": scenario(
        ".decl r(x: long, y: long)  .decl s(y: long, z: long)  v(X, Y, Z) :- r(X, Y), s(Y, Z).",
        {"r": [(1, 5), (2, 5), (3, 6)], "s": [(5, 0), (5, 1), (6, 0), (7, 0), (8, 0)]},
        deletes={"s": [(5, 0), (7, 0), (8, 0)]},
        inserts={"s": [(5, 2), (7, 2), (9, 0)]},
    ),
    "two insertions add one row": scenario(
        ".decl r(x: long, z: long, h: long)  .decl s(x: long)  v(X, Z) :- r(X, Z, H), s(X).",
        {"r": [(5, 1, 0)], "s": [(5,)]},
        inserts={"r": [(5, 2, 1), (5, 2, 2)]},
    ),
    "NULL in a key names no row": scenario(
        """
        .decl r(k: long, x: long) key(k)
        .decl s(x: long)
        v(K) :- r(K, X), s(X).
        """,
        {"r": [(None, 1), (None, 2), (3, 1)], "s": [(1,), (2,)]},
        deletes={"r": [(None, 1)]},
    ),
    "rows of an insertion with NULL in its key may be there": scenario(
        """
        .decl r(k: long, h: long, j: long) key(k)
        .decl s(j: long, z: long)
        v(K, J, Z) :- r(K, H, J), s(J, Z).
        """,
        {"r": [(None, 0, 1), (None, 0, 2), (3, 0, 2)], "s": [(1, 5), (2, 6), (2, 7)]},
        inserts={"r": [(None, 1, 1), (None, 1, 2), (4, 1, 2)], "s": [(1, 8)]},
    ),
    "rows of an insertion that shows nothing may be there": scenario(
        """
        .decl c(k: long, n: string) key(k)
        .decl o(i: long, k: long) key(i)
        v(N) :- c(K, N), o(_, K).
        """,
        {"c": [(1, "a"), (2, "b"), (3, None), (4, None), (5, "a")], "o": [(1, 1), (2, 3)]},
        inserts={"o": [(3, 2), (4, 4), (5, 5)]},
    ),
    "NULL is beyond the least and the greatest key": scenario(
        ".decl r(x: long, y: long)  .decl s(x: long)  v(X, Y) :- r(X, Y), s(X).",
        {"r": [(1, None), (2, 5), (3, 5)], "s": [(1,), (2,), (3,)]},
        deletes={"r": [(1, None), (2, 5)]},
    ),
    "the batch deletes a row without columns": scenario(
        ".decl r(x: long)  .decl n()  v(X) :- r(X), n().",
        {"r": [], "n": [()]},
        deletes={"n": [()]},
        inserts={"r": [(2,)]},
    ),
    "the batch inserts a row that does not match": scenario(
        """
        .decl r(x: long)
        .decl s(x: long, c: long, y: long) key(x)
        .decl t(y: long)
        v(X) :- r(X), s(X, 7, Y), t(Y).
        """,
        {"r": [], "s": [], "t": [(3,)]},
        inserts={"r": [(1,), (2,)], "s": [(1, 8, 3), (2, 7, None)]},
    ),
    "what is left depends on what the batch binds": scenario(
        """
        .decl r(x: long)
        .decl s(x: long, y: long) key(x)
        .decl t(y: long, z: long)
        v(X, Z) :- r(X), s(X, Y), t(Y, Z).
        """,
        {"r": [], "s": [(3, 4)], "t": [(2, 20), (4, 40)]},
        inserts={"r": [(1,), (3,)], "s": [(1, 2)]},
    ),
    "the batch and the settled view know the rest": scenario(
        """
        .decl s(x: long, a: long) key(x)
        .decl r(k: long, x: long) references s(x)
        .decl t(a: long, b: long)
        v(X, A, B) :- r(K, X), s(X, A), t(A, B).
        """,
        {"r": [(1, 9)], "s": [(9, 2)], "t": [(2, 20), (2, 21)]},
        inserts={"r": [(2, 1)], "s": [(1, 2)]},
    ),
    "a subgoal shows no row that it does not match": scenario(
        """
        .decl r(x: long, y: long)
        .decl e(a: long, b: long)
        v(X, Y, Z, U) :- r(X, Y), e(X, Y), e(Z, 5), e(U, U).
        """,
        {"r": [(9, 5)], "e": [(9, 5), (1, 5), (2, 2)]},
        inserts={"r": [(1, 3), (2, 3), (2, 2)]},
    ),
    "1 and true are two constants": scenario(
        ".decl r(x: long, y: long, b: boolean)  v(X) :- r(X, 1, true).",
        {"r": [(1, 1, True)]},
        inserts={"r": [(5, 1, True), (6, 1, False), (7, 0, True)]},
    ),
    "a constant that no column can hold": scenario(
        ".decl r(x: long, y: long)  v(X) :- r(X, Y), Y < 9223372036854775808.",
        {"r": [(1, 1)]},
        inserts={"r": [(5, 2**63 - 1)]},
    ),
    "numbers of different types compare exactly": scenario(
        # Spark alone would take 2**53 + 1 for 2**53 beside a double, and round decimals.
        """
        .decl t(n: long, d: double)
        .decl s(n: long, m: decimal(38, 30))
        v(N, D, M) :- t(N, D), s(K, M), N > D, K <= D, K != M.
        """,
        {"t": NUMBERS[1::2], "s": [(2**53 + 1, Decimal(10**6)), (10**6, Decimal(10**6))]},
        inserts={"t": NUMBERS[::2], "s": [(2**53, NEARLY), (10**6, NEARLY)]},
    ),
    "nothing is left for one insertion, and something for another": scenario(
        """
        .decl r(x: long)
        .decl s(x: long, y: long) key(x)
        .decl t(y: long, z: long)
        v(X, Y, Z) :- r(X), s(X, Y), t(Y, Z).
        """,
        {"r": [(3,)], "s": [(1, 2), (3, 4)], "t": [(2, 5), (4, 6)]},
        deletes={"s": [(1, 2)]},
        inserts={"r": [(1,)], "t": [(9, 9)]},
    ),
    "rows of two groups, for insertions that look the same": scenario(
        TWO_GROUPS,
        {"r": [(0, 1, 1), (0, 2, 2)], "s": [(1, 5), (1, 6), (2, 5)], "t": [(1, 7), (2, 7), (2, 8)]},
        inserts={"r": [(1, 1, 2), (2, 1, 2)]},
    ),
    "a value that contradicts, and one that does not": scenario(
        """
        .decl r(x: long, c: long, d: long)
        .decl c(c: long, d: long) key(c)
        .decl s(d: long, z: long)
        v(X, C, D, Z) :- r(X, C, D), c(C, D), s(D, Z).
        """,
        {"r": [(1, 1, 5)], "c": [(1, 5), (2, 6)], "s": [(5, 8), (5, 9), (7, 8)]},
        inserts={"r": [(8, 1, 7), (9, 1, 5)]},
    ),
    "groups of which one has no answer": scenario(
        TWO_GROUPS,
        {"r": [(0, 1, 1)], "s": [(1, 5), (3, 5), (3, 6)], "t": [(1, 7), (4, 8)]},
        inserts={"r": [(1, 3, 1), (2, 3, 1), (3, 3, 9), (4, 9, 4), (5, 3, 4)]},
    ),
    "a view that is always empty": scenario(
        ".decl r(x: long)  .decl s(x: long)  v(X) :- r(X), s(X), X < 1, X > 2.",
        {"r": [(1,)], "s": [(1,)]},
        inserts={"r": [(5,)]},
    ),
}


SKIPPED_BY_HAND = (
    "insertions alone need no lookup",
    "updates that keep a hidden join value",
    "updates of rows that the view shows, and of rows that it does not",
    "two insertions add one row",
    "rows of an insertion with NULL in its key may be there",
    "rows of an insertion that shows nothing may be there",
)

LARGE_BY_HAND = ("updates that keep a hidden join value",)
LARGE_INDEXED = ("a key that two rows share on the way",)


class TestSmallBatches(SideBySide):
    @named(programs(check, PROGRAMS))
    def test_packed(self, outcome: Future[None]) -> None:
        outcome.result()

    @named({name: partial(check, scenario) for name, scenario in BY_HAND.items()})
    def test_by_hand(self, outcome: Future[None]) -> None:
        outcome.result()

    @named(programs(check_asked, {"repeats": (7,)}))
    def test_by_slices(self, outcome: Future[None]) -> None:
        """A source that knows only rows of the view gives the same view, with no other question."""
        outcome.result()

    @named(programs(check_skipped, {"pure": (5,)}))
    def test_skipped(self, outcome: Future[None]) -> None:
        """Insertions that are not looked up miss; the view comes out the same."""
        outcome.result()

    @named({name: partial(check_skipped, BY_HAND[name]) for name in SKIPPED_BY_HAND})
    def test_skipped_by_hand(self, outcome: Future[None]) -> None:
        outcome.result()


class TestIndexes(SideBySide):
    """What is kept of the view from batch to batch says what a scan says."""

    @named(programs(check_indexed, {"keys": (13,)}))
    def test_packed(self, outcome: Future[None]) -> None:
        outcome.result()

    @named(programs(check_crowded, {"keys": (13,)}))
    def test_crowded(self, outcome: Future[None]) -> None:
        outcome.result()


@pytest.fixture(scope="class")
def _short_memory() -> Iterator[None]:
    with short_memory():
        yield


@pytest.mark.usefixtures("_short_memory")
class TestIndexesInOnePiece(SideBySide):
    """What a batch does is put together with what there was at once."""

    @named(programs(check_indexed, {"keys": (13,)}))
    def test_packed(self, outcome: Future[None]) -> None:
        outcome.result()


@pytest.fixture(scope="class")
def _low_limits() -> Iterator[None]:
    with low_limits():
        yield


@pytest.mark.usefixtures("_low_limits")
class TestLargeBatches(SideBySide):
    """What only large batches or programs come to, here with limits that small ones exceed."""

    @named(programs(check, {"keys exposed": (4,)}))
    def test_packed(self, outcome: Future[None]) -> None:
        outcome.result()

    @named({name: partial(check, BY_HAND[name]) for name in LARGE_BY_HAND})
    def test_by_hand(self, outcome: Future[None]) -> None:
        outcome.result()

    @named({name: partial(check_indexed, BY_HAND[name]) for name in LARGE_INDEXED})
    def test_indexed(self, outcome: Future[None]) -> None:
        outcome.result()


@pytest.fixture(scope="class")
def low_limit_of_rows() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (lookups.spark.columns, lookups.spark.execute):
            patch.setattr(module, "MOST_ROWS", 100)
        yield


MANY_ALIKE = {"r": [(h, 1, 5) for h in range(1, 30)] + [(0, 2, 5)]}
ASKED = """
    .decl r(h: long, x: long, y: long)
    .decl s(y: long, z: long)
    .decl t(x: long)
    v(X, Y, Z) :- r(H, X, Y), s(Y, Z), t(X).
"""
SOME = {"r": [(0, 0, 4)], "s": [(y, z) for y in (4, 5) for z in range(10)]}


@pytest.mark.usefixtures("low_limit_of_rows")
class TestManyAlike(SideBySide):
    """Many changes that look the same, and many values for each: no row is lost on the way.

    Each change with each value would be three times as many as a frame may hold here.
    """

    @named(
        {
            "shown": partial(
                check,
                scenario(
                    ".decl r(h: long, x: long, y: long) .decl s(y: long, z: long) "
                    "v(X, Y, Z) :- r(H, X, Y), s(Y, Z).",
                    {"r": [(0, 0, 5)], "s": [(5, z) for z in range(10)]},
                    inserts=MANY_ALIKE,
                ),
            ),
            "asked": partial(
                check, scenario(ASKED, {**SOME, "t": [(1,), (2,)]}, inserts=MANY_ALIKE)
            ),
            "unanswered": partial(
                check,
                scenario(
                    ASKED,
                    {**SOME, "t": [(29,)]},
                    inserts={"r": [(0, x, 5) for x in range(1, 30)]},
                ),
            ),
            "several unanswered": partial(
                check,
                scenario(
                    ".decl r(x: long, y: long) .decl s(y: long, z: long) "
                    ".decl t(x: long, w: long) v(X, Y, Z, W) :- r(X, Y), s(Y, Z), t(X, W).",
                    {"r": [(0, 4)], "s": SOME["s"], "t": [(29, 1), (29, 2)]},
                    inserts={"r": [(x, 5) for x in range(1, 30)]},
                ),
            ),
            "new": partial(
                check_refused,
                scenario(
                    ".decl r(x: long, y: long) .decl s(y: long, z: long) "
                    "v(X, Y, Z) :- r(X, Y), s(Y, Z).",
                    {"r": [(0, 5)], "s": [(5, z) for z in range(10)]},
                    inserts={"r": [(x, 5) for x in range(1, 30)]},
                ),
            ),
        }
    )
    def test_by_hand(self, outcome: Future[None]) -> None:
        outcome.result()


@pytest.fixture(scope="class")
def another_zone() -> Iterator[None]:
    """The process is in Tokyo, as a user's may be; the values of a program name no zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


def every_type() -> Scenario:
    """One program with a column of every type that joins, one that is compared, and a constant.

    A *level* is a row of values, the one of that rank of each type. Rows that are one level in all
    columns but one show that each column counts.
    """
    kinds = list(VALUES)

    def level(rank: int, other: int = 0, at: int | None = None) -> Row:
        """The values of one rank, and of another one in one column."""
        return tuple(VALUES[kind][other if i == at else rank] for i, kind in enumerate(kinds))

    def declared(name: str, *more: str) -> str:
        columns = [f"{name}{i}: {kind}" for i, kind in enumerate(kinds)]
        return f".decl {name}({', '.join([*more, *columns])})"

    joined = ", ".join(f"X{i}" for i in range(len(kinds)))
    constants = ", ".join(map(print_value, level(3)))
    least = ", ".join(f"X{i} >= {print_value(v)}" for i, v in enumerate(level(2)))
    columns = range(len(kinds))
    return scenario(
        f"""
        {declared("r", "k: long")} key(k)
        {declared("s")}
        {declared("t", "z: long")}
        v(K, Z, {joined}, {constants}) :- r(K, {joined}), s({joined}), t(Z, {constants}), {least}.
        """,
        {
            "r": [(1, *level(4)), (2, *level(5)), (3, *level(8))],
            "s": [level(1), level(4), level(5), *(level(4, 6, at) for at in columns)],
            "t": [(7, *level(3))],
        },
        deletes={"s": [level(5)]},
        inserts={
            "r": [
                (10, *level(4)),  # as row 1
                *((20 + at, *level(4, 6, at)) for at in columns),  # nothing shows such a row
                *((40 + at, *level(4, 7, at)) for at in columns),  # and there is none to join with
                *((60 + at, *level(4, 1, at)) for at in columns),  # one value is too small
            ],
            "s": [level(8), level(2)],
            "t": [
                (8, *level(3)),
                *((100 + at, *level(3, 4, at)) for at in columns),  # one is not the constant
            ],
        },
    )


@pytest.mark.usefixtures("another_zone")
class TestTypes(SideBySide):
    @named({"at once": partial(check, every_type())})
    def test_all(self, outcome: Future[None]) -> None:
        outcome.result()


class TestScreens:
    """Views that no change of a batch meets are spared, and no others."""

    @pytest.mark.parametrize("kind", sorted(VALUES))
    def test_random_views(self, spark: SparkSession, kind: str) -> None:
        """As the reference: with all changes of a batch, and with those that match nothing."""
        seen = set()
        for seed in range(8):
            if kind != "long" and seen == {True, False}:
                break  # what is left to see of a type is that its values compare
            scenario = single(BY_NAME["everything"], seed, 3, kind)
            query = scenario.query
            screens = {
                name: [emit_step(query, i, "insert").screen for i in query.occurrences(name)]
                for name in query.by_name
            }
            met = {
                change: any(mismatch(screen, change[2]) is None for screen in screens[change[0]])
                for change in scenario.changes
                if change[0] in screens
            }
            for chosen in (list(met), [change for change, is_met in met.items() if not is_met]):
                if not chosen:
                    continue
                is_open = any(
                    screen == Screen(non_null=screen.non_null)
                    for name in {name for name, _, _ in chosen}
                    for screen in screens[name]
                )
                expected = is_open or any(met[change] for change in chosen)
                assert touched([query], changes_of(spark, query, chosen)) == [expected], (
                    scenario.text
                )
                seen.add(expected)
        assert seen == {True, False}

    def test_a_subgoal_that_takes_any_row(self, spark: SparkSession) -> None:
        """Also a change that only its NULL makes irrelevant: that is not looked for."""
        program = selfmaint.parse("""
            .decl r(x: long, y: long)
            .decl s(y: long, z: long)
            v(X, Z) :- r(X, Y), s(Y, Z).
            w(X) :- r(X, 1).
        """)
        queries = [program.view(name).query for name in ("v", "w")]
        for row, expected in (((1, 2), [True, False]), ((1, None), [True, False])):
            changes = changes_of(spark, queries[0], [("r", "insert", row)])
            assert touched(queries, changes) == expected


class TestOpen:
    def test_lookups_that_no_change_makes_are_not_planned(self, spark: SparkSession) -> None:
        """A new order makes its key come, and the view does not show what a part costs."""
        batch = scenario(
            """
            .decl line(order: long, line: long, part: long)  key(order, line)
                  references orders(order)  references part(part)
            .decl orders(order: long, cust: long)            key(order)
            .decl part(part: long, name: string, price: long)  key(part)
            v(O, L, C, P, N) :- line(O, L, P), orders(O, C), part(P, N, _).
            """,
            {"line": {(1, 1, 1)}, "orders": {(1, 7)}, "part": {(1, "tea", 3)}},
            deletes={"part": {(1, "tea", 3)}},
            inserts={"part": {(1, "tea", 4)}, "orders": {(2, 8)}, "line": {(2, 1, 1), (1, 2, 1)}},
        )
        check(batch, spark)
        done, _ = run(spark, batch)
        planned = {
            batch.query.atoms[d.subgoal].predicate: (len(d.insert.questions), d.delete.questions)
            for d in done.decided
        }
        assert planned == {"line": (2, ()), "orders": (0, ()), "part": (0, ())}
