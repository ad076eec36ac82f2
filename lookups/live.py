"""View rows that come and go, with indexes that follow them.

A `RowIndex` is a snapshot; a maintainer that decides change after change would index the view anew
for each. A `LiveIndex` answers the same lookups and is changed in place.

Law: after any sequence of changes it answers like a new `RowIndex` of the same rows.

An index is built when it is first looked at, and what changes afterwards waits in a backlog until
somebody looks again. So rows that nobody looks up cost no indexing at all: that is what makes
switching lookups off (`lookups.payoff`) worth it.

While rows only come, what was shown once is shown for good, and an index holds its keys and values
as sets. The first row that goes makes it matter how many rows show them: indexes are built anew
once, with counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import repeat
from typing import Literal, NamedTuple, TypeAlias

from cq.types import Row
from lookups.index import RowIndex

Pattern: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""The columns that a lookup fixes, and those that it asks for."""

_Shown: TypeAlias = set[Row] | Counter[Row]
"""What rows show in some columns; counted, if rows may go."""

Sign: TypeAlias = Literal[-1, 1]


class _Change(NamedTuple):
    """What `LiveIndex.update` is told."""

    removed: frozenset[Row]
    added: frozenset[Row]
    same: frozenset[int]
    answered: frozenset[Pattern]


class LiveIndex(RowIndex):
    """The rows of a view, changed in place.

    An index made by `changed` describes this one with a change on top, and is good until `update`.
    """

    __slots__ = ("_backlog", "_behind", "_keys", "_live", "_nothing", "_values")

    def __init__(self, rows: Iterable[Sequence[object]], arity: int) -> None:
        admitted = RowIndex(rows, arity)
        self.arity = arity
        self._live: set[Row] = set(admitted.rows)
        self._nothing: Callable[[], _Shown] = set  # until a row goes
        self._keys: dict[tuple[int, ...], _Shown] = {}
        self._values: dict[Pattern, dict[Row, _Shown]] = {}
        self._backlog: list[_Change] = []
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
            keys = self._keys[columns] = self._nothing()
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
            _Rows(self._live).count_by(columns, gives, found, 1, self._nothing)
        return found.get(values, ())

    def update(
        self,
        removed: frozenset[Row],
        added: frozenset[Row],
        same: frozenset[int] = frozenset(),
        answered: frozenset[Pattern] = frozenset(),
    ) -> None:
        """Take rows away that are here, and bring rows in that are not.

        What the caller knows about the rows, indexes need not find out by reading them.

        Args:
            same: columns in which all `removed` agree, and all `added`.
            answered: lookups to which `added` is nothing new: for each of its rows one was here
                with the same values in the columns fixed and asked for.
        """
        expected = len(self._live) - len(removed) + len(added)
        self._live -= removed
        self._live |= added
        assert len(self._live) == expected, "a row came that was here, or went that was not"
        if removed and self._nothing is set:
            self._nothing = Counter
            self._forget()
        if not self._keys and not self._values:
            return
        if not removed and not added:  # or nothing would ever bound the backlog
            return
        self._backlog.append(_Change(removed, added, same, answered))
        self._behind += len(removed) + len(added)
        if self._behind > len(self._live):  # reading the view anew is less work than catching up
            self._forget()

    def _forget(self) -> None:
        self._keys.clear()
        self._values.clear()
        self._backlog.clear()
        self._behind = 0

    def _catch_up(self) -> None:
        for change in self._backlog:
            self._follow(change.removed, change.same, -1)
            # Where rows are counted, those that show nothing new count, too.
            left_out = change.answered if self._nothing is set else ()
            self._follow(change.added, change.same, 1, left_out)
        self._backlog.clear()
        self._behind = 0

    def _follow(
        self,
        rows: frozenset[Row],
        same: frozenset[int],
        sign: Sign,
        left_out: Collection[Pattern] = (),
    ) -> None:
        if not rows:
            return
        told = _Rows(rows, same)
        for columns, keys in self._keys.items():
            told.count(columns, keys, sign)
        for pattern, found in self._values.items():
            if pattern not in left_out:
                told.count_by(*pattern, found, sign, self._nothing)


class _Rows:
    """Rows, at least one, column by column; a column is read when an index needs it.

    What one change adds agrees in all columns that the change knows, so a key is often one.

    Args:
        same: columns in which the rows are known to agree. Of others it is found out.
    """

    __slots__ = ("_columns", "_first", "_is_same", "_rows")

    def __init__(self, rows: Collection[Row], same: Iterable[int] = ()) -> None:
        self._rows = rows
        self._first = next(iter(rows))
        self._columns: dict[int, list[object]] = {}
        self._is_same = dict.fromkeys(same, True)

    def count(self, columns: tuple[int, ...], shown: _Shown, sign: Sign) -> None:
        """Add to `shown`, or take from it, what the rows show in these columns."""
        one = self._one(columns)
        if one is None:
            _count(shown, self._values(columns), sign)
        elif isinstance(shown, Counter):
            shown[one] += sign * len(self._rows)
            if not shown[one]:
                del shown[one]
        else:
            shown.add(one)

    def count_by(
        self,
        columns: tuple[int, ...],
        gives: tuple[int, ...],
        found: dict[Row, _Shown],
        sign: Sign,
        nothing: Callable[[], _Shown],
    ) -> None:
        """The same for the columns `gives`, apart for each value of `columns`.

        Args:
            nothing: makes what a new value of `columns` starts with.
        """
        one = self._one(columns)
        if one is not None:
            groups: dict[Row, Iterable[Row]] = {one: self._values(gives)}
        else:
            listed: dict[Row, list[Row]] = {}
            for key, values in zip(self._values(columns), self._values(gives), strict=True):
                listed.setdefault(key, []).append(values)
            groups = dict(listed)
        for key, several in groups.items():
            shown = found.get(key)
            if shown is None:
                shown = found[key] = nothing()
            _count(shown, several, sign)
            if not shown:
                del found[key]

    def _values(self, columns: tuple[int, ...]) -> Iterable[Row]:
        if not columns:
            return repeat((), len(self._rows))
        if columns == tuple(range(len(self._first))):  # as `matching` asks for them
            return self._rows
        return zip(*map(self._column, columns), strict=False)

    def _column(self, column: int) -> list[object]:
        values = self._columns.get(column)
        if values is None:
            values = self._columns[column] = [row[column] for row in self._rows]
        return values

    def _one(self, columns: tuple[int, ...]) -> Row | None:
        """The values in these columns, if all rows have the same."""
        if not all(map(self._agree, columns)):
            return None
        return tuple([self._first[column] for column in columns])

    def _agree(self, column: int) -> bool:
        is_same = self._is_same.get(column)
        if is_same is None:
            values = self._column(column)
            is_same = self._is_same[column] = values.count(values[0]) == len(values)
        return is_same


def _count(shown: _Shown, more: Iterable[Row], sign: Sign) -> None:
    if sign > 0:
        shown.update(more)
        return
    assert isinstance(shown, Counter)
    fewer = Counter(more)
    shown.subtract(fewer)
    for values in fewer:
        if not shown[values]:
            del shown[values]
