"""Recomputation, by examples; property_tests hold it against the definition."""

from __future__ import annotations

from decimal import Decimal

import pytest

import selfmaint
from cq.check import MAX_SUBGOALS
from cq.types import Row
from selfmaint import InputError


def evaluate(text: str, name: str = "v", **database: object) -> frozenset[Row]:
    return selfmaint.parse(text).view(name).evaluate(database)


def test_join_and_projection() -> None:
    found = evaluate("v(X, Z) :- r(X, Y), s(Y, Z).", r={(1, 2), (3, 2), (4, 5)}, s={(2, 7), (2, 8)})
    assert found == {(1, 7), (1, 8), (3, 7), (3, 8)}


def test_constants_and_repeated_variables() -> None:
    rows = {(1, 1, "eu"), (1, 2, "eu"), (3, 3, "us")}
    assert evaluate("v(X, eu) :- r(X, X, eu).", r=rows) == {(1, "eu")}


def test_boolean() -> None:
    assert evaluate("v() :- r(X), s(X).", r={(1,)}, s={(1,)}) == {()}
    assert evaluate("v() :- r(X), s(X).", r={(1,)}, s={(2,)}) == set()


def test_null_joins_nothing_but_is_carried() -> None:
    assert evaluate("v(X, Y) :- r(X, Y), s(Y).", r={(None, 1), (1, None)}, s={(1,), (None,)}) == {
        (None, 1)
    }
    assert evaluate("v(X) :- r(X, X).", r={(None, None)}) == set()
    assert evaluate("v(X) :- r(X, 1).", r={(2, None)}) == set()
    assert evaluate("v(X) :- r(X), X != 3.", r={(None,), (4,)}) == {(4,)}


def test_comparisons() -> None:
    rows = {(1, 2), (2, 1), (2, 2), ("a", "b"), (1, "b")}
    assert evaluate("v(X, Y) :- r(X, Y), X < Y.", r=rows) == {(1, 2), ("a", "b")}
    assert evaluate("v(X, Y) :- r(X, Y), X = Y.", r=rows) == {(2, 2)}
    assert evaluate("v(X) :- r(X, Y), X != Y, Y >= 2.", r=rows) == {(1,)}


def test_declared_numbers_compare_by_value() -> None:
    text = ".decl r(a: int, b: decimal(5, 2)) v(A) :- r(A, B), A < B, A > 0.5."
    assert evaluate(text, r={(1, Decimal("1.50")), (2, Decimal("1.50")), (0, 1)}) == {(1,)}


def test_views_over_views() -> None:
    text = "path(X, Z) :- r(X, Y), r(Y, Z). v(X, Y) :- path(X, Y), r(Y, X)."
    assert evaluate(text, r={(1, 2), (2, 3), (3, 1)}) == {(1, 3), (2, 1), (3, 2)}


def test_a_relation_that_is_missing_is_empty() -> None:
    assert evaluate("v(X) :- r(X), s(X).", r={(1,)}) == set()


def test_rows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        evaluate(".decl r(a: long) v(A) :- r(A).", r={("x",)})
    assert caught.value.code == "LP203"
    with pytest.raises(InputError) as caught:
        evaluate("v(A) :- r(A).", r={(1, 2)})
    assert caught.value.code == "LP202"


def test_unsatisfiable_view_is_empty() -> None:
    assert evaluate("v(X) :- r(X), X = 1, X = 2.", r={(1,), (2,)}) == set()


def test_the_largest_view() -> None:
    body = ", ".join(f"r(X{i}, X{i + 1})" for i in range(MAX_SUBGOALS))
    assert evaluate(f"v(X0) :- {body}.", r={(1, 1)}) == {(1,)}
