"""The verdicts of a batch, counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from cq.query import Query
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
        asking: how many changes the traditional plan would have asked the source about, per
            subgoal with any.
    """

    counts: tuple[Count, ...]
    lookups: int
    asking: tuple[int, ...]


def verdicts(query: Query, done: Maintained) -> Verdicts:
    """Count them, in one job."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as sf

    from lookups.spark.rounds import IRRELEVANT, KINDS

    parts = reduce(DataFrame.unionByName, [_part(query, part) for part in done.decided])
    relevant = sf.col("kind") != IRRELEVANT
    rows = (
        parts.groupBy("relation", "insert", "id")
        .agg(
            sf.max(sf.struct("kind", "rule")).alias("verdict"),
            sf.sum("lookups").alias("lookups"),
            *(
                sf.max((sf.col("subgoal") == p.subgoal) & relevant).alias(f"s{p.subgoal}")
                for p in done.decided
            ),
        )
        .groupBy("relation", "insert", "verdict")
        .agg(
            sf.count(sf.lit(1)).alias("changes"),
            sf.sum("lookups").alias("lookups"),
            *(sf.count_if(sf.col(f"s{p.subgoal}")).alias(f"s{p.subgoal}") for p in done.decided),
        )
        .collect()
    )
    counts = tuple(
        sorted(
            (
                Count(
                    row["relation"],
                    ACTIONS[0] if row["insert"] else ACTIONS[1],
                    str(KINDS[row["verdict"]["kind"]]),
                    row["verdict"]["rule"],
                    row["changes"],
                )
                for row in rows
            ),
            key=lambda count: (count.relation, count.action, count.kind, count.rule),
        )
    )
    asking = [sum(row[f"s{p.subgoal}"] for row in rows) for p in done.decided]
    return Verdicts(counts, sum(row["lookups"] for row in rows), tuple(n for n in asking if n))


def _part(query: Query, part: Decided) -> DataFrame:
    from pyspark.sql import functions as sf

    words = [name for name in part.frame.columns if name.startswith("asked")]
    lookups = reduce(lambda a, b: a + b, (sf.bit_count(sf.col(word)) for word in words))
    return part.frame.select(
        sf.lit(query.atoms[part.subgoal].predicate).alias("relation"),
        sf.lit(part.subgoal).alias("subgoal"),
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


def by_kind(counts: Iterable[Count]) -> dict[str, int]:
    """How many changes got which verdict."""
    found: dict[str, int] = {}
    for count in counts:
        found[count.kind] = found.get(count.kind, 0) + count.changes
    return found
