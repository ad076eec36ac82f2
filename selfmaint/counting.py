"""The verdicts of a batch, as a report counts them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from lookups.plan import ACTIONS
from lookups.verdict import Because, Kind
from selfmaint.report import Count

if TYPE_CHECKING:
    from lookups.spark import Changes, Counts


def verdicts(counts: Counts) -> Iterator[Count]:
    """Changes of relations that a view uses."""
    for tally in counts.tallies:
        action = ACTIONS[not tally.insert]
        yield Count(tally.relation, action, str(tally.kind), tally.rule, tally.changes)


def irrelevant(changes: Mapping[str, Changes], used: Collection[str]) -> Iterator[Count]:
    """Changes of which none meets a view, by their screen if it uses the relation."""
    for name, change in sorted(changes.items()):
        because = Because.SCREEN if name in used else Because.UNUSED
        for action, number in (("insert", change.inserts), ("delete", change.deletes)):
            if number:
                yield Count(name, action, str(Kind.IRRELEVANT), str(because), number)
