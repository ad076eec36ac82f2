"""Batches come in order: the next one, or the last one again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from warehouse.tables.errors import BatchOrderError


class Place(StrEnum):
    """Where a batch stands in a view's sequence."""

    NEXT = "next"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class Extent:
    """The numbers of one batch: its own, and those of the changes that it was extended by.

    Example:
        >>> 8 in Extent(7, 9), Extent(7, 9).extended_from, Extent(7, 7).extended_from
        (True, 7, None)
    """

    first: int
    last: int

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last

    @property
    def extended_from(self) -> int | None:
        """Its own number, if it was extended."""
        return self.first if self.first < self.last else None


def place_of(number: int, last: int | None, table: str, extended_from: int | None = None) -> Place:
    """Whether batch `number` is the next one, or was the last one applied, or part of it.

    A view that has seen no batch takes any first number.

    Args:
        extended_from: the number that the last batch had before it was extended to `last`.

    Example:
        >>> place_of(18, 17, "view `sales`"), place_of(17, 17, "view `sales`")
        (<Place.NEXT: 'next'>, <Place.REPLAY: 'replay'>)
        >>> place_of(16, 17, "view `sales`", extended_from=15)
        <Place.REPLAY: 'replay'>

    Raises:
        BatchOrderError: WH342, for a gap or an older number.
    """
    if last is None or number == last + 1:
        return Place.NEXT
    if number == last or (extended_from is not None and extended_from <= number < last):
        return Place.REPLAY
    what = "is older than the last one" if number < last else "leaves a gap"
    raise BatchOrderError(
        f"batch {number} {what}: {table} has seen batch {last}. Nothing was changed",
        f"expected is batch {last + 1}, or batch {last} again, which then changes nothing",
        table=table,
        batch=number,
        expected=last + 1,
    )
