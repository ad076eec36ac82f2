"""View rows that come and go, with indexes that follow them.

A `RowIndex` is a snapshot; a maintainer that decides change after change would index the view anew
for each. A `LiveIndex` answers the same lookups and is changed in place.

Law: after any sequence of changes it answers like a new `RowIndex` of the same rows.

An index is built when it is first looked at, and what changes afterwards waits in a backlog until
somebody looks again. So rows that nobody looks up cost no indexing at all: that is what makes
switching lookups off (`lookups.payoff`) worth it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import repeat
from typing import Literal, TypeAlias

from cq.types import Row
from lookups.index import RowIndex

_Pattern: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""The columns that a lookup fixes, and those that it asks for."""

Sign: TypeAlias = Literal[-1, 1]


class LiveIndex(RowIndex):
    """The rows of a view, changed in place.

    An index made by `changed` describes this one with a change on top, and is good until `update`.
    """

    __slots__ = ("_backlog", "_behind", "_keys", "_live", "_values")

    def __init__(self, rows: Iterable[Sequence[object]], arity: int) -> None:
        admitted = RowIndex(rows, arity)
        self.arity = arity
        self._live: set[Row] = set(admitted.rows)
        self._keys: dict[tuple[int, ...], Counter[Row]] = {}
        self._values: dict[_Pattern, dict[Row, Counter[Row]]] = {}
        self._backlog: list[tuple[frozenset[Row], frozenset[Row]]] = []
        self._behind = 0

    def __len__(self) -> int:
        return len(self._live)

    @property
    def rows(self) -> frozenset[Row]:
        return frozenset(self._live)

    def absent(self, rows: frozenset[Row]) -> frozenset[Row]:
        return rows - self._live

    def has(self, columns: tuple[int, ...], values: Row) -> bool:
        return values in self._keys_at(columns)

    def has_all(self, columns: tuple[int, ...], values: Iterable[Row]) -> bool:
        """Whether `has` is true of each of these values."""
        return all(map(self._keys_at(columns).__contains__, values))

    def _keys_at(self, columns: tuple[int, ...]) -> Collection[Row]:
        if self._backlog:
            self._catch_up()
        keys = self._keys.get(columns)
        if keys is None:
            if not self._live:  # the start of a load: nothing to index yet
                return ()
            keys = self._keys[columns] = Counter()
            _Rows(self._live).count(columns, keys, 1)
        return keys

    def distinct(
        self, columns: tuple[int, ...], values: Row, gives: tuple[int, ...]
    ) -> frozenset[Row]:
        return frozenset(self.given(columns, values, gives))

    def given(
        self, columns: tuple[int, ...], values: Row, gives: tuple[int, ...]
    ) -> Collection[Row]:
        if self._backlog:
            self._catch_up()
        found = self._values.get((columns, gives))
        if found is None:
            if not self._live:
                return ()
            found = self._values[columns, gives] = {}
            _Rows(self._live).count_by(columns, gives, found, 1)
        return found.get(values, ())

    def update(self, removed: frozenset[Row], added: frozenset[Row]) -> None:
        """Take rows away that are here, and bring rows in that are not."""
        expected = len(self._live) - len(removed) + len(added)
        self._live -= removed
        self._live |= added
        assert len(self._live) == expected, "a row came that was here, or went that was not"
        if not self._keys and not self._values:
            return
        self._backlog.append((removed, added))
        self._behind += len(removed) + len(added)
        if self._behind > len(self._live):  # reading the view anew is less work than catching up
            self._forget()

    def _forget(self) -> None:
        self._keys.clear()
        self._values.clear()
        self._backlog.clear()
        self._behind = 0

    def _catch_up(self) -> None:
        for changed in self._backlog:
            signed: tuple[tuple[frozenset[Row], Sign], ...] = ((changed[0], -1), (changed[1], 1))
            for rows, sign in signed:
                if rows:
                    told = _Rows(rows)
                    for columns, keys in self._keys.items():
                        told.count(columns, keys, sign)
                    for (columns, gives), found in self._values.items():
                        told.count_by(columns, gives, found, sign)
        self._backlog.clear()
        self._behind = 0


class _Rows:
    """Rows, at least one, column by column.

    What one change adds agrees in all columns that the change knows, so a key is often one.
    """

    __slots__ = ("_columns", "_count", "_same")

    def __init__(self, rows: Collection[Row]) -> None:
        self._count = len(rows)
        self._columns = tuple(zip(*rows, strict=False))  # all rows have the view's width
        self._same = {
            i for i, values in enumerate(self._columns) if values.count(values[0]) == self._count
        }

    def count(self, columns: tuple[int, ...], counts: Counter[Row], sign: Sign) -> None:
        """Add to `counts`, or take from it, how many rows have which values in these columns."""
        one = self._one(columns)
        if one is None:
            _count(counts, self._values(columns), sign)
            return
        counts[one] += sign * self._count
        if not counts[one]:
            del counts[one]

    def count_by(
        self,
        columns: tuple[int, ...],
        gives: tuple[int, ...],
        found: dict[Row, Counter[Row]],
        sign: Sign,
    ) -> None:
        """The same for the columns `gives`, one count for each value of `columns`."""
        one = self._one(columns)
        if one is not None:
            groups: dict[Row, Iterable[Row]] = {one: self._values(gives)}
        else:
            listed: dict[Row, list[Row]] = {}
            for key, values in zip(self._values(columns), self._values(gives), strict=True):
                listed.setdefault(key, []).append(values)
            groups = dict(listed)
        for key, several in groups.items():
            counts = found.setdefault(key, Counter())
            _count(counts, several, sign)
            if not counts:
                del found[key]

    def _values(self, columns: tuple[int, ...]) -> Iterable[Row]:
        if not columns:
            return repeat((), self._count)
        return zip(*[self._columns[i] for i in columns], strict=False)

    def _one(self, columns: tuple[int, ...]) -> Row | None:
        """The values in these columns, if all rows have the same."""
        if not self._same.issuperset(columns):
            return None
        return tuple([self._columns[i][0] for i in columns])


def _count(counts: Counter[Row], more: Iterable[Row], sign: Sign) -> None:
    if sign > 0:
        counts.update(more)
        return
    fewer = Counter(more)
    counts.subtract(fewer)
    for values in fewer:
        if not counts[values]:
            del counts[values]
