"""Three plans for one stream of insertions, under the same rules: same batches, same code.

- *traditional*: every insertion asks the source; the view has no index.
- *ours*: VDU, VSM, then the source; lookups are made while they pay.
- *free*: what would be left of ours if deciding and indexing cost nothing. It is told every verdict
  beforehand and finds the view's answers in an index that somebody else keeps. Unaffected changes
  cost nothing, self-maintained ones their rows, missed ones what the traditional plan pays. The
  traditional plan's time over this one's is the limit of the speed-up.

The first two are a `Maintainer` with its lookups off and on. All three end in the same rows, or the
benchmark fails. A batch asks for each distinct key once, in all plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from bench.paper.experiment import VIEW, Change, Meter
from cq.types import Row
from lookups.batch import read_batch, read_change
from lookups.decide import new_rows
from lookups.index import RowIndex
from lookups.live import LiveIndex
from lookups.maintain import finish
from lookups.payoff import Lookups
from lookups.prepared import Prepared
from lookups.settle import settle
from lookups.verdict import Kind
from selfmaint.maintainer import Maintainer

BatchSize: TypeAlias = int | None
"""Changes in a batch; None: change by change."""

ARITY: Final = len(VIEW.query.head)
STEP: Final = VIEW.plan("r", "insert").steps[0]


@dataclass(frozen=True, slots=True)
class Ended:
    """A plan that ran: seconds by its meter, the rows it ended in, its word on lookups."""

    seconds: float
    rows: frozenset[Row]
    sentence: str = ""


def batches(changes: Sequence[Change], size: int) -> Iterator[Sequence[Change]]:
    for start in range(0, len(changes), size):
        yield changes[start : start + size]


def kinds_of(changes: Sequence[Change], size: BatchSize, meter: Meter) -> list[Kind]:
    """Where every change ends if all lookups are made."""
    maintained = Maintainer(VIEW, meter.source, lookups=Lookups.ALWAYS)
    if size is None:
        return maintained.follow(changes)
    kinds: list[Kind] = []
    for batch in batches(changes, size):
        effect = maintained.apply(batch)
        decisions = (effect.decision(VIEW.query, *read_change(change)) for change in batch)
        kinds += (decision.kind for decision in decisions)
    return kinds


def run(changes: Sequence[Change], size: BatchSize, meter: Meter, lookups: Lookups) -> Ended:
    """The traditional plan, with `Lookups.NEVER`; ours, with any other."""
    maintained = Maintainer(VIEW, meter.source, lookups=lookups, clock=meter.ticks)
    started = meter.clock()
    if size is None:
        maintained.follow(changes)
    else:
        for batch in batches(changes, size):
            maintained.apply(batch)
    seconds = meter.clock() - started
    return Ended(seconds, maintained.rows, *maintained.sentences())


def run_free(
    changes: Sequence[Change],
    size: BatchSize,
    meter: Meter,
    kinds: Sequence[Kind],
    shown: RowIndex,
) -> Ended:
    """The plan that need not decide and has no index to keep.

    Args:
        kinds: where every change ends.
        shown: the view after all changes, with an index that is at hand. A self-maintained
            insertion finds the same values in it as in the view of its time.
    """
    live, prepared = LiveIndex((), ARITY), Prepared(VIEW.query)
    prepared.emit_all()
    assert STEP.rows is not None
    assert STEP.vsm is not None
    cells, needs = STEP.rows.cells, STEP.vsm.needs
    started = meter.clock()
    for start in range(0, len(changes), size or 1):
        missed: list[Change] = []
        for at in range(start, min(start + (size or 1), len(changes))):
            if kinds[at] is Kind.MISS:
                missed.append(changes[at])
            elif kinds[at] is Kind.SELF_MAINTAINED:
                added = live.absent(new_rows(cells, needs, shown, changes[at][2]))
                live.update(frozenset(), added)
        if missed:
            batch = read_batch(VIEW.query, [read_change(change) for change in missed])
            settled = settle(prepared, batch, live, ("r",))
            effect = finish(prepared, batch, live, settled, meter.source)
            live.update(effect.deletes, effect.inserts)
    return Ended(meter.clock() - started, live.rows)
