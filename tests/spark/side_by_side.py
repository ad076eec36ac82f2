"""Checks of the Spark executor as tests: those of a class run beside each other, a few at a time.

Each is still a test of its own, which waits for its check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

import pytest

from property_tests.strategies import BATCH_FLAVOURS, Flavour
from tests.spark.agreement import COUNT, THREADS
from tests.spark.worlds import Scenario, packed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

How: TypeAlias = "Callable[[Scenario, SparkSession], None]"
Check: TypeAlias = "Callable[[SparkSession], None]"

BY_NAME = {flavour.name: flavour for flavour in BATCH_FLAVOURS}


class SideBySide:
    """A test takes its `outcome`, and `named` says of what."""

    @pytest.fixture(scope="class")
    @classmethod
    def outcomes(
        cls, request: pytest.FixtureRequest, spark: SparkSession
    ) -> Iterator[Mapping[str, Future[None]]]:
        """Test to its check, under way or done, for all tests of the class that are chosen."""
        chosen = [i for i in request.session.items if getattr(i, "cls", None) is cls]
        with ThreadPoolExecutor(THREADS) as pool:
            yield {i.nodeid: pool.submit(i.callspec.params["outcome"], spark) for i in chosen}
            pool.shutdown(cancel_futures=True)  # after the first failure, with `-x`

    @pytest.fixture
    def outcome(
        self, request: pytest.FixtureRequest, outcomes: Mapping[str, Future[None]]
    ) -> Future[None]:
        return outcomes[request.node.nodeid]


def named(checks: Mapping[str, Check]) -> pytest.MarkDecorator:
    """The checks as the parameters of a test."""
    return pytest.mark.parametrize("outcome", checks.values(), ids=checks.keys(), indirect=True)


def programs(how: How, chosen: Mapping[str, Iterable[int]]) -> dict[str, Check]:
    """What to check about some random programs, flavour to seeds."""
    return {
        f"{name} {seed}": on_packed(how, BY_NAME[name], seed)
        for name, seeds in chosen.items()
        for seed in seeds
    }


def on_packed(how: How, flavour: Flavour, seed: int) -> Check:
    return lambda spark: how(packed(flavour, seed, 3, COUNT, "long"), spark)
