"""Huyn's experiment on Spark, on a stream of twelve changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.paper.experiment import Mix
from bench.paper.on_spark import measure
from bench.paper.on_spark.measure import Bench, Stream, WrongRows
from lookups.payoff import Lookups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_plan_ends_in_the_rows_of_recomputation(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice three values of x with two of y, in batches of six: the second batch is known."""
    monkeypatch.setattr(measure, "BATCH", 6)
    stream, bench = Stream.of(Mix(2, 3, 2)), Bench(spark, tmp_path)
    bench.set_price()
    whole = [stream.mix.changes[:6], stream.mix.changes[6:]]
    traditional = bench.run(stream, whole, 1, Lookups.NEVER)
    ours = bench.run(stream, whole, 1, Lookups.ALWAYS)
    free = bench.run(stream, stream.missed, 1, Lookups.NEVER)
    assert (traditional.keys, ours.keys, free.keys) == (6, 3, 3)
    assert [batch.charged > 0 for batch in ours.batches] == [True, False]
    assert [batch.is_changed for batch in ours.batches] == [True, False]
    costs = measure.costs_of([traditional], [ours])
    assert min(costs.vdu, costs.ins) > 0
    stream.rows = stream.rows | {(1, 1, 101)}
    with pytest.raises(WrongRows):
        bench.run(stream, whole, 1, Lookups.NEVER)
