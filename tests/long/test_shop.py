"""The shop of `make demo`, small: its batches are decided, and its views are right."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

import pytest

from examples.shop.run import REPLAY, Result, Settings, run, share
from examples.shop.screen import TITLES, Terminal
from examples.shop.stream import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = Settings(orders=300, changes=120, batches=6, latency=0.0)


@pytest.fixture(scope="module")
def shown() -> StringIO:
    return StringIO()


@pytest.fixture(scope="module")
def result(spark: SparkSession, shown: StringIO) -> Result:
    terminal = Terminal(shown, SETTINGS.batches)
    with terminal.running():
        return run(spark, SETTINGS, terminal)


def test_every_view_is_as_recomputed(result: Result) -> None:
    assert [check.view for check in result.checks] == ["sales", "bulk"]
    assert [check.sample.collect() for check in result.checks] == [[], []]
    assert result.is_right
    assert all(check.rows for check in result.checks)


def test_the_counts_add_up(result: Result) -> None:
    views = len(result.checks)
    assert [x.words for x in result.lines] == [*(e.words for e in EVENTS[:5]), REPLAY]
    assert [x.number for x in result.lines] == [1, 2, 3, 4, 5, 5]
    for line in result.lines:
        assert line.here + line.asked == views * line.changes
        assert (line.asked == 0) == (line.cost.questions == 0)
    assert sum(line.here for line in result.lines) > sum(line.asked for line in result.lines)


def test_each_batch_does_what_it_says(result: Result) -> None:
    regulars, newcomers, cancelled, nothing, moves, _ = result.lines
    assert regulars.inserted
    assert not regulars.deleted
    assert newcomers.asked == 0  # the batch itself knows the customers that it brings
    assert cancelled.deleted
    assert not cancelled.inserted
    assert moves.inserted == moves.deleted != 0
    assert (nothing.changes, nothing.inserted, nothing.deleted) == (0, 0, 0)


def test_a_replay_changes_nothing(result: Result) -> None:
    replay = result.lines[-1]
    assert replay.is_replay
    assert (replay.changes, replay.inserted, replay.deleted, replay.cost.questions) == (0, 0, 0, 0)


def test_a_run_is_shown_line_by_line(result: Result, shown: StringIO) -> None:
    text = shown.getvalue()
    lines = text.splitlines()
    assert text.isascii()  # no colours, nothing that moves
    assert sum(all(title in line for title in TITLES) for line in lines) == 1
    for event in EVENTS[:5]:
        assert sum(event.words in line for line in lines) == 1
    assert sum("are as recomputed" in line for line in lines) == 2


def test_the_chart_and_the_page_need_nothing_else(result: Result) -> None:
    charts = pytest.importorskip("examples.shop.charts", exc_type=ImportError)
    image = charts.png(result)
    assert image.startswith(b"\x89PNG")
    page = charts.html(result, image)
    assert "http" not in page
    assert all(line.words in page for line in result.lines)


def test_a_share_is_whole_only_where_it_is_exact() -> None:
    assert [share(*pair) for pair in [(0, 0), (0, 9), (9, 9), (1, 10**6), (10**6 - 1, 10**6)]] == [
        "none",
        "0.0 %",
        "100.0 %",
        "0.1 %",
        "99.9 %",
    ]
