"""Reports: what follows from the figures, as JSON and as tables."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console, RenderableType

from lookups.verdict import Kind
from selfmaint.measure import JobCount, StageClock
from selfmaint.report import Count, Report, Stage, ViewReport
from warehouse.sources import Cost

SALES = ViewReport(
    "sales",
    12,
    (
        Count("customers", "insert", "irrelevant", "foreign-key", 1),
        Count("orders", "insert", "self-maintained", "standard", 1_234_567),
        Count("orders", "insert", "miss", "source", 12),
    ),
    2_469_158,
    3,
    1_024,
    14_630,
    5_000_000,
    Cost(1, 12, 7, 60_000, 0.25, 345_678),
    Cost(3, 1_000_000, seconds=12.5),
    1_234_574,
    3,
    31,
    (Stage("decide", 10.5), Stage("source", 0.5), Stage("count", 1.0), Stage("commit", 2.0)),
    indexed=110_000,
)
REPLAYED = ViewReport("demand_of_every_region", 7, is_replay=True)
REPORT = Report(41, (SALES, REPLAYED), 15.5, 52)
WIDEST = 80


def text_of(item: RenderableType) -> str:
    console = Console(width=WIDEST, no_color=True)
    with console.capture() as capture:
        console.print(item)
    return capture.get()


def test_figures_that_follow() -> None:
    assert SALES.changes() == 1_234_580
    assert SALES.changes(Kind.MISS) == 12
    assert SALES.decided_here == 1_234_568
    assert SALES.verdicts == {"irrelevant": 1, "self-maintained": 1_234_567, "miss": 12}
    assert SALES.questions_avoided == 2
    assert SALES.seconds == 14.0
    assert SALES.seconds_saved == 12.25
    assert replace(SALES, traditional=Cost()).questions_avoided == -1
    assert replace(SALES, traditional=Cost()).seconds_saved == 0.0
    assert not REPORT.is_replay
    assert REPORT.of("demand_of_every_region") is REPLAYED


def test_jobs_of_stages() -> None:
    found = SALES.with_jobs(decide=11, commit=2)
    assert found.jobs == 13
    assert [(stage.name, stage.jobs) for stage in found.stages] == [
        ("decide", 11), ("source", None), ("count", None), ("commit", 2),
    ]  # fmt: skip
    unknown = SALES.with_jobs(decide=None, commit=2)
    assert unknown.jobs is None
    assert unknown.stages[-1].jobs == 2


def test_json_is_one_line_with_everything() -> None:
    text = REPORT.to_json()
    assert "\n" not in text
    found = json.loads(text)
    assert (found["batch"], found["seconds"], found["jobs"]) == (41, 15.5, 52)
    sales, replayed = found["views"]
    assert sales == json.loads(json.dumps(SALES.as_dict()))
    assert sales["counts"][2] == {
        "relation": "orders", "action": "insert", "kind": "miss", "rule": "source", "changes": 12,
    }  # fmt: skip
    assert sales["cost"] == {
        "questions": 1, "keys_sent": 12, "rows_sent": 7, "rows_scanned": 60_000, "seconds": 0.25,
        "bytes_sent": 345_678,
    }  # fmt: skip
    assert sales["stages"][0] == {"name": "decide", "seconds": 10.5, "jobs": None}
    derived = ("verdicts", "questions_avoided", "seconds", "seconds_saved")
    assert [sales[name] for name in derived] == [SALES.verdicts, 2, 14.0, 12.25]
    assert (replayed["is_replay"], replayed["jobs"]) == (True, None)


def test_the_table_fits_a_screen() -> None:
    lines = text_of(REPORT).splitlines()
    assert max(map(len, lines)) <= WIDEST
    found = [tuple(cell.strip() for cell in re.split(r" {2,}", line.strip())) for line in lines]
    assert found == [
        ("batch 41", "sales", "demand_of_every_region"),
        ("changes", "1.23M", "replay"),
        ("irrelevant", "1"),
        ("self-maintained", "1.23M"),
        ("miss", "12"),
        ("decided here", "1.23M"),
        ("lookups", "2.47M"),
        ("files read", "3 of 1,024"),
        ("rows read", "14,630 of 5.00M"),
        ("values indexed", "110k"),
        ("questions asked", "1"),
        ("questions avoided", "2"),
        ("keys sent", "12"),
        ("rows received", "7"),
        ("bytes received", "346k"),
        ("rows inserted", "1.23M"),
        ("rows deleted", "3"),
        ("Spark jobs", "31"),
        ("seconds", "14.0"),
        ("decide", "10.5"),
        ("source", "0.5"),
        ("count", "1.0"),
        ("commit", "2.0"),
        ("source seconds", "0.25"),
        ("source seconds saved", "12.25"),
    ]


def test_the_rules_of_a_view() -> None:
    assert [line.split() for line in text_of(SALES).splitlines()][1:] == [
        ["relation", "change", "verdict", "rule", "changes"],
        ["customers", "insert", "irrelevant", "foreign-key", "1"],
        ["orders", "insert", "self-maintained", "standard", "1,234,567"],
        ["orders", "insert", "miss", "source", "12"],
    ]


def test_a_stage_inside_another_is_counted_once() -> None:
    clock = StageClock()
    with clock.stage("outer"), clock.stage("inner"):
        pass
    with clock.stage("outer"):
        pass
    assert [stage.name for stage in clock.stages()] == ["inner", "outer"]
    assert all(stage.seconds >= 0 for stage in clock.stages())


class Tracker:
    """A context with a status tracker, as far as `JobCount` uses it."""

    def __init__(self, group: str | None, jobs: dict[str, list[int]]) -> None:
        self.group = group
        self.jobs = jobs
        self.sparkContext = self

    def statusTracker(self) -> "Tracker":  # noqa: N802
        return self

    def getJobIdsForGroup(self, group: str) -> list[int]:  # noqa: N802
        return self.jobs.get(group, [])

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802
        return self.group

    def setLocalProperty(self, name: str, value: str | None) -> None:  # noqa: N802
        self.group = value

    def run(self, *jobs: int) -> None:
        assert self.group is not None
        self.jobs[self.group] = self.jobs.get(self.group, []) + list(jobs)


def test_jobs_have_a_group_of_their_own_unless_the_caller_has_one() -> None:
    spark: Any = Tracker(None, {})
    jobs = JobCount(spark)
    with jobs.counting():
        spark.run(1, 2, 3)
        assert jobs.more() == 3
        spark.run(4)
        assert (jobs.more(), jobs.more(), jobs.total()) == (1, 0, 4)
    assert spark.group is None
    with pytest.raises(ZeroDivisionError), JobCount(spark).counting():
        raise ZeroDivisionError
    assert spark.group is None

    spark = Tracker("mine", {"mine": [1, 2]})
    jobs = JobCount(spark)
    with jobs.counting():
        assert spark.group == "mine"
        with jobs.aside() as count:
            assert spark.group == "mine"
            spark.run(3)
            assert count() is None
        assert jobs.total() == 1
    assert spark.group == "mine"


def test_jobs_of_a_thread_beside_others_are_counted_apart_and_in_the_total() -> None:
    spark: Any = Tracker(None, {})
    jobs = JobCount(spark)
    with jobs.counting():
        spark.run(1)
        own = spark.group
        with jobs.aside() as count:
            spark.run(2, 3)
            assert count() == 2
        assert spark.group == own
        assert (jobs.more(), jobs.total()) == (3, 3)
    assert spark.group is None


def test_no_jobs_are_counted_where_there_is_no_tracker() -> None:
    remote: Any = object()
    jobs = JobCount(remote)
    with jobs.counting():
        assert jobs.more() is None
        assert jobs.total() is None
