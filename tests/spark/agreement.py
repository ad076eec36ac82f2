"""The Spark executor says and does what the reference says and does: the checks of one batch.

Most of a check is Spark planning queries on the driver, some seconds of it. So several checks run
beside each other, in threads on the one session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import lookups.spark.columns
import lookups.spark.evidence
import lookups.spark.execute
import lookups.spark.indexing
import lookups.spark.probes
from lookups.evaluate import evaluate
from lookups.spark import Index, Maintained
from lookups.spark.columns import Names, kinds
from lookups.spark.indexing import whole
from lookups.spark.probes import Families
from tests.spark.worlds import (
    Scenario,
    back,
    counted,
    halves,
    reference,
    run,
    said_by_reference,
    said_on_spark,
    verdicts,
    view_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THREADS = 3
"""Checks at a time: two take half the time of one after the other, three a little less."""

COUNT = 60
"""Batches of one random program, packed into one: rare situations need many, and Spark hardly
notices."""


@contextmanager
def low_limits() -> Iterator[None]:
    """Small batches and programs are taken for large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookups.spark.execute, "MOST_SMALL", 0)
        patch.setattr(lookups.spark.evidence, "MOST_BROADCAST", 0)
        patch.setattr(lookups.spark.execute, "MOST_BROADCAST", 0)
        patch.setattr(lookups.spark.probes, "BITS", 1)
        yield


@contextmanager
def low_limit_of_answers() -> Iterator[None]:
    """A few rows that a batch meets are taken for very many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookups.spark.columns, "MOST_EVIDENCE", 0)
        yield


def check(
    scenario: Scenario,
    spark: SparkSession,
    skipped: Collection[str] = (),
    index: Index | None = None,
) -> Maintained:
    """Rows, questions, verdicts and reasons are those of the reference, and of recomputation."""
    query = scenario.query
    before, after = (evaluate(query, state) for state in (scenario.before, scenario.after))
    expected = reference(scenario, skipped)
    assert expected.rows == after, scenario.text

    found, source = run(spark, scenario, skipped=skipped, index=index)
    inserts = [tuple(row) for row in found.inserts.collect()]
    deletes = [tuple(row) for row in found.deletes.collect()]
    assert sorted(inserts, key=repr) == sorted(after - before, key=repr), scenario.text
    assert sorted(deletes, key=repr) == sorted(before - after, key=repr), scenario.text

    asked = {(q.subgoals, q.bound, q.wanted, q.keys, q.is_slice) for q in expected.questions}
    assert set(source.asked) == asked, scenario.text
    assert len(source.asked) == len(asked)

    parts = said_on_spark(found.decided)
    said = {place: of_part for place, (_, of_part) in parts.items()}
    assert said == said_by_reference(query, expected), scenario.text
    kinds = {change: verdict.kind for change, verdict in verdicts(query, parts).items()}
    used = [d for d in expected.decisions if query.occurrences(d.relation)]
    assert kinds == {(d.relation, d.action, d.row): d.kind for d in used}, scenario.text
    assert found.counts == counted(query, parts, (len(inserts), len(deletes))), scenario.text
    return found


def check_halves(scenario: Scenario, spark: SparkSession) -> None:
    """What a batch does not have is not planned for."""
    for half in halves(scenario):
        check(half, spark)


def check_skipped(scenario: Scenario, spark: SparkSession) -> None:
    """Without lookups for every other relation, and for all of them."""
    changed = sorted({relation for relation, _, _ in scenario.changes})
    for skipped in {tuple(changed[::2]), tuple(changed)}:
        check(scenario, spark, skipped=skipped)


def check_indexed(scenario: Scenario, spark: SparkSession) -> None:
    """A batch, the one that undoes it, and both again, by what is kept from one to the next.

    The first one scans the view, and all that it finds is then to be indexed. The second one builds
    the index, the others only add to it.
    """
    index, found_some = Index(), False
    for turn in (scenario, back(scenario)) * 2:
        done = check(turn, spark, index=index)
        worth = {family: met.entries for family, met in done.met.items() if met.entries}
        found_some = found_some or bool(worth)
        index = replace(done.index, worth=worth, is_due=bool(worth))
        check_index(turn, spark, index)
    assert bool(index.numbers) == found_some


def check_crowded(scenario: Scenario, spark: SparkSession) -> None:
    """With room for some families only, found when all are built, the others are left out.

    When there is room for them they come with other numbers, which others may have had.
    """
    families = [family for family, met in check(scenario, spark).met.items() if met.entries]
    query = scenario.query
    view = view_of(spark, query, scenario.after)
    names = Names(query, kinds(view.schema), {}, is_small=True)

    def extended(index: Index) -> Index:
        numbers = Families(dict(index.numbers))
        added = [family for family in families if family not in index.numbers]
        due = {family: numbers.number(family.pattern, family.gives) for family in reversed(added)}
        found = index.extended(names, whole(names, view, due), due)
        check_index(scenario, spark, found)
        return found

    complete = extended(Index())
    crowded = extended(Index(complete.size))  # a tenth of which is for what batches add
    assert 0 < len(crowded.numbers) < len(families) == len(complete.numbers)
    assert {*crowded.numbers, *crowded.worth} == {*families}
    assert extended(replace(crowded, most=2 * complete.size)).size == complete.size


def check_index(scenario: Scenario, spark: SparkSession, index: Index) -> None:
    """It holds what the view shows after the batch."""
    if index.frame is None:
        return
    query = scenario.query
    view = view_of(spark, query, scenario.after)
    names = Names(query, kinds(view.schema), {}, is_small=True)
    held = index.frame if index.later is None else index.frame.unionByName(index.later)
    held = held.groupBy("f", "k", "g").agg({"n": "sum"}).where("`sum(n)` != 0")
    shown = whole(names, view, index.numbers)
    assert index.size >= held.count()
    assert Counter(held.collect()) == Counter(shown.collect()), scenario.text


@contextmanager
def short_memory() -> Iterator[None]:
    """What a batch adds to an index is put together with the rest at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookups.spark.indexing, "MOST_LATER", -(10**6))
        yield


def check_slices(scenario: Scenario, spark: SparkSession) -> int:
    """A source that knows only rows of the view gives the same view; how often it was asked."""
    query = scenario.query
    before, after = (evaluate(query, state) for state in (scenario.before, scenario.after))
    found, source = run(spark, scenario, by_slices=True)
    for frame, expected in ((found.inserts, after - before), (found.deletes, before - after)):
        rows = [tuple(row) for row in frame.collect()]
        assert sorted(rows, key=repr) == sorted(expected, key=repr), scenario.text
    assert all(is_slice for *_, is_slice in source.asked)
    return len(source.asked)
