"""Which runs, in which order: every plan of every cell once per repetition, in turn."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median

from bench.machine import machine
from bench.paper.experiment import (
    BY_VDU,
    BY_VSM,
    MIXES,
    RHOS,
    VIEW,
    Change,
    Meter,
    Mix,
    Price,
    from_source,
    price,
    question_for,
)
from bench.paper.plans import ARITY, BatchSize, Ended, kinds_of, run, run_free
from bench.paper.results import Cell, Parameters, Run
from bench.spread import Spread
from cq.types import Row
from lookups.index import RowIndex
from lookups.live import LiveIndex
from lookups.maintain import ask
from lookups.payoff import Lookups
from lookups.quick import shown_by
from lookups.verdict import Kind

BATCHES: tuple[BatchSize, ...] = (None, 1, 10, 100)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    repetitions: int
    rhos: tuple[int, ...]
    curves: bool
    """Whether Figures 3(b) and (c) are measured, too."""


FULL = Sizes(repetitions=7, rhos=RHOS, curves=True)
QUICK = Sizes(repetitions=1, rhos=(1, 100), curves=False)


class WrongRows(AssertionError):
    """A plan ended in other rows than recomputation."""


@dataclass(slots=True)
class Stream:
    """A mix in batches of one size: what is the same for every rho and repetition."""

    mix: Mix
    batch: BatchSize
    changes: list[Change]
    rows: frozenset[Row]
    kinds: list[Kind]
    shown: RowIndex
    times: dict[int, list[tuple[float, float, float]]] = field(default_factory=dict)
    last: dict[int, tuple[Meter, Meter, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, mix: Mix, batch: BatchSize, rows: frozenset[Row]) -> Stream:
        changes = mix.changes
        kinds = kinds_of(changes, batch, Meter(1, Price(0.0, 0.0)))
        shown = RowIndex(rows, ARITY)
        shown.distinct((0,), (1,), (2,))  # the index that the free plan finds at hand
        return cls(mix, batch, changes, rows, kinds, shown)

    def share(self, *kinds: Kind) -> float:
        return sum(kind in kinds for kind in self.kinds) / len(self.kinds)

    def measure(self, rho: int, view_price: Price, turn: int) -> None:
        """Run the three plans, beginning with another one each time."""
        meters = [Meter(rho, view_price) for _ in range(3)]
        plans: list[Callable[[], Ended]] = [
            lambda: run(self.changes, self.batch, meters[0], Lookups.NEVER),
            lambda: run(self.changes, self.batch, meters[1], Lookups.ADAPT),
            lambda: run_free(self.changes, self.batch, meters[2], self.kinds, self.shown),
        ]
        ended: dict[int, Ended] = {}
        for number in range(3):
            which = (number + turn) % 3
            gc.collect()
            ended[which] = plans[which]()
            if ended[which].rows != self.rows:
                raise WrongRows(f"plan {which} of mix {self.mix}, batch {self.batch}, rho {rho}")
        traditional, ours, free = (ended[i].seconds for i in range(3))
        self.times.setdefault(rho, []).append((traditional, ours, free))
        self.last[rho] = (meters[0], meters[1], ended[1].sentence)

    def cell(self, rho: int, parameters: Parameters) -> Cell:
        times = self.times[rho]
        meter, ours_meter, sentence = self.last[rho]
        count = len(self.changes)
        p_vdu = self.share(Kind.UNAFFECTED)
        p_vsm = self.share(Kind.UNAFFECTED, Kind.SELF_MAINTAINED)
        traditional, ours, free = (
            float(f"{median(t[i] for t in times) / count * 1e6:.4g}") for i in range(3)
        )
        model = parameters.speed_up(p_vdu, p_vsm, rho, meter.keys / count)
        return Cell(
            mix=self.mix,
            batch=self.batch,
            rho=rho,
            p_vdu=p_vdu,
            p_vsm=p_vsm,
            speed_up=Spread.of([traditional / ours for traditional, ours, _ in times]),
            limit=Spread.of([traditional / free for traditional, _, free in times]),
            of_limit=Spread.of([free / ours for _, ours, free in times]),
            model=float(f"{model:.4g}"),
            traditional=traditional,
            ours=ours,
            free=free,
            asked=meter.keys,
            ours_asked=ours_meter.keys,
            lookups=sentence,
        )


def streams(sizes: Sizes) -> list[Stream]:
    wanted = [(mix, batch) for mix in MIXES for batch in BATCHES]
    if sizes.curves:
        wanted += [(mix, None) for mix in (*BY_VSM, *BY_VDU)]
    recomputed = {mix: mix.rows for mix, _ in wanted}
    return [Stream.of(mix, batch, recomputed[mix]) for mix, batch in dict.fromkeys(wanted)]


def measure(sizes: Sizes, track: Callable[[list[int]], Iterator[int]]) -> Run:
    """Measure everything.

    Args:
        track: goes through the repetitions' steps, and shows how far it is.
    """
    found = streams(sizes)
    gc.collect()
    gc.freeze()  # what is loaded once is not searched for garbage again and again
    parameters: list[Parameters] = []
    steps = sizes.repetitions * len(found)
    for step in track(list(range(steps))):
        repetition, number = divmod(step, len(found))
        if not number:
            parameters.append(measure_parameters())
        view_price = price(20)
        for rho in sizes.rhos:
            found[number].measure(rho, view_price, repetition)
    gc.unfreeze()
    medians = Parameters.median_of(parameters)
    cells = (stream.cell(rho, medians) for stream in found for rho in sizes.rhos)
    return Run(tuple(cells), medians, sizes.repetitions, machine())


def measure_parameters(repeats: int = 20) -> Parameters:
    """The paper's Table 5 on this machine, each the median over some repeats."""
    rows = MIXES[2].rows
    live = LiveIndex(rows, ARITY)
    test = shown_by(VIEW.plan("r", "insert"))
    assert test is not None
    keys = [(1, x, y) for x in range(1, 11) for y in range(1, 11)]
    changes = MIXES[0].changes
    free = Meter(1, Price(0.0, 0.0))

    def taken(work: Callable[[], object], times: int = 1) -> float:
        samples = []
        for _ in range(repeats):
            started = time.process_time()
            work()
            samples.append((time.process_time() - started) / times)
        return median(samples)

    def inserting(is_looked_at: bool) -> float:
        """Adding 100 rows to a view with or without indexes, those of v(x, y, -) and v(x, -, z)."""
        grown = LiveIndex(rows, ARITY)
        if is_looked_at:
            grown.has((0, 1), (1, 1))
            grown.distinct((0,), (1,), (2,))
        samples = []
        for y in range(11, 11 + repeats):
            added = frozenset((1, y, z) for z in range(1, 101))
            started = time.process_time()
            grown.update(frozenset(), added)
            if is_looked_at:
                grown.has((0, 1), (1, y))
            samples.append(time.process_time() - started)
        return median(samples)

    qbase = taken(lambda: ask(VIEW.query, from_source, question_for(1)))
    missed = run(changes, None, free, Lookups.NEVER).seconds / len(changes)
    ins = missed - qbase
    return Parameters(
        vdu=taken(lambda: [test.has(live, key) for key in keys], len(keys)),
        vsm=taken(lambda: [live.has((0,), key[1:2]) for key in keys], len(keys)),
        qbase=qbase,
        qview=price(repeats).first,
        ins=ins,
        xins=ins + inserting(True) - inserting(False),
    )
