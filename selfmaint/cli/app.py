"""The command line: one command per module of this package."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, Final

import typer

from selfmaint import __version__
from selfmaint.cli.check import check
from selfmaint.cli.decide import decide
from selfmaint.cli.explain import explain
from selfmaint.cli.plan import plan

EXAMPLES: Final = (
    (check, "check retail.dl"),
    (plan, "plan retail.dl sales --relation orders --on insert"),
    (explain, "explain retail.dl sales --svg sales.svg"),
    (decide, "decide retail.dl sales --rows sales.csv --change 'orders(7, 1, 2024-03-01)'"),
)
_START: Final = """\b
Start with:
  selfmaint check views.dl      is the program right, and what are its views?
  selfmaint explain views.dl    how often will the views need their sources?
"""

app = typer.Typer(
    name="selfmaint",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=_START,
)
for command, example in EXAMPLES:
    app.command(epilog=f"\b\nExample:\n  selfmaint {example}")(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"selfmaint {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Materialized joins that maintain themselves: which changes can a view decide alone?"""


def main() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for an encoding that lacks a letter
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left. What is still buffered goes nowhere, quietly.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
