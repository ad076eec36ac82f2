"""Own, join and far variables; which comparisons screen."""

from __future__ import annotations

import pytest

from cq.program import read
from cq.roles import Roles, roles


def roles_of(text: str, updated: int = 0) -> Roles:
    return roles(read(text).normal("v"), updated)


def names(found: Roles) -> tuple[str, str, str]:
    own, join, far = (
        "".join(var.name for var in kind) for kind in (found.own, found.join, found.far)
    )
    return own, join, far


@pytest.mark.parametrize(
    ("text", "updated", "expected"),
    [
        ("v(X) :- r(X, Y), s(Y, Z).", 0, ("X", "Y", "Z")),
        ("v(X) :- r(X, Y), s(Y, Z).", 1, ("Z", "Y", "X")),
        ("v(X) :- r(X, X, 1).", 0, ("X", "", "")),
        ("v() :- r(), s(X).", 0, ("", "", "X")),
        ("v(X) :- r(X, Y), r(Y, Z).", 0, ("X", "Y", "Z")),
        ("v(X) :- r(A, B), s(X), A < B.", 0, ("AB", "", "X")),
        ("v(X) :- r(A, B), s(X), A < X.", 0, ("B", "A", "X")),
        ("v(X) :- r(A), s(X, Y), X < Y.", 0, ("A", "", "XY")),
        ("v(X) :- r(Y, X), s(Z, Y), t(W, Z, X).", 1, ("", "ZY", "XW")),
    ],
)
def test_roles(text: str, updated: int, expected: tuple[str, str, str]) -> None:
    assert names(roles_of(text, updated)) == expected


def test_screens_and_tests() -> None:
    found = roles_of("v(X) :- r(X, Y), s(Z), X < Y, Y > 3, X != Z, Z < 9.")
    assert [c.operator for c in found.screens] == ["<", ">"]
    assert [c.operator for c in found.tests] == ["!=", "<"]
    assert found.rest == (1,)
    assert found.updated == 0
