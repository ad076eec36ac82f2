"""How cost grows, without Spark: the program, slopes, results, pictures, the README."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from bench.growth.experiment import AXES, program
from bench.growth.results import BEFORE, RESULT, Measured, Point, Run
from bench.readme import README, filled
from bench.spread import Spread


def measured(point: Point, seconds: float) -> Measured:
    spread = Spread(seconds, seconds, seconds)
    return Measured(point, spread, seconds / 2, 0.1, 5.0, 16, 150, 1500)


@pytest.fixture
def run() -> Run:
    """A batch that takes as long as there are views, and else always the same."""
    found = (
        measured(point, float(point.value) if axis == "views" else 2.0)
        for axis, points in AXES.items()
        for point in points
    )
    return Run(tuple(found), 3, {"cores": 2})


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


def test_what_was_gained(run: Run) -> None:
    twice = [measured(m.point, 2 * m.seconds.median) for m in run.along("views")[:-1]]
    said = run.gained(replace(run, points=tuple(twice)))
    assert said.startswith("At 20 views a batch took 40.0 s before, and takes 20.0 s")


def test_a_run_reads_back(run: Run) -> None:
    assert Run.from_json(run.to_json()) == run
    rows = list(csv.DictReader(io.StringIO(run.to_csv())))
    assert len(rows) == len(run.points)
    assert {"axis", "views", "seconds", "seconds_low", "jobs", "jvm_mb"} <= set(rows[0])
    assert rows[-1]["spared"] == "50"


def test_pictures(run: Run) -> None:
    figures = pytest.importorskip("bench.growth.figures", exc_type=ImportError)
    image = figures.png(run, run)
    assert image.startswith(b"\x89PNG")
    page = figures.html(run, image)
    assert page.count("<table>") == 1 + len(AXES)
    assert all(address not in page for address in ("http://", "https://", 'src="/'))


def test_the_readme_says_what_was_measured() -> None:
    block = Run.read(RESULT).block(Run.read(BEFORE))
    text = README.read_text(encoding="utf-8")
    assert filled("growth", block) == text, "run `python -m bench.growth --fill`"
