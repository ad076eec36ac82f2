"""Whether lookups pay: per view and relation, from what they have cost and saved so far.

Huyn's plan makes its lookups for every change, and where they never succeed it only pays for them
and for the indexes behind them (Sect. 5: half the speed of asking the source at once). Here a
relation's lookups are switched off when they do not pay, and tried again now and then.

The rule is that of renting or buying skis. Lookups are made until they have cost one source
question more than they saved, and at least a few times, so finding out that they do not help costs
little more than one question. While they are off, `wait` changes go by before one stretch of
changes is looked up again, a *probe*; each probe that does not pay doubles the wait.

Laws: the choice depends on the record and on nothing else, so the same history gives the same
choices; costs are part of the history, in any unit, and no clock is read here. Whatever is chosen,
the view is right: a lookup that is not made is a miss, and a miss is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import Final

WINDOW: Final = 4_000
"""Changes looked up after which all that is on record counts half."""

FEW: Final = 8
"""Changes looked up before lookups may be switched off: one slow moment is no evidence."""

FIRST_WAIT: Final = 128
LONGEST_WAIT: Final = 8_192


class Lookups(StrEnum):
    """When a maintainer makes lookups; it is right in any case."""

    ADAPT = "adapt"  # while they pay
    ALWAYS = "always"
    NEVER = "never"  # the traditional plan: every insertion asks


class Choice(StrEnum):
    """What to do about the lookups of the next changes."""

    LOOK_UP = "look up"
    SKIP = "skip"
    PROBE = "probe"  # look up once, to see whether it would pay again


@dataclass(frozen=True, slots=True)
class Stretch:
    """What became of some insertions into one relation: a batch, or a few in a row.

    Args:
        looked_up: insertions whose lookups were made.
        helped: those of them that needed no source.
        lookup_cost: what the lookups took, with the indexes behind them and the rows they gave.
        skipped: insertions whose lookups were not made.
        asked: insertions that went to the source, looked up or not.
        source_cost: what these took, from forming the question to the rows of the answer.
    """

    looked_up: int = 0
    helped: int = 0
    lookup_cost: float = 0.0
    skipped: int = 0
    asked: int = 0
    source_cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Payoff:
    """The record of one relation's lookups on one view.

    Args:
        looked_up: in the window, as are `helped`, `asked` and the costs.
        is_on: whether lookups are made.
        skipped: insertions that were not looked up since the last that were.
        wait: how many are skipped before the next probe.
        cheapest: the least that a lookup took on average over a stretch.

    Example:
        >>> seen = Stretch(looked_up=8, helped=0, lookup_cost=9, asked=8, source_cost=16)
        >>> record = Payoff().after(seen)
        >>> print(record.choice)
        skip
        >>> print(record.sentence("orders"))
        lookups off for orders: 0 of the last 8 helped; next probe after 128 changes
    """

    looked_up: float = 0.0
    helped: float = 0.0
    lookup_cost: float = 0.0
    asked: float = 0.0
    source_cost: float = 0.0
    is_on: bool = True
    skipped: int = 0
    wait: int = FIRST_WAIT
    cheapest: float = inf

    @property
    def choice(self) -> Choice:
        """What to do next."""
        if self.is_on:
            return Choice.LOOK_UP
        return Choice.PROBE if self.skipped >= self.wait else Choice.SKIP

    def after(self, seen: Stretch) -> Payoff:
        """The record with a stretch added, and lookups switched on or off by it."""
        age = 0.5 if self.looked_up >= WINDOW else 1.0
        record = replace(
            self,
            looked_up=self.looked_up * age + seen.looked_up,
            helped=self.helped * age + seen.helped,
            lookup_cost=self.lookup_cost * age + seen.lookup_cost,
            asked=self.asked * age + seen.asked,
            source_cost=self.source_cost * age + seen.source_cost,
            skipped=self.skipped + seen.skipped,
        )
        if not seen.looked_up:
            return record
        cheapest = min(self.cheapest, seen.lookup_cost / seen.looked_up)
        record = replace(record, cheapest=cheapest)
        if not record.asked or (self.is_on and record.looked_up < FEW):
            return record
        question = record.source_cost / record.asked
        if self.is_on:
            return replace(record, is_on=(record.helped + 1) * question >= record.lookup_cost)
        # A probe. Indexes have to catch up for it, which says nothing about what comes after: so it
        # is judged by what lookups cost when they were cheapest.
        if seen.helped * question < seen.looked_up * cheapest:
            return replace(record, skipped=0, wait=min(2 * self.wait, LONGEST_WAIT))
        return Payoff(
            looked_up=seen.looked_up,
            helped=seen.helped,
            lookup_cost=seen.looked_up * cheapest,
            asked=record.asked,
            source_cost=record.source_cost,
            cheapest=cheapest,
        )

    def sentence(self, relation: str) -> str:
        """The record for a report."""
        seen = f"{self.helped:,.0f} of the last {self.looked_up:,.0f} helped"
        if self.is_on:
            return f"lookups on for {relation}: {seen if self.looked_up else 'none made yet'}"
        left = max(self.wait - self.skipped, 0)
        return f"lookups off for {relation}: {seen}; next probe after {left:,} changes"
