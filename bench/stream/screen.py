"""A run on the terminal: a line for each batch, and below them what is going on."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed

if TYPE_CHECKING:
    from rich.console import Console

    from bench.stream.results import Line


class Terminal:
    """Shows a run; `with terminal.running(): ...` around it.

    Args:
        batches: how many there will be.
    Attributes:
        is_stopping: somebody pressed Ctrl-C: the batch at hand is the last one.
    """

    def __init__(self, console: Console, batches: int) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            Elapsed(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=batches)
        self.is_stopping = False

    @contextmanager
    def running(self) -> Iterator[None]:
        with self._progress:
            yield

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Ctrl-C ends the run after the batch at hand, a second one at once.

        To be entered when Spark runs: its own way with Ctrl-C would cancel the jobs of the batch.
        """

        def stop(number: int, frame: object) -> None:
            self.is_stopping = True
            self._console.print("stopping after this batch (Ctrl-C again: at once)")
            signal.signal(signal.SIGINT, signal.default_int_handler)

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def stage(self, words: str) -> None:
        self._progress.update(self._task, description=words)

    def line(self, batch: int, lines: Sequence[Line], rows: int) -> None:
        self._progress.advance(self._task)
        parts = (f"{line.plan} {line.keys:,} keys {line.seconds:.1f} s" for line in lines)
        text = f"batch {batch}: {rows:,} rows are as recomputed; {'; '.join(parts)}"
        self._console.print(text, soft_wrap=True, markup=False, highlight=False)
