"""Are the views right? Every plan's every view against the recomputed one, after every batch.

Views are compared by their number of rows and by two figures over the hashes of all their columns,
for all plans and views in one aggregation that shuffles nothing. Views that differ are compared row
by row then. After the last batch all are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Protocol, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from warehouse.columns import quoted
from warehouse.difference import COPIES, difference

if TYPE_CHECKING:
    from collections.abc import Sequence

Place: TypeAlias = tuple[str, str]
"""A plan and a view."""


class WrongRows(AssertionError):
    """A plan's view is not as recomputed."""

    def __init__(self, plan: str, view: str, batch: int, missing: int, surplus: int) -> None:
        super().__init__(
            f"`{view}` is WRONG under the plan `{plan}` after batch {batch}: {missing:,} rows are "
            f"missing, {surplus:,} are too many"
        )
        self.plan, self.view, self.batch = plan, view, batch
        self.missing, self.surplus = missing, surplus


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of two views with other rows at least one figure differs, but by a chance of one in 2^64.

    Args:
        parity: of each bit of the rows' hashes: the bits of one that differs anywhere are random.
        total: of the upper bits of other hashes: rows that come twice do not cancel out here.
    """

    rows: int
    parity: int
    total: int


EMPTY = Fingerprint(0, 0, 0)

LOWER_BITS = 24
"""Left out of a total, so that the hashes of 2^24 rows add up to a whole number of Spark's."""


def fingerprints(tables: Mapping[Place, DataFrame]) -> dict[Place, Fingerprint]:
    """One job for all of them."""
    parts = []
    for (plan, view), table in tables.items():
        columns = [sf.col(quoted(name)) for name in sorted(table.columns)]
        one, two = (sf.xxhash64(sf.lit(seed), *columns) for seed in (1, 2))
        names = (sf.lit(plan).alias("plan"), sf.lit(view).alias("view"))
        upper = sf.shiftright(two, LOWER_BITS)
        parts.append(table.select(*names, one.alias("one"), upper.alias("two")))
    figures = (sf.count(sf.lit(1)), sf.bit_xor("one"), sf.sum("two"))
    rows = reduce(DataFrame.unionAll, parts).groupBy("plan", "view").agg(*figures).collect()
    found = {
        (str(plan), str(view)): Fingerprint(*map(int, figures)) for plan, view, *figures in rows
    }
    return {place: found.get(place, EMPTY) for place in tables}


class Kept(Protocol):
    """Somebody's views."""

    name: str

    def read(self, view: str) -> DataFrame: ...


def check(truth: Kept, others: Sequence[Kept], views: Sequence[str], batch: int) -> dict[str, int]:
    """The rows of every view, if all plans have the same ones.

    Raises:
        WrongRows: the first view that is not as recomputed.
    """
    tables = {(plan.name, view): plan.read(view) for plan in (truth, *others) for view in views}
    found = fingerprints(tables)
    for plan in others:
        for view in views:
            if found[plan.name, view] != found[truth.name, view]:
                compare(truth.read(view), plan.read(view), plan.name, view, batch)
    return {view: found[truth.name, view].rows for view in views}


def compare(expected: DataFrame, found: DataFrame, plan: str, view: str, batch: int) -> None:
    """Row by row.

    Raises:
        WrongRows: they differ.
    """
    copies = sf.col(quoted(COPIES))
    missing, surplus = sf.greatest(copies, sf.lit(0)), sf.greatest(-copies, sf.lit(0))
    (row,) = difference(expected, found).agg(sf.sum(missing), sf.sum(surplus)).collect()
    if row[0] or row[1]:
        raise WrongRows(plan, view, batch, int(row[0]), int(row[1]))
