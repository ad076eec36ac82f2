"""Figures as they are measured and shown: a median with its spread, and few digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles


@dataclass(frozen=True, slots=True)
class Spread:
    """A median with its quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, middle, high = quantiles(values, n=4, method="inclusive")
        return cls(short(middle), short(low), short(high))

    def __str__(self) -> str:
        return f"{amount(self.median)} ({amount(self.low)} to {amount(self.high)})"


def amount(value: float) -> str:
    """Two or three digits that matter."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def short(value: float) -> float:
    """Four digits that matter, for JSON that people read."""
    return float(f"{value:.4g}")
