"""How a batch grows, with views, sources and changes that are only names."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from selfmaint import extending
from selfmaint.deciding import Decision
from selfmaint.errors import RuntimeStateError
from selfmaint.extending import MOST_EXTENSIONS, Extending, extent_of
from warehouse.sources import Cost
from warehouse.tables import Extent, State


@pytest.fixture(autouse=True)
def _changes_are_numbers(monkeypatch):
    """Changes are the sequence of the versions that they hold."""
    monkeypatch.setattr(extending, "followed_by", lambda relations, first, then: [*first, *then])


def decided(reached, newest, *, number=7, later=lambda after, upto: range(after + 1, upto + 1)):
    """Decide for views at these versions; `newest` has the source's version at each question."""
    answers = iter(newest)
    given = {}

    def decide(tasks, changes, upto):
        found = []
        for task in tasks:
            name = task.stored.name
            given[name] = list(changes)
            version = next(answers, upto)
            answered = version if version > upto else None
            found.append(Decision(task, (), cost=Cost(1), answered_as_of=answered))
        return found

    tasks = [SimpleNamespace(stored=SimpleNamespace(name=name)) for name in reached]
    found, last = Extending({}, number, [number], later).decided(tasks, reached, decide)
    costs = {decision.task.stored.name: decision.cost.questions for decision in found}
    return last, {name: given[name] for name in costs}, costs


@pytest.mark.parametrize(
    ("reached", "newest", "last", "given", "costs"),
    [
        # Nobody is ahead, then the source is, once and twice.
        ({"v": 6, "w": 6}, [], 7, {"v": [7], "w": [7]}, {"v": 1, "w": 1}),
        ({"v": 6, "w": 6}, [0, 9], 9, {"v": [7, 8, 9], "w": [7, 8, 9]}, {"v": 2, "w": 2}),
        ({"v": 6, "w": 6}, [8, 9], 9, {"v": [7, 8, 9], "w": [7, 8, 9]}, {"v": 2, "w": 2}),
        ({"v": 6}, [8, 9], 9, {"v": [7, 8, 9]}, {"v": 3}),
        # A crash: a view has the batch, as it was given and extended.
        ({"v": 7, "w": 6}, [], 7, {"w": [7]}, {"w": 1}),
        ({"v": 9, "w": 6}, [], 9, {"w": [7, 8, 9]}, {"w": 1}),
        ({"v": 7, "w": 6}, [8], 8, {"v": [8], "w": [7, 8]}, {"v": 1, "w": 2}),
        ({"v": 9, "w": 6}, [10], 10, {"v": [10], "w": [7, 8, 9, 10]}, {"v": 1, "w": 2}),
        # Every view has the batch, not all of them to the same end.
        ({"v": 9, "w": 8}, [], 9, {"w": [9]}, {"w": 1}),
        (
            {"u": 9, "v": 8, "w": 6},
            [0, 11],
            11,
            {"u": [10, 11], "v": [9, 10, 11], "w": [7, 8, 9, 10, 11]},
            {"u": 1, "v": 2, "w": 2},
        ),
    ],
)
def test_every_view_gets_what_it_lacks(reached, newest, last, given, costs):
    assert decided(reached, newest) == (last, given, costs)


def test_a_source_that_moves_on_is_asked_a_bounded_number_of_times():
    with pytest.raises(RuntimeStateError, match=r"RT404.*as of version 13.*ends at version 12"):
        decided({"v": 6}, range(8, 100))
    *moves, last = range(8, 8 + MOST_EXTENSIONS)
    assert decided({"v": 6}, [*moves, last])[0] == last


def test_without_the_later_changes_nothing_is_extended():
    assert decided({"v": 7, "w": 6}, [], later=None)[0] == 7
    with pytest.raises(RuntimeStateError, match=r"RT404(.|\n)*`later`(.|\n)*`load\(\)`"):
        decided({"v": 6}, [8], later=None)
    with pytest.raises(RuntimeStateError, match=r"RT404.*some views(.|\n)*`later`"):
        decided({"v": 9, "w": 6}, [], later=None)


def test_a_batch_that_finishes_another_one_has_its_numbers():
    states = {"v": State(1, 9, 7), "w": State(1, 6)}
    assert extent_of(7, 9, states) == Extent(7, 9)
    assert extent_of(8, 11, states) == Extent(7, 11)
    assert extent_of(10, 11, states) == Extent(10, 11)
    assert extent_of(3, 3, {"v": State(0, None)}) == Extent(3, 3)
