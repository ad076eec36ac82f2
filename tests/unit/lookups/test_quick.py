"""The one test that is a verdict: it says unaffected only where `decide` does."""

from __future__ import annotations

from itertools import product

import pytest

import selfmaint
from lookups.decide import decide_admitted
from lookups.live import LiveIndex
from lookups.quick import shown_by
from lookups.verdict import Kind

QUICK = ["v(X, Y, Z) :- r(U, X, Y), s(X, Z).", "v(X) :- r(_, X, _)."]
SLOW = [
    "v(X, Y, Z) :- r(U, X, Y), s(X, Z), U > 1.",
    "v(X, Z) :- r(1, X, _), s(X, Z).",
    "v(X, Z) :- r(X, X, _), s(X, Z).",
    "v(X, Y) :- r(_, X, Y), r(_, Y, X).",
    "v(X, Z) :- r(W, X, _), s(X, W, Z).",
    "v(X) :- r(W, X, _), s(X, W).",
]


@pytest.mark.parametrize("text", QUICK)
def test_what_is_shown_is_unaffected(text: str) -> None:
    view = selfmaint.parse(text).view("v")
    plan = view.plan("r", "insert")
    test = shown_by(plan)
    assert test is not None
    s = set(product((1, 2), repeat=2))
    rows = view.evaluate({"r": {(1, 1, 2), (2, 2, None)}, "s": s})
    index = LiveIndex(rows, len(view.query.head))
    changes = list(product((None, 1, 2), repeat=3))
    shown = [row for row in changes if test.has(index, row)]
    assert shown
    assert {decide_admitted(plan, index, row).kind for row in shown} == {Kind.UNAFFECTED}
    assert test.has_all(index, shown)
    assert not test.has_all(index, changes)
    assert not test.has_all(LiveIndex([], len(view.query.head)), shown)


@pytest.mark.parametrize("text", SLOW)
def test_where_one_test_says_too_little(text: str) -> None:
    assert shown_by(selfmaint.parse(text).view("v").plan("r", "insert")) is None


def test_deletions_are_not_shown() -> None:
    assert shown_by(selfmaint.parse(QUICK[0]).view("v").plan("r", "delete")) is None
