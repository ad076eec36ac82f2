"""The normal form: unfolding, equalities, ground comparisons, and which variables refuse NULL."""

from __future__ import annotations

import pytest

from cq.printer import print_rule
from cq.program import read
from cq.query import Query
from cq.schema import Reference
from cq.syntax import Const, Var
from cq.types import ANY, Type
from lookups.evaluate import evaluate


def normal(text: str, name: str = "v") -> Query:
    return read(text).normal(name)


def shown(query: Query) -> str:
    return print_rule(query.rule())


def refusing(query: Query) -> set[str]:
    return {var.name for var in query.non_null}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v(X) :- r(X, Y), X = Y.", "v(X) :- r(X, X)."),
        ("v(Y) :- r(X, Y), X = Y.", "v(Y) :- r(Y, Y)."),
        ("v(X) :- r(X, Y), Y = 5.", "v(X) :- r(X, 5)."),
        ("v(X, Y) :- r(X, Y), 5 = Y, Y = X.", "v(5, 5) :- r(5, 5)."),
        ("v(X) :- r(X, _A), _A = X.", "v(X) :- r(X, X)."),
        ("v(X) :- r(X), X = X.", "v(X) :- r(X)."),
        ("v(X) :- r(X, Y), 3 < X, Y > X.", "v(X) :- r(X, Y), X > 3, X < Y."),
        ("v(X) :- r(X, Y), X < Y, Y > X.", "v(X) :- r(X, Y), X < Y."),
        ("v(X) :- r(X), 1 < 2, 'a' != 'b'.", "v(X) :- r(X)."),
        ("v(X) :- r(X), X >= X.", "v(X) :- r(X)."),
    ],
)
def test_normal_form(text: str, expected: str) -> None:
    query = normal(text)
    assert shown(query) == expected
    assert not query.is_empty


def test_equal_variables_are_named_after_the_earliest() -> None:
    assert shown(normal("v(X) :- r(X, Y), s(Z), X = Y, Z = X.")) == "v(X) :- r(X, X), s(X)."


@pytest.mark.parametrize(
    "text",
    [
        "v(X) :- r(X), X = 1, X = 2.",
        "v(X) :- r(X), 2 < 1.",
        "v(X) :- r(X), X != X.",
        "v(X) :- r(X), X < X.",
        "v(X) :- r(X), X > 3, X < 3.",
        "v(X) :- r(X, Y), X < Y, Y <= X.",
        "v(X) :- r(X, Y), X = Y, X != Y.",
        "v(X) :- r(X), X = 1, X > 5.",
        "w(1) :- r(X). v() :- w(2).",
        "w(X, 1) :- r(X). v(X) :- w(X, Y), Y = 2.",
    ],
)
def test_no_database_gives_a_row(text: str) -> None:
    assert normal(text).is_empty


def test_unfolding_renames_inner_variables() -> None:
    text = "w(X, Y) :- r(X, Z), s(Z, Y). v(X, Z) :- w(X, Y), w(Y, Z)."
    query = normal(text)
    assert [atom.predicate for atom in query.atoms] == ["r", "s", "r", "s"]
    (_, first), (_, joint), (joint2, second), (_, last) = (atom.terms for atom in query.atoms)
    assert joint == joint2
    assert len({first, joint, second, last}) == 4
    assert query.head == (query.atoms[0].terms[0], last)


def test_unfolding_through_three_views() -> None:
    text = "a(X, Y) :- r(X, Y), X < Y. b(Y, X) :- a(X, Y). v(X) :- b(X, 1), t(X)."
    assert shown(normal(text)) == "v(X) :- r(1, X), t(X), X > 1."


def test_unfolding_head_constants_and_repeated_head_variables() -> None:
    query = normal("w(X, X, eu) :- r(X, Y), s(Y). v(A, B, C) :- w(A, B, C).")
    (same, also_same, region), (first, _) = query.head, query.atoms[0].terms
    assert same == also_same == first
    assert region == Const("eu")


def test_boolean_views_unfold() -> None:
    assert shown(normal("w() :- r(X), s(X). v(X) :- t(X), w().")) == "v(X) :- t(X), r(X_2), s(X_2)."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v(A, H) :- r(A, H, J), s(J).", {"J"}),
        ("v(X) :- r(X, X).", {"X"}),
        ("v(X) :- r(X, Y), Y < 3.", {"Y"}),
        ("v(X) :- r(X), X = X.", {"X"}),
        ("v(X) :- r(X), X <= X.", {"X"}),
        ("v(X) :- r(X, Y), X = Y.", {"X"}),
        ("v(X) :- r(X, Y), Y = 3.", set()),
        ("w(X) :- r(X, Y). v(X) :- w(X).", set()),
        ("w(X) :- r(X, Y). v(X) :- w(X), s(X).", {"X"}),
        ("w(X, X) :- r(X). v(A, B) :- w(A, B).", set()),
    ],
)
def test_variables_that_refuse_null(text: str, expected: set[str]) -> None:
    assert refusing(normal(text)) == expected


def test_a_variable_that_occurs_twice_in_the_text_refuses_null() -> None:
    """A joins column 1 of `w` with column 2, so NULL never gets through, though r holds it once."""
    source = read("w(X, X) :- r(X). v(A) :- w(A, A).")
    inner = evaluate(source.normal("w"), {"r": {(None,), (1,)}})
    assert inner == {(None, None), (1, 1)}
    assert evaluate(source.normal("v"), {"r": {(None,), (1,)}}) == {(1,)}


def test_columns_are_the_first_that_show_a_variable() -> None:
    query = normal("v(X, 1, Y, X) :- r(X, Y, H).")
    assert query.columns == {Var("X"): 0, Var("Y"): 2}
    assert query.is_exposed(Var("Y"))
    assert query.is_exposed(Const(9))
    assert not query.is_exposed(Var("H"))


def test_types_and_relations() -> None:
    query = normal(".decl s(a: long) v(X, Y) :- s(X), r(Y), s(_).")
    assert query.types == (Type("long"), ANY)
    assert [relation.name for relation in query.relations] == ["r", "s"]
    assert query.occurrences("s") == (0, 2)


FAMILY = """
.decl grand(g: long) key(g)
.decl parent(p: long, g: long) key(p) references grand(g)
.decl child(c: long, p: long) references parent(p)
"""


def test_parents_come_before_the_subgoals_that_refer_to_them() -> None:
    query = normal(FAMILY + "v(C) :- child(C, P), parent(P, G), grand(G), other(C).")
    assert query.order == (2, 1, 0, 3)


def test_a_reference_needs_the_same_terms() -> None:
    query = normal(FAMILY + "v(C) :- child(C, P), parent(P, G), parent(Q, _), grand(Q), s(G).")
    assert query.reference(1, 0) == Reference((1,), "parent", (0,))
    assert query.reference(2, 0) is None
    assert query.reference(0, 1) is None


def test_references_in_a_cycle_keep_the_order_of_the_body() -> None:
    text = ".decl a(x: long, y: long) key(x) references b(y) .decl b(x: long, y: long) key(x)"
    query = normal(text + " references a(y) v(X, Y) :- a(X, Y), b(Y, X).")
    assert query.order == (0, 1)


@pytest.mark.parametrize(
    "columns",
    ["a: int, c: double", "a: int, c: decimal(5, 2)", "a: double, c: int"],
)
def test_what_comparisons_imply_compares_declared_numbers_by_value(columns: str) -> None:
    """A < B and B < C say A < C, whose sides are of two Python types; N is beside the point."""
    text = f".decl r({columns}) .decl s(b: int, n: string) "
    query = normal(text + "v(A, C) :- r(A, C), s(B, N), A < B, B < C, N > 'a'.")
    assert len(evaluate(query, {"r": {(1, 3)}, "s": {(2, "b")}})) == 1


def test_what_comparisons_imply_through_an_undeclared_column() -> None:
    """1 < 2.0 holds between declared numbers and 2.0 < 3.0 between values of one type."""
    query = normal(".decl r(a: int, c) .decl s(b: double) v(A, C) :- r(A, C), s(B), A < B, B < C.")
    assert evaluate(query, {"r": {(1, 3.0)}, "s": {(2.0,)}}) == {(1, 3.0)}
