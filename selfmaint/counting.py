"""The verdicts of a batch, counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from cq.query import Query
from cq.syntax import variables_of
from lookups.plan import ACTIONS
from lookups.verdict import Because, Kind
from selfmaint.report import Count
from warehouse.batches import Changes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lookups.spark import Decided, Maintained


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What was decided about the changes of a batch.

    Args:
        counts: by relation, action, kind and rule.
        lookups: how many were made.
        asking: what the traditional plan would have asked: per question, one for each subgoal with
            a change that matches it, the number of its distinct keys.
    """

    counts: tuple[Count, ...]
    lookups: int
    asking: tuple[int, ...]


def verdicts(query: Query, done: Maintained) -> Verdicts:
    """Count them, in one query."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sf

    from lookups.spark.rounds import KINDS

    parts = reduce(DataFrame.unionByName, [_part(query, part) for part in done.decided])
    counts = (
        parts.groupBy("relation", "insert", "id")
        .agg(sf.max(sf.struct("kind", "rule")).alias("verdict"), sf.sum("lookups").alias("lookups"))
        .groupBy("relation", "insert", "verdict")
        .agg(sf.count(sf.lit(1)).alias("number"), sf.sum("lookups").alias("lookups"))
        .selectExpr("relation", "insert", "verdict.kind", "verdict.rule", "number", "lookups")
    )
    keys = [] if len(query.atoms) == 1 else [_keys(query, part) for part in done.decided]
    rows = reduce(_together, [counts, *keys]).collect()
    found = sorted(
        (
            Count(
                row["relation"],
                ACTIONS[0] if row["insert"] else ACTIONS[1],
                str(KINDS[row["kind"]]),
                row["rule"],
                row["number"],
            )
            for row in rows
            if row["relation"] is not None
        ),
        key=lambda count: (count.relation, count.action, count.kind, count.rule),
    )
    asking = (row["number"] for row in rows if row["relation"] is None)
    lookups = sum(row["lookups"] for row in rows if row["relation"] is not None)
    return Verdicts(tuple(found), lookups, tuple(asking))


def _together(counts: DataFrame, keys: DataFrame) -> DataFrame:
    return counts.unionByName(keys, allowMissingColumns=True)


def _keys(query: Query, part: Decided) -> DataFrame:
    """The number of distinct keys of the changes that match a subgoal; no row without such."""
    from pyspark.sql import functions as sf

    from lookups.spark.rounds import IRRELEVANT

    columns = [f"c{place}" for place in join_columns(query, part.subgoal)]
    matching = part.frame.where(sf.col("kind") != IRRELEVANT)
    # A question can also have no keys: where nothing connects the subgoal to the others.
    keys = matching.select(*columns) if columns else matching.select(sf.lit(True))
    found = keys.distinct().agg(sf.count(sf.lit(1)).alias("number")).where("number > 0")
    return found if columns else found.select((sf.col("number") - 1).alias("number"))


def join_columns(query: Query, subgoal: int) -> tuple[int, ...]:
    """Where a subgoal has the variables that connect it to others; each variable once.

    Example:
        >>> from cq.program import read
        >>> query = read("v(X) :- r(X, Y, Z), s(Y, Y), t(U), U < Z.").query("v")
        >>> join_columns(query, 0), join_columns(query, 1)
        ((1, 2), (0,))
    """
    own = query.variables[subgoal]
    linked = {var for place, vars in enumerate(query.variables) if place != subgoal for var in vars}
    for comparison in query.comparisons:
        compared = set(variables_of(comparison.left, comparison.right))
        if not compared <= set(own):
            linked |= compared
    terms = query.atoms[subgoal].terms
    return tuple(terms.index(var) for var in own if var in linked)


def _part(query: Query, part: Decided) -> DataFrame:
    from pyspark.sql import functions as sf

    words = [name for name in part.frame.columns if name.startswith("asked")]
    lookups = reduce(lambda a, b: a + b, (sf.bit_count(sf.col(word)) for word in words))
    return part.frame.select(
        sf.lit(query.atoms[part.subgoal].predicate).alias("relation"),
        "id",
        "insert",
        "kind",
        "rule",
        lookups.cast("long").alias("lookups"),
    )


def unused(changes: Mapping[str, Changes]) -> Iterator[Count]:
    """Changes of relations that a view does not use: irrelevant, and nothing was looked up."""
    for name, change in sorted(changes.items()):
        for action, number in (("insert", change.inserts), ("delete", change.deletes)):
            if number:
                yield Count(name, action, str(Kind.IRRELEVANT), str(Because.UNUSED), number)
