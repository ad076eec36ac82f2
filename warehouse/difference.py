"""In which rows two frames differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warehouse.columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COPIES: Final = "number of copies"
"""A column that no view has, since names have no spaces."""


def difference(expected: DataFrame, found: DataFrame) -> DataFrame:
    """The rows that differ, with how many copies are missing, or (below zero) too many.

    One aggregation; NULL equals NULL.
    """
    from pyspark.sql import functions as sf

    sides = (frame.withColumn(COPIES, sf.lit(n)) for frame, n in ((expected, 1), (found, -1)))
    there, here = sides
    copies = sf.sum(quoted(COPIES)).alias(COPIES)
    rows = there.unionByName(here).groupBy(*map(quoted, found.columns)).agg(copies)
    return rows.where(sf.col(quoted(COPIES)) != 0)
