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

LEAST_SLOTS: Final = 2**16
MOST_SLOTS: Final = 2**18
"""Values of the hash."""

SPARSE: Final = 8
"""Slots to a row to delete, while there are enough: a row that stays passes for one to delete with
a chance of one in so many."""

FEW: Final = 2**10
"""Slots that are named one by one. More are bits of numbers: Delta notes the condition in the
table's log, and so it never takes much more there than `MOST_SLOTS` bits."""

BITS: Final = 32
"""Of a number."""

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
    """Whether a row has the hash of one of these; None if they are too many. One job.

    Its text holds names of columns, as identifiers, and numbers that were computed here.
    """
    from pyspark.sql import functions as sf

    # Equal values have one hash, the two zeros too.
    key = f"xxhash64({', '.join(map(quoted, columns))})"
    slots = rows.selectExpr(f"{_slot(key, MOST_SLOTS)} AS slot")
    figures = ("count(1) AS rows", f"bit_or(shiftleft(1L, slot % {BITS})) AS bits")
    lines = slots.selectExpr(f"slot DIV {BITS} AS word", "slot").groupBy("word")
    found = lines.agg(*map(sf.expr, figures)).collect()
    count = sum(line["rows"] for line in found)
    if not 0 < count <= MOST_ROWS:
        return None
    words = [0] * (MOST_SLOTS // BITS)
    for line in found:
        words[line["word"]] = line["bits"]
    return _is_set(key, _folded(words, count))


def _slot(key: str, size: int) -> str:
    return f"CAST(pmod({key}, {size}) AS int)"


def _folded(words: Sequence[int], count: int) -> list[int]:
    """The same bits over fewer slots, if these are enough for so many rows.

    Half of the slots have the bits of both halves: a hash by `n` is that by `2 n`, by `n`.

    Example:
        >>> words = [0] * (MOST_SLOTS // BITS)
        >>> words[0], words[-1] = 1, 0b110
        >>> [len(_folded(words, count)) * BITS for count in (3, 12_500, 30_000)]
        [65536, 131072, 262144]
        >>> sum(map(int.bit_count, _folded(words, 3)))
        3
    """
    words = list(words)
    while len(words) * BITS > max(LEAST_SLOTS, 2 * SPARSE * count):
        half = len(words) // 2
        words = [one | other for one, other in zip(words[:half], words[half:], strict=True)]
    return words


def _is_set(key: str, words: Sequence[int]) -> str:
    """Whether the bit of the slot of a key is set in these words.

    Example:
        >>> _is_set("k", [0b101, 1] + [0] * 2046)
        'CAST(pmod(k, 65536) AS int) IN (0, 2, 32)'
        >>> _is_set("k", [2**BITS - 1] * 64)[:60]
        'getbit(array(4294967295, 4294967295, 4294967295, 4294967295,'
    """
    slot = _slot(key, len(words) * BITS)
    if sum(map(int.bit_count, words)) <= FEW:
        places = (
            word * BITS + bit
            for word, bits in enumerate(words)
            if bits
            for bit in range(BITS)
            if bits >> bit & 1
        )
        return f"{slot} IN ({', '.join(map(str, places))})"
    return f"getbit(array({', '.join(map(str, words))})[{slot} DIV {BITS}], {slot} % {BITS}) = 1"
