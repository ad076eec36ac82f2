"""Which lookups pay: records per view and relation, and what a batch adds to them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from lookups.payoff import Choice, Lookups, Payoff, Stretch
from lookups.verdict import Kind
from selfmaint.paying import Paying, stretches
from warehouse.sources import Cost

OFF = Payoff(Stretch(looked_up=100, lookup_cost=1e9, asked=100, source_cost=100))


def tally(relation: str, kind: Kind, changes: int, *, insert: bool = True) -> SimpleNamespace:
    return SimpleNamespace(relation=relation, insert=insert, kind=kind, rule="", changes=changes)


def decision(*tallies: Any, skipped: frozenset[str] = frozenset(), files: int = 1) -> Any:
    """A decided batch: looking took 10 s, and two questions 4 s."""
    return SimpleNamespace(
        task=SimpleNamespace(stored=SimpleNamespace(name="v"), skipped=skipped),
        done=SimpleNamespace(counts=SimpleNamespace(tallies=tallies), seconds=10.0),
        files=files,
        cost=Cost(questions=2, seconds=4.0),
    )


def test_costs_are_shared_out_by_changes() -> None:
    found = stretches(
        decision(
            tally("r", Kind.IRRELEVANT, 1000),
            tally("r", Kind.UNAFFECTED, 3),
            tally("r", Kind.MISS, 1),
            tally("s", Kind.SELF_MAINTAINED, 2),
            tally("s", Kind.MISS, 3, insert=False),
            tally("t", Kind.UNAFFECTED, 1, insert=False),
        )
    )
    assert found == {
        "r": Stretch(4, 3, 4.0, 0, 0.5, 1.0),  # one of four misses is an insertion into r
        "s": Stretch(2, 2, 2.0, 0, 0.0, 0.0),
    }


def test_skipped_insertions_and_those_into_an_empty_view_cost_no_lookup() -> None:
    batch = (tally("r", Kind.MISS, 5),)
    expected = {"r": Stretch(skipped=5, asked=2.0, source_cost=4.0)}
    assert stretches(decision(*batch, skipped=frozenset({"r"}))) == expected
    assert stretches(decision(*batch, files=0)) == expected


def test_a_batch_that_has_nothing_to_do_with_a_view() -> None:
    untouched: Any = SimpleNamespace(done=None, task=SimpleNamespace(skipped=()))
    assert stretches(untouched) == {}


def test_records_are_noted_and_read_back() -> None:
    paying = Paying(Lookups.ADAPT, {"v": {"r": OFF, "s": Payoff()}})
    note = json.loads(json.dumps(paying.note(), allow_nan=False))
    assert Paying.noted(Lookups.ADAPT, note) == paying


@pytest.mark.parametrize(
    ("lookups", "skipped"), [("adapt", {"r"}), ("always", set()), ("never", {"r", "s", "t"})]
)
def test_what_is_skipped(lookups: str, skipped: set[str]) -> None:
    assert OFF.choice is Choice.SKIP
    paying = Paying(Lookups(lookups), {"v": {"r": OFF, "s": Payoff()}, "w": {"t": OFF}})
    assert paying.skipped("v", ("r", "s", "t"), is_new=False) == skipped
    assert bool(paying.sentences("v")) is (lookups == "adapt")


def test_nothing_is_looked_up_in_a_view_that_nobody_wrote_to() -> None:
    assert Paying(Lookups.ADAPT).skipped("v", ("r",), is_new=True) == {"r"}
    assert Paying(Lookups.ALWAYS).skipped("v", ("r",), is_new=True) == frozenset()


def test_a_view_learns_from_its_batches() -> None:
    paying = Paying(Lookups.ADAPT)
    paying.learn(decision(tally("r", Kind.MISS, 20)), is_cold=True)
    assert paying.note() == {"v": {}}, "slow for another reason"
    for _ in range(2):
        paying.learn(decision(tally("r", Kind.MISS, 20)), is_cold=False)
    assert paying.sentences("v") == ("lookups off for r: 0 of the last 40 helped",)
    assert paying.sentences("w") == ()
