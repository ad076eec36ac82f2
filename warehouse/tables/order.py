"""Batches come in order: the next one, or the last one again."""

from __future__ import annotations

from enum import StrEnum

from warehouse.tables.errors import BatchOrderError


class Place(StrEnum):
    """Where a batch stands in a view's sequence."""

    NEXT = "next"
    REPLAY = "replay"


def place_of(number: int, last: int | None, table: str) -> Place:
    """Whether batch `number` is the next one, or was the last one applied.

    A view that has seen no batch takes any first number.

    Example:
        >>> place_of(18, 17, "view `sales`"), place_of(17, 17, "view `sales`")
        (<Place.NEXT: 'next'>, <Place.REPLAY: 'replay'>)

    Raises:
        BatchOrderError: WH342, for a gap or an older number.
    """
    if last is None or number == last + 1:
        return Place.NEXT
    if number == last:
        return Place.REPLAY
    what = "is older than the last one" if number < last else "leaves a gap"
    raise BatchOrderError(
        f"batch {number} {what}: {table} has seen batch {last}. Nothing was changed",
        f"expected is batch {last + 1}, or batch {last} again, which then changes nothing",
        table=table,
        batch=number,
        expected=last + 1,
    )
