"""The command."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console
from rich.progress import track

from bench.command import parser
from bench.files import write
from bench.paper.on_spark import figures
from bench.paper.on_spark.measure import FULL, QUICK, measure
from bench.paper.on_spark.results import RESULT, Run
from bench.readme import fill
from bench.session import session
from bench.tables import aligned


def main(arguments: Sequence[str] | None = None) -> int:
    taken = parser(
        "bench.paper.on_spark",
        "Huyn's experiment on Spark and Delta",
        "build/bench-paper-spark.json",
    )
    taken.add_argument("--repetitions", type=int, default=FULL.repetitions)
    options = taken.parse_args(arguments)
    if options.fill:
        run = Run.from_json(RESULT.read_text(encoding="utf-8"))
        fill("paper-spark", run.block(), figures.png(run))
        return 0

    console = Console(stderr=True)

    def progress(steps: list[int]) -> Iterator[int]:
        yield from track(steps, "Huyn's experiment on Spark", console=console)

    sizes = QUICK if options.quick else replace(FULL, repetitions=options.repetitions)
    spark = session("selfmaint paper", is_short=options.quick)
    run = measure(spark, sizes, progress)
    print(aligned(run.table()))
    image = figures.png(run)
    page = figures.html(run, image)
    said = write(options.out, json=run.to_json(), csv=run.to_csv(), png=image, html=page)
    if options.keep:
        RESULT.write_text(run.to_json(), encoding="utf-8")
    console.print(said)
    return 0  # a missed target is a result; a wrong row is an error


if __name__ == "__main__":
    sys.exit(main())
