"""Which subgoals go, which stay, and why; the law itself is in property_tests."""

from __future__ import annotations

import time

import pytest

from cq.minimize import minimize
from cq.printer import print_atom, print_rule
from cq.program import read
from cq.query import Query
from lookups.evaluate import evaluate


def minimized(text: str, name: str = "v") -> Query:
    return read(text).query(name)


def shown(text: str) -> str:
    query = minimized(text)
    assert query.is_minimal
    return print_rule(query.rule())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v(X) :- r(X, Y), r(X, Z).", "v(X) :- r(X, Z)."),
        ("v(X) :- r(X, Y), r(X, Z), s(Y).", "v(X) :- r(X, Y), s(Y)."),
        ("v(X) :- r(X, Y), r(X, 1).", "v(X) :- r(X, 1)."),
        ("v(X) :- r(X, Y), r(X, Y).", "v(X) :- r(X, Y)."),
        ("v() :- r(X, Y), r(Y, Z), r(U, U).", "v() :- r(U, U)."),
        ("v(X) :- r(X, Y), s(Y), r(X, Z), s(Z).", "v(X) :- r(X, Z), s(Z)."),
        ("v(X) :- r(X, A), r(X, B), A < 5, B < 9.", "v(X) :- r(X, A), A < 5."),
        ("v(X) :- r(X, A), r(X, B), A != 5, B > 9, A > 7.", "v(X) :- r(X, B), B > 9."),
        ("v(X) :- r(X, A, B), r(X, C, D), A < B.", "v(X) :- r(X, A, B), A < B."),
    ],
)
def test_redundant(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "v(X, Y, Z) :- r(X, Y), r(X, Z).",
        "v(X) :- r(X, Y), r(Y, X).",
        "v(X) :- r(X, 1), r(X, 2).",
        "v(X) :- r(X, Y), r(X, Z), s(Y), t(Z).",
        "v() :- r(X, Y), r(Y, Z), r(Z, X).",
        "v(X) :- r(X, A), r(X, B), A < 5, B > 9.",
        "v(X) :- r(X, A), r(X, B), A < 5, B <= 5, B != 3.",
        "v(X) :- r(X, A), r(X, B), A < B.",
    ],
)
def test_nothing_is_redundant(text: str) -> None:
    query = minimized(text)
    assert query.atoms == read(text).normal("v").atoms
    assert query.dropped == ()


def test_a_subgoal_that_refuses_null_is_not_implied_by_one_that_takes_it() -> None:
    """r(X, Y) with Y = Y refuses NULL, so r(X, Z) alone would show more."""
    text = "v(X) :- r(X, Y), Y = Y, r(X, Z)."
    query = minimized(text)
    assert [var.name for atom in query.atoms for var in atom.terms] == ["X", "Y"]
    assert evaluate(query, {"r": {(1, None)}}) == set()


def test_a_variable_keeps_refusing_null_when_it_lost_its_second_occurrence() -> None:
    query = minimized("v(X) :- r(X, Y), r(X, Z).")
    assert {var.name for var in query.non_null} == {"X"}
    assert evaluate(query, {"r": {(None, 1), (2, None)}}) == {(2,)}


def test_comparisons_that_only_the_removed_subgoal_implied_are_kept() -> None:
    """B <= A <= 5 says B <= 5, which must not go with A."""
    text = "v(B) :- s(B), p(C), p(A), B <= A, A <= 5, C >= 5, C <= 5."
    database = {"s": {(9,)}, "p": {(5,)}}
    source = read(text)
    assert evaluate(source.normal("v"), database) == set()
    assert evaluate(source.query("v"), database) == set()


def test_what_was_dropped_and_why() -> None:
    (dropped,) = minimized("v(X, Y) :- r(X, Y), r(X, _), s(Y).").dropped
    assert (print_atom(dropped.atom), dropped.reason) == ("r(X, _)", "implied by r(X, Y)")


KEYED = ".decl r(k: long, a: long, b: long) key(k) .decl s(x: long) "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v(A, B) :- r(K, A, _), r(K, _, B).", "v(A, B) :- r(K, A, B)."),
        ("v(A, B) :- r(K, A, _), r(K, B, _).", "v(A, A) :- r(K, A, _)."),
        ("v(K) :- r(K, A, 1), r(K, 2, B), s(A), s(B).", "v(K) :- r(K, 2, 1), s(2), s(1)."),
        ("v(A) :- r(K, A, _), r(K, B, _), A < 5, B > 3.", "v(A) :- r(K, A, _), A < 5, A > 3."),
        ("v(A) :- r(1, A, _), r(1, _, B), s(B).", "v(A) :- r(1, A, B), s(B)."),
        (
            "v(A, C) :- r(K, A, L), r(K, _, L), r(L, C, _), r(L, _, _).",
            "v(A, C) :- r(K, A, L), r(L, C, _).",
        ),
    ],
)
def test_same_key_is_the_same_row(text: str, expected: str) -> None:
    assert shown(KEYED + text) == expected


@pytest.mark.parametrize(
    "body",
    ["r(K, 1, _), r(K, 2, _)", "r(K, A, _), r(K, B, _), A < B", "r(K, A, _), r(K, B, _), A != B"],
)
def test_same_key_with_two_values_is_no_row(body: str) -> None:
    assert minimized(KEYED + f"v(K) :- {body}.").is_empty


def test_same_key_and_null() -> None:
    query = minimized(KEYED + "v(A, B) :- r(K, A, _), r(K, B, _).")
    assert evaluate(query, {"r": {(1, None, 2)}}) == {(None, None)}
    query = minimized(KEYED + "v(A) :- r(K, A, _), r(K, B, _), s(B).")
    assert evaluate(query, {"r": {(1, None, 2)}, "s": {(None,)}}) == set()


def test_a_variable_refuses_null_for_the_one_that_it_replaces() -> None:
    """B joins, A does not; both are one column of one row, which keeps the name A."""
    query = minimized(KEYED + "v(K) :- r(K, A, _), r(K, B, _), s(B).")
    assert print_rule(query.rule()) == "v(K) :- r(K, A, _), s(A)."
    assert {var.name for var in query.non_null} == {"K", "A"}


CHILDREN = """
.decl orders(o: long, c: long, d: long) references customer(c), references day(d)
.decl customer(c: long, region: string) key(c) references country(region)
.decl country(region: string) key(region)
.decl day(d: long, name: string) key(d)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v(O) :- orders(O, C, _), customer(C, _).", "v(O) :- orders(O, C, _)."),
        ("v(O) :- customer(C, _), orders(O, C, D), day(D, _).", "v(O) :- orders(O, C, D)."),
        (
            "v(O) :- orders(O, C, _), customer(C, R), country(R).",
            "v(O) :- orders(O, C, _), customer(C, R).",
        ),
    ],
)
def test_guaranteed(text: str, expected: str) -> None:
    assert shown(CHILDREN + text) == expected


CHAIN = """
.decl grand(a: long) key(a)
.decl parent(a: long) key(a) references grand(a)
.decl child(a: long) references parent(a)
"""


@pytest.mark.parametrize(
    "body",
    [
        "child(A), parent(A), grand(A)",
        "grand(A), parent(A), child(A)",
        "parent(A), grand(A), child(A)",
    ],
)
def test_guaranteed_through_another_guaranteed_subgoal(body: str) -> None:
    """Every child has its parent and every parent its grandparent, in whatever order they stand."""
    assert shown(CHAIN + f"v(A) :- {body}.") == "v(A) :- child(A)."


def test_a_guaranteed_subgoal_that_goes_may_make_another_one_redundant() -> None:
    """orders(O, C, D) is not implied by orders(O, C, E) while it is D, not E, that day needs."""
    text = "v(O) :- orders(O, C, D), day(D, _), orders(O, C, E), late(E)."
    assert shown(CHILDREN + text) == "v(O) :- orders(O, C, E), late(E)."


def test_guaranteed_subgoal_that_refused_null_still_does() -> None:
    """An order without a customer refers to nothing, so it has no customer to join with."""
    query = minimized(CHILDREN + "v(O) :- orders(O, C, _), customer(C, _).")
    assert evaluate(query, {"orders": {(1, None, None), (2, 3, None)}}) == {(2,)}


@pytest.mark.parametrize(
    "text",
    [
        "v(O) :- orders(O, C, _), customer(C, eu).",
        "v(O, R) :- orders(O, C, _), customer(C, R).",
        "v(O) :- orders(O, C, _), customer(C, R), s(R).",
        "v(O) :- orders(O, C, _), customer(C, R), R != eu.",
        "v(O) :- orders(O, C, _), customer(D, _), s(D).",
        "v(O) :- orders(O, _, C), customer(C, _).",
        "v(C) :- customer(C, _), s(C).",
        "v(O) :- orders(O, C, _), customer(C, R), R = R.",
    ],
)
def test_not_guaranteed(text: str) -> None:
    assert "customer" in [atom.predicate for atom in minimized(CHILDREN + text).atoms]


def test_minimizing_twice_changes_nothing() -> None:
    query = minimized("v(X) :- r(X, Y), r(X, Z), r(Z, W), s(Z).")
    assert minimize(query) == query


def test_a_large_view_says_that_minimization_stopped_early() -> None:
    atoms = ", ".join(f"r(X{i}, X{(i * 7 + 3) % 40}, X{(i * 11 + 5) % 40})" for i in range(40))
    query = minimized(f"v() :- {atoms}.")
    assert not query.is_minimal
    assert len(query.atoms) <= 40


THIRTY = {
    "a chain": ", ".join(f"r(X{i}, X{i + 1})" for i in range(30)),
    "a ring": ", ".join(f"r(X{i}, X{(i + 1) % 30})" for i in range(30)),
    "a star": ", ".join(f"r(A, X{i})" for i in range(30)),
    "a star of bounds": ", ".join(f"r(A, X{i}), X{i} < {i}" for i in range(30)),
    "a chain in order": ", ".join(f"r(X{i}, X{i + 1}), X{i} < X{i + 1}" for i in range(30)),
    "pairs in order": ", ".join(f"r(X{i}, Y{i}), X{i} < Y{(i + 7) % 30}" for i in range(30)),
    "a dense graph": ", ".join(f"r(X{i % 7}, X{i * 3 % 11})" for i in range(30)),
    "a grid": ", ".join(f"r(X{i}, X{i + 1}), r(X{i}, X{i + 5})" for i in range(15)),
}


@pytest.mark.parametrize("shape", THIRTY)
def test_thirty_subgoals_take_less_than_a_second(shape: str) -> None:
    source = read(f"v() :- {THIRTY[shape]}.")
    start = time.process_time()
    source.query("v")
    assert time.process_time() - start < 1
