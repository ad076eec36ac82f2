"""Syntax to text; that the text parses back is also a law in property_tests."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from cq.parser import parse_syntax
from cq.printer import print_atom, print_relation, print_rule, print_value
from cq.program import read
from cq.syntax import Atom, Const, Rule, Var


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("eu", "eu"),
        ("EU", "'EU'"),
        ("", "''"),
        ("a b", "'a b'"),
        ("it's", r"'it\'s'"),
        ('say "a"', "'say \"a\"'"),
        ("a\\b\n\r\t", r"'a\\b\n\r\t'"),
        ("true", "'true'"),
        ("null", "'null'"),
        ("grün", "grün"),
        ("日本", "'日本'"),
        (True, "true"),
        (False, "false"),
        (-7, "-7"),
        (2.0, "2.0"),
        (1e100, "1e+100"),
        (Decimal("1.50"), "1.50"),
        (Decimal(3), "3.0"),
        (date(2024, 1, 31), "2024-01-31"),
        (datetime(2024, 1, 31, 12, 30), "2024-01-31T12:30:00"),
        (datetime(2024, 1, 31, 12, 30, 0, 5, UTC), "2024-01-31T12:30:00.000005+00:00"),
    ],
)
def test_values(value: object, text: str) -> None:
    assert print_value(value) == text
    (rule,) = parse_syntax(f"v() :- r({text}).")[0].rules
    parsed = rule.atoms[0].terms[0].value  # the language has decimals, a float comes from a type
    assert (float(parsed) if isinstance(value, float) else parsed) == value


@pytest.mark.parametrize(
    "text",
    [
        "v(X, Y) :- r(X, Y).",
        "v() :- r().",
        "v(X, eu, 1, X) :- r(X, _, _), s(X, 'a b'), X != 3, Y < X, t(Y).",
        "v(_A) :- r(_A, _).",
        "v(X) :- r(X), 1 < X, X >= 2024-01-31.",
    ],
)
def test_rules_parse_back(text: str) -> None:
    (rule,) = parse_syntax(text)[0].rules
    assert parse_syntax(print_rule(rule))[0].rules == (rule,)


def test_an_anonymous_variable_that_occurs_twice_gets_a_name() -> None:
    again = Rule(Atom("v", ()), (Atom("r", (Var("_#1"), Var("_#2"))), Atom("s", (Var("_#1"),))))
    assert print_rule(again) == "v() :- r(_1, _), s(_1)."
    taken = Rule(
        Atom("v", (Var("_1"),)), (Atom("r", (Var("_#1"), Var("_1"))), Atom("s", (Var("_#1"),)))
    )
    assert print_rule(taken) == "v(_1) :- r(_1_, _1), s(_1_)."


def test_an_atom_alone() -> None:
    assert print_atom(Atom("r", (Var("X"), Var("_#7"), Const("a")))) == "r(X, _, a)"


@pytest.mark.parametrize(
    "text",
    [
        ".decl r()",
        ".decl r(a, b: long)",
        ".decl r(a: long, b: decimal(5,2)) key(a) key(a, b) references s(a)",
    ],
)
def test_declarations_parse_back(text: str) -> None:
    relation = read(f".decl s(a: long) key(a)\n{text}").checked.relations["r"]
    assert print_relation(relation) == text
