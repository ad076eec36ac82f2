"""Law: a maintainer's rows are the recomputed view, whatever lookups are made or skipped.

In one batch, batch after batch with the lookups of each relation on, off or probed at random, and
change by change, one at a time and several in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import selfmaint
from lookups.batch import read_batch, read_change
from lookups.evaluate import tabulate
from lookups.index import RowIndex
from lookups.live import LiveIndex
from lookups.maintain import Question, answers_of, finish, maintain
from lookups.payoff import Choice, Lookups, Payoff, Stretch
from lookups.prepared import Prepared
from lookups.settle import settle
from lookups.verdict import Because, Kind
from property_tests.judgement import profile_runs
from property_tests.strategies import BATCH_FLAVOURS, BatchCase, Flavour, batch_case, batch_cases
from property_tests.worlds import Change, Database, Row, apply, evaluate, satisfies
from selfmaint.maintainer import Maintainer

MULTIPLE = 2


def listed(changes: Iterable[Change]) -> list[tuple[str, str, Row]]:
    return [(change.relation, change.kind, change.row) for change in changes]


class Sources:
    """The source of a view whose database changes."""

    def __init__(self, view: selfmaint.View, database: Database) -> None:
        self.view = view
        self.database = database

    def __call__(self, question: Question) -> Iterable[tuple[object, ...]]:
        query = self.view.query
        return answers_of(query, tabulate(query, self.database))(question)


def random_records(case: BatchCase, rng: Random) -> dict[str, Payoff]:
    """Lookups on, off, or due for a probe, whatever came before."""
    off, probing = (
        Payoff(Stretch(looked_up=100, lookup_cost=cost, asked=100, source_cost=100))
        for cost in (1e9, 2.5)
    )
    records = (Payoff(), off, probing)
    assert [record.choice for record in records] == list(Choice)
    return {relation.name: rng.choice(records) for relation in case.world.relations}


def legal_orders(case: BatchCase, rng: Random) -> Iterator[tuple[Change, Database]]:
    """The changes one by one, in an order in which every state satisfies the constraints."""
    state, left = case.before, list(case.changes)
    rng.shuffle(left)
    while left:
        for change in left:
            after = apply(state, change)
            if satisfies(case.world, after):
                yield change, after
                state = after
                left.remove(change)
                break
        else:
            return


def check_skipping(case: BatchCase) -> None:
    """Any relations' lookups may be skipped in the batch rule; it only asks more."""
    rng = Random(case.seed)
    view = selfmaint.parse(case.world.text()).view("v")
    before, after = evaluate(case.world.view, case.before), evaluate(case.world.view, case.after)
    changes = [read_change(change) for change in listed(case.changes)]
    batch = read_batch(view.query, changes, view.known)
    names = [relation.name for relation in case.world.relations]
    skipped = [name for name in names if rng.random() < 0.5]
    prepared, index = Prepared(view.query), RowIndex(before, len(view.query.head))
    source = answers_of(view.query, tabulate(view.query, case.after))
    effect = finish(prepared, batch, index, settle(prepared, batch, index, skipped), source)
    assert (before - effect.deletes) | effect.inserts == after, (skipped, case.text())
    assert effect.inserts.isdisjoint(before)
    assert effect.deletes <= before
    reference = maintain(view.query, before, changes, case.after, view.known)
    for given_, found in zip(
        reference.decisions,
        (effect.decision(view.query, *change) for change in changes),
        strict=True,
    ):
        # What no lookup decided stays as it was.
        if given_.reason.rule in (Because.SCREEN, Because.UNUSED, Because.UNSEEN):
            assert (given_.kind, given_.reason) == (found.kind, found.reason)


def check_batches(case: BatchCase) -> None:
    """One maintainer, there and back again, with lookups on and off at random."""
    rng = Random(case.seed)
    view = selfmaint.parse(case.world.text()).view("v")
    source = Sources(view, case.before)
    back = [
        Change(change.relation, "delete" if change.kind == "insert" else "insert", change.row)
        for change in case.changes
    ]
    for lookups in Lookups:
        maintained = Maintainer(
            view,
            source,
            evaluate(case.world.view, case.before),
            lookups=lookups,
        )
        for _ in range(3):
            for changes, state in ((case.changes, case.after), (back, case.before)):
                maintained._payoffs.update(random_records(case, rng))
                source.database = state
                maintained.apply(listed(changes))
                assert maintained.rows == evaluate(case.world.view, state), case.text()


def assert_indexes_follow(live: LiveIndex, start: frozenset[Row], text: str) -> None:
    """Every index that was built answers like one of the rows as they are now.

    Args:
        start: the rows that were there; some may be gone.
    """
    fresh = RowIndex(live.rows, live.arity)
    for row in live.rows | start:
        for columns in live._keys:
            key = tuple(row[i] for i in columns)
            assert live.has(columns, key) == fresh.has(columns, key), text
        for columns, gives in live._values:
            key = tuple(row[i] for i in columns)
            expected = fresh.distinct(columns, key, gives)
            assert live.distinct(columns, key, gives) == expected, text


def check_one_by_one(case: BatchCase) -> None:
    """Change by change, with and without lookups, is recomputation at every step."""
    rng = Random(case.seed)
    view = selfmaint.parse(case.world.text()).view("v")
    source = Sources(view, case.before)
    start = evaluate(case.world.view, case.before)
    kept = {lookups: Maintainer(view, source, start, lookups=lookups) for lookups in Lookups}
    alone = Maintainer(view, source, start, lookups="always")
    for change, state in legal_orders(case, rng):
        source.database = state
        expected = evaluate(case.world.view, state)
        (one,) = listed([change])
        effect = alone.apply([one])
        assert alone.rows == expected, (change, case.text())
        for lookups, maintained in kept.items():
            (kind,) = maintained.follow([one])
            if rng.random() < 0.5:  # otherwise the next lookup has more to catch up with
                assert_indexes_follow(maintained._live, start, case.text())
            assert maintained.rows == expected, (lookups, kind, change, case.text())
            if lookups is Lookups.ALWAYS and change.relation in view.query.by_name:
                decision = effect.decision(view.query, *read_change(one))
                assert (kind is Kind.MISS) == (decision.kind is Kind.MISS), case.text()


def check_in_a_row(case: BatchCase) -> None:
    """Insertions that follow each other in one call: what is looked up for all of them at once.

    Into a relation that occurs once, so that the source answers the same all the while.
    """
    rng = Random(case.seed)
    view = selfmaint.parse(case.world.text()).view("v")
    start = evaluate(case.world.view, case.before)
    for relation in view.query.by_name:
        if len(view.query.occurrences(relation)) != 1:
            continue
        mine = [c for c in case.changes if (c.relation, c.kind) == (relation, "insert")]
        orders = list(legal_orders(replace(case, changes=tuple(mine)), rng))
        if not orders:
            continue
        state = orders[-1][1]
        for lookups in Lookups:
            maintained = Maintainer(view, Sources(view, state), start, lookups=lookups)
            maintained.follow(listed(change for change, _ in orders))
            assert_indexes_follow(maintained._live, start, case.text())
            assert maintained.rows == evaluate(case.world.view, state), (lookups, case.text())


CHECKS = (check_skipping, check_batches, check_one_by_one, check_in_a_row)


@pytest.mark.parametrize("flavour", BATCH_FLAVOURS, ids=lambda flavour: flavour.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_maintained_is_recomputed(check: Callable[[BatchCase], None], flavour: Flavour) -> None:
    for seed, size in profile_runs(MULTIPLE):
        check(batch_case(flavour, seed, size))


@given(st.sampled_from(CHECKS), st.sampled_from(BATCH_FLAVOURS).flatmap(batch_cases))
def test_maintained_is_recomputed_wherever_hypothesis_looks(
    check: Callable[[BatchCase], None], case: BatchCase
) -> None:
    check(case)
