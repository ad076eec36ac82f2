"""What a run measured, as data: JSON that reads back, and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final

from bench.paper.experiment import MIXES, Mix
from bench.paper.plans import BatchSize
from bench.spread import Spread, short
from bench.tables import csv_of

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Parameters:
    """The paper's Table 5, in seconds.

    Args:
        vdu: the existence of v(x, y, -).
        vsm: the existence of v(x, -, -).
        qbase: s(x, z) for the z-values, at rho = 1.
        qview: v(x, -, z) for the z-values.
        ins: all else that an insertion takes, without indexes.
        xins: the same with indexes.
    """

    vdu: float
    vsm: float
    qbase: float
    qview: float
    ins: float
    xins: float

    @classmethod
    def median_of(cls, several: Sequence[Parameters]) -> Parameters:
        columns = zip(*(asdict(each).values() for each in several), strict=True)
        return cls(*(short(median(values)) for values in columns))

    def question(self, rho: float) -> float:
        """One question to a source that is `rho` times as dear as the view."""
        return self.qbase + (rho - 1) * self.qview

    def speed_up(self, p_vdu: float, p_vsm: float, rho: float, asked: float = 1.0) -> float:
        """The paper's model of the speed-up, formula (3).

        Args:
            asked: keys that the traditional plan asks for per change; fewer than one in batches.
        """
        base = asked * self.question(rho)
        ours = (
            self.vdu
            + self.vsm * (1 - p_vdu)
            + (self.qview + self.xins) * (p_vsm - p_vdu)
            + (base + self.xins) * (1 - p_vsm)
        )
        return (base + self.ins) / ours


PAPER: Final = Parameters(0.31e-3, 0.28e-3, 2.2e-3, 2.2e-3, 1.9e-3, 4.8e-3)
"""What the paper measured on its machine."""

PAPER_POINTS: Final = {(3, 100): 70.0, (1, 1): 0.5}
"""The speed-ups that the paper states in words, by mix and rho."""

PAPER_OF_LIMIT: Final = 0.70


@dataclass(frozen=True, slots=True)
class Cell:
    """One mix, batch size and rho.

    Args:
        batch: changes in a batch; None: change by change.
        p_vdu: the share of changes that leave the view unaffected, if all lookups are made.
        p_vsm: the share that needs no source.
        speed_up: the traditional plan's time over ours.
        limit: the traditional plan's time over that of the plan that decides and indexes for free.
        of_limit: the speed-up as a share of the limit.
        model: what the paper's model says, with the parameters of this run.
        traditional: microseconds per change, as are `ours` and `free`.
        asked: keys that the traditional plan asked for; `ours_asked`: that ours did.
        lookups: what our plan says about its lookups in the end.
    """

    mix: Mix
    batch: BatchSize
    rho: int
    p_vdu: float
    p_vsm: float
    speed_up: Spread
    limit: Spread
    of_limit: Spread
    model: float
    traditional: float
    ours: float
    free: float
    asked: int
    ours_asked: int
    lookups: str

    @property
    def form(self) -> str:
        return "a" if self.batch is None else "b"

    def to_json(self) -> str:
        data = asdict(self)
        compact = {k: list(v.values()) if isinstance(v, dict) else v for k, v in data.items()}
        return json.dumps(compact, separators=(",", ":"))

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Cell:
        spreads = {name: Spread(*data[name]) for name in ("speed_up", "limit", "of_limit")}
        return cls(**{**data, **spreads, "mix": Mix(*data["mix"])})

    @property
    def number(self) -> int | None:
        """The mix's number in Figure 3(a)."""
        return MIXES.index(self.mix) + 1 if self.mix in MIXES else None


@dataclass(frozen=True, slots=True)
class Run:
    """The cells of a run, and what they were measured on."""

    cells: tuple[Cell, ...]
    parameters: Parameters
    repetitions: int
    machine: Mapping[str, str | int | float]

    def cell(self, mix: Mix, batch: BatchSize, rho: int) -> Cell:
        return next(c for c in self.cells if (c.mix, c.batch, c.rho) == (mix, batch, rho))

    def has(self, mix: Mix, batch: BatchSize) -> bool:
        return any((c.mix, c.batch) == (mix, batch) for c in self.cells)

    def to_json(self) -> str:
        """A line per cell, so that two runs can be compared by reading."""
        head = {
            "version": VERSION,
            "repetitions": self.repetitions,
            "machine": dict(self.machine),
            "parameters": asdict(self.parameters),
        }
        cells = ",\n".join(f"  {cell.to_json()}" for cell in self.cells)
        return f'{json.dumps(head, indent=1)[:-2]},\n "cells": [\n{cells}\n ]\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> Run:
        data = json.loads(text)
        if data["version"] != VERSION:
            raise ValueError(f"not a result of version {VERSION}")
        cells = tuple(Cell.from_data(entry) for entry in data["cells"])
        parameters = Parameters(**data["parameters"])
        return cls(cells, parameters, data["repetitions"], data["machine"])

    def to_csv(self) -> str:
        return csv_of({"form": cell.form, **asdict(cell)} for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Target:
    """What was to be reached, and what was."""

    name: str
    least: float
    reached: float

    @property
    def is_met(self) -> bool:
        return self.reached >= self.least


def targets(run: Run) -> Iterable[Target]:
    """What the benchmark is for."""
    best, worst = MIXES[2], MIXES[0]
    if run.has(best, None):
        cell = run.cell(best, None, 100)
        yield Target(
            "mix 3, rho 100, change by change: share of the limit", 0.95, cell.of_limit.median
        )
    for batch in dict.fromkeys(cell.batch for cell in run.cells):
        if run.has(worst, batch):
            by = "change by change" if batch is None else f"batches of {batch}"
            cell = run.cell(worst, batch, 1)
            yield Target(f"mix 1, rho 1, {by}: speed-up", 0.9, cell.speed_up.median)
