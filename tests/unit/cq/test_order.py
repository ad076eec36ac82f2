"""What comparisons say together. Every answer but `False` of `contradict` is proved elsewhere."""

from __future__ import annotations

from itertools import product

import pytest

from cq.order import contradict, implies
from cq.program import read
from cq.syntax import Comparison, Const, Var
from cq.types import holds

X, Y, Z = Var("X"), Var("Y"), Var("Z")


def comparisons(text: str) -> list[Comparison]:
    """Comparisons as written, over X, Y and Z."""
    if not text:
        return []
    (view,) = read(f"v(X) :- r(X, Y, Z), {text}.").checked.views.values()
    return list(view.rule.comparisons)


@pytest.mark.parametrize(
    "text",
    [
        "X < Y, Y < X",
        "X <= Y, Y < X",
        "X < Y, Y < Z, Z <= X",
        "X > 3, X <= 3",
        "X > 3, X < 2",
        "X != Y, X <= Y, X >= Y",
        "X != 3, X <= 3, X >= 3",
        "X >= 5, X <= Y, Y < 5",
        "X > 'b', X < 'a'",
        "X < Y, X > Y, Z = 1",
    ],
)
def test_contradictions(text: str) -> None:
    assert contradict(comparisons(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "X < Y",
        "X <= Y, Y <= X",
        "X != Y, X <= Y",
        "X > 3, X <= 4",
        "X != 3, X != 4",
        "X > 3, X < 'a'",
        "X < Y, Z < Y, X != Z",
    ],
)
def test_no_contradiction(text: str) -> None:
    assert not contradict(comparisons(text))


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        ("X < Y", "X <= Y"),
        ("X < Y", "Y > X"),
        ("X < Y", "Y != X"),
        ("X != Y", "Y != X"),
        ("X < Y, Y < Z", "X < Z"),
        ("X <= Y, Y < Z", "X < Z"),
        ("X <= Y, Y <= Z", "Z >= X"),
        ("X < 3, Y < 4", "X < 4"),
        ("X <= 3, Y > 4", "X < 4"),
        ("X > 'b', Y != 'a'", "X >= 'a'"),
        ("X >= 5, Y < 3", "X != 3"),
        ("", "3 < 4"),
    ],
)
def test_implied(known: str, wanted: str) -> None:
    *given, conclusion = comparisons(f"{known}, {wanted}" if known else wanted)
    assert implies(given, conclusion)


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        ("X <= Y", "X < Y"),
        ("X <= Y", "X != Y"),
        ("X != Y", "X < Y"),
        ("X < Y", "Y < X"),
        ("X < 4", "X < 3"),
        ("X < Y, Z < Y", "X < Z"),
        ("X < 3", "Y < 3"),
        ("", "4 < 3"),
    ],
)
def test_not_implied(known: str, wanted: str) -> None:
    *given, conclusion = comparisons(f"{known}, {wanted}" if known else wanted)
    assert not implies(given, conclusion)


def test_right_on_every_set_of_two_comparisons() -> None:
    """Held against all values of a small domain, over which these comparisons cannot lie.

    With two comparisons and the constant 2 the domain 0..4 has room for every order.
    """
    terms = [(X, Y), (Y, X), (X, Const(2)), (Y, Const(2))]
    single = [Comparison(a, op, b) for a, b in terms for op in ("!=", "<", "<=", ">", ">=")]
    values = list(product(range(5), repeat=2))

    def true(comparison: Comparison, x: int, y: int) -> bool:
        at = {X: x, Y: y}
        left, right = (at.get(side, 2) for side in (comparison.left, comparison.right))
        return holds(comparison.operator, left, right)

    for first, second in product(single, repeat=2):
        pairs = [v for v in values if true(first, *v) and true(second, *v)]
        assert contradict([first, second]) == (not pairs), (first, second)
        for wanted in single:
            if implies([first, second], wanted):
                assert all(true(wanted, *v) for v in pairs), (first, second, wanted)


def test_declared_numbers_of_different_types_are_ordered() -> None:
    low = Comparison(X, ">", Const(2), numeric=True)
    high = Comparison(X, "<", Const(1.5), numeric=True)
    assert contradict([low, high])


def test_order_by_value_is_not_order_within_a_type() -> None:
    """1 < 2.0 by value and 2.0 < 3.0 within a type, but 1 and 3.0 are of two types."""
    known = [Comparison(X, "<", Y, numeric=True), Comparison(Y, "<", Z)]
    assert not implies(known, Comparison(X, "<", Z))
    assert implies(known, Comparison(X, "!=", Z))
