"""View rows with the indexes that lookups need, each built on first use.

Law: an index never changes an answer; `distinct` over plain rows and over an index are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import itemgetter
from typing import Final, TypeAlias

from cq.diagnostics import InputError, shown
from cq.query import Query
from cq.schema import Column, Relation
from cq.types import ANY, Row

_NOTHING: Final[frozenset[Row]] = frozenset()
_FEW: Final = 8
"""Rows that are read through faster than they are indexed, such as what one change adds."""


_Maps: TypeAlias = dict[tuple[tuple[int, ...], tuple[int, ...]], dict[Row, frozenset[Row]]]


class RowIndex:
    """The rows of a view, found by the values of some columns in constant time.

    Build one with `selfmaint.index(rows)` and hand it to `plan.decide` in place of the rows when
    many changes are decided on one state. It is a snapshot: later changes of `rows` are not seen.
    It knows no types: rows are to be as `view.evaluate` gives them, such as floats of 32 bits.
    """

    __slots__ = ("_maps", "_rows", "arity")

    def __init__(self, rows: Iterable[Sequence[object]], arity: int | None = None) -> None:
        try:
            self._rows: frozenset[Row] = frozenset(map(tuple, rows))
        except TypeError as error:
            raise InputError("LP201", f"view rows are tuples of hashable values: {error}") from None
        if arity is None:  # the widest row says; an index of no rows fits every view
            arity = max(map(len, self._rows), default=None)
        self.arity = arity
        for row in self._rows:
            if len(row) != arity:
                raise InputError(
                    "LP202",
                    f"the view has {arity} column{'s' * (arity != 1)}, "
                    f"but a row has {len(row)}: {shown(row)}",
                )
        self._maps: _Maps = {}

    @classmethod
    def _of(cls, rows: frozenset[Row], arity: int | None) -> RowIndex:
        """An index of rows that another index has admitted."""
        built = cls.__new__(cls)
        built._rows, built.arity, built._maps = rows, arity, {}
        return built

    @property
    def rows(self) -> frozenset[Row]:
        return self._rows

    def has(self, columns: tuple[int, ...], values: Row) -> bool:
        """Whether a row has these values in these columns."""
        if len(self._rows) <= _FEW:
            if not self._rows:
                return False
            key_of = values_at(columns)
            return any(key_of(row) == values for row in self._rows)
        return values in self._map(columns, ())

    def distinct(
        self, columns: tuple[int, ...], values: Row, gives: tuple[int, ...]
    ) -> frozenset[Row]:
        """What the rows with these values in `columns` hold in the columns `gives`."""
        if len(self._rows) <= _FEW:
            key_of, value_of = values_at(columns), values_at(gives)
            return frozenset(value_of(row) for row in self._rows if key_of(row) == values)
        return self._map(columns, gives).get(values, _NOTHING)

    def given(
        self, columns: tuple[int, ...], values: Row, gives: tuple[int, ...]
    ) -> Collection[Row]:
        """The same, to be read at once: it may change with the view."""
        return self.distinct(columns, values, gives)

    def matching(self, columns: tuple[int, ...], values: Row) -> frozenset[Row]:
        """The rows with these values in these columns."""
        return self.distinct(columns, values, tuple(range(self.arity or 0)))

    def absent(self, rows: frozenset[Row]) -> frozenset[Row]:
        """Those of `rows` that are not here."""
        return rows - self._rows

    @property
    def removed(self) -> frozenset[Row]:
        """The rows that this state of the view lacks over the one that was indexed."""
        return _NOTHING

    @property
    def added(self) -> frozenset[Row]:
        """The rows that this state of the view has over the one that was indexed."""
        return _NOTHING

    def changed(self, removed: Iterable[Row], added: Iterable[Row]) -> RowIndex:
        """The view without `removed` and with `added`, in time that does not depend on its size."""
        return _changed(self, frozenset(removed), frozenset(added))

    def _map(self, columns: tuple[int, ...], gives: tuple[int, ...]) -> dict[Row, frozenset[Row]]:
        built = self._maps.get((columns, gives))
        if built is None:
            sets: dict[Row, set[Row]] = {}
            key_of, value_of = values_at(columns), values_at(gives)
            for row in self._rows:
                sets.setdefault(key_of(row), set()).add(value_of(row))
            built = {key: frozenset(values) for key, values in sets.items()}
            self._maps[columns, gives] = built
        return built


class _ChangedIndex(RowIndex):
    """An index and what changed since it was built; `removed` are rows of it, `added` are not."""

    __slots__ = ("_added", "_base", "_built", "_removed")

    def __init__(self, base: RowIndex, removed: frozenset[Row], added: frozenset[Row]) -> None:
        self.arity = base.arity if base.arity is not None else max(map(len, added), default=None)
        self._base = base
        self._removed = RowIndex._of(removed, self.arity)
        self._added = RowIndex._of(added, self.arity)
        self._built: frozenset[Row] | None = None

    @property
    def rows(self) -> frozenset[Row]:
        if self._built is None:
            self._built = (self._base.rows - self.removed) | self.added
        return self._built

    @property
    def removed(self) -> frozenset[Row]:
        return self._removed.rows

    @property
    def added(self) -> frozenset[Row]:
        return self._added.rows

    def absent(self, rows: frozenset[Row]) -> frozenset[Row]:
        return self._base.absent(rows - self.added) | (rows & self.removed)

    def has(self, columns: tuple[int, ...], values: Row) -> bool:
        if not self._removed.has(columns, values):
            return self._base.has(columns, values) or self._added.has(columns, values)
        if self._added.has(columns, values):
            return True
        gone = self._removed.matching(columns, values)
        return len(self._base.matching(columns, values)) > len(gone)

    def distinct(
        self, columns: tuple[int, ...], values: Row, gives: tuple[int, ...]
    ) -> frozenset[Row]:
        if not self._removed.has(columns, values):
            more = self._added.distinct(columns, values, gives)
            found = self._base.distinct(columns, values, gives)
            return found | more if more else found
        value_of = values_at(gives)
        left = self._base.matching(columns, values) - self.removed
        return frozenset(map(value_of, left)) | self._added.distinct(columns, values, gives)

    def changed(self, removed: Iterable[Row], added: Iterable[Row]) -> RowIndex:
        come = frozenset(added)
        gone = frozenset(removed) - come
        return _changed(self._base, (self.removed - come) | gone, (self.added - gone) | come)


def _changed(base: RowIndex, removed: frozenset[Row], added: frozenset[Row]) -> RowIndex:
    if not removed and not added:
        return base
    gone, come = removed - added, base.absent(added)
    gone -= base.absent(gone)
    return _ChangedIndex(base, gone, come) if gone or come else base


def values_at(columns: Sequence[int]) -> Callable[[Row], Row]:
    """The values of some columns of a row, as a tuple."""
    if len(columns) > 1:
        return itemgetter(*columns)
    if columns:
        (one,) = columns
        return lambda row: (row[one],)
    return lambda row: ()


def indexed(rows: Iterable[Sequence[object]] | RowIndex, query: Query) -> RowIndex:
    """The rows of a view as an index; one that is an index already is taken as it is.

    Raises:
        InputError: a row has another number of values, or one that its column does not admit.
    """
    arity = len(query.head)
    if isinstance(rows, RowIndex):
        return rows if rows.arity == arity else RowIndex(rows.rows, arity)
    return RowIndex._of(admitted(rows, query), arity)


def admitted(rows: Iterable[Sequence[object]], query: Query) -> frozenset[Row]:
    """The rows of a view in the representation of its columns, as changes and databases are."""
    found = RowIndex(rows, len(query.head)).rows
    kinds = query.types or (ANY,) * len(query.head)
    declared = [i for i, kind in enumerate(kinds) if kind != ANY]
    if all(kinds[i].is_plain([row[i] for row in found]) for i in declared):
        return found
    columns = (Column(f"column {i + 1}", kind) for i, kind in enumerate(kinds))
    return frozenset(Relation(query.name, tuple(columns)).admit_all(list(found)))


def index(rows: Iterable[Sequence[object]]) -> RowIndex:
    """Index a view's rows once, for deciding many changes on the same state.

    Example:
        >>> index([(1, "a"), (1, "b")]).has((0,), (1,))
        True
    """
    return RowIndex(rows)
