"""A view in memory: batches, single changes, what is asked, and when lookups are made."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import selfmaint
from cq.types import Row
from lookups.maintain import Question
from lookups.payoff import Choice
from lookups.verdict import Because, Kind
from selfmaint import InputError
from selfmaint.maintainer import STRETCH, Maintainer

VIEW = selfmaint.parse("v(X, Y, Z) :- r(U, X, Y), s(X, Z).").view("v")
TWO = selfmaint.parse("w(X, Y, A, B) :- r(X, Y), s(X, A), t(Y, B).").view("w")
TYPED = selfmaint.parse(
    ".decl r(u: int, x: int, y: int)\n.decl s(x: int, z: int)\n"
    "v(X, Y, Z) :- r(U, X, Y), s(X, Z).\nother(U) :- s(U, _)."
).view("v")


class Source:
    """Answers z = 10x, keeps what it was asked, and takes its time by a clock of its own."""

    def __init__(self, seconds: float = 10.0) -> None:
        self.asked: list[Question] = []
        self.now = 0.0
        self.seconds = seconds

    def __call__(self, question: Question) -> Iterable[Row]:
        self.asked.append(question)
        self.now += self.seconds
        return [(key, 10 * key) for (key,) in question.keys]

    def clock(self) -> float:
        """Lookups cost one second between any two looks at the clock."""
        self.now += 1.0
        return self.now


def insert(*rows: Row) -> list[tuple[str, str, Row]]:
    return [("r", "insert", row) for row in rows]


def test_a_batch_asks_for_each_key_once() -> None:
    source = Source()
    maintained = Maintainer(VIEW, source)
    effect = maintained.apply(insert((1, 7, 1), (1, 7, 2), (1, 8, 1)))
    assert maintained.rows == {(7, 1, 70), (7, 2, 70), (8, 1, 80)} == effect.inserts
    assert [question.keys for question in source.asked] == [{(7,), (8,)}]
    assert effect.deletes == set()


def test_the_view_is_not_asked_twice() -> None:
    source = Source()
    maintained = Maintainer(VIEW, source, [(7, 1, 70)])
    assert maintained.follow(insert((1, 7, 1), (1, 7, 2))) == [
        Kind.UNAFFECTED,
        Kind.SELF_MAINTAINED,
    ]
    assert maintained.apply(insert((2, 7, 3))).inserts == {(7, 3, 70)}
    assert source.asked == []


def test_a_missed_deletion_replaces_its_slice() -> None:
    def source(question: Question) -> Iterable[Row]:
        assert (question.is_slice, question.bound, question.keys) == (True, ("X", "Y"), {(7, 1)})
        return [(7, 1, 70)]

    maintained = Maintainer(VIEW, source, [(7, 1, 70), (7, 1, 71), (8, 1, 80)], lookups="never")
    assert maintained.follow([("r", "delete", (9, 7, 1))]) == [Kind.MISS]
    assert maintained.rows == {(7, 1, 70), (8, 1, 80)}
    assert maintained.follow([("r", "delete", (9, 6, 1))]) == [Kind.UNAFFECTED]


def test_what_one_group_shows_is_not_asked_when_another_misses() -> None:
    source = Source()
    maintained = Maintainer(TWO, source, [(1, 2, 10, 20)])
    assert maintained.follow([("r", "insert", (1, 3))]) == [Kind.MISS]
    (question,) = source.asked
    assert (question.bound, question.keys) == (("Y",), {(3,)})
    assert maintained.rows == {(1, 2, 10, 20), (1, 3, 10, 30)}


def test_without_lookups_everything_is_asked() -> None:
    source = Source()
    maintained = Maintainer(TWO, source, [(1, 2, 10, 20)], lookups="never")
    effect = maintained.apply([("r", "insert", (1, 3))])
    assert sorted(question.bound for question in source.asked) == [("X",), ("Y",)]
    decision = effect.decision(TWO.query, "r", "insert", (1, 3))
    assert (decision.kind, decision.reason.rule) == (Kind.MISS, Because.SKIPPED)


def test_screens_need_no_lookup() -> None:
    view = selfmaint.parse("v(X, Z) :- r(X, Y), s(X, Z), Y > 5.").view("v")
    maintained = Maintainer(view, Source(), lookups="never")
    assert maintained.follow([("r", "insert", (1, 5))]) == [Kind.IRRELEVANT]
    assert not maintained.apply([("r", "insert", (2, 3))]).questions


def test_a_relation_that_the_view_does_not_use() -> None:
    text = ".decl r(x: int)\n.decl s(x: int, y: int) key(x)\nv(X) :- r(X).\nw(X) :- s(X, _)."
    maintained = Maintainer(selfmaint.parse(text).view("v"), Source())
    update = [("s", "delete", (1, 1)), ("s", "insert", (1, 2))]
    assert maintained.follow(update) == [Kind.IRRELEVANT] * 2
    assert not maintained.apply([("s", "insert", (2, 2))]).inserts
    with pytest.raises(InputError):
        maintained.follow([("nowhere", "insert", (1,))])


@pytest.mark.parametrize("lookups", ["always", "adapt", "never"])
def test_a_row_that_comes_back_as_it_was_is_no_change(lookups: str) -> None:
    """Without it, for a moment, what references the row would reference nothing."""
    view = selfmaint.parse("""
        .decl p(k: long, a: long) key(k)
        .decl c(k: long) references p(k)
        v(A, B) :- c(K), p(K, A), p(_, B).
    """).view("v")
    database: dict[str, set[Row]] = {"p": {(1, 5), (3, 5), (4, 7)}, "c": {(1,), (4,)}}

    def source(question: Question) -> Iterable[Row]:
        raise AssertionError(question)

    rows = view.evaluate(database)
    maintained = Maintainer(view, source, rows, lookups=lookups)
    changes = [("p", "delete", (1, 5)), ("p", "insert", (1, 5))]
    assert maintained.follow(changes) == [Kind.UNAFFECTED] * 2
    assert maintained.rows == rows == {(5, 5), (5, 7), (7, 5), (7, 7)}


def test_an_update_of_a_row_that_others_reference_is_one_batch() -> None:
    """Alone, its deletion is that of a row that nobody references: no row of the view goes."""
    view = selfmaint.parse(
        ".decl customers(cust: long, region: string, phone: string) key(cust)\n"
        ".decl orders(id: long, cust: long) key(id) references customers(cust)\n"
        "v(I, C, R) :- orders(I, C), customers(C, R, _)."
    ).view("v")
    maintained = Maintainer(view, Source(), [(1, 7, "EU"), (2, 8, "EU")])

    def moved(*rows: Row) -> list[object]:
        actions = ("delete", "insert")
        return [("customers", action, row) for action, row in zip(actions, rows, strict=True)]

    changes = [*moved((7, "EU", "1"), (7, "US", "1")), *moved((8, "EU", "2"), (8, "EU", "3"))]
    changes += [("customers", "delete", (5, "EU", "1")), ("customers", "insert", (6, "EU", "1"))]
    changes += moved((9, "EU", "4"), (9, "EU", "4"))
    kinds = maintained.follow(iter(changes))
    assert maintained.rows == {(1, 7, "US"), (2, 8, "EU")}
    assert len(kinds) == len(changes)
    assert kinds[:2] == [Kind.SELF_MAINTAINED] * 2
    assert set(kinds[2:]) == {Kind.UNAFFECTED}


def test_what_the_screen_stops_is_no_lookup_that_helped() -> None:
    view = selfmaint.parse("v(A, B, D) :- r(A, B, 'EU'), s(B, D).").view("v")
    rows = [(i, i, "EU" if i % 10 == 0 else "US") for i in range(400)]
    for method in (Maintainer.follow, Maintainer.apply):
        maintained = Maintainer(view, Source(), [(0, 0, 0)], lookups="always")
        method(maintained, insert(*rows[1:]))
        record = maintained.payoffs["r"].total
        assert (record.looked_up, record.helped) == (39, 0)


def test_lookups_that_never_help_are_not_made_for_long() -> None:
    source = Source(seconds=2.0)
    maintained = Maintainer(VIEW, source, clock=source.clock)
    maintained.follow(insert(*((1, x, 1) for x in range(100))))
    record = maintained.payoffs["r"]
    assert record.choice is Choice.SKIP
    assert record.total.looked_up <= 2 * STRETCH
    assert maintained.sentences() == [record.sentence("r")]
    assert maintained.sentences()[0].startswith("lookups off for r: 0 of the last")
    assert len(source.asked) == 100
    assert len(maintained.rows) == 100


def test_lookups_come_back_when_they_help() -> None:
    source = Source(seconds=2.0)
    maintained = Maintainer(VIEW, source, clock=source.clock)
    maintained.follow(insert(*((1, x, 1) for x in range(100))))
    maintained.follow(insert(*((2, 1, 1),) * 1_000))
    assert maintained.payoffs["r"].choice is Choice.LOOK_UP
    assert len(source.asked) < 1_100


def test_a_key_that_comes_again_brings_lookups_back() -> None:
    """A probe would be far off: what is asked twice is noticed without one."""
    source = Source(seconds=1.0)
    maintained = Maintainer(VIEW, source, clock=source.clock)

    def batch(u: int, x: int) -> int:
        before = len(source.asked)
        maintained.apply(insert(*((u, x, y) for y in range(10))))
        return len(source.asked) - before

    assert [batch(1, x) for x in range(30)] == [1] * 30
    assert maintained.payoffs["r"].idle_cost is not None  # they are off
    assert [batch(2, x) for x in range(30)] == [1] + [0] * 29


def test_keys_of_one_batch_do_not_come_again() -> None:
    source = Source(seconds=1.0)
    view = selfmaint.parse("v(A, X, B) :- r(A, X), s(X, B), t(A).").view("v")

    def answer(question: Question) -> Iterable[Row]:
        source.now += source.seconds
        return [key + (1,) * len(question.wanted) for key in question.keys]

    maintained = Maintainer(view, answer, clock=source.clock)
    for i in range(60):
        maintained.apply([("r", "insert", (i, i)), ("s", "insert", (1000 + i, 1))])
    assert not maintained._asked_again


def test_an_empty_view_is_no_evidence() -> None:
    source = Source()
    maintained = Maintainer(VIEW, source, clock=source.clock)
    maintained.apply(insert(*((1, x, 1) for x in range(100))))
    record = maintained.payoffs["r"]
    assert (record.total.looked_up, record.total.asked) == (0, 100)
    assert record.choice is Choice.LOOK_UP


def test_always_means_always() -> None:
    source = Source(seconds=0.0)
    maintained = Maintainer(VIEW, source, lookups="always", clock=source.clock)
    maintained.follow(insert(*((1, x, 1) for x in range(50)), (2, 1, 1)))
    assert maintained.payoffs["r"].total.looked_up == 51
    assert len(source.asked) == 50


def test_no_such_choice() -> None:
    with pytest.raises(ValueError, match="sometimes"):
        Maintainer(VIEW, Source(), lookups="sometimes")


@pytest.mark.parametrize("row", [(1, "x", 2), (1, 2), 7, (1, 2, 2**40)])
def test_a_change_that_does_not_fit(row: object) -> None:
    maintained = Maintainer(TYPED, Source(), [(2, 2, 20)])
    for apply in (maintained.apply, maintained.follow):
        with pytest.raises(InputError):
            apply([("r", "insert", row)])
    assert maintained.rows == {(2, 2, 20)}


@pytest.mark.parametrize("answer", [[(1, "z")], [(1,)], [(1, 2, 3)], [(2, 20)], [(1, [])]])
def test_an_answer_that_does_not_fit(answer: list[Row]) -> None:
    maintained = Maintainer(TYPED, lambda question: answer)
    for apply in (maintained.apply, maintained.follow):
        with pytest.raises(InputError):
            apply(insert((5, 1, 1)))
    assert maintained.rows == set()


def test_a_source_that_fails_leaves_the_view_as_it_was() -> None:
    def source(question: Question) -> Iterable[Row]:
        raise ConnectionError("gone")

    maintained = Maintainer(VIEW, source, [(1, 1, 10)])
    with pytest.raises(ConnectionError):
        maintained.apply(insert((1, 1, 2), (1, 2, 2)))
    assert maintained.rows == {(1, 1, 10)}


def test_of_groups_that_one_lookup_stands_for_each_is_looked_up() -> None:
    """No row shows (1, 3), but one shows what 1 has: only the other group is asked for."""
    view = selfmaint.parse("v(X, Y, A, B) :- r(X, Y), s(X, A), t(X, Y, B).").view("v")
    asked: list[Question] = []

    def source(question: Question) -> Iterable[Row]:
        asked.append(question)
        return [(1, 3, 30)]

    maintained = Maintainer(view, source, [(1, 2, 10, 20)], lookups="always")
    maintained.follow(insert((1, 3)))
    assert [question.subgoals for question in asked] == [(2,)]
    assert maintained.rows == {(1, 2, 10, 20), (1, 3, 10, 30)}


@pytest.mark.parametrize("lookups", ["always", "never"])
def test_what_does_not_adapt_has_nothing_to_say_about_it(lookups: str) -> None:
    maintained = Maintainer(VIEW, Source(), lookups=lookups)
    maintained.follow(insert((1, 7, 1)))
    assert maintained.sentences() == []
