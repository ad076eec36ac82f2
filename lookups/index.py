"""View rows with the indexes that lookups need, each built on first use.

Law: an index never changes an answer; `distinct` over plain rows and over an index are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final

from cq.diagnostics import InputError, shown
from cq.types import Row

_NOTHING: Final[frozenset[Row]] = frozenset()


class RowIndex:
    """The rows of a view, found by the values of some columns in constant time.

    Build one with `selfmaint.index(rows)` and hand it to `plan.decide` in place of the rows when
    many changes are decided on one state. It is a snapshot: later changes of `rows` are not seen.
    """

    __slots__ = ("_maps", "arity", "rows")

    def __init__(self, rows: Iterable[Sequence[object]], arity: int | None = None) -> None:
        try:
            self.rows: frozenset[Row] = frozenset(map(tuple, rows))
        except TypeError as error:
            raise InputError("LP201", f"view rows are tuples of hashable values: {error}") from None
        if arity is None:  # the widest row says; an index of no rows fits every view
            arity = max(map(len, self.rows), default=None)
        self.arity = arity
        for row in self.rows:
            if len(row) != arity:
                raise InputError(
                    "LP202",
                    f"the view has {arity} column{'s' * (arity != 1)}, "
                    f"but a row has {len(row)}: {shown(row)}",
                )
        self._maps: dict[tuple[tuple[int, ...], tuple[int, ...]], dict[Row, frozenset[Row]]] = {}

    def has(self, columns: tuple[int, ...], values: Row) -> bool:
        """Whether a row has these values in these columns."""
        return values in self._map(columns, ())

    def distinct(
        self, columns: tuple[int, ...], values: Row, gives: tuple[int, ...]
    ) -> frozenset[Row]:
        """What the rows with these values in `columns` hold in the columns `gives`."""
        return self._map(columns, gives).get(values, _NOTHING)

    def matching(self, columns: tuple[int, ...], values: Row) -> frozenset[Row]:
        """The rows with these values in these columns."""
        return self.distinct(columns, values, tuple(range(self.arity or 0)))

    def changed(self, removed: Iterable[Row], added: Iterable[Row]) -> RowIndex:
        """A new index without `removed` and with `added`."""
        removed, added = frozenset(removed), frozenset(added)
        if not removed and added <= self.rows:
            return self
        return RowIndex((self.rows - removed) | added, self.arity)

    def _map(self, columns: tuple[int, ...], gives: tuple[int, ...]) -> dict[Row, frozenset[Row]]:
        built = self._maps.get((columns, gives))
        if built is None:
            sets: dict[Row, set[Row]] = {}
            key_of, value_of = _Getter(columns), _Getter(gives)
            for row in self.rows:
                sets.setdefault(key_of(row), set()).add(value_of(row))
            built = {key: frozenset(values) for key, values in sets.items()}
            self._maps[columns, gives] = built
        return built


class _Getter:
    """The values of some columns of a row, as a tuple."""

    __slots__ = ("_get", "_one")

    def __init__(self, columns: tuple[int, ...]) -> None:
        self._one = columns[0] if len(columns) == 1 else None
        self._get = itemgetter(*columns) if len(columns) > 1 else None

    def __call__(self, row: Row) -> Row:
        if self._get is not None:
            return self._get(row)  # type: ignore[no-any-return]
        return (row[self._one],) if self._one is not None else ()


def indexed(rows: Iterable[Sequence[object]] | RowIndex, arity: int) -> RowIndex:
    """The rows of a view with `arity` columns, as an index.

    Raises:
        InputError: a row has another number of values.
    """
    if not isinstance(rows, RowIndex):
        return RowIndex(rows, arity)
    return rows if rows.arity == arity else RowIndex(rows.rows, arity)


def index(rows: Iterable[Sequence[object]]) -> RowIndex:
    """Index a view's rows once, for deciding many changes on the same state.

    Example:
        >>> index([(1, "a"), (1, "b")]).has((0,), (1,))
        True
    """
    return RowIndex(rows)
