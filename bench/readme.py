"""The figures in `bench/README.md`, filled from committed results, each benchmark in its block.

Beside each result is its picture, drawn from it by the same command and stamped with its digest, so
that a test sees when it is no longer of that result.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from textwrap import fill as wrapped
from typing import Final

from bench.page import stamped

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
    return wrapped(" ".join(text.split()), WIDTH)


def fill(name: str, block: str, image: bytes) -> None:
    """Write the block of a benchmark, and the picture of its committed result."""
    README.write_text(filled(name, block), encoding="utf-8")
    (RESULTS / f"{name}.png").write_bytes(stamped(image, digest(name)))


def digest(name: str) -> str:
    """By which a committed result is known."""
    return sha256((RESULTS / f"{name}.json").read_bytes()).hexdigest()


def shown(name: str, words: str) -> str:
    """The picture of a committed result; `words` for those who cannot see it."""
    return f"![{words}](results/{name}.png)"


def folded(title: str, words: str) -> str:
    """What a reader opens who wants to know it exactly."""
    return f"<details>\n<summary>{title}</summary>\n\n{words}\n\n</details>"
