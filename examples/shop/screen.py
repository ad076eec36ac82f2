"""A run on the terminal: a line for each batch, and below them what is going on.

Where the output is no terminal there are the same lines, and nothing that moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed
from rich.text import Text

from selfmaint.cli.console import styled

if TYPE_CHECKING:
    from examples.shop.run import Line
    from selfmaint.verifying import Comparison

TITLES: Final = (
    "",
    "what happened",
    "changes",
    "here",
    "asked",
    "questions",
    "source s",
    "saved s",
)
WIDTHS: Final = (2, 31, 7, 8, 6, 9, 8, 7)
WORDS: Final = 1
"""The column that is set flush left."""


class Terminal:
    """Shows a run on a stream; `with terminal.running(): ...` around it.

    Args:
        batches: how many there will be.
    """

    def __init__(self, stream: TextIO, batches: int) -> None:
        self._console = Console(file=stream, markup=False, emoji=False, highlight=False)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            Elapsed(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("", total=batches)

    @contextmanager
    def running(self) -> Iterator[None]:
        with self._progress:
            yield

    def say(self, text: str, style: str = "") -> None:
        """A line, or a paragraph folded to the terminal's width."""
        self._console.print(styled(text, style), soft_wrap=not self._console.is_terminal)

    def stage(self, words: str) -> None:
        self._doing(words)
        if not self._console.is_terminal:
            self.say(f"{words} ...")

    def views(self, count: int) -> None:
        self.say("")
        self.say(f"Each change is decided for each of the {count} views: here, or by asking.")
        self._row(TITLES, "bold")

    def batch(self, number: int, words: str) -> None:
        self._doing(f"Batch {number}: {words}")

    def line(self, line: Line) -> None:
        self._progress.advance(self._task)
        style = "dim" if line.is_replay else "yellow" if line.asked else ""
        self._row(cells(line), style)

    def check(self, check: Comparison) -> None:
        if check.is_right:
            self.say(f"`{check.view}`: all {check.rows:,} rows are as recomputed.", "green")
            return
        self.say(
            f"`{check.view}` is WRONG: of {check.rows:,} rows {check.surplus:,} are too many, "
            f"and {check.missing:,} are missing.",
            "bold red",
        )
        for row in check.sample.collect():  # a few
            self.say(f"  {row}")

    def _doing(self, words: str) -> None:
        self._progress.update(self._task, description=words)

    def _row(self, row: tuple[str, ...], style: str) -> None:
        padded = (
            cell.ljust(width) if column == WORDS else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, WIDTHS, strict=True))
        )
        text: Text = styled(" ".join(padded).rstrip(), style)
        self._console.print(text, soft_wrap=True)


def cells(line: Line) -> tuple[str, ...]:
    """The cells of a batch, for the columns `TITLES`."""
    if line.is_replay:
        return (str(line.number), line.words, "known", *[""] * 5)
    return (
        str(line.number),
        line.words,
        f"{line.changes:,}",
        f"{line.here:,}",
        f"{line.asked:,}",
        str(line.cost.questions),
        f"{line.cost.seconds:.2f}",
        f"{line.saved:.2f}",
    )
