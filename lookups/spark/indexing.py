"""What a view shows, kept from batch to batch: an index of it, in Spark's memory.

Most batches look up the same few things, the customers and products of a stream of orders, and each
time a scan would read the whole view to find what thousands of its rows say alike. An index holds
the evidence about *every* key of some families, so that a batch which needs no others does not read
the view at all. Huyn's plans (Sect. 5) keep the view indexed, too, and pay for it with each
insertion; this one is brought up to date by the rows that a batch adds and removes.

Law: the index holds what a scan of the view would find, for all keys of its families, at the
version that it was kept for. It is never the only copy: who does not know that it fits scans the
view. If an executor takes a part of it along, the batch that needs it fails, and decides nothing.

Which families are worth it shows while views are scanned: those of which many rows say the same. An
index is built when scans have read as many rows as building it will: so it costs at most as much
again as what was spent without it. One that batches no longer look into is given up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from lookups.spark.columns import MOST_EVIDENCE, Names, exploded, is_one_of, numbered, with_columns
from lookups.spark.evidence import counted, entry
from lookups.spark.probes import Families, Family

LEAST_ALIKE = 8
"""Rows of the view that must say the same, on average, for an index of what they say to pay."""

MOST_ENTRIES = MOST_EVIDENCE
"""Of all indexes of a warehouse together (`shared`). So what a batch meets in one is never too much
for a small one."""

MOST_LATER = 50_000
"""Entries that batches add, beyond as many as there are, before they are put together with those:
each batch reads all of them, and to put them together is dearer."""

ROOM = 0.9
"""How full an index may be. The rest is for what batches add."""

MOST_IDLE = 8
"""Batches that an index waits for one whose lookups it answers. What they change is computed then,
step by step, and a chain of steps must not become long."""


class Met(NamedTuple):
    """What a scan found about some keys of a family: so many values, in so many rows."""

    entries: int
    rows: int


@dataclass(frozen=True)
class Index:
    """The evidence about all keys of some families.

    Args:
        most: how many entries it may have.
        numbers: the families, as they are numbered in `frame`.
        frame: `f`, `k`, `g`, `n`, as `evidence.scan` returns it; None if there is none yet.
        later: the same about what batches have done to the view since, `n` negative for rows that
            went; None if they have done nothing.
        entries, later_entries: how many rows they have.
        idle: how many batches have changed the view since one looked into the index.
        worth: families that are worth an index and have none, with how many values the view seems
            to have of each.
        refused: families that turned out to have more values than all indexes together may.
        rows_read: what scans have read since some family was found to be worth an index.
        is_due: as much as building it reads, so the next batch that needs it builds it.
    """

    most: int = MOST_ENTRIES
    numbers: Mapping[Family, int] = field(default_factory=dict)
    frame: DataFrame | None = None
    later: DataFrame | None = None
    entries: int = 0
    later_entries: int = 0
    idle: int = 0
    worth: Mapping[Family, int] = field(default_factory=dict)
    refused: frozenset[Family] = frozenset()
    rows_read: int = 0
    is_due: bool = False

    @property
    def size(self) -> int:
        """How many values it holds; those of recent batches may be there twice."""
        return self.entries + self.later_entries

    @property
    def waiting(self) -> Mapping[Family, int]:
        """The families that are due, with how many values they seem to have."""
        return self.worth if self.is_due else {}

    def due(self, families: Families) -> dict[Family, int]:
        """Those families of a batch that are to be added now: as many as there is room for."""
        used = families.used()
        asked = {family: count for family, count in self.waiting.items() if family in used}
        return {family: used[family] for family in _fitting(asked, self.size, self.most)}

    def extended(self, names: Names, built: DataFrame, families: Mapping[Family, int]) -> Index:
        """The index with what the view shows of these families too, as far as there is room.

        Those that turn out to be larger than they seemed wait until there is room for them.

        Args:
            built: see `whole`; one job computes and counts it.
        """
        built = names.kept(built)
        counts = _counted(built, families)
        added = dict.fromkeys(_fitting(counts, self.size, self.most))
        left = _without(counts, added)
        told = replace(
            self,
            worth={**_without(self.worth, families), **_possible(left)},
            refused=self.refused | (left.keys() - _possible(left).keys()),
            rows_read=0,
            is_due=False,
        )
        if not added:
            return told
        if left:
            built = names.kept(built.where(is_one_of("f", [families[f] for f in added])))
        # What batches did before is in what was built, and is no news to these families.
        frame = built if self.frame is None else names.kept(self.frame.unionByName(built))
        return replace(
            told,
            numbers={**self.numbers, **{family: families[family] for family in added}},
            frame=frame,
            entries=self.entries + sum(counts[family] for family in added),
        )

    def about(
        self,
        families: Families,
        keys: DataFrame,
        wanted: Collection[int],
        *,
        are_few: bool,
    ) -> DataFrame:
        """The evidence about these keys, for some of the families.

        Args:
            keys: `p`, `k`, as for `evidence.scan`, but not necessarily distinct.
            are_few: every executor may get all of them.
        """
        assert self.frame is not None
        rows = self.frame if self.later is None else self.frame.unionByName(self.later)
        patterns = families.patterns
        places = {n: patterns.index(families.of(n).pattern) for n in sorted(wanted)}
        cases = " ".join(f"WHEN {n} THEN {p}" for n, p in places.items())
        rows = with_columns(rows.where(is_one_of("f", places)), {"p": f"CASE f {cases} END"})
        asked = sf.broadcast(keys) if are_few else keys.hint("merge")
        found = rows.join(asked, ["p", "k"], "left_semi").drop("p")
        return found if self.later is None else _summed(found)

    def after(self, names: Names, moved: DataFrame, changes: int, *, is_used: bool) -> Index:
        """The index of the view after a batch.

        Args:
            moved: the view's rows that change, each once, with `n`.
            changes: how many they are.
            is_used: the batch has looked into it.
        """
        idle = 0 if is_used else self.idle
        if self.frame is None or not changes:
            return replace(self, idle=idle)
        if idle == MOST_IDLE:
            return Index(self.most)
        structs = [entry(names, number, family) for family, number in self.numbers.items()]
        entries = exploded(moved, ("n",), structs, "f").selectExpr("f", "k", "g", "n")
        together = names.together([entries] if self.later is None else [self.later, entries])
        count = self.later_entries + changes * len(structs)
        told = replace(
            self, later=names.kept(together), later_entries=count, idle=idle + (not is_used)
        )
        is_long = count > self.entries + MOST_LATER or told.size > self.most
        return told._put_together(names) if is_long else told

    def _put_together(self, names: Names) -> Index:
        """The same in one piece, counted in a job; given up if it has become too large."""
        assert self.frame is not None
        assert self.later is not None
        frame = names.kept(_summed(self.frame.unionByName(self.later)))
        counts = _counted(frame, self.numbers)
        entries = sum(counts.values())
        if entries > ROOM * self.most:
            refused = self.refused | (counts.keys() - _possible(counts).keys())
            return Index(self.most, worth=_possible(counts), refused=refused)
        return replace(self, frame=frame, later=None, entries=entries, later_entries=0)

    def noting(self, met: Mapping[Family, Met], rows_read: int, rows: int) -> Index:
        """The same after a batch, when it is known what that has read of how many rows.

        Args:
            met: what was scanned for.
        """
        # All values of the view, if there are as many rows to each as for these keys. A batch has
        # those more often that have more rows: of two estimates the greater one is nearer.
        worth = {
            family: max(self.worth.get(family, 0), ceil(rows * found.entries / found.rows))
            for family, found in met.items()
            if found.entries and found.rows >= LEAST_ALIKE * found.entries
        }
        known = self.refused | self.numbers.keys()
        waiting = _without(_possible({**self.worth, **worth}), known)
        read = self.rows_read + rows_read if waiting else 0
        return replace(self, worth=waiting, rows_read=read, is_due=bool(waiting) and read >= rows)


def shared(indexes: Mapping[str, Index], most: int = MOST_ENTRIES) -> dict[str, Index]:
    """The indexes of some views, each with its part of the room for all of them.

    Law: the parts are no more than `most` together. An equal part is each view's own, for all that
    fits into it, whatever others hold: so no view is worse off for the others than with nothing but
    that part. Of it half may be lent while it is not needed. Who has borrowed loses its index when
    somebody needs more of their own; who waits for families is lent room for the smallest first, as
    long as that lasts, and for none that would not fit. What is left is spread evenly.
    """
    own = most // max(1, len(indexes))

    def needed(index: Index) -> int:
        held = sum(_fitting(index.waiting, index.size, own).values(), index.size)
        # For what batches add there is the rest of the own part.
        return max(own // 2, min(own, ceil(held / ROOM)) if held <= own else ceil(held / ROOM))

    kept = dict(indexes)
    parts = {name: needed(index) for name, index in kept.items()}
    while sum(parts.values()) > most:
        last = max(parts, key=lambda name: parts[name])  # the one that has borrowed most
        kept[last] = Index(refused=kept[last].refused)
        parts[last] = needed(kept[last])
    left = most - sum(parts.values())
    filled = {name: index.size for name, index in kept.items()}
    waiting = [(n, name) for name, index in kept.items() for n in index.waiting.values()]
    for count, name in sorted(waiting):
        more = max(0, ceil((filled[name] + count) / ROOM) - parts[name])
        if more <= left:
            filled[name] += count
            parts[name] += more
            left -= more
    return {
        name: replace(index, most=parts[name] + left // len(kept)) for name, index in kept.items()
    }


def _fitting(counts: Mapping[Family, int], size: int, most: int) -> dict[Family, int]:
    """Families that there is room for beside `size` values, the smallest first."""
    found = {}
    for family in sorted(counts, key=lambda f: (counts[f], f.pattern, f.gives)):
        size += counts[family]
        if size > ROOM * most:
            break
        found[family] = counts[family]
    return found


def _possible(counts: Mapping[Family, int]) -> dict[Family, int]:
    """Families that there could be room for, if nobody else needed any."""
    return {family: count for family, count in counts.items() if count <= ROOM * MOST_ENTRIES}


def _counted(frame: DataFrame, families: Mapping[Family, int]) -> dict[Family, int]:
    """How many values an index has of each family; one job, which computes it."""
    found = {line["f"]: line["count"] for line in frame.groupBy("f").count().collect()}
    return {family: found.get(number, 0) for family, number in families.items()}


def whole(names: Names, view: DataFrame, families: Mapping[Family, int]) -> DataFrame:
    """What the view shows of these families, whatever the key."""
    asked = [(family, number, "true") for family, number in families.items()]
    return counted(names, numbered(view, "h"), asked)


def _without(worth: Mapping[Family, int], others: Collection[Family]) -> dict[Family, int]:
    return {family: count for family, count in worth.items() if family not in others}


def _summed(rows: DataFrame) -> DataFrame:
    return rows.groupBy("f", "k", "g").agg(sf.expr("sum(n) AS n")).where("n > 0")


def met_by(found: DataFrame) -> dict[int, Met]:
    """What a scan found, by family; one job, which computes it."""
    figures = [sf.expr("count(1) AS entries"), sf.expr("sum(n) AS rows")]
    lines = found.groupBy("f").agg(*figures).collect()
    return {line["f"]: Met(line["entries"], line["rows"]) for line in lines}
