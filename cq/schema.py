"""Relations as declared: columns, types, keys, foreign keys. Never guessed from data.

Law: a `Relation` is well formed by construction; `cq.check` reports what a declaration got wrong
before one is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from cq.diagnostics import InputError, shown
from cq.types import ANY, Misfit, Row, Type


@dataclass(frozen=True, slots=True)
class Column:
    """A named, typed column."""

    name: str
    type: Type = ANY


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key: own `columns` hold a value of the key `key` of `relation` (positions)."""

    columns: tuple[int, ...]
    relation: str
    key: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """A base relation.

    Args:
        keys: each a tuple of positions; no two rows agree on one.
        references: foreign keys; a row with NULL in one refers to nothing.
        declared: False for a relation known only from its use, whose columns have no type.
    """

    name: str
    columns: tuple[Column, ...]
    keys: tuple[tuple[int, ...], ...] = ()
    references: tuple[Reference, ...] = ()
    declared: bool = True

    def __post_init__(self) -> None:
        arity = len(self.columns)
        for positions in (*self.keys, *(reference.columns for reference in self.references)):
            assert all(0 <= position < arity for position in positions), (self.name, positions)

    @classmethod
    def untyped(cls, name: str, arity: int) -> Relation:
        """A relation that is used without a declaration."""
        return cls(name, tuple(Column(f"c{i + 1}") for i in range(arity)), declared=False)

    @property
    def arity(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        columns = (f"{c.name}: {c.type}" if c.type != ANY else c.name for c in self.columns)
        return f"{self.name}({', '.join(columns)})"

    @property
    def as_known(self) -> str:
        """Where the columns are known from, for a help line."""
        return f"declared as {self}" if self.declared else f"used as {self}"

    def admit(self, row: object) -> Row:
        """`row` as a tuple in the representation of the column types.

        Raises:
            InputError: wrong number of values, or a value that its column does not admit.
        """
        if not isinstance(row, tuple | list):
            raise InputError("LP201", f"a row of `{self.name}` is a tuple, not {shown(row)}")
        if len(row) != self.arity:
            raise InputError(
                "LP202",
                f"`{self.name}` takes {self.arity} value{'s' * (self.arity != 1)}, "
                f"but {len(row)} {'is' if len(row) == 1 else 'are'} given: {shown(tuple(row))}",
                self.as_known,
            )
        try:
            return tuple(
                column.type.admit(value) for column, value in zip(self.columns, row, strict=True)
            )
        except Misfit:
            pass
        for column, value in zip(self.columns, row, strict=True):
            try:
                column.type.admit(value)
            except Misfit as misfit:
                raise InputError(
                    "LP203",
                    f"column `{column.name}` of `{self.name}`: {misfit}, in {shown(tuple(row))}",
                    self.as_known,
                ) from None
        raise AssertionError("a row that misfits has a value that misfits")

    def admit_all(self, rows: Sequence[object]) -> list[Row]:
        """`admit` for several rows at once, column by column.

        Example:
            >>> Relation.untyped("r", 2).admit_all([(1, "a"), [2, None]])
            [(1, 'a'), (2, None)]
        """
        if {*map(type, rows)} == {tuple}:
            tuples = cast(Sequence[Row], rows)
            if {*map(len, tuples)} == {self.arity} and all(
                column.type.is_plain(values)
                for column, values in zip(self.columns, zip(*tuples, strict=True), strict=True)
            ):
                return list(tuples)
        return [self.admit(row) for row in rows]
