"""The second part of `make demo`: a shop's views on Spark, maintained batch by batch.

Draws a shop, loads its views from a source that takes a while to answer, applies batches that look
like a shop's life, and compares every view with its recomputation. Writes a picture and a page. It
exits with 1 if a view is wrong.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from cq.diagnostics import SelfmaintError
from examples.shop.run import SPARK, Settings, run
from examples.shop.screen import Terminal
from selfmaint.cli.console import complain
from warehouse.session import session


def main() -> int:
    """Run the shop; returns the exit code."""
    settings, out = arguments()
    if find_spec("matplotlib") is None:  # better now than after the run
        complain("error: the chart needs matplotlib; `make demo` installs it")
        return 1
    terminal = Terminal(sys.stdout, settings.batches)
    try:
        with terminal.running():
            terminal.stage("Starting Spark")
            spark = session(app="selfmaint shop", settings=SPARK)
            result = run(spark, settings, terminal)
    except SelfmaintError as error:
        complain(str(error))
        return 1
    spark.stop()

    from examples.shop.charts import write  # the only part that needs matplotlib

    picture, page = write(result, out)
    terminal.say("")
    terminal.say(result.summary(), "bold")
    terminal.say(f"The chart is in {picture}, and with all figures in {page}.")
    return 0 if result.is_right else 1


def arguments() -> tuple[Settings, Path]:
    parser = argparse.ArgumentParser(
        prog="python -m examples.shop", description="A shop's views, maintained batch by batch."
    )
    default = Settings()
    parser.add_argument(
        "--orders", type=positive, default=default.orders, help="before the first batch"
    )
    parser.add_argument(
        "--changes", type=positive, help="of all batches together; a fifth of the orders if unset"
    )
    parser.add_argument("--batches", type=positive, default=default.batches)
    parser.add_argument(
        "--latency", type=float, default=default.latency, help="seconds a question takes"
    )
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="for the chart")
    given = parser.parse_args()
    if given.batches < 2:
        parser.error("--batches must be at least 2: one, and its replay")
    if given.latency < 0:
        parser.error("--latency must not be negative")
    return Settings(given.orders, given.changes, given.batches, given.latency), given.out


def positive(text: str) -> int:
    """A whole number from 1 on; argparse says so in its own words."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


if __name__ == "__main__":
    sys.exit(main())
