"""Plans as JSON: every kind of constant, and texts that are no plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

import selfmaint
from cq.syntax import Const
from lookups.plan import Plan, Rule
from selfmaint import InputError

CONSTANTS = """
.decl r(a: decimal(5, 2), b: double, c: long, d: date, e: timestamp, f: boolean, g: string, x: int)
v(X) :- r(1.50, 0.1, 7, 2024-01-31, 2024-01-31T12:00Z, true, 'it\\'s "ü"', X), X > 2, s(X, _, 1.5).
"""


def plan(text: str = CONSTANTS, relation: str = "r", action: str = "insert") -> Plan:
    return selfmaint.parse(text).view("v").plan(relation, action)


@pytest.mark.parametrize("indent", [None, 2])
def test_round_trip(indent: int | None) -> None:
    found = plan()
    again = Plan.from_json(found.to_json(indent))
    assert again == found
    assert str(again) == str(found)
    assert again.to_json() == found.to_json()
    assert isinstance(again.steps[0].rule, Rule)


def test_constants_keep_their_type() -> None:
    again = Plan.from_json(plan().to_json())
    values = [term.value for term in again.query.atoms[0].terms if isinstance(term, Const)]
    assert [(type(value), value) for value in values] == [
        (Decimal, Decimal("1.50")),
        (float, 0.1),
        (int, 7),
        (date, date(2024, 1, 31)),
        (datetime, datetime(2024, 1, 31, 12, tzinfo=UTC)),
        (bool, True),
        (str, 'it\'s "ü"'),
    ]


def test_what_was_dropped_travels_along() -> None:
    found = plan("v(X) :- r(X, Y), r(X, _), s(Y).")
    assert Plan.from_json(found.to_json()).query.dropped == found.query.dropped != ()


def test_a_plan_from_json_decides() -> None:
    text = "v(X, Y, Z) :- r(X, Y), p(X, Y), p(Y, X), s(Y, Z), X < 9."
    found = plan(text)
    again = Plan.from_json(found.to_json())
    rows = [(2, 1, 5), (7, 2, 6)]
    assert again.decide(rows, (1, 2)) == found.decide(rows, (1, 2))


def test_document() -> None:
    document = json.loads(plan("v(X) :- r(X).").to_json())
    assert (document["format"], document["version"]) == ("selfmaint-plan", 1)
    assert document["plan"]["steps"][0]["rule"] == "insert-alone"
    assert "span" not in json.dumps(document)


def damaged(change: Callable[[dict], object]) -> str:
    document = json.loads(plan("v(X) :- r(X, 1.5).").to_json())
    change(document)
    return json.dumps(document)


PREFIX = '{"format": "selfmaint-plan", "version": 1, "plan": '
NO_PLANS = {
    "empty": "",
    "no JSON": "a plan",
    "an array": "[]",
    "null": "null",
    "no format": "{}",
    "another format": '{"format": "other", "version": 1}',
    "no version": '{"format": "selfmaint-plan"}',
    "no plan": '{"format": "selfmaint-plan", "version": 1}',
    "a number": PREFIX + "7}",
    "an unknown node": PREFIX + '{"node": "Nothing"}}',
    "another node": PREFIX + '{"node": "Var", "name": "X"}}',
    "no query": damaged(lambda document: document["plan"].pop("query")),
    "a field too much": damaged(lambda document: document["plan"].update(more=1)),
    "an unknown rule": damaged(lambda document: document["plan"]["steps"][0].update(rule="no")),
    "a query that is none": damaged(lambda document: document["plan"].update(query=1)),
    "an unknown action": damaged(lambda document: document["plan"].update(action="upsert")),
    "a step that is none": damaged(lambda document: document["plan"].update(steps=[7])),
    "a relation of another view": damaged(lambda document: document["plan"].update(relation="s")),
    "no decimal": PREFIX + '{"node": "Const", "type": "decimal", "value": "abc"}}',
    "no double": PREFIX + '{"node": "Const", "type": "double", "value": "0x1p99999"}}',
    "deep nesting": "[" * 100_000,
}


@pytest.mark.parametrize("name", NO_PLANS)
def test_no_plan(name: str) -> None:
    with pytest.raises(InputError) as caught:
        Plan.from_json(NO_PLANS[name])
    assert caught.value.code == "LP209"


def test_another_version() -> None:
    with pytest.raises(InputError) as caught:
        Plan.from_json(damaged(lambda document: document.update(version=2)))
    assert caught.value.code == "LP210"
