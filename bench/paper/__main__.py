"""The command."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.progress import track

from bench.command import parser
from bench.files import write
from bench.paper import figures, readme, tables
from bench.paper.measure import FULL, QUICK, measure
from bench.paper.results import Run
from bench.readme import fill


def main(arguments: Sequence[str] | None = None) -> int:
    taken = parser("bench.paper", "Huyn's experiment", "build/bench-paper.json")
    options = taken.parse_args(arguments)
    if options.fill:
        run = Run.from_json(readme.RESULT.read_text(encoding="utf-8"))
        fill("paper", readme.block(run), figures.png(run))
        return 0

    console = Console(stderr=True)

    def progress(steps: list[int]) -> Iterator[int]:
        yield from track(steps, "Huyn's experiment", console=console)

    run = measure(QUICK if options.quick else FULL, progress)
    print(tables.text(run))
    image = figures.png(run)
    page = figures.html(run, image)
    said = write(options.out, json=run.to_json(), csv=run.to_csv(), png=image, html=page)
    if options.keep:
        readme.RESULT.write_text(run.to_json(), encoding="utf-8")
    console.print(said)
    return 0  # a missed target is a result; a wrong row is an error


if __name__ == "__main__":
    sys.exit(main())
