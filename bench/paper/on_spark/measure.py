"""Three plans for one stream of batches, as in `bench.paper.plans`, on Spark and Delta.

- *traditional*: a warehouse with `lookups="never"`. Every insertion asks; of the rows that come
  back it adds those that the view does not show yet.
- *ours*: a warehouse as users open it.
- *free*: what would be left of ours if deciding cost nothing. It is told which changes need the
  source, and does with those what the traditional plan does. The others cost it nothing.

All of them check a batch, commit the view's change and note the batch in the journal. Each begins
with an empty view in a folder of its own, and must end in the rows of recomputation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from bench.machine import machine
from bench.paper.experiment import MIXES, RHOS, TEXT, VALUES, Change, Meter, Mix, Price, S
from bench.paper.on_spark.results import Cell, Costs, Run
from bench.paper.plans import batches, kinds_of
from bench.spread import Spread, short
from cq.syntax import Var
from cq.types import Row
from lookups.payoff import Lookups
from lookups.verdict import Kind
from selfmaint import Warehouse, parse
from warehouse.sources import Answer, DeltaSource, Join

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH: Final = 100
PROGRAM: Final = parse(TEXT)
SCHEMA: Final = "u int, x int, y int, change string"


class WrongRows(AssertionError):
    """A plan ended in other rows than recomputation."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    repetitions: int
    rhos: tuple[int, ...]


FULL = Sizes(repetitions=4, rhos=RHOS)
QUICK = Sizes(repetitions=1, rhos=(100,))


class Charged:
    """A source whose questions cost `rho` times what they take.

    The relations are Delta tables beside the view, so that once is what the same question to the
    view costs. The other times are charged, at a price that is the same for all plans: nobody waits
    for them.
    """

    def __init__(self, source: DeltaSource, rho: int, price: Price) -> None:
        self._source = source
        self._rho = rho
        self._price = price
        self.charged = 0.0
        self.keys = 0

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def relations(self) -> frozenset[str]:
        return self._source.relations

    def version(self) -> int:
        return self._source.version()

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        found = self._source.answer(join, keys, version)
        once = self._price.first + self._price.each * (found.cost.keys_sent - 1)
        self.charged += once
        self.keys += found.cost.keys_sent
        return replace(found, cost=replace(found.cost, seconds=self._rho * once))


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that was applied.

    Args:
        seconds: what it took, its question included, once.
        charged: the price of its question, once; 0 if it asked nothing.
        is_changed: it changed the view.
    """

    seconds: float
    charged: float
    is_changed: bool


@dataclass(frozen=True, slots=True)
class Timed:
    """A plan that ran.

    Args:
        keys: that were asked for.
        sentence: its word on lookups.
    """

    batches: tuple[Batch, ...]
    keys: int
    sentence: str

    @property
    def seconds(self) -> float:
        return sum(batch.seconds for batch in self.batches)

    @property
    def charged(self) -> float:
        """The price of its questions, each once."""
        return sum(batch.charged for batch in self.batches)

    def at(self, rho: int) -> float:
        """What it takes with a source that is so many times as dear."""
        return self.seconds + (rho - 1) * self.charged


def costs_of(traditional: Iterable[Timed], ours: Iterable[Timed]) -> Costs:
    """What a change cost, as the median over batches of these runs."""
    asking = [batch.seconds - batch.charged for run in traditional for batch in run.batches]
    batches = [batch for run in ours for batch in run.batches]
    idle = median(b.seconds for b in batches if not b.charged and not b.is_changed)
    missed = [batch.seconds - batch.charged for batch in batches if batch.charged]
    nothing, ins, xins = idle, median(asking), max(0.0, median(missed) - idle)
    return Costs(*(short(seconds / BATCH) for seconds in (nothing, ins, xins)))


@dataclass
class Stream:
    """A mix in batches: what is the same for every rho and repetition."""

    mix: Mix
    rows: frozenset[Row]
    kinds: Sequence[Kind]
    fixed: list[tuple[Timed, Timed]] = field(default_factory=list)
    ours: dict[int, list[Timed]] = field(default_factory=dict)

    @classmethod
    def of(cls, mix: Mix) -> Stream:
        return cls(mix, mix.rows, kinds_of(mix.changes, BATCH, Meter(1, Price(0.0, 0.0))))

    @property
    def missed(self) -> list[list[Change]]:
        """Per batch, the changes that need the source."""
        told = zip(self.mix.changes, self.kinds, strict=True)
        asking = [change if kind is Kind.MISS else None for change, kind in told]
        return [
            [change for change in asking[start : start + BATCH] if change is not None]
            for start in range(0, len(asking), BATCH)
        ]

    def cell(self, rho: int, costs: Costs) -> Cell:
        times = [
            (traditional.at(rho), ours.at(rho), free.at(rho))
            for (traditional, free), ours in zip(self.fixed, self.ours[rho], strict=True)
        ]
        (traditional, _), ours = self.fixed[-1], self.ours[rho][-1]
        p_vdu = self.share(Kind.UNAFFECTED)
        p_vsm = self.share(Kind.UNAFFECTED, Kind.SELF_MAINTAINED)
        question = rho * traditional.charged / len(self.mix.changes)
        return Cell(
            mix=self.mix,
            rho=rho,
            p_vdu=p_vdu,
            p_vsm=p_vsm,
            speed_up=Spread.of([short(t / o) for t, o, _ in times]),
            limit=Spread.of([short(t / f) for t, _, f in times]),
            of_limit=Spread.of([short(f / o) for _, o, f in times]),
            model=short(costs.speed_up(p_vdu, p_vsm, question)),
            traditional=short(times[-1][0]),
            ours=short(times[-1][1]),
            asked=traditional.keys,
            ours_asked=ours.keys,
            lookups=ours.sentence,
        )

    def share(self, *kinds: Kind) -> float:
        return sum(kind in kinds for kind in self.kinds) / len(self.kinds)


class Bench:
    """A Spark session, and the tables that every plan asks."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._runs = 0
        tables = {
            "r": spark.createDataFrame([], "u int, x int, y int"),
            "s": spark.createDataFrame(sorted(S), "x int, z int").coalesce(1),
        }
        paths = {name: str(folder / name) for name in tables}
        for name, frame in tables.items():
            frame.write.format("delta").save(paths[name])
        # Nothing but `s` is ever asked for, and `s` does not change.
        versions = {number: dict.fromkeys(tables, 0) for number in range(100)}
        self._source = DeltaSource.of_tables(spark, paths, versions)
        self.price = Price(0.0, 0.0)

    def set_price(self) -> None:
        """Measure what a question takes, for one value of x and for all."""
        query = PROGRAM.view("v").query
        x, z = query.atoms[1].terms
        assert isinstance(x, Var)
        assert isinstance(z, Var)
        join = Join(query, (1,), (), bound=(x,), wanted=(z,))

        def taken(count: int) -> float:
            samples = []
            for _ in range(5):
                keys = self._spark.range(1, count + 1).selectExpr("CAST(id AS int) AS b0")
                started = time.monotonic()
                self._source.answer(join, keys, 0)
                samples.append(time.monotonic() - started)
            return median(samples)

        first = taken(1)
        self.price = Price(first, max(0.0, (taken(VALUES) - first) / (VALUES - 1)))

    def run(
        self, stream: Stream, parts: Sequence[Sequence[Change]], rho: int, lookups: Lookups
    ) -> Timed:
        """One plan, from an empty view to the last batch."""
        self._runs += 1
        source = Charged(self._source, rho, self.price)
        path = str(self._folder / f"warehouse-{self._runs}")
        warehouse = Warehouse.open(self._spark, path, PROGRAM, source=source, lookups=lookups)
        warehouse.load(0)  # of `r` there is nothing yet
        frames = [self._frame(part) for part in parts]
        notes: Mapping[str, None] = {}
        done: list[Batch] = []
        for number, frame in enumerate(frames, 1):
            before, started = source.charged, time.monotonic()
            report = warehouse.apply({"r": frame}, number)
            seconds = time.monotonic() - started
            done.append(Batch(seconds, source.charged - before, bool(report.of("v").inserted)))
            notes = dict.fromkeys(report.of("v").notes)
        found = {tuple(row) for row in warehouse.view("v").read().collect()}
        if found != stream.rows or warehouse.view("v").read().count() != len(stream.rows):
            raise WrongRows(f"mix {stream.mix}, rho {rho}, lookups {lookups}")
        return Timed(tuple(done), source.keys, "; ".join(notes) or "lookups on for r")

    def _frame(self, part: Sequence[Change]) -> DataFrame:
        rows = [(*row, action) for _, action, row in part]
        return self._spark.createDataFrame(rows, SCHEMA).coalesce(1).localCheckpoint()


def measure(spark: SparkSession, sizes: Sizes, track: Callable[[list[int]], Iterator[int]]) -> Run:
    """Measure everything; the plans of a mix one after the other, in another order each time.

    Args:
        track: goes through the steps, and shows how far it is.
    """
    streams = [Stream.of(mix) for mix in MIXES]
    with TemporaryDirectory(prefix="selfmaint-bench-") as folder:
        bench = Bench(spark, Path(folder))
        for lookups in (Lookups.NEVER, Lookups.ALWAYS):  # Spark gets warm
            bench.run(streams[3], list(batches(streams[3].mix.changes, BATCH)), 1, lookups)
        bench.set_price()
        for step in track(list(range(sizes.repetitions * len(streams)))):
            repetition, number = divmod(step, len(streams))
            _measure(bench, streams[number], sizes.rhos, repetition)
    costs = costs_of(
        (traditional for stream in streams for traditional, _ in stream.fixed),
        (run for stream in streams for runs in stream.ours.values() for run in runs),
    )
    cells = tuple(stream.cell(rho, costs) for stream in streams for rho in sizes.rhos)
    return Run(cells, costs, sizes.repetitions, machine())


def _measure(bench: Bench, stream: Stream, rhos: Sequence[int], turn: int) -> None:
    whole = list(batches(stream.mix.changes, BATCH))
    fixed: dict[str, Timed] = {}

    def traditional() -> None:
        fixed["traditional"] = bench.run(stream, whole, 1, Lookups.NEVER)

    def free() -> None:
        fixed["free"] = bench.run(stream, stream.missed, 1, Lookups.NEVER)

    def ours(rho: int) -> None:
        found = bench.run(stream, whole, rho, Lookups.ADAPT)
        stream.ours.setdefault(rho, []).append(found)

    plans = [traditional, free, *(lambda rho=rho: ours(rho) for rho in rhos)]
    first = turn * 3 % len(plans)
    for plan in (*plans[first:], *plans[:first]):
        plan()
    stream.fixed.append((fixed["traditional"], fixed["free"]))
