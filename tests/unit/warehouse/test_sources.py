"""What sources decide without Spark: whom to ask for what, and how long to wait."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cq.program import read
from cq.query import Query
from cq.syntax import Var
from warehouse.columns import Misfit, delta_table, quoted
from warehouse.sources import Cost, Join, RealClock, VirtualClock, whole
from warehouse.sources.federated import programme

ROOT = Path(__file__).resolve().parents[3]


def query(text: str) -> Query:
    return read(text).query("v")


def variables(names: str) -> tuple[Var, ...]:
    return tuple(Var(name) for name in names)


def steps(join: Join, *sources: str) -> list[tuple[int, str, str, str, int]]:
    """Per question: source, relations, bound and wanted variables, comparisons left over."""
    holder = {name: i for i, names in enumerate(sources) for name in names}
    return [
        (
            step.source,
            "".join(atom.predicate for atom in step.join.atoms),
            "".join(var.name for var in step.join.bound),
            "".join(var.name for var in step.join.wanted),
            len(step.tests),
        )
        for step in programme(join, holder)
    ]


def test_a_source_is_asked_for_all_that_the_keys_lead_to_there() -> None:
    chain = query("v(A, E) :- p(A, B), q(B, C), r(C, D), s(D, E).")
    join = Join(chain, (0, 1, 2, 3), (), bound=variables("A"), wanted=variables("E"))
    assert steps(join, "pq", "rs") == [(0, "pq", "A", "C", 0), (1, "rs", "C", "E", 0)]
    # p and r live together, but nothing that is known leads to r before q has answered.
    assert steps(join, "pr", "qs") == [
        (0, "p", "A", "B", 0),
        (1, "q", "B", "C", 0),
        (0, "r", "C", "D", 0),
        (1, "s", "D", "E", 0),
    ]


def test_the_source_with_most_bound_subgoals_is_first() -> None:
    star = query("v(A, B, C) :- p(A, X), q(B, X), r(C, X).")
    join = Join(star, (0, 1, 2), (), bound=variables("X"), wanted=variables("C"))
    # What adds no wanted variable still filters.
    assert steps(join, "p", "qr") == [(1, "qr", "X", "C", 0), (0, "p", "X", "", 0)]


def test_without_keys_the_first_subgoal_begins() -> None:
    join = whole(query("v(A, C) :- p(A, B), q(B, C), r(D)."))
    assert steps(join, "p", "q", "r") == [
        (0, "p", "", "AB", 0),
        (1, "q", "B", "C", 0),
        (2, "r", "", "", 0),
    ]


def test_a_comparison_goes_where_its_variables_are() -> None:
    text = "v(A) :- p(A, B), q(A, C), B < 1, B < C, A != 7."
    own = query(text)
    join = Join(own, (0, 1), own.comparisons, bound=variables("A"), wanted=())
    asked = list(programme(join, {"p": 0, "q": 1}))
    assert [[(c.left, c.operator) for c in step.join.comparisons] for step in asked] == [
        [(Var("B"), "<")],
        [],
    ]
    # B < C is decided between the answers, so both travel; `A != 7` was decided on the keys.
    assert steps(join, "p", "q") == [(0, "p", "A", "B", 0), (1, "q", "A", "C", 1)]


def test_questions_that_cannot_be_asked() -> None:
    own = query("v(A, C) :- p(A, B), q(B, C).")
    for wrong in (
        lambda: Join(own, (0,), (), (), variables("C")),
        lambda: Join(own, (0,), (), variables("AA"), ()),
        lambda: Join(own, (), (), (), ()),
    ):
        with pytest.raises(AssertionError):
            wrong()
    join = Join(own, (0, 1), (), variables("A"), ())
    assert str(join) == "the join of `p`, `q`, for given values of 1 variable"
    assert join.relations == ("p", "q")


def test_the_virtual_clock_stops_at_the_deadline() -> None:
    clock = VirtualClock()
    clock.sleep(2.0)
    assert clock.within(5.0, lambda: clock.sleep(5.0), None) is None
    assert clock.now() == 7.0
    with pytest.raises(TimeoutError):
        clock.within(5.0, lambda: clock.sleep(3600.0), None)
    assert clock.now() == 12.0
    with pytest.raises(TimeoutError):  # the outer limit is the shorter one
        clock.within(1.0, lambda: clock.within(9.0, lambda: clock.sleep(5.0), None), None)
    assert clock.now() == 13.0
    clock.sleep(3600.0)


def test_the_real_clock_ends_what_waits() -> None:
    clock = RealClock()
    ended = []

    def work() -> None:
        try:
            clock.sleep(3600.0)
        except TimeoutError:
            ended.append(True)
            raise

    with pytest.raises(TimeoutError):
        clock.within(0.01, work, None)
    clock.sleep(0.01)
    while not ended:
        clock.sleep(0.01)
    assert clock.within(60.0, lambda: 7, None) == 7
    with pytest.raises(ZeroDivisionError):
        clock.within(60.0, lambda: 1 // 0, None)


def test_small_things() -> None:
    assert Cost(1, 2, 3, 4, 0.5, 6) + Cost(1, 1, 1, 1, 0.25) == Cost(2, 3, 4, 5, 0.75, 6)
    assert quoted("a`b") == "`a``b`"
    assert delta_table("/x/`; DROP") == "delta.`/x/``; DROP`"
    assert str(Misfit("a", "int", "bigint")) == "`a` is int; it must be bigint"


def test_importing_sources_starts_no_spark() -> None:
    code = "import sys, warehouse.sources; print('pyspark' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
