"""The changes of a batch, as the executor is given them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame


class Changes(Protocol):
    """The net changes of one relation.

    Attributes:
        frame: by position: a number that is unique within the relation and always the same for the
            same row, whether it is an insertion, and the row's values in the order of the
            relation's columns.
        inserts, deletes: how many there are of each.
        is_named: known to have no NULL in a declared key.
    """

    @property
    def frame(self) -> DataFrame: ...
    @property
    def inserts(self) -> int: ...
    @property
    def deletes(self) -> int: ...
    @property
    def is_named(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Gathered:
    """Changes whose frame is in one partition; see `columns.in_one_piece`."""

    frame: DataFrame
    inserts: int
    deletes: int
    is_named: bool


@dataclass(frozen=True, slots=True)
class Kinds:
    """Which kinds of changes a relation has: what a batch does not have needs no work."""

    inserts: bool
    deletes: bool
    are_named: bool

    @classmethod
    def of(cls, changes: Changes) -> Kinds:
        return cls(changes.inserts > 0, changes.deletes > 0, changes.is_named)

    @property
    def both(self) -> bool:
        return self.inserts and self.deletes


def rows_of(changes: Changes) -> DataFrame:
    """The changes with names of ours: `id`, `insert`, and the row as `c0`, `c1`, ..."""
    frame = changes.frame
    return frame.toDF("id", "insert", *(f"c{i}" for i in range(len(frame.columns) - 2)))
