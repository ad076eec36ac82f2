"""An UPDATE that keeps its join values, worked out by hand: `lookups.updates`."""

from __future__ import annotations

import pytest

from lookups.maintain import Outcome, maintain
from selfmaint import View
from tests.unit.lookups.test_maintain import kinds, rules, run, view_of

HIDDEN = """
.decl orders(id: long, cust: long, status: string)  key(id)
.decl customer(cust: long, region: string)          key(cust)
v(O, S, R) :- orders(O, C, S), customer(C, R).
"""
"""Whose order it is is hidden, so that no insertion of an order is maintained by itself."""


def update(view: View, relation: str, old: tuple, new: tuple, after: dict) -> Outcome:
    return run(view, [(relation, "delete", old), (relation, "insert", new)], after)


def test_a_new_status_of_an_order_whose_customer_is_hidden() -> None:
    after = {"orders": {(1, 7, "paid"), (2, 8, "open")}, "customer": {(7, "EU"), (8, "US")}}
    outcome = update(view_of(HIDDEN), "orders", (1, 7, "open"), (1, 7, "paid"), after)
    assert outcome.rows == {(1, "paid", "EU"), (2, "open", "US")}
    assert outcome.questions == ()
    assert kinds(outcome) == ["self-maintained", "self-maintained"]
    assert rules(outcome) == ["delete-key", "update"]


def test_every_row_of_the_deleted_one_is_replaced() -> None:
    text = """
    .decl r(k: long, a: long, h: long)  key(k)
    v(X, K, A, Y) :- s(H, X), r(K, A, H), t(H, Y).
    """
    after = {"r": {(1, 6, 0)}, "s": {(0, 1), (0, 2)}, "t": {(0, 3), (0, 4)}}
    outcome = update(view_of(text), "r", (1, 5, 0), (1, 6, 0), after)
    assert outcome.rows == {(x, 1, 6, y) for x in (1, 2) for y in (3, 4)}
    assert outcome.questions == ()


def test_another_customer_is_a_miss() -> None:
    after = {"orders": {(1, 8, "open")}, "customer": {(7, "EU"), (8, "US")}}
    outcome = update(view_of(HIDDEN), "orders", (1, 7, "open"), (1, 8, "open"), after)
    assert kinds(outcome) == ["self-maintained", "miss"]
    assert [question.keys for question in outcome.questions] == [{(8,)}]


def test_another_order_of_the_same_customer_is_a_miss() -> None:
    """Its rows may be there already, if a third row of the batch has this key."""
    after = {"orders": {(2, 7, "open")}, "customer": {(7, "EU")}}
    outcome = update(view_of(HIDDEN), "orders", (1, 7, "open"), (2, 7, "open"), after)
    assert kinds(outcome) == ["self-maintained", "miss"]


def test_a_customer_without_orders() -> None:
    """The view shows nothing of the deleted row: nothing joins with the inserted one."""
    view = view_of("v(O, C, R) :- orders(O, C), customer(C, R).")
    after = {"orders": {(1, 7)}, "customer": {(7, "EU"), (9, "US")}}
    outcome = update(view, "customer", (9, "EU"), (9, "US"), after)
    assert outcome.rows == {(1, 7, "EU")}
    assert outcome.questions == ()
    assert kinds(outcome) == ["unaffected", "unaffected"]
    assert rules(outcome) == ["delete-exposed", "update"]


def test_a_customer_without_orders_who_is_hidden() -> None:
    view = view_of("v(O, R) :- orders(O, C), customer(C, R).")
    after = {"orders": {(1, 7)}, "customer": {(7, "EU"), (9, "US")}}
    outcome = update(view, "customer", (9, "AF"), (9, "US"), after)
    assert outcome.questions == ()
    assert rules(outcome) == ["delete-hidden", "update"]


def test_a_hidden_customer_whose_old_region_is_shown_is_a_miss() -> None:
    """`EU` may be that of another customer: the view does not say whether this one has orders."""
    view = view_of("v(O, R) :- orders(O, C), customer(C, R).")
    after = {"orders": {(1, 7)}, "customer": {(7, "EU"), (9, "US")}}
    outcome = update(view, "customer", (9, "EU"), (9, "US"), after)
    assert kinds(outcome) == ["miss", "miss"]


def test_what_an_own_variable_is_compared_with_is_joined() -> None:
    """`X < Z` makes the rest depend on X: rows that differ in it do not tell of each other."""
    view = view_of("v(X, Y, Z) :- r(X, Y), s(Y, Z), X < Z.")
    after = {"r": {(1, 0)}, "s": {(0, 5)}}
    outcome = update(view, "r", (6, 0), (1, 0), after)
    assert outcome.rows == {(1, 0, 5)}
    assert kinds(outcome) == ["unaffected", "miss"]


def test_a_deleted_row_that_does_not_match_tells_nothing() -> None:
    view = view_of("v(X, Y, Z) :- r(X, Y, 'on'), s(Y, Z).")
    after = {"r": {(1, 0, "on")}, "s": {(0, 5)}}
    outcome = update(view, "r", (1, 0, "off"), (1, 0, "on"), after)
    assert outcome.rows == {(1, 0, 5)}
    assert kinds(outcome) == ["irrelevant", "miss"]


def test_a_key_that_goes_for_good_tells_nothing() -> None:
    """Whether anything joins with it is not looked up: children go before their parent."""
    text = """
    .decl p(a: long, h: long)  key(a)
    .decl c(k: long, a: long)  key(k)  references p(a)
    v(A, K, X) :- p(A, H), c(K, A), s(H, X).
    """
    changes = [
        ("p", "delete", (1, 0)),
        ("c", "delete", (5, 1)),
        ("p", "insert", (2, 0)),
        ("c", "insert", (6, 2)),
    ]
    outcome = run(view_of(text), changes, {"p": {(2, 0)}, "c": {(6, 2)}, "s": {(0, 9)}})
    assert outcome.rows == {(2, 6, 9)}
    assert "update" not in rules(outcome)


def test_of_two_occurrences_each_tells_of_itself() -> None:
    text = ".decl e(k: long, a: long, b: long)  key(k)  v(K, L, A, C) :- e(K, A, B), e(L, B, C)."
    after = {"e": {(1, 10, 20), (2, 20, 31)}}
    outcome = update(view_of(text), "e", (2, 20, 30), (2, 20, 31), after)
    assert outcome.rows == {(1, 2, 10, 31)}
    parts = outcome.decisions[1].reason.parts
    assert [part.rule for part in parts] == ["insert-never", "update"]


@pytest.mark.parametrize("is_shown", [True, False])
def test_lookups_that_are_off_do_not_matter(is_shown: bool) -> None:
    """Deletions are looked up in any case."""
    view = view_of("v(O, C, R) :- orders(O, C), customer(C, R).")
    orders = {(1, 7), (2, 9)} if is_shown else {(1, 7)}
    before = {"orders": orders, "customer": {(7, "EU"), (9, "EU")}}
    after = {"orders": orders, "customer": {(7, "EU"), (9, "US")}}
    changes = [("customer", "delete", (9, "EU")), ("customer", "insert", (9, "US"))]
    outcome = maintain(view.query, view.evaluate(before), changes, after, skipped={"customer"})
    assert outcome.rows == view.evaluate(after)
    assert outcome.questions == ()
    assert rules(outcome)[1] == "update"
