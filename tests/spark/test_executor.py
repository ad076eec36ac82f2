"""The Spark executor says and does what the reference says and does."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from lookups.evaluate import evaluate
from property_tests.strategies import FLAVOURS, Flavour
from tests.spark.worlds import (
    VALUES,
    Scenario,
    halves,
    packed,
    reference,
    run,
    said_by_reference,
    said_on_spark,
    single,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


EVERYTHING = FLAVOURS[-1]


def check(spark: SparkSession, scenario: Scenario) -> None:
    """Rows, questions, verdicts and reasons are those of the reference, and of recomputation."""
    query = scenario.query
    before, after = (evaluate(query, state) for state in (scenario.before, scenario.after))
    expected = reference(scenario)
    assert expected.rows == after, scenario.text

    found, source = run(spark, scenario)
    inserts = [tuple(row) for row in found.inserts.collect()]
    deletes = [tuple(row) for row in found.deletes.collect()]
    assert sorted(inserts, key=repr) == sorted(after - before, key=repr), scenario
    assert sorted(deletes, key=repr) == sorted(before - after, key=repr), scenario
    assert (found.counts.inserted, found.counts.deleted) == (len(inserts), len(deletes))

    asked = {(q.subgoals, q.bound, q.wanted, q.keys, q.is_slice) for q in expected.questions}
    assert set(source.asked) == asked, scenario
    assert len(source.asked) == len(asked)

    said = said_by_reference(query, expected)
    assert said_on_spark(found.decided) == said, scenario


def sampled(flavours: Iterable[Flavour]) -> list[object]:
    """Every third flavour, of which most only run where there is time."""
    return [
        pytest.param(flavour, id=flavour.name, marks=[pytest.mark.slow] if number % 9 else [])
        for number, flavour in enumerate(flavours)
        if number % 3 == 0
    ]


@pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda flavour: flavour.name)
def test_packed_batches_equal_the_reference(spark: SparkSession, flavour: Flavour) -> None:
    check(spark, packed(flavour, 7, 3, 40, "long"))


@pytest.mark.parametrize("flavour", sampled(f for f in FLAVOURS if not f.foreign_keys))
def test_batches_of_one_kind_equal_the_reference(spark: SparkSession, flavour: Flavour) -> None:
    """What a batch does not have is not planned for."""
    for half in halves(packed(flavour, 11, 3, 20, "long")):
        check(spark, half)


def test_insertions_alone_may_need_no_lookup(spark: SparkSession) -> None:
    text = ".decl t(x: long, y: long) key(x)  v(X, Y) :- t(X, Y)."
    before = {"t": frozenset({(1, 1)})}
    after = {"t": frozenset({(1, 1), (2, 2)})}
    check(spark, Scenario(text, before, after, (("t", "insert", (2, 2)),)))


def test_numbers_of_different_types_compare_exactly(spark: SparkSession) -> None:
    """Spark alone would take 2**53 + 1 for 2**53 beside a double, on either side of a join."""
    text = """
    .decl t(n: long, d: double)
    .decl s(n: long, m: decimal(38, 30))
    v(N, D, M) :- t(N, D), s(K, M), N > D, K <= D, K != M.
    """
    big = 2**53
    rows = [(n, d) for n in (0, big - 1, big, big + 1, None) for d in (0.5, float(big), 1e300)]
    nearly = Decimal(10**6) - Decimal(10) ** -30
    others = [(n, m) for n in (big, big + 1, 10**6) for m in (nearly, Decimal(10**6))]
    before = {"t": frozenset(rows[1::2]), "s": frozenset(others[1::2])}
    after = {"t": frozenset(rows), "s": frozenset(others)}
    changes = [("t", "insert", row) for row in rows[::2]]
    changes += [("s", "insert", row) for row in others[::2]]
    check(spark, Scenario(text, before, after, tuple(changes)))


@pytest.mark.parametrize("flavour", sampled(FLAVOURS))
def test_slices_alone_complete_every_batch(spark: SparkSession, flavour: Flavour) -> None:
    """A source that knows only rows of the view gives the same view, with no other question."""
    scenario = packed(flavour, 7, 3, 40, "long")
    query = scenario.query
    before, after = (evaluate(query, state) for state in (scenario.before, scenario.after))
    found, source = run(spark, scenario, by_slices=True)
    assert {tuple(row) for row in found.inserts.collect()} == after - before, scenario
    assert {tuple(row) for row in found.deletes.collect()} == before - after, scenario
    assert source.asked
    assert all(is_slice for *_, is_slice in source.asked)


@pytest.fixture
def in_another_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process is in Tokyo, as a user's may be; the values of a program name no zone."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_another_zone")
@pytest.mark.parametrize("kind", VALUES)
def test_every_type_equals_the_reference(spark: SparkSession, kind: str) -> None:
    for seed in (38, 268):  # with constants in the body, in comparisons and in the head
        check(spark, single(EVERYTHING, seed, 3, kind))
