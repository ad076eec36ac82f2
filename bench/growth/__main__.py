"""The command."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.progress import track

from bench.command import parser
from bench.files import write
from bench.growth import figures
from bench.growth.experiment import AXES, QUICK
from bench.growth.measure import ROUNDS, SEED, Order, measure
from bench.growth.results import BEFORE, RESULT, Run
from bench.readme import fill
from bench.session import session
from bench.tables import aligned


def main(arguments: Sequence[str] | None = None) -> int:
    taken = parser("bench.growth", "How the cost of a batch grows", "build/bench-growth.json")
    taken.add_argument("--only", choices=list(AXES), help="one axis")
    taken.add_argument("--rounds", type=int, help=f"that count: {ROUNDS}; with --quick 1")
    taken.add_argument("--seed", type=int, default=SEED, help="of the orders of the rounds")
    options = taken.parse_args(arguments)
    if options.fill:
        run, before = Run.read(RESULT), Run.read(BEFORE)
        fill("growth", run.block(before), figures.png(run, before))
        return 0

    console = Console(stderr=True)

    def progress(order: Order, what: str) -> Iterator[int]:
        yield from track(order, what, console=console)

    chosen = QUICK if options.quick else AXES
    axes = [options.only] if options.only else list(chosen)
    points = [point for axis in axes for point in chosen[axis]]
    rounds = options.rounds or (1 if options.quick else ROUNDS)
    spark = session("selfmaint growth", is_short=options.quick)
    run = measure(spark, points, rounds, options.seed, progress)
    for axis in run.axes:
        print(f"{aligned(run.table(axis))}\n")
    print(aligned(run.slopes()))
    image = figures.png(run, Run.read(BEFORE))
    page = figures.html(run, image)
    said = write(options.out, json=run.to_json(), csv=run.to_csv(), png=image, html=page)
    if options.keep:
        RESULT.write_text(run.to_json(), encoding="utf-8")
    console.print(said)
    return 0


if __name__ == "__main__":
    sys.exit(main())
