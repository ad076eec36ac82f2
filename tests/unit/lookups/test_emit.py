"""Plans as data: sharing, subsumption, sizes, determinism. What they say is in golden/plans."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import selfmaint
from cq.syntax import Const
from lookups.plan import (
    Child,
    Contradiction,
    Equal,
    Found,
    Given,
    Instance,
    Lookup,
    Plan,
    Rows,
    Rule,
    Step,
)
from selfmaint import InputError

ROOT = Path(__file__).resolve().parents[3]


def plan(text: str, relation: str = "r", action: str = "insert") -> Plan:
    return selfmaint.parse(text).view("v").plan(relation, action)


def step(text: str, relation: str = "r", action: str = "insert") -> Step:
    (found,) = plan(text, relation, action).steps
    return found


def lookup(**columns: object) -> Lookup:
    """`lookup(c0=Given(1))`: column 0 holds the change's second value."""
    pattern = sorted((int(name[1:]), value) for name, value in columns.items())
    return Lookup(tuple(pattern))


def lookups(found: Step) -> list[Lookup]:
    assert found.vsm is not None
    return [a.lookup for need in found.vsm.needs for a in need.alternatives]


def test_section_5_as_data() -> None:
    found = step("v(X, Y, Z) :- r(U, X, Y), s(X, Z).")
    assert found.rule is Rule.INSERT_EXPOSED
    assert found.screen.non_null == (1,)
    assert found.vdu == lookup(c0=Given(1), c1=Given(2))
    assert lookups(found) == [lookup(c0=Given(1))]
    assert found.rows == Rows((Given(1), Given(2), Found(0, 2)))


@pytest.mark.parametrize(
    ("text", "action", "rule"),
    [
        ("v(X, Y, Z) :- r(X, Y), s(Y, Z).", "delete", "delete-exposed"),
        ("v(X) :- r(X, Y), s(Y).", "delete", "delete-hidden"),
        ("v(X, Y) :- r(X, Y, H), s(Y).", "delete", "delete-hidden"),
        (".decl r(a: long, b: long) key(a) v(X) :- r(X, Y), s(Y).", "delete", "delete-key"),
        (".decl r(a: long, b: long) key(b) v(X) :- r(X, Y), s(Y).", "delete", "delete-hidden"),
        (".decl r(a: long, b: long) key(a) v(Y) :- r(1, Y), s(Y).", "delete", "delete-exposed"),
        (".decl r(a: long, b: long) key(a) v() :- r(1, Y), s(Y).", "delete", "delete-key"),
        ("v(X) :- r(X, Y).", "insert", "insert-alone"),
        ("v(X, Z) :- r(X, Y), s(X, Z).", "insert", "insert-exposed"),
        ("v(Z) :- r(X, Y), s(Z).", "insert", "insert-exposed"),
        ("v(X) :- r(X, Y), s(Y, Z).", "insert", "insert-hidden"),
        ("v(X, Z) :- r(X, Y), s(Y), t(X, Z).", "insert", "insert-hidden"),
        ("v(Z) :- r(X, Y), s(Y), t(Z).", "insert", "insert-hidden"),
        ("v(X, Z) :- r(X, Y), s(Y, Z).", "insert", "insert-never"),
        ("v(X, Z) :- r(X, Y), s(Y, H), t(H, Z).", "insert", "insert-never"),
        ("v(Z) :- r(X, Y), t(Z), Z < Y.", "insert", "insert-never"),
    ],
)
def test_rule(text: str, action: str, rule: str) -> None:
    assert step(text, action=action).rule == rule


def test_equal_needs_are_shared() -> None:
    found = step("v(X, Y, A, B) :- r(X, Y), p(X, A), q(X, B).")
    assert found.vsm is not None
    (need,) = found.vsm.needs
    assert need.subgoals == (1, 2)
    assert need.gives == (2, 3)
    assert found.rows == Rows((Given(0), Given(1), Found(0, 2), Found(0, 3)))


def test_subsumed_needs_are_dropped() -> None:
    found = step("v(W, X, Y, A, B, C) :- r(W, X, Y), p(X, A), s(X, Y, B), t(Y, C).")
    assert lookups(found) == [lookup(c1=Given(1), c2=Given(2))]
    assert found.rows is not None
    assert found.rows.cells[3:] == (Found(0, 3), Found(0, 4), Found(0, 5))


def test_a_need_is_not_dropped_for_one_with_alternatives() -> None:
    """v(x, y) or v(y, x) shows that p(x, y) is there, but not what s has for x."""
    found = step("v(X, Y, Z) :- r(X, Y), p(X, Y), p(Y, X), s(X, Z).")
    assert lookup(c0=Given(0)) in lookups(found)


def test_a_need_with_alternatives_is_dropped_for_the_same_lookup_without() -> None:
    """v(x, -, -) must be there for s; then p(x) is, and nobody else need vouch for it."""
    found = step("v(X, Y, Z) :- r(X, Y), p(X), p(Y), s(X, Z).")
    assert found.vsm is not None
    assert [need.subgoals for need in found.vsm.needs] == [(2,), (1, 3)]


def test_same_alternatives_are_looked_up_once() -> None:
    """p(x, y) and p(y, x) are each shown by v(x, y) and by v(y, x): two needs, two lookups.

    They stay two needs: in a batch it is the row in question that decides who may vouch.
    """
    found = step("v(X, Y) :- r(X, Y), p(X, Y), p(Y, X).")
    assert found.vsm is not None
    assert len(found.vsm.needs) == 2
    assert len(found.lookups()) == 2


def test_an_alternative_that_another_implies_is_dropped() -> None:
    """p(X, 1) for itself needs v(x, -); p(X, Y) could vouch by v(x, 1), which is such a row."""
    found = step("v(X, Y) :- r(X, Y), p(X, 1), p(X, Y).")
    assert found.vsm is not None
    first = found.vsm.needs[0]
    assert [alternative.lookup for alternative in first.alternatives] == [lookup(c0=Given(0))]


def test_vouchers_in_body_order_own_first() -> None:
    found = step("v(X, Y, Z) :- r(X, Y, Z), p(d, X, Y), p(Z, Y, Z).")
    assert found.vsm is not None
    first, second = found.vsm.needs
    assert [a.subgoal for a in first.alternatives] == [1, 2]
    assert [a.subgoal for a in second.alternatives] == [2, 1]
    assert first.instance == Instance("p", (Const("d"), Given(0), Given(1)))
    assert first.alternatives[1].condition == (Equal(Given(1), Const("d")),)
    assert first.alternatives[1].lookup == lookup(c1=Given(0), c2=Const("d"))


def test_lookups_name_the_first_column_of_a_variable() -> None:
    found = step("v(X, eu, X) :- r(X), s(X).")
    assert found.vdu == lookup(c0=Given(0))
    assert found.rows == Rows((Given(0), Const("eu"), Given(0)))


def test_key_contradiction() -> None:
    text = ".decl c(k: long, a: long, b: long) key(k) v(X, Y) :- r(X, Y), c(X, Y, 1)."
    (found,) = step(text).contradictions
    assert found == Contradiction(
        "c", lookup(c0=Given(0)), differs=((1, Given(1)),), key=((0, Given(0)),)
    )


@pytest.mark.parametrize(
    "text",
    [
        "v(X, Y) :- r(X, Y), c(X, Y, 1).",
        ".decl c(k: long, a: long, b: long) key(k) v(X, Y, Z) :- r(X, Y), c(X, Z, _).",
        ".decl c(k: long, a: long, b: long) key(k) v(X) :- r(X, Y), c(X, Y, _).",
        ".decl c(k: long, a: long, b: long) key(k) v(Y) :- r(X, Y), c(X, Y, _).",
    ],
    ids=["no key", "nothing bound beside the key", "bound value hidden", "key hidden"],
)
def test_no_contradiction(text: str) -> None:
    assert step(text).contradictions == ()


FAMILY = """
.decl r(a: long, b: long) key(a)
.decl child(c: long, a: long) references r(a)
"""


def test_children() -> None:
    text = FAMILY + "v(C, A, B) :- child(C, A), r(A, B)."
    assert step(text).children == (Child(0, (0,), (1,)),)
    assert step(text, action="delete").children == (Child(0, (0,), (1,)),)
    assert step(text, "child").children == ()
    assert step(FAMILY + "v(C, A, B) :- child(A, C), r(A, B), s(C).").children == ()


def test_exposed_key_makes_no_vdu_lookup() -> None:
    assert step(FAMILY + "v(A, B, Z) :- r(A, B), s(B, Z).").vdu is None
    assert step(FAMILY + "v(B, Z) :- r(A, B), s(B, Z).").vdu == lookup(c0=Given(1))


def test_one_step_per_subgoal_parents_first() -> None:
    text = ".decl r(e: long, m: long) key(e) references r(m) v(X, Y, Z) :- r(X, Y), r(Y, Z)."
    assert [found.subgoal for found in plan(text).steps] == [1, 0]
    assert [found.subgoal for found in plan("v(X, Y, Z) :- r(X, Y), r(Y, Z).").steps] == [0, 1]


def test_exposed_key_that_holds_no_null_comes_first() -> None:
    text = ".decl r(k: long, j: long) key(k) key(j)  .decl s(j: long)  v(K, J) :- r(K, J), s(J)."
    (by_join,) = plan(text).steps
    assert (by_join.key, by_join.nameless) == ((), None)
    (by_own,) = plan(text.replace("key(j)", "")).steps
    assert (by_own.key, by_own.nameless) == ((0,), lookup(c0=Given(0), c1=Given(1)))


def test_a_relation_that_was_minimized_away_has_an_empty_plan() -> None:
    text = FAMILY + "v(C) :- child(C, A), r(A, _)."
    assert plan(text).steps == ()
    assert plan(text).lookups() == ()


def test_lookups_of_a_plan_are_distinct() -> None:
    found = plan("v(X, Y) :- r(X, Y), p(X, Y), p(Y, X).")
    assert found.lookups() == (lookup(c0=Given(0), c1=Given(1)), lookup(c0=Given(1), c1=Given(0)))


@pytest.mark.parametrize(
    ("relation", "action", "code"), [("s", "insert", "LP205"), ("r", "update", "LP206")]
)
def test_refused(relation: str, action: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        plan("v(X) :- r(X).", relation, action)
    assert caught.value.code == code


ALL_PLANS = """
import pathlib, selfmaint
for path in sorted(pathlib.Path("tests/golden/plans").glob("*.dl")):
    program = selfmaint.load(path)
    for name in program.views:
        view = program.view(name)
        for relation in view.relations:
            for action in ("insert", "delete"):
                print(view.plan(relation, action).to_json())
"""


def test_plans_do_not_depend_on_the_hash_seed() -> None:
    def run(seed: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", ALL_PLANS],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    first, second = run("1"), run("2")
    assert first.count("\n") > 100
    assert first == second
