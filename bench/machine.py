"""What a benchmark ran on."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping


def machine() -> dict[str, str | int | float]:
    return {
        "python": platform.python_version(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count() or 0,
        "load": round(os.getloadavg()[0], 1),
    }


def facts(found: Mapping[str, str | int | float]) -> str:
    """The same in a line."""
    return ", ".join(f"{key} {value}" for key, value in found.items())
