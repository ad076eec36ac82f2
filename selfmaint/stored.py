"""A view with its table: its columns, its rows from an answer, and what to Z-order it by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from cq.dependencies import telling_columns
from cq.diagnostics import shorten
from cq.printer import print_rule
from cq.query import Query
from cq.syntax import Const, Var
from cq.types import ANY, Type, constant_type
from lookups.plan import ACTIONS
from selfmaint.program import View
from warehouse.columns import ColumnError, spark_type
from warehouse.sources import Join
from warehouse.tables import ViewSpec, ViewTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Stored:
    """A view with its table.

    Args:
        query: the analysed view; one without columns has the constant `true` as its only one.
        normal: the definition as written, for recomputation.
    """

    name: str
    query: Query
    normal: Query
    table: ViewTable

    @classmethod
    def of(cls, view: View, table: ViewTable) -> Stored:
        return cls(view.name, _with_column(view.query), _with_column(view.normal), table)

    @property
    def relations(self) -> frozenset[str]:
        """What the view depends on."""
        return frozenset(atom.predicate for atom in self.query.atoms)


def _with_column(query: Query) -> Query:
    """A table has at least one column: that of a view without columns holds `true`."""
    return query if query.head else replace(query, head=(Const(True),))


OF_SPARK: Final = "_metadata"


def view_spec(view: View) -> ViewSpec:
    """The table that a view needs.

    Raises:
        ColumnError: WH320, it has a column that Spark gives every table.
    """
    query = _with_column(view.query)
    types = view.query.types or (ANY,)
    names = unique(view.columns or ("holds",))
    if own := [name for name in names if name.casefold() == OF_SPARK]:
        raise ColumnError(
            "WH320",
            f"view `{shorten(view.name)}` has a column `{own[0]}`: Spark gives every table one of "
            "that name, and could not tell them apart",
            "give the variable another name",
        )
    columns = [
        (column, spark_type(_column_type(term, kind)))
        for column, term, kind in zip(names, query.head, types, strict=True)
    ]
    telling = tuple(names[i] for i in telling_columns(view.query))
    return ViewSpec(view.name, print_rule(view.normal.rule()), tuple(columns), telling)


def _column_type(term: object, declared: Type) -> Type:
    return constant_type(term.value) if isinstance(term, Const) else declared


def unique(names: Sequence[str]) -> list[str]:
    """The names, with a number where one comes again: the second `x` is `x_2`, if that is free.

    Example:
        >>> unique(["x", "x", "y", "x"]), unique(["x", "x", "x_2"])
        (['x', 'x_2', 'y', 'x_3'], ['x', 'x_3', 'x_2'])
    """
    taken = set(names)
    seen: dict[str, int] = {}
    found = []
    for name in names:
        number = seen.get(name, 0) + 1
        while number > 1 and f"{name}_{number}" in taken:
            number += 1
        seen[name] = number
        found.append(name if number == 1 else f"{name}_{number}")
    return found


def view_rows(stored: Stored, join: Join, frame: DataFrame) -> DataFrame:
    """The rows of a view from the values of its variables."""
    from pyspark.sql import functions as sf

    from lookups.spark.columns import literal

    place = {var: f"w{i}" for i, var in enumerate(join.wanted)}
    fields = stored.table.columns.fields
    cells = [
        (sf.col(place[term]) if isinstance(term, Var) else literal(term.value))
        .cast(field.dataType)
        .alias(field.name)
        for term, field in zip(stored.normal.head, fields, strict=True)
    ]
    return frame.select(*cells)


MOST_COLUMNS: Final = 3
"""Columns to Z-order by. With more, each of them hardly narrows a lookup down."""


def lookup_columns(view: View) -> tuple[int, ...]:
    """The columns that most lookups of a view's plans name, the most frequent first."""
    weights: dict[int, int] = {}
    for relation in view.relations:
        for action in ACTIONS:
            for lookup in view.plan(relation, action).lookups():
                for column in lookup.columns:
                    weights[column] = weights.get(column, 0) + 1
    return tuple(sorted(weights, key=lambda column: (-weights[column], column))[:MOST_COLUMNS])
