"""What two batches are, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import selfmaint
from tests.spark.shops import frame
from warehouse.batches import BatchError, checked, followed_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_two_batches_in_a_row(spark: SparkSession) -> None:
    relations = selfmaint.parse("""
    .decl p(id: long, Id: string) key(id)
    .decl q(x: double)
    .decl r()
    v(X) :- p(X, _), q(_), r().
    """).relations

    def both(first: dict[str, list], then: dict[str, list]) -> dict[str, list]:
        one, two = (
            checked(relations, {n: frame(spark, relations[n], rows) for n, rows in batch.items()})
            for batch in (first, then)
        )
        found = followed_by(relations, one, two)
        for changes in found.values():
            assert changes.frame.count() == changes.inserts + changes.deletes
        return {
            name: sorted(
                ["+" if row["insert"] else "-", *row[2:]] for row in changes.frame.collect()
            )
            for name, changes in found.items()
        }

    assert both({}, {}) == {}
    assert both({"q": [("+", 1.0)]}, {"p": [("-", 1, None)]}) == {
        "q": [["+", 1.0]],
        "p": [["-", 1, None]],
    }
    # Comes and goes, goes and comes, an UPDATE of an UPDATE, and what only one of them has.
    assert both(
        {"p": [("+", 1, None), ("-", 2, "b"), ("-", 3, "c"), ("+", 3, "d"), ("+", 4, "")]},
        {"p": [("-", 1, None), ("+", 2, "b"), ("-", 3, "d"), ("+", 3, "e"), ("-", 5, "")]},
    ) == {"p": [["+", 3, "e"], ["+", 4, ""], ["-", 3, "c"], ["-", 5, ""]]}
    assert both({"r": [("+",)], "q": [("-", 0.0)]}, {"r": [("-",)], "q": [("+", -0.0)]}) == {}
    for row, again, code in (
        (("+", 1, "a"), ("+", 1, "a"), "WH352"),
        (("-", 1, "a"), ("-", 1, "a"), "WH352"),
        (("+", 1, "a"), ("+", 1, "b"), "WH353"),
    ):
        with pytest.raises(BatchError, match=code):
            both({"p": [row]}, {"p": [again]})
