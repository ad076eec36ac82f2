"""When lookups are made: worked examples of the rule, and its laws."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lookups.payoff import FEW, FIRST_WAIT, LONGEST_WAIT, WINDOW, Choice, Payoff, Stretch

LOOKUP, QUESTION = 2.0, 4.0


def stretch(record: Payoff, size: int, helped: int, question: float = QUESTION) -> Stretch:
    """What a stretch of insertions does if the maintainer follows the record's choice."""
    if record.choice is Choice.SKIP:
        return Stretch(skipped=size, asked=size, source_cost=size * question)
    asked = size - helped
    return Stretch(size, helped, size * LOOKUP, 0, asked, asked * question)


def run(record: Payoff, times: int, helped: int, size: int = 1) -> list[Payoff]:
    records = [record]
    for _ in range(times):
        records.append(records[-1].after(stretch(records[-1], size, helped)))
    return records


def test_lookups_are_made_until_they_cost_one_question_too_many() -> None:
    record = Payoff()
    while record.is_on:
        record = record.after(stretch(record, 1, 0, question=21.0))
    assert record.looked_up == 11  # eleven lookups cost 22, and one question 21


def test_a_few_lookups_are_always_made() -> None:
    records = run(Payoff(), FEW, helped=0)
    assert [record.is_on for record in records] == [True] * FEW + [False]


def test_a_dear_question_is_worth_more_lookups() -> None:
    record = Payoff()
    while record.is_on:
        record = record.after(stretch(record, 1, 0, question=1_000.0))
    assert record.looked_up == 501  # 501 lookups cost 1,002, and one question 1,000


def test_lookups_that_never_help_are_off_within_a_few_changes() -> None:
    records = run(Payoff(), 100, helped=0)
    assert sum(record.choice is not Choice.SKIP for record in records[:-1]) == FEW


def test_lookups_that_help_stay() -> None:
    assert all(record.is_on for record in run(Payoff(), 500, helped=6, size=10))


def test_help_that_costs_more_than_it_saves_is_no_help() -> None:
    # Four of ten save 16 and cost 20.
    assert not run(Payoff(), 10, helped=4, size=10)[-1].is_on


def test_lookups_are_free_to_stay_while_no_question_was_asked() -> None:
    assert run(Payoff(), 50, helped=1)[-1].is_on


def test_probes_are_made_now_and_then_and_less_and_less() -> None:
    records = run(Payoff(), 3_000, helped=0)
    probes = [at for at, record in enumerate(records) if record.choice is Choice.PROBE]
    gaps = [after - before for before, after in pairwise(probes)]
    assert probes[0] == FEW + FIRST_WAIT
    assert gaps == [2 * FIRST_WAIT + 1, 4 * FIRST_WAIT + 1, 8 * FIRST_WAIT + 1]


def test_the_wait_has_an_end() -> None:
    record = run(Payoff(), 100_000, helped=0)[-1]
    assert record.wait == LONGEST_WAIT


def test_lookups_come_back_when_the_mix_changes() -> None:
    off = run(Payoff(), 50, helped=0)[-1]
    records = run(off, 2 * FIRST_WAIT, helped=1)
    back = next(at for at, record in enumerate(records) if record.is_on)
    assert back <= FIRST_WAIT
    assert all(record.is_on for record in records[back:])
    assert records[-1].wait == FIRST_WAIT


def test_what_an_index_takes_to_catch_up_does_not_count_against_a_probe() -> None:
    off = run(Payoff(), 50, helped=0)[-1]
    due = replace(off, skipped=off.wait)
    assert due.after(Stretch(1, 1, lookup_cost=1_000.0)).is_on
    assert not due.after(Stretch(1, 0, 1_000.0, 0, 1, QUESTION)).is_on


def test_lookups_go_off_again_when_they_stop_helping() -> None:
    good = run(Payoff(), 50_000, helped=1)[-1]
    good = good.after(stretch(good, 1, 0))
    assert good.looked_up <= 2 * WINDOW
    records = run(good, 10 * WINDOW, helped=0)
    assert next(at for at, record in enumerate(records) if not record.is_on) <= 2 * WINDOW


def test_sentences() -> None:
    assert Payoff().sentence("r") == "lookups on for r: none made yet"
    on = run(Payoff(), 20, helped=150, size=200)[-1]
    assert on.sentence("r") == "lookups on for r: 3,000 of the last 4,000 helped"
    off = run(Payoff(), 53, helped=0)[-1]
    assert off.sentence("r") == (
        "lookups off for r: 0 of the last 8 helped; next probe after 83 changes"
    )


shares, costs = st.floats(0, 1), st.floats(0.1, 1_000)
histories = st.lists(st.tuples(st.integers(1, 50), shares, costs, costs), max_size=40)
History = list[tuple[int, float, float, float]]


def choices(history: History, unit: float = 1.0) -> list[Choice]:
    record, made = Payoff(), []
    for size, share, lookup, question in history:
        helped = 0 if record.choice is Choice.SKIP else int(size * share)
        source = (size - helped) * question * unit
        if record.choice is Choice.SKIP:
            seen = Stretch(skipped=size, asked=size, source_cost=source)
        else:
            seen = Stretch(size, helped, size * lookup * unit, 0, size - helped, source)
        record = record.after(seen)
        made.append(record.choice)
    return made


@given(histories)
def test_the_same_history_gives_the_same_choices(history: History) -> None:
    assert choices(history) == choices(history)


@given(histories)
def test_costs_may_be_in_any_unit(history: History) -> None:
    assert choices(history) == choices(history, unit=1024.0)
