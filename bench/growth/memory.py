"""The most memory that a batch needs: of this process from Linux's books, of the JVM from its own.

Linux's figure of a JVM would tell nothing about a point: a heap that has grown is not given back,
so that after the largest view all points show what that one took. The pools of the heap can be told
to forget their peaks. What is in use once garbage has been collected is alive, for all points of a
run together and nearly the same at each; from there the peaks grow by what the batch makes. So they
may be compared between points, in whatever order these are visited.

New objects are let grow until their pool is full, garbage or not. So there is a second figure
without that pool: what outlived a collection, which a smaller heap would have to hold as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEGABYTE: Final = 2**20


@dataclass(frozen=True, slots=True)
class Peak:
    """Megabytes.

    Args:
        heap: the peaks of its pools together. They need not fall on one moment, so that it is an
            upper figure.
        kept: the same without the pool of new objects.
    """

    driver: int
    heap: int
    kept: int


class Memory:
    """The peaks from now on; garbage is collected first."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm  # PySpark has no public way to it
        jvm.java.lang.System.gc()
        pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
        self._pools = [pool for pool in pools if pool.getType().name() == "HEAP"]
        for pool in self._pools:
            pool.resetPeakUsage()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak

    def peak(self) -> Peak:
        used = {pool.getName(): pool.getPeakUsage().getUsed() for pool in self._pools}
        kept = sum(peak for name, peak in used.items() if "Eden" not in name)
        return Peak(_resident(), sum(used.values()) // MEGABYTE, kept // MEGABYTE)


def _resident() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    assert found is not None, "Linux says how much memory a process held"
    return int(found[1]) // 1024
