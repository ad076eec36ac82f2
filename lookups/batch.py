"""A batch of net changes, checked: what the maintainer and its rules may rely on.

Law: in a `Batch` no row is changed twice, and with a declared key no two inserted rows and no two
deleted rows share that key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import cast

from cq.diagnostics import InputError, did_you_mean, shorten, shown
from cq.query import Query
from cq.schema import Relation
from cq.types import Row
from lookups.plan import ACTIONS, Action


@dataclass(frozen=True)
class Batch:
    """The net changes of the relations of one view, per relation in the order given."""

    inserts: Mapping[str, tuple[Row, ...]]
    deletes: Mapping[str, tuple[Row, ...]]

    def of(self, relation: str, action: Action) -> tuple[Row, ...]:
        side = self.inserts if action == "insert" else self.deletes
        return side.get(relation, ())

    @cached_property
    def _by_columns(self) -> dict[tuple[str, tuple[int, ...]], tuple[dict[Row, Row], set[Row]]]:
        return {}

    def _index(self, relation: str, columns: tuple[int, ...]) -> tuple[dict[Row, Row], set[Row]]:
        """The inserted rows by their values in `columns`, and the values that deleted rows have."""
        built = self._by_columns.get((relation, columns))
        if built is None:
            inserted = {tuple(row[i] for i in columns): row for row in self.of(relation, "insert")}
            deleted = {tuple(row[i] for i in columns) for row in self.of(relation, "delete")}
            built = self._by_columns[relation, columns] = (inserted, deleted)
        return built

    def is_changed(self, relation: str, columns: tuple[int, ...], values: Row) -> bool:
        """Whether the batch inserts or deletes a row with these values in these columns."""
        inserted, deleted = self._index(relation, columns)
        return values in inserted or values in deleted

    def inserted(self, relation: str, columns: tuple[int, ...], values: Row) -> Row | None:
        """The inserted row with these values, where `columns` are a key or the whole row."""
        return self._index(relation, columns)[0].get(values)

    def keeps_key(self, relation: str, key: tuple[int, ...], row: Row) -> bool:
        """Whether a deleted and an inserted row have `row`'s key: it neither comes nor goes."""
        values = tuple(row[i] for i in key)
        inserted, deleted = self._index(relation, key)
        return values in inserted and values in deleted


def read_batch(
    query: Query, changes: Iterable[tuple[str, Action, object]], known: Iterable[str] = ()
) -> Batch:
    """Check the changes and sort them by relation.

    Args:
        known: further relations whose changes the view ignores.
    Raises:
        InputError: a relation is unknown, a row does not fit, or the changes are not net; the
            message names the row.
    """
    sides: dict[Action, dict[str, dict[Row, None]]] = {"insert": {}, "delete": {}}
    others = set(known)
    for change in changes:
        relation, action, row = change
        if relation not in query.by_name:
            if relation in others:
                continue
            raise InputError(
                "LP205",
                f"there is no relation `{shorten(relation)}`",
                *did_you_mean(relation, {*query.by_name, *others}),
            )
        admitted = query.by_name[relation].admit(row)
        rows = sides[action].setdefault(relation, {})
        if admitted in rows:
            raise _not_net(relation, admitted, f"is in the batch twice as {action}")
        rows[admitted] = None
    for relation, rows in sides["insert"].items():
        for row in rows:
            if row in sides["delete"].get(relation, {}):
                raise _not_net(relation, row, "is both inserted and deleted")
    for action in ACTIONS:
        for relation, rows in sides[action].items():
            _check_keys(query.by_name[relation], action, rows)
    return Batch(
        {relation: tuple(rows) for relation, rows in sides["insert"].items()},
        {relation: tuple(rows) for relation, rows in sides["delete"].items()},
    )


def read_change(change: object) -> tuple[str, Action, object]:
    """Check the shape of one change: `(relation, "insert" | "delete", row)`."""
    match change:
        case (str() as relation, "insert" | "delete" as action, row):
            return relation, action, row
        case _:
            pass
    raise InputError(
        "LP206",
        f"a change is (relation, 'insert' | 'delete', row), not {shown(change)}",
    )


def read_runs(changes: Sequence[object]) -> Iterator[tuple[str, Action, list[object]]]:
    """The changes in their order, those together that follow each other with relation and action.

    Example:
        >>> list(read_runs([("r", "insert", (1,)), ("r", "insert", (2,)), ("r", "delete", (1,))]))
        [('r', 'insert', [(1,), (2,)]), ('r', 'delete', [(1,)])]
    """
    # Mostly they are of one kind, and then a look at all at once is enough.
    if {*map(type, changes)} == {tuple} and {*map(len, cast(Sequence[Sized], changes))} == {3}:
        relations, actions, rows = zip(*cast(Sequence[Row], changes), strict=True)
        relation, action, _ = read_change(changes[0])
        if relations.count(relation) == actions.count(action) == len(changes):
            yield relation, action, list(rows)
            return
    for (relation, action), group in groupby(map(read_change, changes), itemgetter(0, 1)):
        yield relation, action, [row for _, _, row in group]


def _check_keys(relation: Relation, action: Action, rows: Iterable[Row]) -> None:
    for key in relation.keys:
        seen: dict[Row, Row] = {}
        for row in rows:
            values = tuple(row[i] for i in key)
            first = seen.setdefault(values, row)
            if first is not row and None not in values:
                columns = ", ".join(relation.columns[i].name for i in key)
                raise InputError(
                    "LP208",
                    f"the batch {action}s two rows of `{relation.name}` with the same "
                    f"key({columns}): {shown(first)} and {shown(row)}",
                    "the declared key does not hold in the source, or the batch is not net",
                )


def _not_net(relation: str, row: Row, why: str) -> InputError:
    return InputError(
        "LP207",
        f"the batch is not net: {relation}{shown(row)} {why}",
        "a net batch inserts rows that were absent and deletes rows that were present, each once",
    )


def check_against(batch: Batch, tables: Mapping[str, Iterable[Row]]) -> None:
    """Check that `tables` is a state that `batch` can end in.

    Raises:
        InputError: an inserted row is not there, or a deleted one still is.
    """
    for relation, rows in batch.inserts.items():
        present = set(tables.get(relation, ()))
        for row in rows:
            if row not in present:
                raise _not_net(
                    relation, row, "is inserted, but the database after it lacks the row"
                )
    for relation, rows in batch.deletes.items():
        present = set(tables.get(relation, ()))
        for row in rows:
            if row in present:
                raise _not_net(relation, row, "is deleted, but the database after it has the row")
