"""The executor: what it asks, in which order, and what it says about it."""

from __future__ import annotations

from decimal import Decimal

import pytest

import selfmaint
from lookups.plan import Plan
from lookups.verdict import Kind, Mismatch, Screened
from selfmaint import InputError


def plan(text: str, relation: str = "r", action: str = "insert") -> Plan:
    return selfmaint.parse(text).view("v").plan(relation, action)


def asked(found: Plan, rows: list, change: tuple) -> list[tuple[str, str, bool]]:
    verdict = found.decide(rows, change)
    return [(str(a.test), found.show(a), a.found) for a in verdict.reason.answers]


TWO_GROUPS = "v(A, X, Y, P, S) :- r(A, X, Y), p(X, P), s(Y, S)."


def test_vdu_comes_first_and_ends_it() -> None:
    found = plan(TWO_GROUPS)
    assert asked(found, [(1, 2, 3, 4, 5)], (1, 2, 3)) == [("VDU", "v(1, 2, 3, -, -)", True)]


def test_every_need_is_asked_even_after_one_failed() -> None:
    assert asked(plan(TWO_GROUPS), [(9, 9, 3, 4, 5)], (1, 2, 3)) == [
        ("VDU", "v(1, 2, 3, -, -)", False),
        ("VSM", "v(-, 2, -, -, -)", False),
        ("VSM", "v(-, -, 3, -, -)", True),
    ]


def test_alternatives_are_asked_until_one_is_found() -> None:
    text = "v(X, Y, Z) :- r(X, Y, Z), p(d, X, Y), p(Z, Y, Z)."
    found = plan(text)
    rows = [("z", "a", "d"), ("y", "d", "c")]
    assert asked(found, rows, ("a", "d", "c"))[1:] == [
        ("VSM", "v('a', 'd', -)", False),
        ("VSM", "v(-, 'a', 'd')", True),
        ("VSM", "v(-, 'd', 'c')", True),
    ]


def test_an_alternative_whose_condition_fails_is_not_asked() -> None:
    text = "v(X, Y, Z) :- r(X, Y, Z), p(d, X, Y), p(Z, Y, Z)."
    patterns = [pattern for _, pattern, _ in asked(plan(text), [], ("a", "e", "c"))]
    assert patterns == ["v('a', 'e', 'c')", "v('a', 'e', -)", "v(-, 'e', 'c')"]


def test_a_contradiction_comes_after_vdu() -> None:
    text = ".decl c(k: long, a: long) key(k) v(X, Y, Z) :- r(X, Y, Z), c(X, Y)."
    assert asked(plan(text), [(1, 5, 0)], (1, 2, 3)) == [
        ("VDU", "v(1, 2, 3)", False),
        ("contradiction", "v(1, -, -)", True),
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("us", 1, 1, 7), Mismatch(Screened.CONSTANT, (0,), ("us", "eu"), "=")),
        ((None, 1, 1, 7), Mismatch(Screened.CONSTANT, (0,), (None, "eu"), "=")),
        (("eu", 1, 2, 7), Mismatch(Screened.REPEATED, (1, 2), (1, 2), "=")),
        (("eu", 1, 1, 5), Mismatch(Screened.COMPARISON, (3,), (5, 5), ">")),
        (("eu", 1, 1, "x"), Mismatch(Screened.COMPARISON, (3,), ("x", 5), ">")),
        (("eu", None, None, 7), Mismatch(Screened.NULL, (1,), (None, None), "!=")),
        (("eu", 1, 1, None), Mismatch(Screened.NULL, (3,), (None, None), "!=")),
    ],
)
def test_what_failed_in_a_screen(change: tuple, expected: Mismatch) -> None:
    verdict = plan("v(X) :- r(eu, X, X, Q), s(X), Q > 5.").decide([], change)
    assert (verdict.kind, verdict.reason.rule) == ("irrelevant", "screen")
    assert verdict.reason.mismatch == expected
    assert verdict.reason.subgoal == 0


def test_a_view_that_is_empty_in_every_database() -> None:
    verdict = plan("v(X) :- r(X), X = 1, X = 2.").decide([], (1,))
    assert verdict.reason.mismatch == Mismatch(Screened.EMPTY)


def test_one_reason_per_subgoal_of_a_repeated_relation() -> None:
    verdict = plan("v(X, Y, Z) :- r(X, Y), r(Y, Z).").decide([(1, 2, 5)], (2, 3))
    assert verdict.reason.rule == "several"
    assert [part.subgoal for part in verdict.reason.parts] == [0, 1]


def test_a_repeated_relation_that_matches_no_subgoal() -> None:
    verdict = plan("v(X) :- r(X, 1), r(X, 2).").decide([(7,)], (7, 3))
    assert verdict.kind == "irrelevant"


def test_insertion_that_adds_only_rows_that_are_there() -> None:
    text = ".decl r(k: long, x: long) key(k) v(X) :- r(K, X), s(X)."
    verdict = plan(text).decide([(1,)], (8, 1))
    assert (verdict.kind, verdict.inserts) == ("unaffected", frozenset())


def test_insertion_with_null_in_the_key_may_look_like_a_row_that_is_there() -> None:
    """An exposed key makes the VDU lookup needless, but NULL in it tells no rows apart."""
    text = ".decl r(k: long, x: long, h: long) key(k) v(K, X) :- r(K, X, _)."
    verdict = plan(text).decide([(None, 1)], (None, 1, 2))
    assert (verdict.kind, verdict.inserts) == ("unaffected", frozenset())


def test_insertion_with_null_in_the_key_is_looked_up_like_one_without_a_key() -> None:
    found = plan(".decl r(k: long, j: long) key(k)  .decl s(j: long)  v(K) :- r(K, J), s(J).")
    kinds = [found.decide([(None,), (3,)], change).kind for change in ((None, 7), (4, 7))]
    assert kinds == ["unaffected", "miss"]
    assert asked(found, [(3,)], (None, 7)) == [("VDU", "v(NULL)", False)]
    assert asked(found, [(3,)], (4, 7)) == []


def test_insertion_of_a_row_that_is_there_changes_nothing() -> None:
    """It is not effective, and no lookup shows that where a key is exposed; its rows do."""
    text = ".decl r(k: long, x: long) key(k)  v(K, X, Z) :- r(K, X), s(X, Z), K > 0."
    verdict = plan(text).decide([(4, 1, 5)], (4, 1))
    assert (verdict.kind, verdict.inserts) == ("unaffected", frozenset())


def test_deletion_with_null_in_the_key_is_a_miss() -> None:
    """Keys do not tell rows with NULL apart, so another row may show the same."""
    text = ".decl r(k: long, x: long, h: long) key(k) v(K, X) :- r(K, X, _), s(X)."
    verdict = plan(text, action="delete").decide([(None, 1)], (None, 1, 2))
    assert verdict.kind == "miss"


def test_deletion_of_a_null_that_is_carried() -> None:
    text = "v(A, X, Z) :- r(A, X), s(X, Z)."
    verdict = plan(text, action="delete").decide([(None, 1, 2), (3, 1, 2)], (None, 1))
    assert verdict.deletes == {(None, 1, 2)}


@pytest.mark.parametrize(
    ("change", "code"),
    [((1,), "LP202"), (("x", 1), "LP203"), ("12", "LP201"), (None, "LP201"), ((1, []), "LP203")],
)
def test_changes_that_do_not_fit(change: object, code: str) -> None:
    with pytest.raises(InputError) as caught:
        plan(".decl r(a: long, b) v(A) :- r(A, _).").decide([], change)
    assert caught.value.code == code
    assert "r" in caught.value.message


def test_help_for_an_undeclared_relation_does_not_claim_a_declaration() -> None:
    with pytest.raises(InputError) as caught:
        plan("v(A) :- r(A, _).").decide([], (1, []))
    assert not any("declared" in line for line in caught.value.help)


def test_kinds_are_strings() -> None:
    verdict = plan("v(X) :- r(X).").decide([], (1,))
    assert verdict.kind == "self-maintained"
    assert f"{verdict.kind}" == "self-maintained"


def test_view_rows_are_read_as_changes_are() -> None:
    """0.1 is another number in a column of 32 bits, and a decimal is none in one of doubles."""
    view = selfmaint.parse(".decl r(a: float, b: double) v(A, B) :- r(A, B).").view("v")
    rows = {(0.1, Decimal("0.25"))}
    change = (0.1, 0.25)
    assert view.plan("r", "delete").decide(rows, change).kind is Kind.SELF_MAINTAINED
    assert not view.maintain(rows, [("r", "delete", change)], {"r": set()}).rows
    maintained = selfmaint.Maintainer(view, lambda question: [], rows)
    assert maintained.follow([("r", "delete", change)]) == [Kind.SELF_MAINTAINED]
    with pytest.raises(InputError, match="column 2"):
        view.plan("r", "delete").decide({(0.1, "x")}, change)
