"""What all benchmarks share: the pictures of committed results, the README, what it was run on."""

from __future__ import annotations

import re
import zlib

import pytest

from bench.machine import machine
from bench.page import stamped
from bench.readme import README, RESULTS, digest

COMMITTED = ("paper", "paper-spark", "stream", "growth")


@pytest.mark.parametrize("name", COMMITTED)
def test_pictures_are_of_the_committed_results(name: str) -> None:
    image = (RESULTS / f"{name}.png").read_bytes()
    assert digest(name).encode() in image, "fill the README again, with `--fill`"


def test_the_readme_shows_them() -> None:
    text = README.read_text(encoding="utf-8")
    assert re.findall(r"!\[[^]]+\]\((.+?)\)", text) == [f"results/{n}.png" for n in COMMITTED]
    assert text.count("<details>") == text.count("</details>") > 0


def test_a_stamp_leaves_the_picture_as_it_is() -> None:
    end = b"\0\0\0\0IEND" + zlib.crc32(b"IEND").to_bytes(4, "big")
    found = stamped(b"\x89PNG and so on" + end, "words")
    assert found.startswith(b"\x89PNG and so on\0\0\0\x0ctEXtSource\0words")
    assert found.endswith(zlib.crc32(b"tEXtSource\0words").to_bytes(4, "big") + end)


def test_a_run_says_what_it_ran_on() -> None:
    found = machine()
    assert {"revision", "python", "processor", "cores", "memory in GB", "load"} <= set(found)
    assert all(str(value) for value in found.values())
