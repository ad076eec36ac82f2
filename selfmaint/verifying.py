"""A view compared with what it should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from warehouse.columns import quoted
from warehouse.difference import COPIES, difference

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE: Final = 20
"""How many differing rows are shown."""


@dataclass(frozen=True)
class Comparison:
    """A view compared with its recomputation.

    Args:
        version: of the view's table.
        missing, surplus: how many rows the view lacks, and has too many.
        sample: some of these rows, and as a last column `missing` or `surplus`: `difference`,
            or `difference_` if the view has a column of that name.
    """

    view: str
    version: int
    rows: int
    missing: int
    surplus: int
    sample: DataFrame

    @property
    def is_right(self) -> bool:
        return not self.missing and not self.surplus


def compared(view: str, version: int, expected: DataFrame, found: DataFrame) -> Comparison:
    """In which rows a version of a view differs from what is expected."""
    from pyspark.sql import functions as sf

    rows = difference(expected, found)
    copies = sf.col(quoted(COPIES))
    word = sf.when(copies > 0, "missing").otherwise("surplus")
    label = "difference"
    while any(column.casefold() == label for column in rows.columns):
        label += "_"
    differing = rows.withColumn(label, word).localCheckpoint()
    totals = differing.groupBy(label).agg(sf.sum(sf.abs(copies)))
    counts = {str(word): int(total) for word, total in totals.collect()}
    return Comparison(
        view,
        version,
        found.count(),
        counts.get("missing", 0),
        counts.get("surplus", 0),
        differing.drop(COPIES).limit(SAMPLE),
    )
