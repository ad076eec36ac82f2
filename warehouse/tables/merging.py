"""A MERGE that deletes and inserts whole rows.

Delta reads a table twice for a MERGE: to find the files that hold rows to delete, and to join their
rows with the source once more, where it shuffles and sorts them, all columns of all rows, however
few are to go. A condition on the table's rows alone spares most of that. So the rows to delete are
hashed, and only rows with one of their hashes take part. This is for speed: rows match if all their
columns are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from warehouse.columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, MergeIntoWriter

SLOTS: Final = 2**16
"""Values of the hash: a row that stays passes for one to delete with a chance of one in sixteen at
the worst."""

MOST_SLOTS: Final = 2**12
"""More are not worth it: Delta notes the condition in the table's log."""

MOST_ROWS: Final = 2**16
"""Rows to delete that every executor gets in full."""

# No table has a column with a space in its name, so these are never mistaken for one.
_IS_DELETION: Final = "is deletion"


def _source_column(place: int) -> str:
    return f"column {place}"


def merge_of(
    table: str, inserts: DataFrame | None, deletes: DataFrame, telling: Sequence[str] = ()
) -> MergeIntoWriter:
    """A MERGE of these rows into a table, which the caller runs; one job.

    Law: a row of the table goes if it is one of `deletes`, compared null-safely in all columns, and
    `inserts` go in as they are, whatever the table holds.

    Args:
        table: as SQL names it.
        inserts: with the columns of `deletes`.
        telling: columns that tell most rows apart; none if that is not known.
    """
    from pyspark.sql import functions as sf

    names = deletes.columns

    def source(frame: DataFrame, is_deletion: bool) -> DataFrame:
        rows = frame.toDF(*(_source_column(i) for i in range(len(names))))
        return rows.select(sf.lit(is_deletion).alias(_IS_DELETION), "*")

    rows = source(deletes, True)
    if inserts is not None:
        rows = rows.unionAll(source(inserts.select(*map(quoted, names)), False))
    matches = is_deletion = sf.col(quoted(_IS_DELETION))
    theirs = [sf.col(quoted(_source_column(i))) for i in range(len(names))]
    for name, value in zip(names, theirs, strict=True):
        matches = matches & sf.col(quoted(name)).eqNullSafe(value)
    slots = _slots(deletes, telling or names)
    if slots is not None:
        matches = matches & sf.expr(slots)
        # The first of the two joins needs the rows to delete alone, and they are few.
        rows = sf.broadcast(rows)
    writer = rows.mergeInto(table, matches).whenMatched().delete()
    if inserts is not None:
        values = dict(zip(map(quoted, names), theirs, strict=True))
        writer = writer.whenNotMatched(~is_deletion).insert(values)
    return writer


def _slots(rows: DataFrame, columns: Sequence[str]) -> str | None:
    """Whether a row has the hash of one of these; None if they are too many.

    Its text holds names of columns, as identifiers, and numbers that were computed here.
    """
    # Equal values have one hash, the two zeros too.
    slot = f"pmod(xxhash64({', '.join(map(quoted, columns))}), {SLOTS})"
    slots = rows.selectExpr(f"CAST({slot} AS int) AS slot")
    some = f"slice(collect_set(slot), 1, {MOST_SLOTS + 1})"
    ((count, found),) = slots.selectExpr("count(1)", some).collect()
    numbers = sorted(found)
    if not numbers or len(numbers) > MOST_SLOTS or count > MOST_ROWS:
        return None
    return f"{slot} IN ({', '.join(map(str, numbers))})"
