"""PART: the finest partition in which no two groups share a variable that is not bound."""

from __future__ import annotations

import pytest

from cq.partition import Group, partition
from cq.program import read
from cq.syntax import Var


def groups_of(text: str, bound: str, subgoals: tuple[int, ...] | None = None) -> tuple[Group, ...]:
    query = read(text).normal("v")
    members = tuple(range(len(query.atoms))) if subgoals is None else subgoals
    return partition(query, members, query.comparisons, [Var(name) for name in bound])


def shown(groups: tuple[Group, ...]) -> list[tuple[tuple[int, ...], str, str]]:
    return [
        (g.subgoals, "".join(v.name for v in g.bound), "".join(v.name for v in g.free))
        for g in groups
    ]


PAPER = "v() :- p1(U, Z), p2(Y, Z), p3(Z, T), p4(W, T)."


def test_paper_example_2_1() -> None:
    assert shown(groups_of(PAPER, "UYW")) == [((0, 1, 2, 3), "UYW", "ZT")]
    assert shown(groups_of(PAPER, "UYWZ")) == [
        ((0,), "UZ", ""),
        ((1,), "YZ", ""),
        ((2, 3), "ZW", "T"),
    ]


@pytest.mark.parametrize(
    ("text", "bound", "expected"),
    [
        ("v() :- p(X), q(Y).", "", [((0,), "", "X"), ((1,), "", "Y")]),
        ("v() :- p(1), q().", "", [((0,), "", ""), ((1,), "", "")]),
        ("v() :- p(X, Y), q(Y, Z), s(Z, X).", "X", [((0, 1, 2), "X", "YZ")]),
        ("v() :- p(A), q(B), s(C), t(A, C).", "", [((0, 2, 3), "", "AC"), ((1,), "", "B")]),
        ("v() :- p(A), q(B), A < B.", "", [((0, 1), "", "AB")]),
        ("v() :- p(A), q(B), A < B.", "A", [((0,), "A", ""), ((1,), "A", "B")]),
        ("v() :- p(A), q(B), s(C), A < B, B != C.", "", [((0, 1, 2), "", "ABC")]),
        ("v() :- p(A, X), q(B), A > 3, B < 4.", "X", [((0,), "X", "A"), ((1,), "", "B")]),
    ],
)
def test_groups(text: str, bound: str, expected: list) -> None:
    assert shown(groups_of(text, bound)) == expected


def test_comparisons_belong_to_the_group_of_their_free_variables() -> None:
    first, second = groups_of("v() :- p(A, X), q(B, X), A != 3, B <= X, A > X.", "X")
    assert [c.operator for c in first.comparisons] == ["!=", "<"]
    assert [c.operator for c in second.comparisons] == ["<="]


def test_only_the_given_subgoals() -> None:
    assert shown(groups_of("v() :- p(X, Y), q(Y, Z), s(Z).", "XY", (1, 2))) == [((1, 2), "Y", "Z")]
