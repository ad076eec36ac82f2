"""Who vouches for whom, under which condition, and with which match."""

from __future__ import annotations

import pytest

from cq.printer import print_term
from cq.program import read
from cq.roles import roles
from cq.selfjoins import vouchers


def shown(text: str, instance: int) -> list[tuple[int, str, str]]:
    """Subgoal, condition and match of each voucher; the updated subgoal is the first one."""
    query = read(text).normal("v")
    return [
        (
            voucher.subgoal,
            " and ".join(f"{var.name} = {print_term(term)}" for var, term in voucher.equalities),
            ", ".join(f"{var.name}: {print_term(term)}" for var, term in voucher.match),
        )
        for voucher in vouchers(query, roles(query, 0), instance)
    ]


@pytest.mark.parametrize(
    ("text", "instance", "expected"),
    [
        # Huyn, Example 3.2
        (
            "v(X, Y, Z) :- r(X, Y, Z), p(d, X, Y), p(Z, Y, Z).",
            1,
            [(1, "", "X: X, Y: Y"), (2, "Y = d", "Z: d, Y: X")],
        ),
        (
            "v(X, Y, Z) :- r(X, Y, Z), p(d, X, Y), p(Z, Y, Z).",
            2,
            [(2, "", "Z: Z, Y: Y"), (1, "Z = d", "X: Y, Y: Z")],
        ),
        # Huyn, Example 4.1: the third subgoal of p has a far variable, but no hidden one
        (
            "v(X, Y, Z, T) :- r(X, Y, Z), p(b, X, Y), p(Z, Y, Z), p(X, Z, T).",
            1,
            [(1, "", "X: X, Y: Y"), (2, "Y = b", "Z: b, Y: X"), (3, "", "X: b, Z: X, T: Y")],
        ),
        (
            "v(X, Y) :- r(X, Y), p(X, Y), p(Y, X).",
            1,
            [(1, "", "X: X, Y: Y"), (2, "", "Y: X, X: Y")],
        ),
        ("v(X, Y) :- r(X, Y), p(X), p(H), q(H, Y).", 1, [(1, "", "X: X")]),
        ("v(X) :- r(X), p(1, X), p(2, X).", 1, [(1, "", "X: X")]),
        ("v(X) :- r(X), p(1, X), p(X, 2).", 1, [(1, "", "X: X"), (2, "X = 2", "X: 1")]),
        (
            "v(X, Y) :- r(X, Y), p(X, Y, Y), p(Y, Y, X).",
            1,
            [(1, "", "X: X, Y: Y"), (2, "Y = X", "Y: X, X: Y")],
        ),
        ("v(X) :- r(X), p(), q(X).", 1, [(1, "", "")]),
        ("v(X, Y) :- r(X, Y), p(X, Y), p(Z, Z), q(Z).", 1, [(1, "", "X: X, Y: Y")]),
        (
            "v(X, Y, Z) :- r(X, Y), p(X, Y), p(Z, Z), q(Z).",
            1,
            [(1, "", "X: X, Y: Y"), (2, "Y = X", "Z: X")],
        ),
    ],
)
def test_vouchers(text: str, instance: int, expected: list) -> None:
    assert shown(text, instance) == expected


@pytest.mark.parametrize(
    ("comparison", "vouch"),
    [("X < Y", [1]), ("X != Y", [1]), ("X <= Y", [1, 2]), ("X < 5", [1, 2]), ("X > 5, Y < 5", [1])],
)
def test_the_screen_rules_conditions_out(comparison: str, vouch: list[int]) -> None:
    """p(Z, Z) vouches for p(X, Y) only if x = y."""
    found = shown(f"v(X, Y, Z) :- r(X, Y, Z), p(X, Y), p(Z, Z), {comparison}.", 1)
    assert [subgoal for subgoal, _, _ in found] == vouch
