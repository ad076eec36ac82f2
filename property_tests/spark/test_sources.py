"""A source answers what the reference answers, whatever join it is asked for.

Questions are packed: the answers to some of them are one job.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from tests.spark.questions import check_answers, random_case, random_database, tables_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_ONCE = 15
"""Questions in one job. Spark takes longer for each of them the more there are."""

EXAMPLES = max(1, min(settings().max_examples, 500) // AT_ONCE)

SEEDS = st.integers(0, 2**32 - 1)


@example(database=7, seeds=list(range(15, 30)))
@example(database=7, seeds=list(range(30, 45)))
@example(database=3209, seeds=[6250994])  # without a variable
@settings(max_examples=EXAMPLES, phases=(Phase.explicit, Phase.generate))
@given(database=SEEDS, seeds=st.lists(SEEDS, min_size=AT_ONCE, max_size=AT_ONCE))
def test_answers_are_those_of_the_reference(
    spark: SparkSession, database: int, seeds: list[int]
) -> None:
    rows = random_database(Random(database))
    check_answers(spark, tables_of(spark, rows), rows, [random_case(seed) for seed in seeds])
