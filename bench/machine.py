"""What a benchmark ran on."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def machine() -> dict[str, str | int | float]:
    return {
        "revision": revision(),
        "python": platform.python_version(),
        **{name: found for name in ("pyspark", "delta-spark") if (found := _version(name))},
        "system": platform.system(),
        "processor": processor(),
        "cores": os.cpu_count() or 0,
        "memory in GB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "load": round(os.getloadavg()[0], 1),
    }


def revision() -> str:
    """Of the code that is measured; "unknown" outside of a checkout."""
    command = ("git", "describe", "--always", "--dirty", "--exclude=*")
    try:
        found = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def processor() -> str:
    """What it calls itself, or at least its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def facts(found: Mapping[str, str | int | float]) -> str:
    """The same in a line."""
    return ", ".join(f"{key} {value}" for key, value in found.items())
