"""How cost grows, without Spark: the program, rounds, slopes, results, pictures, the README."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import pytest

from bench.growth import measure as measuring
from bench.growth.experiment import AXES, program
from bench.growth.measure import Order, measure, orders
from bench.growth.memory import Memory, Peak
from bench.growth.results import BEFORE, RESULT, Measured, Point, Run, Series
from bench.readme import README, filled
from selfmaint import Report
from selfmaint.report import Stage, ViewReport

ROUNDS = 3


def measured(point: Point, seconds: float, slow: Sequence[float] = (1, 2, 1)) -> Measured:
    """Rounds that are so many times as slow."""
    whole, half, tenth = (
        Series.of([factor * share * seconds for factor in slow]) for share in (1, 0.5, 0.1)
    )
    return Measured(point, whole, half, tenth, 5.0, 16, driver_mb=150, heap_mb=900, kept_mb=500)


def without_rounds(run: Run) -> str:
    """The same as results had it before there were rounds."""
    data = asdict(run)
    del data["seed"]
    for found in data["points"]:
        del found["decide_jobs"], found["commit_jobs"]
        found["jvm_mb"] = found.pop("heap_mb") + 2 * found.pop("kept_mb")
        del found["seconds"]["each"]
        found |= {stage: found[stage]["median"] for stage in ("decide", "commit")}
    return json.dumps(data)


@pytest.fixture
def run() -> Run:
    """A batch that takes as long as there are views, and else always the same."""
    found = (
        measured(point, float(point.value) if axis == "views" else 2.0)
        for axis, points in AXES.items()
        for point in points
    )
    return Run(tuple(found), ROUNDS, {"cores": 2}, seed=7)


def test_one_thing_grows_at_a_time() -> None:
    for axis, points in AXES.items():
        values = [point.value for point in points]
        assert values == sorted(set(values))
        assert len({replace(point, **{axis: 0}) for point in points}) == 1


def test_the_program_has_so_many_views_and_subgoals() -> None:
    found = program(Point("views", 10, 1, subgoals=4, views=3))
    assert found.views == ("v1", "v2", "v3")
    assert {len(found.view(name).query.atoms) for name in found.views} == {4}


def test_the_worst_slope(run: Run) -> None:
    assert run.slope("rows", "seconds") == pytest.approx(0)
    axis, slope = run.worst()
    assert (axis, round(slope, 6)) == ("views", 1.0)
    assert "views: an exponent of 1.00" in " ".join(run.block(run).split())


def test_a_round_passes_all_points_in_an_order_of_its_own() -> None:
    found = orders(27, 7, seed=1)
    assert all(sorted(order) == list(range(27)) for order in found)
    assert len(set(found)) == len(found)
    assert found == orders(27, 7, seed=1) != orders(27, 7, seed=2)


def test_points_are_measured_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[tuple[str, int]] = []

    class Star:
        """Each of its batches takes a second more than the one before."""

        def __init__(self, spark: object, folder: str, point: Point) -> None:
            self.value = point.value if point.axis else 0
            self.batches = 0
            log.append(("load", self.value))

        def batch(self) -> Report:
            self.batches += 1
            log.append(("batch", self.value))
            stages = Stage("decide", self.batches / 2, 5), Stage("commit", 0.25, 2)
            views = ViewReport("v1", 1, stages=stages), ViewReport("v2", 1, stages=stages)
            return Report(self.batches, views, float(self.batches), jobs=15)

        def check(self) -> None:
            log.append(("check", self.value))

    class FakeMemory:
        def __init__(self, spark: object) -> None:
            log.append(("collect", 0))

        def peak(self) -> Peak:
            return Peak(150, 900, 500)

    def track(order: Order, what: str) -> Iterator[int]:
        log.append((what, len(order)))
        yield from order

    monkeypatch.setattr(measuring, "Star", Star)
    monkeypatch.setattr(measuring, "Memory", FakeMemory)
    points = AXES["changes"]
    spark: Any = None
    run = measure(spark, points, ROUNDS, 7, track)

    values = [point.value for point in points]
    phases = [place for place, (what, _) in enumerate(log) if what[0].isupper()]
    ends = [*phases[1:], len(log)]
    visits = {log[a][0]: log[a + 1 : b] for a, b in zip(phases, ends, strict=True)}
    assert list(visits) == [
        "Loading",
        "Warming up",
        "Round 1 of 3",
        "Round 2 of 3",
        "Round 3 of 3",
        "Checking",
    ]
    assert log[0] == ("load", 0), "one that warms up"
    for what, found in visits.items():
        assert sorted(value for kind, value in found if kind != "collect") == values
        assert ("collect", 0) not in found or what == "Round 3 of 3"
    assert [kind for kind, _ in visits["Round 3 of 3"]] == ["collect", "batch"] * len(points)

    assert [m.point for m in run.points] == list(points)
    assert (run.rounds, run.seed) == (ROUNDS, 7)
    for m in run.points:
        assert m.seconds == Series(3.0, 2.5, 3.5, (2.0, 3.0, 4.0)), "the first is not counted"
        assert m.decide == Series(3.0, 2.5, 3.5, (2.0, 3.0, 4.0)), "both views"
        assert m.commit == Series(0.5, 0.5, 0.5, (0.5, 0.5, 0.5))
        assert (m.jobs, m.spark_jobs()) == (15, "15 (10 + 4)")
        assert m.memory() == {"Python MB": 150, "heap MB": 900, "kept MB": 500}


def test_memory_is_what_the_heap_held_since_garbage_was_collected() -> None:
    class Pool:
        """As large as it ever was, until it is told to forget that."""

        def __init__(self, name: str, kind: str, now: int) -> None:
            self.name, self.kind, self.now, self.most = name, kind, now, 4000

        def getName(self) -> str:  # noqa: N802
            return self.name

        def getType(self) -> SimpleNamespace:  # noqa: N802
            return SimpleNamespace(name=lambda: self.kind)

        def resetPeakUsage(self) -> None:  # noqa: N802
            self.most = self.now

        def getPeakUsage(self) -> SimpleNamespace:  # noqa: N802
            return SimpleNamespace(getUsed=lambda: self.most * 2**20)

    old, new = Pool("PS Old Gen", "HEAP", 700), Pool("PS Eden Space", "HEAP", 500)
    classes = Pool("Metaspace", "NON_HEAP", 90)

    def collect() -> None:
        new.now = 0

    java = SimpleNamespace(
        lang=SimpleNamespace(
            System=SimpleNamespace(gc=collect),
            management=SimpleNamespace(
                ManagementFactory=SimpleNamespace(getMemoryPoolMXBeans=lambda: [old, new, classes])
            ),
        )
    )
    spark: Any = SimpleNamespace(_jvm=SimpleNamespace(java=java))
    memory = Memory(spark)
    assert (memory.peak().heap, memory.peak().kept) == (700, 700)
    old.most, new.most = 750, 200
    assert (memory.peak().heap, memory.peak().kept) == (950, 750)
    assert memory.peak().driver > 0
    assert classes.most == 4000


def test_a_slow_round_bends_no_slope(run: Run) -> None:
    along = run.along("views")
    assert [m.seconds.high / m.seconds.median for m in along] == [1.5] * len(along)
    assert str(run.exponents("views", "seconds")) == "1.00 (1.00 to 1.00)"
    # Slow at the far end, in one round of three: the median is of the others.
    end = measured(along[-1].point, 50.0, slow=(1, 9, 1))
    bent = replace(run, points=(*along[:-1], end))
    assert str(bent.exponents("views", "seconds")) == "1.00 (1.00 to 1.14)"
    assert bent.slope("views", "seconds") == pytest.approx(1)
    assert bent.slopes()[1] == [
        ["views", "1.00 (1.00 to 1.14)", "1.00 (1.00 to 1.14)", "1.00 (1.00 to 1.14)", "0.00"]
    ]


def test_results_without_rounds_claim_no_more_than_they_know(run: Run) -> None:
    old = Run.from_json(without_rounds(run))
    assert Run.from_json(old.to_json()) == old
    assert old.seed is None
    assert old.exponents("views", "decide") == pytest.approx(1)
    head, rows = old.table("views")
    assert head[-1] == "JVM MB"
    assert rows[0] == ["1", "1.00", "1.00 to 1.50", "0.50", "0.10", "16", "5.00", "150", "1900"]

    head, rows = run.table("views")
    assert head[-2:] == ("heap MB", "kept MB")
    assert rows[0][3:5] == ["0.50 (0.50 to 0.75)", "0.10 (0.10 to 0.15)"]
    assert rows[0][-2:] == ["900", "500"]
    assert run.block(old).startswith("Rounds that count: 3, in orders drawn with seed 7.")
    assert "JVM MB" in run.block(old), "of the run before"


def test_what_was_gained(run: Run) -> None:
    twice = [measured(m.point, 2 * m.seconds.median) for m in run.along("views")[:-1]]
    said = run.gained(replace(run, points=tuple(twice)))
    assert said.startswith("At 20 views a batch took 40.0 s before, and takes 20.0 s")


def test_a_run_reads_back(run: Run) -> None:
    assert Run.from_json(run.to_json()) == run
    rows = list(csv.DictReader(io.StringIO(run.to_csv())))
    assert len(rows) == len(run.points)
    assert {"axis", "views", "seconds", "seconds_low", "commit_low", "heap_mb"} <= set(rows[0])
    assert rows[-1]["spared"] == "50"


def test_pictures(run: Run) -> None:
    figures = pytest.importorskip("bench.growth.figures", exc_type=ImportError)
    for drawn in (run, Run.from_json(without_rounds(run))):
        image = figures.png(drawn, run)
        assert image.startswith(b"\x89PNG")
        page = figures.html(drawn, image)
        assert page.count("<table>") == 1 + len(AXES)
        assert all(address not in page for address in ("http://", "https://", 'src="/'))


def test_the_readme_says_what_was_measured() -> None:
    block = Run.read(RESULT).block(Run.read(BEFORE))
    text = README.read_text(encoding="utf-8")
    assert filled("growth", block) == text, "run `python -m bench.growth --fill`"
