"""Huyn's experiment: the model is the paper's, a wrong row is noticed, the README is up to date."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from bench.paper import readme, tables
from bench.paper.experiment import MIXES, VIEW, Meter, Mix, Price, question_for
from bench.paper.measure import Stream, WrongRows
from bench.paper.on_spark.results import RESULT as RESULT_ON_SPARK
from bench.paper.on_spark.results import Costs
from bench.paper.on_spark.results import Run as SparkRun
from bench.paper.plans import kinds_of
from bench.paper.results import PAPER, Parameters, Run, targets
from bench.readme import filled as fill_block
from bench.spread import Spread
from lookups.maintain import ask
from lookups.verdict import Kind

FREE = Price(0.0, 0.0)
PARAMETERS = Parameters(1e-6, 1e-6, 1e-4, 1e-4, 1e-4, 2e-4)


@pytest.fixture(scope="module")
def committed() -> Run:
    return Run.from_json(readme.RESULT.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("mix", "p_vdu", "p_vsm"),
    list(zip(MIXES, (0, 0, 0.9, 0.5), (0, 0.99, 0.99, 0.75), strict=True)),
)
def test_the_probabilities_are_those_of_the_paper(mix: Mix, p_vdu: float, p_vsm: float) -> None:
    kinds = kinds_of(mix.changes, None, Meter(1, FREE))
    assert kinds.count(Kind.UNAFFECTED) == p_vdu * len(kinds)
    assert len(kinds) - kinds.count(Kind.MISS) == p_vsm * len(kinds)


def test_the_model_gives_the_speed_ups_of_the_paper() -> None:
    assert PAPER.speed_up(0, 0, 1) == pytest.approx(0.54, abs=0.01)
    assert PAPER.speed_up(0.9, 0.99, 100) == pytest.approx(70, rel=0.02)
    assert PAPER.speed_up(0, 0.99, 2) == pytest.approx(6.3 / 7.612, abs=1e-3)
    assert PAPER.speed_up(0.5, 0.75, 1) > 0.8


def test_a_source_question_costs_rho_times_as_much() -> None:
    meter = Meter(10, Price(first=2.0, each=1.0))
    found = ask(VIEW.query, meter.source, question_for(3))
    assert found == {(x,): {(z,) for z in range(1, 101)} for x in (1, 2, 3)}
    assert meter.charged == 9 * 4.0
    assert (meter.questions, meter.keys) == (1, 3)


@pytest.mark.parametrize("batch", [None, 1, 5])
def test_a_stream_gives_a_cell(batch: int | None) -> None:
    mix = Mix(2, 3, 2)
    stream = Stream.of(mix, batch, mix.rows)
    for turn in range(3):
        stream.measure(4, Price(1.0, 1.0), turn)
    cell = stream.cell(4, PARAMETERS)
    assert (cell.mix, cell.batch, cell.rho) == (mix, batch, 4)
    assert cell.asked >= cell.ours_asked >= 3
    if batch != 5:
        assert (cell.p_vdu, cell.p_vsm) == (0.5, 0.75)
        assert cell.asked == 12
        assert cell.limit.median == pytest.approx(4, rel=0.1)  # all but the questions is for free
    assert cell.speed_up.low <= cell.speed_up.median <= cell.speed_up.high


def test_a_wrong_row_ends_the_benchmark() -> None:
    mix = Mix(1, 2, 2)
    stream = Stream.of(mix, None, mix.rows)
    stream.rows = stream.rows | {(1, 1, 101)}
    with pytest.raises(WrongRows):
        stream.measure(1, FREE, 0)


def test_a_run_reads_back(committed: Run) -> None:
    assert Run.from_json(committed.to_json()) == committed
    assert committed.to_json() == readme.RESULT.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="version"):
        Run.from_json(committed.to_json().replace('"version": 1', '"version": 0'))


def test_a_run_as_csv(committed: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(committed.to_csv())))
    assert len(rows) == len(committed.cells)
    assert {"form", "batch", "u", "rho", "speed_up", "of_limit_low", "model"} <= set(rows[0])


def test_a_target_that_is_missed_is_said_to_be(committed: Run) -> None:
    slow = [
        replace(cell, speed_up=Spread(0.5, 0.5, 0.5), of_limit=Spread(0.5, 0.5, 0.5))
        for cell in committed.cells
    ]
    run = replace(committed, cells=tuple(slow))
    assert not any(target.is_met for target in targets(run))
    assert tables.text(run).count("MISSED") == 5


def test_the_readme_says_what_was_measured(committed: Run) -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert readme.filled(committed) == text, "run `python -m bench.paper --fill`"


def test_pictures(committed: Run) -> None:
    figures = pytest.importorskip("bench.paper.figures", exc_type=ImportError)
    image = figures.png(committed)
    assert image.startswith(b"\x89PNG")
    page = figures.html(committed, image)
    assert "data:image/png;base64," in page
    assert all(address not in page for address in ("http://", "https://", 'src="/'))
    assert page.count("<table>") == 3 + len(tables.batch_sizes(committed))


# On Spark


@pytest.fixture(scope="module")
def on_spark() -> SparkRun:
    return SparkRun.from_json(RESULT_ON_SPARK.read_text(encoding="utf-8"))


def test_a_run_on_spark_reads_back(on_spark: SparkRun) -> None:
    assert SparkRun.from_json(on_spark.to_json()) == on_spark
    rows = list(csv.DictReader(io.StringIO(on_spark.to_csv())))
    assert [float(row["limit_high"]) for row in rows] == [c.limit.high for c in on_spark.cells]
    shares = [(cell.p_vdu, cell.p_vsm) for cell in on_spark.cells if cell.rho == 1]
    assert shares == [(0, 0), (0, 0), (0.9, 0.9), (0.5, 0.5)]
    assert all(cell.ours_asked <= cell.asked for cell in on_spark.cells)


def test_the_model_on_spark_is_that_of_the_paper() -> None:
    """With lookups that are one step, and whose query costs nothing of its own."""
    costs = Costs(vdu=1.0, ins=2.0, xins=3.0)
    paper = Parameters(vdu=1.0, vsm=0.0, qbase=10.0, qview=0.0, ins=2.0, xins=3.0)
    for shares in ((0, 0), (0, 0.9), (0.5, 0.75), (0.9, 0.9)):
        assert costs.speed_up(*shares, 10.0) == pytest.approx(paper.speed_up(*shares, 1))


def test_what_batches_cost_on_spark() -> None:
    measure = pytest.importorskip("bench.paper.on_spark.measure", exc_type=ImportError)
    told, idle = measure.Batch(60, 0, True), measure.Batch(40, 0, False)
    missed = measure.Batch(100, 20, True)
    ours = measure.Timed((missed, idle, told, idle), 5, "")
    assert measure.costs_of([measure.Timed((missed,) * 4, 20, "")], [ours]) == Costs(0.4, 0.8, 0.4)
    assert (ours.seconds, ours.charged, ours.at(10)) == (240, 20, 420)


def test_the_readme_says_what_was_measured_on_spark(on_spark: SparkRun) -> None:
    text = readme.README.read_text(encoding="utf-8")
    said = "run `python -m bench.paper.on_spark --fill`"
    assert fill_block("paper-spark", on_spark.block()) == text, said


def test_pictures_of_a_run_on_spark(on_spark: SparkRun) -> None:
    figures = pytest.importorskip("bench.paper.on_spark.figures", exc_type=ImportError)
    image = figures.png(on_spark)
    assert image.startswith(b"\x89PNG")
    assert figures.html(on_spark, image).count("<table>") == 1
