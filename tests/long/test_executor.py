"""The Spark executor and the reference, on programs that take Spark ten seconds of planning."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from tests.spark.agreement import check, check_halves, check_indexed, low_limit_of_answers
from tests.spark.side_by_side import SideBySide, named, programs


class TestSmallBatches(SideBySide):
    @named(programs(check, {"comparisons": (2,), "steady keys": (11,)}))
    def test_packed(self, outcome: Future[None]) -> None:
        outcome.result()

    @named(programs(check_halves, {"pure": (11,)}))
    def test_of_one_kind(self, outcome: Future[None]) -> None:
        """What a batch does not have is not planned for. Foreign keys tie the kinds together."""
        outcome.result()


class TestIndexes(SideBySide):
    """What is kept of the view from batch to batch says what a scan says."""

    @named(programs(check_indexed, {"exposed nulls": (10,)}))
    def test_packed(self, outcome: Future[None]) -> None:
        outcome.result()


@pytest.fixture(scope="class")
def _low_limit_of_answers() -> Iterator[None]:
    with low_limit_of_answers():
        yield


@pytest.mark.usefixtures("_low_limit_of_answers")
class TestManyAnswers(SideBySide):
    """A small batch that meets very many rows."""

    @named(programs(check, {"everything": (2,)}))
    def test_packed(self, outcome: Future[None]) -> None:
        outcome.result()
