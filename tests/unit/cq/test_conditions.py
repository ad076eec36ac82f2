"""Conditions on a change: canonical form, meaning in sympy, and who loads sympy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sympy

from cq.conditions import can_hold, conjunction, expression
from cq.syntax import Comparison, Const, Var

ROOT = Path(__file__).resolve().parents[3]
X, Y, Z = Var("X"), Var("Y"), Var("Z")
A, B = Const("a"), Const("b")
x, y = sympy.symbols("X Y", real=True)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], ()),
        ([(X, Y)], ((Y, X),)),
        ([(Y, X)], ((Y, X),)),
        ([(X, A)], ((X, A),)),
        ([(A, X)], ((X, A),)),
        ([(Z, Y), (Y, X)], ((Y, X), (Z, X))),
        ([(X, Y), (Y, A)], ((X, A), (Y, A))),
        ([(X, Y), (Z, A)], ((Y, X), (Z, A))),
        ([(X, A), (X, B)], None),
        ([(X, A), (Y, B), (X, Y)], None),
        ([(A, B)], None),
    ],
)
def test_conjunction(pairs: list, expected: tuple | None) -> None:
    assert conjunction(pairs) == expected
    assert conjunction(reversed(pairs)) == expected


def test_expression() -> None:
    assert expression([]) == sympy.true
    assert expression([(X, Y)]) == sympy.Eq(x, y)
    assert expression([(X, Const(3)), (Y, Const(1.5))]) == sympy.Eq(x, 3) & sympy.Eq(
        y, sympy.Rational(3, 2)
    )


def test_expression_under_known_comparisons() -> None:
    assert expression([(X, Y)], [Comparison(X, "<", Y)]) == sympy.false
    assert expression([(X, Const(3))], [Comparison(X, ">", Const(5))]) == sympy.false
    assert expression([(X, Const(7))], [Comparison(X, ">", Const(5))]) == sympy.Eq(x, 7)


def test_different_values_are_different_symbols() -> None:
    """Variables that differ in case alone, and constants that are spelt like a variable."""
    assert expression([(Var("Xa"), Var("XA"))]) != sympy.true
    assert expression([(Var("TRUE"), Const(True))]) != sympy.true
    assert expression([(Var("X"), Const("x"))]) != sympy.true
    known = [Comparison(Var("Xa"), "<", Var("XA"))]
    assert expression([(Var("Xa"), B)], known) != sympy.false


@pytest.mark.parametrize(
    ("equalities", "known", "possible"),
    [
        (((X, Y),), (Comparison(X, "<", Y),), False),
        (((X, Y),), (Comparison(X, "<=", Y),), True),
        (((X, Y),), (Comparison(X, "!=", Y),), False),
        (((X, Y),), (Comparison(X, "<", Z), Comparison(Z, "<", Y)), False),
        (((X, Const(3)),), (Comparison(X, ">", Const(5)),), False),
        (((X, Const(7)),), (Comparison(X, ">", Const(5)),), True),
        (((X, A),), (Comparison(X, "!=", A),), False),
        (((X, A),), (Comparison(Y, "!=", A),), True),
        (((X, B),), (Comparison(X, "<", A),), False),
        (((X, Y),), (), True),
        ((), (Comparison(X, "<", Y),), True),
        (((Var("Xa"), B),), (Comparison(Var("Xa"), "<", Var("XA")),), True),
    ],
)
def test_can_hold(equalities: tuple, known: tuple, possible: bool) -> None:
    assert can_hold(equalities, known) is possible


PLANS = """
import sys
import selfmaint

view = selfmaint.parse({text!r}).view("v")
for relation in view.relations:
    for action in ("insert", "delete"):
        plan = view.plan(relation, action)
        plan.from_json(plan.to_json()), str(plan)
assert "sympy" not in sys.modules
"""


@pytest.mark.parametrize(
    "text",
    ["v(X, Y) :- r(X, Y), s(Y).", "v(X, Y) :- r(X, Y), p(X, Y), p(Y, X), p(X, 1), X < Y."],
    ids=["no condition", "conditions"],
)
def test_compiling_does_not_load_sympy(text: str) -> None:
    code = PLANS.format(text=text)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
