"""The smallest cases of mistakes that were once made; each names the rule that was wrong."""

from datetime import date, datetime
from enum import StrEnum

import pytest

import selfmaint


def test_comparisons_of_other_types_do_not_change_how_numbers_compare() -> None:
    """What several comparisons imply is stated for numbers and for other values apart."""
    view = selfmaint.parse(
        """
        .decl a(d: int, s: string)
        .decl b(x: int)
        v(D, X) :- a(D, S), b(X), D <= X, D > 1.5, S < 'm'.
        """
    ).view("v")
    after = {"a": {(2, "a")}, "b": {(5,)}}
    assert view.evaluate(after) == {(2, 5)}
    assert view.plan("b", "insert").decide(set(), (5,)).kind == "miss"
    assert view.maintain(set(), [("b", "insert", (5,))], after).rows == {(2, 5)}
    assert view.plan("b", "insert").decide(set(), (1,)).kind == "irrelevant"


def test_a_key_that_another_row_has_taken_says_nothing() -> None:
    """p(2, 7, 1) appears before p(1, 7, 0) disappears: in between, `b` is not a key."""
    view = selfmaint.parse(
        """
        .decl p(a: long, b: long, x: long) key(a) key(b)
        .decl c(k: long, a: long, b: long) key(k) references p(a)
        v(B) :- p(A, B, X), c(K, A, B).
        """
    ).view("v")
    changes = [
        ("p", "delete", (1, 7, 0)),
        ("p", "insert", (2, 7, 1)),
        ("c", "delete", (1, 1, 7)),
        ("c", "insert", (2, 2, 7)),
    ]
    after = {"p": {(2, 7, 1)}, "c": {(2, 2, 7)}}
    assert view.maintain({(7,)}, changes, after).rows == view.evaluate(after) == {(7,)}


def test_the_batch_knows_relations_without_columns() -> None:
    view = selfmaint.parse("v() :- n(), m().").view("v")
    changes = [("n", "insert", ()), ("m", "insert", ())]
    outcome = view.maintain(set(), changes, {"n": {()}, "m": {()}})
    assert (outcome.rows, outcome.questions) == ({()}, ())


class Name(StrEnum):
    ANN = "ann"


class Moment(datetime):
    pass


class Day(date):
    pass


def test_subclasses_of_a_type_are_values_of_the_type() -> None:
    view = selfmaint.parse(
        """
        .decl r(t: timestamp, d: date, s: string)
        v(T, D, S) :- r(T, D, S), T < 2024-06-01T00:00:00, D < 2024-06-01, S < 'b'.
        """
    ).view("v")
    row = (Moment(2024, 1, 1), Day(2024, 1, 1), Name.ANN)
    (found,) = view.evaluate({"r": [row]})
    assert [type(value) for value in found] == [datetime, date, str]


def test_a_number_of_thousands_of_digits_is_an_input_error() -> None:
    plan = selfmaint.parse(".decl r(a: long) v(A) :- r(A).").view("v").plan("r", "insert")
    with pytest.raises(selfmaint.InputError) as caught:
        plan.decide([], (10**5000,))
    assert caught.value.code == "LP203"
    assert len(str(caught.value)) < 1000
