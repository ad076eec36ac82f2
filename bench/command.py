"""What the commands of all benchmarks take."""

from __future__ import annotations

import argparse
from pathlib import Path


def parser(module: str, description: str, out: str) -> argparse.ArgumentParser:
    """The arguments that every benchmark has.

    Args:
        out: the JSON that it leaves, unless told otherwise.
    """
    found = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    found.add_argument("--out", type=Path, default=Path(out))
    found.add_argument("--quick", action="store_true", help="little of it: does it run at all?")
    found.add_argument("--keep", action="store_true", help="also make it the committed result")
    found.add_argument("--fill", action="store_true", help="fill the README from that; no run")
    return found
