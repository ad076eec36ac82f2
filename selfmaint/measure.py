"""What a batch took: the seconds of its stages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from selfmaint.report import Stage


class StageClock:
    """Seconds per stage; a stage inside another one is not counted twice."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._inner = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started, outer = time.monotonic(), self._inner
        self._inner = 0.0
        try:
            yield
        finally:
            taken = time.monotonic() - started
            self._seconds[name] = self._seconds.get(name, 0.0) + taken - self._inner
            self._inner = outer + taken

    def stages(self) -> tuple[Stage, ...]:
        return tuple(Stage(name, seconds) for name, seconds in self._seconds.items())
