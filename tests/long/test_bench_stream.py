"""TPC-H as a living warehouse, small: all plans have the recomputed rows, and figures come out.

With small views: five plans for each of its own are minutes of planning. `make bench` has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.stream import program, recompute, tables
from bench.stream.check import WrongRows, check
from bench.stream.measure import measure
from bench.stream.results import PLANS, RECOMPUTE, SELFMAINT, TRADITIONAL, Line, Run, Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = Settings(scale=0.001, batches=1)


class Quiet:
    """A screen that keeps what it is shown, and on which somebody presses Ctrl-C at once."""

    is_stopping = True

    def __init__(self) -> None:
        self.batches: list[int] = []

    def stage(self, words: str) -> None: ...

    def line(self, batch: int, lines: Sequence[Line], rows: int) -> None:
        assert {line.plan for line in lines} == set(PLANS)
        assert rows
        self.batches.append(batch)


VIEWS = """
placed(Order, Customer, Customer_name, Day) :-
    orders(Order, Customer, _, _, Day, _, _), customer(Customer, Customer_name, _, _, _).
urgent(Order, Customer, Day, Total) :-
    orders(Order, Customer, _, Total, Day, '1-URGENT', _).
"""


PLACED = """
SELECT o.order_id AS `order`, c.customer, c.name AS customer_name, o.day
FROM {orders} o JOIN {customer} c ON o.customer = c.customer
"""


@pytest.fixture(scope="module", autouse=True)
def _small_views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One with a join and one without, over the relations of `tpch.dl`."""
    relations, _ = program.TEXT.read_text(encoding="utf-8").split("\n% Wide", 1)
    text = tmp_path_factory.mktemp("program") / "small.dl"
    text.write_text(relations + VIEWS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "TEXT", text)
        patch.setattr(recompute, "QUERIES", {**recompute.QUERIES, "placed": PLACED})
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tpch")


@pytest.fixture(scope="module")
def run(spark: SparkSession, folder: Path) -> Run:
    screen = Quiet()
    (found,) = measure(spark, replace(SETTINGS, batches=9), folder, screen, folder / "run")
    assert screen.batches == [1]
    assert found.settings == SETTINGS
    return found


def test_every_plan_is_compared_after_every_batch(run: Run) -> None:
    assert run.compared == SETTINGS.batches * len(run.views) * (len(PLANS) - 1)
    assert all(view.rows for view in run.views)


def test_all_plans_write_the_same_rows(run: Run) -> None:
    assert len({line.inserted - line.deleted for line in run.lines}) == 1


def test_who_asks_whom(run: Run) -> None:
    assert run.total(SELFMAINT, "keys") < run.total(TRADITIONAL, "keys")
    assert run.total(RECOMPUTE, "questions") == SETTINGS.batches * len(run.views)
    assert Run.from_json(run.to_json()) == run
    assert "MISSED" in tables.text(run)  # so small, a journal is larger than copies


def test_another_sitting_goes_on(spark: SparkSession, folder: Path, run: Run) -> None:
    screen = Quiet()
    before, found = measure(spark, replace(SETTINGS, batches=2), folder, screen, folder / "run")
    assert before == run
    assert screen.batches == [2]
    assert (found.settings.batches, found.sittings) == (2, 2)
    assert found.lines[: len(run.lines)] == run.lines
    assert found.compared == 2 * run.compared
    assert len({asked.plan for asked in found.asked}) == len(PLANS)
    assert found.total(SELFMAINT, "inserted") == found.total(RECOMPUTE, "inserted")
    # Without a batch to go, all views are compared once more.
    assert list(measure(spark, found.settings, folder, screen, folder / "run")) == [found]


class Given:
    """A plan with one view."""

    def __init__(self, name: str, rows: DataFrame) -> None:
        self.name, self.rows = name, rows

    def read(self, view: str) -> DataFrame:
        return self.rows


def test_one_wrong_row_is_noticed(spark: SparkSession) -> None:
    truth = Given("truth", spark.createDataFrame([(1, "a"), (2, "b")], "x int, y string"))
    same = Given("same", spark.createDataFrame([(2, "b"), (1, "a")], "x int, y string"))
    assert check(truth, [same], ["v"], 1) == {"v": 2}
    other = Given("other", spark.createDataFrame([(2, "b"), (1, "b")], "x int, y string"))
    with pytest.raises(WrongRows) as wrong:
        check(truth, [same, other], ["v"], 7)
    assert (wrong.value.plan, wrong.value.missing, wrong.value.surplus) == ("other", 1, 1)
    assert "after batch 7" in str(wrong.value)
