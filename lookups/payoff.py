"""Whether lookups pay: per view and relation, from what they have cost and saved so far.

Huyn's plan makes its lookups for every change, and where they never succeed it only pays for them
and for the indexes behind them (Sect. 5: half the speed of asking the source at once). Here a
relation's lookups are switched off when they do not pay, and tried again now and then.

The rule is that of renting or buying skis, with a budget. Lookups are made until they have cost one
source question more than they saved, so finding out that they do not help costs little more than
one question. After that they may cost a small share of what the source costs. When they cost more,
they are off until the source has cost many times what the last lookups did, and they are within
that share again; then some changes are looked up, a *probe*. So after a dear probe the next is long
in coming. A probe that helps is followed by more lookups, though it may have cost much: indexes had
to catch up for it, and that is over and done with.

Laws: the choice depends on the record and on nothing else, so the same history gives the same
choices; costs are part of the history, in any unit, and no clock is read here. Whatever is chosen,
the view is right: a lookup that is not made is a miss, and a miss is asked.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from math import inf
from typing import Final

FEW: Final = 8
"""Changes looked up before lookups may be switched off: one slow moment is no evidence."""

SHARE: Final = 0.03
"""What lookups may cost when they do not help, as a share of what the source costs."""

PATIENCE: Final = 100
"""Once lookups are off, the source has to cost so many times what the last stretch of them did."""

WINDOW: Final = 4_000
"""Changes after which all that is on record counts half."""


class Lookups(StrEnum):
    """When a maintainer makes lookups; it is right in any case."""

    ADAPT = "adapt"  # while they pay
    ALWAYS = "always"
    NEVER = "never"  # the traditional plan: every insertion asks


class Choice(StrEnum):
    """What to do about the lookups of the next changes."""

    LOOK_UP = "look up"
    SKIP = "skip"
    PROBE = "probe"  # look up although it has not paid: it costs little, and may again


@dataclass(frozen=True, slots=True)
class Stretch:
    """What became of some insertions into one relation: a batch, or a few in a row.

    Args:
        looked_up: insertions whose lookups were made.
        helped: those of them that needed no source.
        lookup_cost: what the lookups took, with the indexes behind them and the rows they gave.
        skipped: insertions whose lookups were not made.
        asked: insertions that went to the source, looked up or not, or questions if these are
            fewer: what a lookup that helps saves is `source_cost` over this.
        source_cost: what these took, from forming the question to the rows of the answer.
    """

    looked_up: float = 0
    helped: float = 0
    lookup_cost: float = 0.0
    skipped: float = 0
    asked: float = 0
    source_cost: float = 0.0

    def then(self, later: Stretch, weight: float) -> Stretch:
        """Both as one, this one for `weight`."""
        return Stretch(
            self.looked_up * weight + later.looked_up,
            self.helped * weight + later.helped,
            self.lookup_cost * weight + later.lookup_cost,
            self.skipped * weight + later.skipped,
            self.asked * weight + later.asked,
            self.source_cost * weight + later.source_cost,
        )


@dataclass(frozen=True, slots=True)
class Payoff:
    """The record of one relation's lookups on one view.

    Args:
        total: all stretches as one, older ones for less.
        last_cost: what the last stretch that was looked up took for it.
        idle_cost: what the source cost since then; None while lookups are on.
        cheapest: the least that a lookup took on average over a stretch.
        is_paying: the last changes that were looked up would pay at that price.

    Example:
        >>> seen = Stretch(looked_up=8, helped=0, lookup_cost=9, asked=8, source_cost=16)
        >>> record = Payoff().after(seen)
        >>> print(record.choice)
        skip
        >>> print(record.sentence("orders"))
        lookups off for orders: 0 of the last 8 helped
    """

    total: Stretch = Stretch()
    last_cost: float = 0.0
    idle_cost: float | None = None
    cheapest: float = inf
    is_paying: bool = False

    @property
    def choice(self) -> Choice:
        """What to do next."""
        if self.idle_cost is not None and self.idle_cost < PATIENCE * self.last_cost:
            return Choice.SKIP
        total = self.total
        if total.looked_up < FEW or not total.asked:
            return Choice.LOOK_UP
        loss = total.lookup_cost - (total.helped + 1) * total.source_cost / total.asked
        if loss <= 0 or self.is_paying:
            return Choice.LOOK_UP
        return Choice.PROBE if loss <= SHARE * total.source_cost else Choice.SKIP

    def after(self, seen: Stretch) -> Payoff:
        """The record with a stretch added."""
        is_old = self.total.looked_up + self.total.skipped >= WINDOW
        total = self.total.then(seen, 0.5 if is_old else 1.0)
        if not seen.looked_up:
            idle_cost = self.idle_cost
            if idle_cost is not None or self.choice is Choice.SKIP:
                idle_cost = (idle_cost or 0.0) + seen.source_cost
            # Otherwise the view was empty, and nothing was switched off.
            return Payoff(total, self.last_cost, idle_cost, self.cheapest, self.is_paying)
        cheapest = min(self.cheapest, seen.lookup_cost / seen.looked_up)
        is_paying = seen.helped * total.source_cost >= seen.looked_up * cheapest * total.asked
        return Payoff(total, seen.lookup_cost, None, cheapest, is_paying)

    def as_dict(self) -> dict[str, object]:
        """The record as JSON has it: what is not as at first, with nine digits of each figure.

        Costs are added up from record to record. With few digits a small one would change nothing,
        and lookups that are off would never be tried again.
        """
        return _short(asdict(self), asdict(Payoff()))

    @classmethod
    def from_dict(cls, record: object) -> Payoff:
        """The inverse of `as_dict`, but for the digits it leaves out."""
        assert isinstance(record, dict)
        known = {name: value for name, value in record.items() if value is not None}
        return cls(**{**known, "total": Stretch(**known.get("total", {}))})

    def sentence(self, relation: str) -> str:
        """The record for a report."""
        choice, made, helped = self.choice, self.total.looked_up, self.total.helped
        state = {Choice.LOOK_UP: "on", Choice.PROBE: "on trial", Choice.SKIP: "off"}[choice]
        seen = f"{helped:,.0f} of the last {made:,.0f} helped" if made else "none made yet"
        dear = ", which saved less than they cost" if helped and choice is Choice.SKIP else ""
        return f"lookups {state} for {relation}: {seen}{dear}"


def _short(record: dict[str, object], first: dict[str, object]) -> dict[str, object]:
    """What differs from the first record, shortened: records are written again with each batch."""

    def short(name: str, value: object) -> object:
        if isinstance(value, dict):
            before = first[name]
            assert isinstance(before, dict)
            return _short(value, before)
        if not isinstance(value, float):
            return value
        figure = float(f"{value:.9g}")
        return int(figure) if figure.is_integer() else figure

    return {name: short(name, value) for name, value in record.items() if value != first[name]}
