"""The figures in `bench/README.md`, filled from committed results, each benchmark in its block."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import fill
from typing import Final

BENCH: Final = Path(__file__).resolve().parent
README: Final = BENCH / "README.md"
RESULTS: Final = BENCH / "results"

WIDTH: Final = 104


def filled(name: str, block: str) -> str:
    """The README with these words in the block of the benchmark `name`."""
    text = README.read_text(encoding="utf-8")
    place = re.compile(rf"(<!-- {name}: filled .*?-->\n).*?(<!-- end -->)", re.DOTALL)
    assert len(place.findall(text)) == 1, f"the README has one block of {name} to fill"
    return place.sub(lambda found: f"{found[1]}\n{block}\n\n{found[2]}", text)


def paragraph(text: str) -> str:
    return fill(" ".join(text.split()), WIDTH)
