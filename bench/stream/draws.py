"""Draws: everything about a new row follows from its number and the seed.

A draw is a hash of that number and of what is drawn, so rows are computed where they are stored,
and every run of a seed sees the same ones. The formulas below hold for numbers and for columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import Column

STEPS: Final = 1_000_000_007


@dataclass(frozen=True, slots=True)
class Draws:
    """The draws of one seed."""

    seed: int

    def draw(self, what: str, *which: str) -> Column:
        """A number from 0 up to 1 that depends on the columns `which`, `id` unless given."""
        from pyspark.sql import functions as sf

        hashed = sf.xxhash64(sf.lit(f"{self.seed} {what}"), *map(sf.col, which or ("id",)))
        return sf.pmod(hashed, sf.lit(STEPS)) / STEPS

    def whole(self, count: int, what: str, *which: str) -> Column:
        """One of the whole numbers below `count`."""
        return (self.draw(what, *which) * count).cast("long")

    def one_of(self, values: tuple[str, ...], what: str, *which: str) -> Column:
        from pyspark.sql import functions as sf

        return sf.get(
            sf.array(*map(sf.lit, values)), self.whole(len(values), what, *which).cast("int")
        )

    def skewed(self, count: int, exponent: float, what: str, *which: str) -> Column:
        """One of the whole numbers below `count`, a few of them often."""
        from pyspark.sql import functions as sf

        drawn = ranked(self.draw(what, *which), count, exponent)
        rank = sf.least(sf.floor(drawn), sf.lit(count)) - 1
        return scattered(rank, count)


Number = TypeVar("Number", float, "Column")


def ranked(drawn: Number, count: int, exponent: float) -> Number:
    """A draw as a place from 1 up to `count` + 1 whose density falls with that power (Zipf).

    Rounded down it is a rank. With exponent 0 all are alike; the larger it is, the more draws are
    among the first few. Not for exponent 1, where the formula is another one.
    """
    rest = 1 - exponent
    result: Number = (drawn * ((count + 1) ** rest - 1) + 1) ** (1 / rest)
    return result


def scattered(rank: Number, count: int) -> Number:
    """Another of the numbers below `count` for each rank, so that what sells is no neighbour.

    Law: for the whole numbers below `count` this is a permutation of them.
    """
    step = next(s for s in range(max(1, round(count * 0.618)), count + 2) if gcd(s, count) == 1)
    result: Number = (rank * step + count // 3) % count
    return result
