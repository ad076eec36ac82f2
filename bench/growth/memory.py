"""The most memory that this process and its JVM held at once, from Linux's own books."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Peak:
    """Megabytes."""

    driver: int
    jvm: int


class Memory:
    """The peaks from now on."""

    def __init__(self) -> None:
        self._pids = (os.getpid(), *_children("java"))
        for pid in self._pids:
            Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # resets the peak

    def peak(self) -> Peak:
        driver, *jvms = map(_peak, self._pids)
        return Peak(driver, sum(jvms))


def _peak(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    assert found is not None, "Linux says how much memory a process held"
    return int(found[1]) // 1024


def _children(name: str) -> Iterator[int]:
    """Processes of that name that this one started."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text(encoding="ascii")
        except OSError:  # it has ended
            continue
        if f"Name:\t{name}\n" in text and f"PPid:\t{os.getpid()}\n" in text:
            yield int(status.parent.name)
