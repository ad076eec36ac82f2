"""What a run measured, as data: JSON that reads back, CSV, and tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from bench.machine import facts
from bench.paper.experiment import MIXES, Mix
from bench.paper.results import Target
from bench.readme import RESULTS, folded, paragraph, shown
from bench.spread import Spread, amount
from bench.tables import Table, csv_of, markdown

RESULT: Final = RESULTS / "paper-spark.json"


@dataclass(frozen=True, slots=True)
class Costs:
    """The paper's Table 5 as far as Spark tells its steps apart, in seconds per change.

    One scan answers all lookups of a batch and gives the rows that VSM puts together. So the tests
    are one step with that query, and t_vsm and t_qview are nothing beside it.

    Args:
        vdu: all that a batch takes which turns out to change nothing: check, lookups, journal.
        ins: all of a batch of the traditional plan but its question.
        xins: what a batch that asks takes beyond `vdu`, but for its question.
    """

    vdu: float
    ins: float
    xins: float

    def speed_up(self, p_vdu: float, p_vsm: float, question: float) -> float:
        """The paper's model of the speed-up, formula (3), with t_vsm = t_qview = 0.

        Args:
            question: t_qbase, what the traditional plan's questions take per change.
        """
        written, asked = self.xins * (1 - p_vdu), question * (1 - p_vsm)
        return (question + self.ins) / (self.vdu + written + asked)


@dataclass(frozen=True, slots=True)
class Cell:
    """One mix and rho, in micro-batches of 100.

    Args:
        p_vdu, p_vsm, speed_up, limit, of_limit, model, asked, ours_asked, lookups: as in
            `bench.paper.results.Cell`.
        traditional, ours: seconds of the whole stream, in the last repetition.
    """

    mix: Mix
    rho: int
    p_vdu: float
    p_vsm: float
    speed_up: Spread
    limit: Spread
    of_limit: Spread
    model: float
    traditional: float
    ours: float
    asked: int
    ours_asked: int
    lookups: str

    @property
    def number(self) -> int:
        return MIXES.index(self.mix) + 1


@dataclass(frozen=True, slots=True)
class Run:
    """The cells of a run, and what they were measured on."""

    cells: tuple[Cell, ...]
    costs: Costs
    repetitions: int
    machine: Mapping[str, str | int | float]

    def cell(self, mix: Mix, rho: int) -> Cell:
        return next(cell for cell in self.cells if (cell.mix, cell.rho) == (mix, rho))

    @property
    def rhos(self) -> list[int]:
        return sorted({cell.rho for cell in self.cells})

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Run:
        data = json.loads(text)
        cells = []
        for entry in data["cells"]:
            spreads = {name: Spread(**entry[name]) for name in ("speed_up", "limit", "of_limit")}
            cells.append(Cell(**{**entry, **spreads, "mix": Mix(**entry["mix"])}))
        costs = Costs(**data["costs"])
        return cls(tuple(cells), costs, data["repetitions"], data["machine"])

    def to_csv(self) -> str:
        return csv_of(map(asdict, self.cells))

    def targets(self) -> Iterator[Target]:
        worst = self.cell(MIXES[0], 1)
        yield Target("mix 1, rho 1, on Spark: speed-up", 0.9, worst.speed_up.median)

    def table(self) -> Table:
        head = ("mix", "p_vdu", "p_vsm", "rho", "speed-up", "quartiles", "limit", "of limit",
                "model", "keys asked", "of")  # fmt: skip
        return head, [
            [
                f"{cell.number} {cell.mix}",
                f"{cell.p_vdu:.0%}",
                f"{cell.p_vsm:.0%}",
                str(cell.rho),
                amount(cell.speed_up.median),
                f"{amount(cell.speed_up.low)} to {amount(cell.speed_up.high)}",
                amount(cell.limit.median),
                f"{cell.of_limit.median:.2f}",
                amount(cell.model),
                str(cell.ours_asked),
                str(cell.asked),
            ]
            for cell in self.cells
        ]

    def block(self) -> str:
        """What was found, for the README."""
        best = self.cell(MIXES[2], max(self.rhos))
        (target,) = self.targets()
        words = f"""
            {self.repetitions} repetitions; {facts(self.machine)}. The best mix (3) at rho
            {best.rho} is {amount(best.speed_up.median)} times as fast as the traditional plan,
            {best.of_limit.median:.2f} of the limit {amount(best.limit.median)}. The worst mix (1)
            at rho 1 runs at {target.reached:.2f} of the traditional plan's speed; at least
            {target.least:.2f} was the target, which is {"met" if target.is_met else "MISSED"}. Of a
            batch of 100, t_vdu is {amount(100 * self.costs.vdu)} s, t_ins
            {amount(100 * self.costs.ins)} s and t_xins {amount(100 * self.costs.xins)} s."""
        picture = shown("paper-spark", "Speed-up against rho on Spark and Delta, with its limit")
        cells = folded("All cells, batches of 100", markdown(self.table()))
        return "\n\n".join([paragraph(words), picture, cells])
