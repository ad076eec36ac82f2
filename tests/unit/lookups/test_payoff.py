"""When lookups are made: worked examples of the rule, and its laws."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lookups.payoff import FEW, PATIENCE, SHARE, WINDOW, Choice, Payoff, Stretch

LOOKUP, QUESTION = 2.0, 4.0


def stretch(record: Payoff, size: int, helped: int, question: float = QUESTION) -> Stretch:
    """What a stretch of insertions does if the maintainer follows the record's choice."""
    if record.choice is Choice.SKIP:
        return Stretch(skipped=size, asked=size, source_cost=size * question)
    asked = size - helped
    return Stretch(size, helped, size * LOOKUP, 0, asked, asked * question)


def run(
    record: Payoff, times: int, helped: int, size: int = 1, question: float = QUESTION
) -> list[Payoff]:
    records = [record]
    for _ in range(times):
        records.append(records[-1].after(stretch(records[-1], size, helped, question)))
    return records


def looked_up(records: list[Payoff]) -> list[int]:
    return [at for at, record in enumerate(records[:-1]) if record.choice is not Choice.SKIP]


def test_a_few_lookups_are_always_made() -> None:
    assert looked_up(run(Payoff(), 50, helped=0)) == list(range(FEW))


def test_lookups_are_made_until_they_cost_one_question_too_many() -> None:
    choices_made = [record.choice for record in run(Payoff(), 100, helped=0, question=41.0)]
    # Twenty cost 40, one question 41; the next ones are on the budget.
    assert choices_made[:21] == [Choice.LOOK_UP] * 21
    assert choices_made[21] is Choice.PROBE
    assert Choice.SKIP in choices_made


def test_lookups_that_never_help_are_off_within_ten_of_a_hundred_changes() -> None:
    assert looked_up(run(Payoff(), 100, helped=0)) == list(range(FEW))


def test_lookups_that_never_help_cost_a_small_share_and_one_question() -> None:
    record = run(Payoff(), 3_000, helped=0)[-1]
    assert record.total.lookup_cost > FEW * LOOKUP
    assert record.total.lookup_cost <= QUESTION + SHARE * record.total.source_cost + LOOKUP


def test_batches_larger_than_the_window_keep_to_the_budget() -> None:
    """What is on record counts half with each of them; what was paid does not."""
    record, lookups, source = Payoff(), 0.0, 0.0
    for _ in range(3_000):
        skips = record.choice is Choice.SKIP
        seen = Stretch(0 if skips else 10_000, 0, 0 if skips else 5.0, 10_000 * skips, 1, 0.5)
        record = record.after(seen)
        lookups, source = lookups + seen.lookup_cost, source + seen.source_cost
    assert 5.0 < lookups <= 5.0 + SHARE * source


def test_an_empty_view_switches_nothing_off() -> None:
    good = run(Payoff(), 50, helped=9, size=10)[-1]
    assert good.choice is Choice.LOOK_UP
    assert good.after(Stretch(skipped=10, asked=10, source_cost=40.0)).choice is Choice.LOOK_UP


def test_lookups_that_hardly_cost_anything_stay() -> None:
    records = run(Payoff(), 2_000, helped=0, question=LOOKUP / SHARE)
    assert len(looked_up(records)) == 2_000


def test_lookups_that_help_stay() -> None:
    assert len(looked_up(run(Payoff(), 500, helped=6, size=10))) == 500


def test_help_that_costs_more_than_it_saves_is_no_help() -> None:
    # Four of ten save 16 and cost 20.
    assert run(Payoff(), 10, helped=4, size=10)[-1].choice is Choice.SKIP


def test_lookups_stay_while_no_question_was_asked() -> None:
    assert run(Payoff(), 50, helped=1)[-1].choice is Choice.LOOK_UP


def test_probes_are_made_now_and_then() -> None:
    probes = looked_up(run(Payoff(), 1_000, helped=0))[FEW:]
    runs = [at for at in probes if at - 1 not in probes]
    # Eight lookups cost 12 more than one question: 3 % of what a hundred questions cost.
    assert runs[0] == 100
    assert len(runs) > 10
    gaps = [after - before for before, after in pairwise(runs)]
    assert min(gaps) >= PATIENCE * LOOKUP / QUESTION


def test_a_dear_probe_is_followed_by_a_long_wait() -> None:
    off = run(Payoff(), 10, helped=0)[-1]
    after = off.after(Stretch(8, 0, 120.0, 0, 8, 8 * QUESTION))
    assert after.choice is Choice.SKIP
    wait = int(PATIENCE * 120 / QUESTION)
    assert looked_up(run(after, wait, helped=0)) == []
    assert looked_up(run(after, wait + 2, helped=0)) != []


def test_lookups_come_back_when_the_mix_changes() -> None:
    off = run(Payoff(), 20, helped=0)[-1]
    assert off.choice is Choice.SKIP
    records = run(off, 600, helped=1)
    back = looked_up(records)[0]
    assert back == 80
    assert looked_up(records) == list(range(back, 600))
    assert records[-1].choice is Choice.LOOK_UP


def test_what_indexes_take_to_catch_up_is_no_reason_to_stop() -> None:
    off = next(r for r in run(Payoff(), 1_000, helped=0)[FEW:] if r.choice is Choice.PROBE)
    assert off.choice is Choice.PROBE
    helpful, useless = Stretch(8, 8, 1_000.0), Stretch(8, 0, 1_000.0, 0, 8, 8 * QUESTION)
    assert off.after(helpful).choice is Choice.LOOK_UP
    assert off.after(useless).choice is Choice.SKIP


def test_lookups_go_off_when_they_stop_helping() -> None:
    good = run(Payoff(), 50_000, helped=1)[-1]
    assert good.total.looked_up <= 1.5 * WINDOW
    records = run(good.after(stretch(good, 1, 0)), 4 * WINDOW, helped=0)
    assert len(looked_up(records)) < 2 * WINDOW


def test_sentences() -> None:
    assert Payoff().sentence("r") == "lookups on for r: none made yet"
    on = run(Payoff(), 20, helped=150, size=200)[-1]
    assert on.sentence("r") == "lookups on for r: 3,000 of the last 4,000 helped"
    off = run(Payoff(), 22, helped=0)[-1]
    assert off.sentence("r") == "lookups off for r: 0 of the last 8 helped"
    dear = Payoff().after(Stretch(looked_up=9, helped=1, lookup_cost=9, asked=8, source_cost=16))
    said = "lookups off for r: 1 of the last 9 helped, which saved less than they cost"
    assert dear.sentence("r") == said
    tried = off.after(Stretch(skipped=800, asked=800, source_cost=1600))
    assert tried.choice is Choice.PROBE
    assert tried.sentence("r") == "lookups on trial for r: 0 of the last 8 helped"


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


def test_a_record_that_was_written_is_written_the_same_again() -> None:
    """Whoever reads it goes on as the one who wrote it."""
    record = Payoff().after(Stretch(9, 1, 2 / 3, 0, 8, 1e-7 / 3)).after(Stretch(skipped=3))
    written = record.as_dict()
    assert written["total"] == {
        "looked_up": 9.0,
        "helped": 1.0,
        "lookup_cost": 0.666666667,
        "skipped": 3.0,
        "asked": 8.0,
        "source_cost": 3.33333333e-08,
    }
    assert Payoff.from_dict(written).as_dict() == written
    assert Payoff.from_dict(Payoff().as_dict()) == Payoff()


def test_small_costs_add_up_from_record_to_record() -> None:
    """A probe comes after as many cheap batches, whether each is written down or not."""
    off = Payoff().after(Stretch(100, 0, 1.2, 0, 1, 0.02))
    kept, written, batches = off, off, 0
    while kept.choice is Choice.SKIP:
        seen = Stretch(skipped=100, asked=1, source_cost=0.02)
        kept, written = kept.after(seen), Payoff.from_dict(written.after(seen).as_dict())
        batches += 1
    assert batches > 5_000
    assert written.choice is not Choice.SKIP
