"""Text to syntax: what the language is, and that one mistake hides no other."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from cq.diagnostics import Span
from cq.parser import parse_syntax
from cq.syntax import (
    Atom,
    ColumnSyntax,
    Comparison,
    Const,
    Declaration,
    NameRef,
    ReferencesSyntax,
    Rule,
    Syntax,
    Var,
)


def parsed(text: str) -> Syntax:
    syntax, diagnostics = parse_syntax(text)
    assert diagnostics == []
    return syntax


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in parse_syntax(text)[1]]


def constant(text: str) -> object:
    (rule,) = parsed(f"v(X) :- r(X, {text}).").rules
    term = rule.atoms[0].terms[1]
    assert isinstance(term, Const)
    return term.value


def test_a_rule() -> None:
    (rule,) = parsed("v(X, a) :- r(X, Y), Y < 3, s(Y).").rules
    x, y = Var("X"), Var("Y")
    assert rule == Rule(
        Atom("v", (x, Const("a"))),
        (Atom("r", (x, y)), Atom("s", (y,))),
        (Comparison(y, "<", Const(3)),),
    )


def test_a_declaration() -> None:
    text = ".decl r(a: long, b: decimal(5, 2), C) key(a) key(b, C) references s(a), references t(b)"
    (declaration,) = parsed(text).declarations
    a, b, c = NameRef("a"), NameRef("b"), NameRef("C")
    assert declaration == Declaration(
        NameRef("r"),
        (
            ColumnSyntax(a, NameRef("long")),
            ColumnSyntax(b, NameRef("decimal"), (5, 2)),
            ColumnSyntax(c, NameRef("any")),
        ),
        keys=((a,), (b, c)),
        references=(ReferencesSyntax(NameRef("s"), (a,)), ReferencesSyntax(NameRef("t"), (b,))),
    )


@pytest.mark.parametrize(
    "text",
    [
        "v(X) :- r(X) & s(X).",
        "v(X):-r(X),s(X).",
        "% before\nv(X) :- % inside\n  r(X),\n\ts(X).  % after",
        "v(X) :- r(X), s(X).\r\n",
    ],
    ids=["&", "no spaces", "comments and lines", "CRLF"],
)
def test_spelling_does_not_matter(text: str) -> None:
    assert parsed(text) == parsed("v(X) :- r(X), s(X).")


@pytest.mark.parametrize("text", ["", " \n\t", "% nothing", "%"])
def test_an_empty_program(text: str) -> None:
    assert parsed(text) == Syntax((), ())


def test_boolean_views_and_empty_relations() -> None:
    assert parsed(".decl p() v() :- p().") == Syntax(
        (Declaration(NameRef("p"), ()),), (Rule(Atom("v", ()), (Atom("p", ()),)),)
    )


def test_every_underscore_is_another_variable() -> None:
    (rule,) = parsed("v() :- r(_, _, _Named, _Named).").rules
    first, second, third, fourth = rule.atoms[0].terms
    assert first != second
    assert third == fourth == Var("_Named")
    assert all(isinstance(term, Var) and term.is_anonymous for term in rule.atoms[0].terms)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("abc", "abc"),
        ("abc_Ü1", "abc_Ü1"),
        ("key", "key"),
        ("references", "references"),
        ("'EU'", "EU"),
        ('"EU"', "EU"),
        (r"'it\'s'", "it's"),
        (r"'a\\b\n\r\t\"'", 'a\\b\n\r\t"'),
        ("'% no comment. :- '", "% no comment. :- "),
        ("''", ""),
        ("'\u2028\x00'", "\u2028\x00"),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("007", 7),
        ("1.50", Decimal("1.50")),
        ("-2.5e-3", Decimal("-0.0025")),
        ("1E3", Decimal(1000)),
        ("2024-02-29", date(2024, 2, 29)),
        ("2024-02-29T12:30", datetime(2024, 2, 29, 12, 30)),
        ("2024-02-29T12:30:01.25", datetime(2024, 2, 29, 12, 30, 1, 250000)),
        ("2024-02-29T12:30Z", datetime(2024, 2, 29, 12, 30, tzinfo=UTC)),
        (
            "2024-02-29T12:30:00+05:30",
            datetime(2024, 2, 29, 12, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        ),
    ],
)
def test_constants(text: str, value: object) -> None:
    found = constant(text)
    assert (type(found), found) == (type(value), value)


def test_a_doubled_quote_is_no_escape() -> None:
    assert codes("v(X) :- r(X, 'it''s').") != []


def test_numbers_of_different_kinds_are_different_constants() -> None:
    assert len({Const(1), Const(1.0), Const(Decimal(1)), Const(True), Const("1")}) == 5


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_operators(operator: str) -> None:
    (rule,) = parsed(f"v(X) :- r(X, Y), X{operator}-1, a {operator} Y.").rules
    assert [comparison.operator for comparison in rule.comparisons] == [operator, operator]
    assert rule.comparisons[0].right == Const(-1)


def test_clause_words_are_names_elsewhere() -> None:
    syntax = parsed(
        ".decl key(references: long, key: long) key(key). key2(X) :- key(X, references)."
    )
    assert syntax.declarations[0].keys == ((NameRef("key"),),)
    assert syntax.rules[0].atoms == (Atom("key", (Var("X"), Const("references"))),)


def test_full_stop_ends_a_declaration_before_a_view_called_key() -> None:
    syntax = parsed(".decl r(a: long). key(X) :- r(X).")
    assert (len(syntax.declarations), len(syntax.rules)) == (1, 1)


@pytest.mark.parametrize(
    "broken",
    [
        "v(X) :- .",
        "v(X) :- r(X) s(X).",
        ".decl r(a: long, ) key(a)",
        ".decl r(a: long",
        ".decl",
        "v(X :- r(X).",
        "v)X( :- r(X).",
        "v.",
        "((((.",
        ":- .",
    ],
)
def test_a_broken_statement_hides_no_other(broken: str) -> None:
    syntax, diagnostics = parse_syntax(f"a(X) :- r(X).\n{broken}\n.decl s(a: long)\nb(X) :- s(X).")
    assert [rule.head.predicate for rule in syntax.rules] == ["a", "b"]
    assert [declaration.name.name for declaration in syntax.declarations] == ["s"]
    assert {diagnostic.span.line for diagnostic in diagnostics} == {2}


def test_last_statement_without_full_stop() -> None:
    (diagnostic,) = parse_syntax("v(X) :- r(X)")[1]
    assert diagnostic.code == "CQ101"
    assert diagnostic.span == Span(1, 12, 1)
    assert diagnostic.help == ("expected `&`, `,` or `.`",)


def test_spans_of_atoms_and_terms() -> None:
    (rule,) = parsed("v(Xyz) :-\n  rel(Xyz,\n    'a b'), Xyz != 'c'.").rules
    assert rule.head.span == Span(1, 1, 6)
    assert rule.atoms[0].terms[1].span == Span(3, 5, 5)
    assert rule.atoms[0].span.line == 2
    assert rule.comparisons[0].span == Span(3, 13, 10)


@pytest.mark.parametrize(
    ("literal", "code"),
    [
        ("null", "CQ123"),
        ("2023-02-29", "CQ124"),
        ("2023-02-28T24:01", "CQ124"),
        ("0000-01-01", "CQ124"),
        ("2024-01-01T00:00+24:00", "CQ124"),
        ("1e400", "CQ124"),
        ("1e999999999999999999999", "CQ124"),
        ("1" * 401, "CQ124"),
        (r"'\x'", "CQ124"),
    ],
)
def test_constants_that_are_none(literal: str, code: str) -> None:
    assert codes(f"v(X) :- r(X, {literal}).") == [code]


def test_a_number_too_small_for_any_type_is_zero_or_a_diagnostic() -> None:
    assert set(codes("v(X) :- r(X, 1e-999999999999999999999).")) <= {"CQ124"}


def test_one_wrong_character_is_one_error() -> None:
    assert codes("v(X) :- r(X); s(X).") == ["CQ100"]


def test_a_run_of_wrong_characters_is_one_error() -> None:
    assert codes("v(X) :- r(X). ???? w(X) :- r(X).") == ["CQ100"]
