"""Details of the plan text that no golden program shows."""

from __future__ import annotations

import selfmaint
from lookups.plan import Plan


def plan(text: str, relation: str = "r", action: str = "insert") -> Plan:
    return selfmaint.parse(text).view("v").plan(relation, action)


def lines(text: str, label: str, relation: str = "r", action: str = "insert") -> list[str]:
    found = str(plan(text, relation, action)).splitlines()
    return [line.split(None, 1)[1] for line in found if line.split(None, 1)[:1] == [label]]


def test_names_that_differ_in_case_alone_are_kept_apart() -> None:
    assert lines("v(Xa, XA, B) :- r(Xa, XA, B), s(B).", "VDU") == ["v(Xa, XA, b)"]


def test_anonymous_values() -> None:
    found = str(plan("v(X) :- r(X, _, _)."))
    assert "subgoal 1: r(x, _, _)" in found


def test_constants_are_quoted_so_that_none_looks_like_a_value() -> None:
    text = "v(X, Y) :- r(X, Y), p(x, X), p(Y, 2024-01-31), p(true, 1.5)."
    assert "'x'" in str(plan(text))
    assert "2024-01-31" in str(plan(text))


def test_several_values_of_a_contradiction() -> None:
    text = ".decl c(k: long, a: long, b: long) key(k) v(X, Y, Z) :- r(X, Y, Z), c(X, Y, Z)."
    assert lines(text, "VDU") == ["v(x, y, z) or v(x, not y, not z) (one differs)"]


def test_minimization_that_stopped_early_is_said() -> None:
    atoms = ", ".join(f"r(X{i}, X{(i * 7 + 3) % 40}, X{(i * 11 + 5) % 40})" for i in range(40))
    assert "minimization stopped early" in str(plan(f"v() :- {atoms}."))


def test_never_is_said_where_nothing_but_vdu_could_help_and_vdu_cannot() -> None:
    """The key is exposed, so VDU cannot succeed; "same as VDU" would leave the reader to guess."""
    text = ".decl r(a: long, b: long) key(a) v(A) :- r(A, B), s(B)."
    assert lines(text, "VSM") == ["never, unless a is NULL"]
    assert lines(text.replace("s(B).", "s(B), A > 0."), "VSM") == ["never"]


def test_a_contradiction_is_the_only_test() -> None:
    """`VDU never` and `VDU or v(..)` contradict each other."""
    text = """
    .decl c(k: long, a: long) key(k)
    v(C, R, N) :- r(C, R, D), c(C, R), h(D, N).
    """
    assert lines(text, "VDU") == ["v(c, not r, -)"]


def test_an_answer_with_its_values() -> None:
    found = plan("v(X, Y, Z) :- r(X, Y), s(Y, Z).")
    verdict = found.decide([], (None, "a"))
    assert [found.show(answer) for answer in verdict.reason.missing] == [
        "v(NULL, 'a', -)",
        "v(-, 'a', -)",
    ]
