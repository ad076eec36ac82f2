"""What is said of a change's rows beforehand, on views where it is not plain."""

from __future__ import annotations

import pytest

import selfmaint
from lookups.foreseen import answered_by, same_columns
from lookups.live import Pattern


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("v(X, Y, Z) :- r(U, X, Y), s(X, Z).", {0, 1}),
        ("v(Z, X, 7, X) :- r(U, X, Y), s(X, Z).", {1, 2, 3}),  # a constant; a value shown twice
        ("v(Z) :- r(U, X, Y), s(X, Z).", set()),
        ("v(X, Y) :- r(_, X, Y), r(_, Y, X).", set()),  # X or Y, depending on the subgoal
        ("v(X) :- r(_, X, _), r(_, _, X).", set()),
        ("v(X) :- s(X, _).\nw(X) :- r(X, _, _).", set()),
    ],
)
def test_columns_in_which_rows_agree(text: str, columns: set[int]) -> None:
    view = selfmaint.parse(text).view("v")
    assert same_columns(view.query, "r") == columns


@pytest.mark.parametrize(
    ("text", "answered"),
    [
        ("v(X, Y, Z) :- r(U, X, Y), s(X, Z).", {((0,), (2,))}),
        ("v(X, Y, A, B) :- r(X, Y), s(X, A), t(Y, B).", {((0,), (2,)), ((1,), (3,))}),
        ("v(X, Y, A) :- r(X, Y), s(X, A), t(Y).", {((0,), (2,))}),  # t gives no value
        ("v(X) :- r(X, Y), s(Y).", set()),
        ("v(X, Y, Z) :- r(X, Y), r(Y, Z).", set()),  # one lookup of several subgoals'
    ],
)
def test_lookups_to_which_rows_are_nothing_new(text: str, answered: set[Pattern]) -> None:
    view = selfmaint.parse(text).view("v")
    assert answered_by(view.plan("r", "insert")) == answered
