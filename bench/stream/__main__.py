"""The command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from bench.command import parser
from bench.files import write
from bench.readme import fill
from bench.stream import readme, tables
from bench.stream.results import Run, Settings

QUICK = Settings(scale=0.001, batches=1)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.fill:
        run = Run.from_json(readme.RESULT.read_text(encoding="utf-8"))
        from bench.stream import figures

        fill("stream", readme.block(run, readme.beside()), figures.png(run))
        return 0
    console = Console(stderr=True)
    if find_spec("matplotlib") is None:  # better now than after the run
        console.print("the pictures need matplotlib; `make bench-stream` installs it")
        return 1
    found = measured(options, console)
    if found is None:
        return 1
    from bench.stream import figures  # the only part that needs matplotlib

    print(tables.text(found))
    image = figures.png(found)
    page = figures.html(found, image)
    said = write(options.out, json=found.to_json(), csv=found.to_csv(), png=image, html=page)
    if options.keep:
        readme.result_of(found.settings).write_text(found.to_json(), encoding="utf-8")
    console.print(said)
    return 0  # a missed target is a result; a wrong row is an error


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    default = Settings()
    taken = parser("bench.stream", "TPC-H as a living warehouse", "build/bench-stream.json")
    taken.add_argument("--scale", type=float, default=default.scale, help="TPC-H's scale factor")
    taken.add_argument("--batches", type=int, default=default.batches)
    taken.add_argument("--skew", type=float, choices=(0.0, 0.8, 1.2), default=default.skew)
    taken.add_argument("--seed", type=int, default=default.seed)
    taken.add_argument("--cache", type=Path, default=Path("build/tpch"), help="for the data")
    taken.add_argument(
        "--folder", type=Path, help="keep the tables there, and go on where a run in it has ended"
    )
    options = taken.parse_args(arguments)
    if options.scale <= 0 or options.batches < 1:
        taken.error("--scale and --batches must be positive")
    return options


def measured(options: argparse.Namespace, console: Console) -> Run | None:
    """The run; None, with an error on the screen, if it found a wrong row or could not be made."""
    from bench.session import session
    from bench.stream.check import WrongRows
    from bench.stream.data import MissingGenerator
    from bench.stream.measure import measure
    from bench.stream.screen import Terminal
    from bench.stream.sittings import CannotGoOn
    from cq.diagnostics import SelfmaintError

    settings = Settings(options.scale, options.batches, options.skew, options.seed)
    if options.quick:
        settings = replace(QUICK, skew=options.skew, seed=options.seed)
    terminal = Terminal(console, settings.batches)
    try:
        with terminal.running():
            terminal.stage("Starting Spark")
            spark = session("selfmaint stream", is_short=options.quick)
            with terminal.stoppable():
                for found in measure(spark, settings, options.cache, terminal, options.folder):
                    options.out.parent.mkdir(parents=True, exist_ok=True)
                    options.out.write_text(found.to_json(), encoding="utf-8")
    except (WrongRows, MissingGenerator, CannotGoOn, SelfmaintError) as error:
        console.print(f"error: {error}", style="bold red", markup=False)
        return None
    spark.stop()
    return found


if __name__ == "__main__":
    sys.exit(main())
