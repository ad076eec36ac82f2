"""What the warehouse tests share: changes as they are written there, and views held against sets.

A change is written `("+", 1, "tea")` or `("-", 1, "tea")`. A test keeps what its source holds in
Python too, so that a view can be held against the reference: that asks no Spark for a second
opinion, and is cheaper than `Warehouse.verify`, which a few tests use for its own sake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from cq.types import Row
from warehouse.columns import struct_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cq.schema import Relation
    from selfmaint.warehouse import Warehouse

Signed: TypeAlias = Sequence[tuple[object, ...]]
"""Rows with `+` or `-` in front."""

Books: TypeAlias = dict[str, set[Row]]
"""What a source holds."""

WORDS = {"+": "insert", "-": "delete"}


def frame(spark: SparkSession, relation: Relation, rows: Signed) -> DataFrame:
    """Changes of a relation, as a batch has them."""
    schema = struct_type(relation).add("change", "string")
    return spark.createDataFrame([(*row, WORDS[str(sign)]) for sign, *row in rows], schema)


def books(rows: Mapping[str, Iterable[Row]]) -> Books:
    return {name: set(content) for name, content in rows.items()}


def change(books: Books, changes: Mapping[str, Signed]) -> None:
    """The changes, in the books: deletions first, as in any batch."""
    for name, rows in changes.items():
        held = books.setdefault(name, set())
        held -= {tuple(row) for sign, *row in rows if sign == "-"}
        held |= {tuple(row) for sign, *row in rows if sign == "+"}


def rows_of(warehouse: Warehouse, view: str) -> list[Row]:
    return sorted(map(tuple, warehouse.view(view).read().collect()), key=repr)


def check(warehouse: Warehouse, books: Books) -> None:
    """Every view is as the reference computes it."""
    for name in warehouse.views:
        # A table has at least one column: that of a view without columns holds `true`.
        expected = [row or (True,) for row in warehouse.program.view(name).evaluate(books)]
        assert rows_of(warehouse, name) == sorted(expected, key=repr), name
