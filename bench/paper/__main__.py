"""The command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track

from bench.files import write
from bench.paper import figures, readme, tables
from bench.paper.measure import FULL, QUICK, measure
from bench.paper.results import Run, targets


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.paper", description="Huyn's experiment")
    parser.add_argument("--out", type=Path, default=Path("build/bench-paper.json"))
    parser.add_argument("--quick", action="store_true", help="little of it: does it run at all?")
    parser.add_argument("--keep", action="store_true", help="also make it the committed result")
    parser.add_argument("--fill", action="store_true", help="fill the README from that; no run")
    options = parser.parse_args(arguments)
    if options.fill:
        run = Run.from_json(readme.RESULT.read_text(encoding="utf-8"))
        readme.README.write_text(readme.filled(run), encoding="utf-8")
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
    return 0 if options.quick or all(target.is_met for target in targets(run)) else 1


if __name__ == "__main__":
    sys.exit(main())
