"""Names, arities, types and safety: facts on diagnostics; the wording is in tests/golden/errors."""

from __future__ import annotations

import pytest

from cq.check import MAX_SUBGOALS, Checked, check
from cq.diagnostics import Diagnostic, DiagnosticError
from cq.parser import parse_syntax
from cq.program import read
from cq.schema import Column, Reference, Relation
from cq.syntax import Comparison, Const, Var
from cq.types import ANY, Type


def checked(text: str, *relations: Relation) -> Checked:
    return read(text, relations=relations).checked


def errors(text: str, *relations: Relation) -> list[Diagnostic]:
    with pytest.raises(DiagnosticError) as caught:
        read(text, relations=relations)
    return list(caught.value.diagnostics.errors)


def codes(text: str) -> list[str]:
    return [error.code for error in errors(text)]


def test_relations_as_declared() -> None:
    text = """
    .decl line(o: long, n: int, price: decimal(9, 2), note) key(o, n) references orders(o)
    .decl orders(o: long) key(o)
    """
    assert checked(text).relations == {
        "line": Relation(
            "line",
            (
                Column("o", Type("long")),
                Column("n", Type("int")),
                Column("price", Type("decimal", 9, 2)),
                Column("note", ANY),
            ),
            keys=((0, 1),),
            references=(Reference((0,), "orders", (0,)),),
        ),
        "orders": Relation("orders", (Column("o", Type("long")),), keys=((0,),)),
    }


def test_relation_known_from_its_use_is_untyped() -> None:
    relation = checked("v(X) :- r(X, _).").relations["r"]
    assert relation == Relation.untyped("r", 2)
    assert not relation.declared


def test_relations_from_python() -> None:
    given = Relation("r", (Column("a", Type("int")),))
    assert checked("v(X) :- r(X).", given).views["v"].types == (Type("int"),)
    assert [error.code for error in errors(".decl r(a: int)", given)] == ["CQ106"]


def test_two_keys_of_one_shape_are_told_apart_by_names() -> None:
    text = """
    .decl p(a: long, b: long) key(a) key(b)
    .decl c(b: long, x: long) references p(b), references p(x)
    """
    references = checked(text).relations["c"].references
    assert references == (Reference((0,), "p", (1,)), Reference((1,), "p", (0,)))


def test_view_types_flow_into_views_over_it() -> None:
    text = ".decl r(a: long, b: string) v(A, B, 1, x) :- r(A, B). w(D, C) :- v(C, D, _, _)."
    views = checked(text).views
    assert views["v"].types[:2] == (Type("long"), Type("string"))
    assert views["w"].types == (Type("string"), Type("long"))


def test_a_typed_column_gives_an_untyped_one_its_type() -> None:
    text = ".decl r(a: long) v(X) :- u(X), r(X). w(X) :- u(X), X > 'a', r(X)."
    assert codes(text) == ["CQ115"]


def test_constants_take_the_representation_of_their_column() -> None:
    text = ".decl r(a: double, b: long) v() :- r(2, 3). w(X) :- r(X, Y), X = 2, Y != 3, Y > 1.5."
    views = checked(text).views
    assert views["v"].rule.atoms[0].terms == (Const(2.0), Const(3))
    x, y = Var("X"), Var("Y")
    kept = [(c.left, c.operator, c.right) for c in views["w"].rule.comparisons]
    assert kept[0] == (x, "=", Const(2.0))
    assert kept[1] == (y, "!=", Const(3))
    assert all(comparison.numeric for comparison in views["w"].rule.comparisons)


def test_untyped_fractions_are_floats() -> None:
    assert checked("v(1.5) :- r(2.5).").views["v"].rule.atoms[0].terms == (Const(2.5),)
    assert checked("v(1.5) :- r(2.5).").views["v"].rule.head.terms == (Const(1.5),)


def test_untyped_comparisons_are_allowed() -> None:
    (comparison,) = checked("v(X) :- r(X, Y), X < 'a', s(Y).").views["v"].rule.comparisons
    assert comparison == Comparison(Var("X"), "<", Const("a"))


def test_a_constant_of_an_inner_head_joins_with_every_number() -> None:
    text = ".decl r(a: int) .decl s(b: int) w(X, 1) :- r(X). v(X) :- w(X, K), s(K)."
    assert set(checked(text).views) == {"w", "v"}


def test_views_are_listed_after_the_views_they_use() -> None:
    assert list(checked("c(X) :- b(X). b(X) :- a(X). a(X) :- r(X).").views) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v(X) :- v(X).", ["CQ108"]),
        ("a(X) :- b(X). b(X) :- a(X).", ["CQ108"]),
        ("a(X) :- b(X), b(X). b(X) :- c(X). c(X) :- b(X).", ["CQ108"]),
        ("a(X) :- b(X), c(X). b(X) :- d(X). c(X) :- d(X). d(X) :- r(X).", []),
    ],
    ids=["itself", "each other", "above a cycle", "a diamond is none"],
)
def test_recursion(text: str, expected: list[str]) -> None:
    found = check(parse_syntax(text)[0])[1]
    assert [diagnostic.code for diagnostic in found] == expected


def test_two_uses_of_an_undeclared_relation_that_disagree() -> None:
    """`w` is checked before `v`, which uses it: what stands further up is not what came first."""
    (error,) = errors("v(X) :- w(X), r(X).\nw(X) :- r(X, _).")
    assert error.code == "CQ102"
    assert error.span.line == 2 or "further up" not in " ".join(error.help)


def test_a_view_is_not_suggested_for_a_relation_of_its_own_body() -> None:
    found = read(".decl c(a: long) big_orders(X) :- orders(X), c(X).").diagnostics.warnings
    assert not any("big_orders" in line for warning in found for line in warning.help)


def test_largest_view() -> None:
    assert codes("v(X) :- " + ", ".join(["r(X)"] * (MAX_SUBGOALS + 1)) + ".") == ["CQ125"]
    half = ", ".join(["r(X)"] * (MAX_SUBGOALS // 2))
    assert "w" in checked(f"v(X) :- {half}. w(X) :- v(X), v(X).").views


def test_findings_are_sorted_and_said_once() -> None:
    text = "v(Z) :- r(X, X).\n.decl r(a: long, b: nothing)\nw(Y, Y) :- r(X, X)."
    found = errors(text)
    assert [error.span for error in found] == sorted(error.span for error in found)
    assert len(found) == len(set(found)) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v(X) :- r(X, Y).", ["CQ120"]),
        ("v(X) :- r(X, _Y), s(_).", []),
        ("v(X) :- r(X, Y), Y > 3.", []),
        ("v(X) :- r(X), X = Y, s(Y).", []),
    ],
)
def test_singletons(text: str, expected: list[str]) -> None:
    assert [warning.code for warning in read(text).diagnostics.warnings] == expected
