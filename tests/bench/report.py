"""A run as JSON, as a table and against an earlier run."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from tests.bench.timing import Line

VERSION = 1
SLOWER = 1.3
"""A line that takes this many times what it took before is flagged."""


@dataclass(frozen=True, slots=True)
class Run:
    """The lines of one run, and what they were measured on."""

    lines: tuple[Line, ...]
    versions: Mapping[str, str]
    machine: Mapping[str, int | float | str]
    quick: bool = False

    @classmethod
    def of(cls, lines: Iterable[Line], *, quick: bool) -> Run:
        versions = {name: version(name) for name in ("lark", "sympy")}
        versions["python"] = platform.python_version()
        machine: dict[str, int | float | str] = {
            "cores": os.cpu_count() or 0,
            "architecture": platform.machine(),
            "system": platform.system(),
            "load": round(os.getloadavg()[0], 2),
        }
        return cls(tuple(lines), dict(sorted(versions.items())), machine, quick)

    def to_json(self) -> str:
        return json.dumps({"version": VERSION, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Run:
        data = json.loads(text)
        if data.pop("version") != VERSION:
            raise ValueError(f"not a benchmark of version {VERSION}")
        lines = tuple(Line(**entry) for entry in data.pop("lines"))
        return cls(lines, **data)

    @classmethod
    def read(cls, path: Path) -> Run:
        return cls.from_json(path.read_text(encoding="utf-8"))


def amount(value: float) -> str:
    """Three digits that matter, and no exponent."""
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(run: Run, before: Run | None = None) -> str:
    """The run for a terminal.

    `median` is by the wall clock and `cpu` by processor time; `of target` is the share of the
    allowed time that is used; `noise` the distance of the quartiles as a share of the median; `was`
    how many times the earlier run's processor time it takes.
    """
    head = ["line", "median", "cpu", "unit", "target", "of target", "noise", ""]
    rows = [[*_cells(line)] for line in run.lines]
    if before is not None:
        head.insert(-1, "was")
        earlier = {line.name: line for line in before.lines}
        for line, row in zip(run.lines, rows, strict=True):
            row[-1:-1], flag = _change(line, earlier.get(line.name))
            row[-1] = " ".join(filter(None, (row[-1], flag)))
        gone = sorted(earlier.keys() - {line.name for line in run.lines})
        rows += [[name, *[""] * (len(head) - 2), "no longer measured"] for name in gone]
    facts = ", ".join(f"{k} {v}" for k, v in {**run.versions, **run.machine}.items())
    return "\n".join([*_aligned(head, rows), "", facts])


def _cells(line: Line) -> list[str]:
    load = line.load
    return [
        line.name,
        amount(line.median),
        amount(line.cpu),
        line.unit,
        "" if line.target is None else amount(line.target),
        "" if load is None else f"{load:.2f}",
        f"{line.spread:.0%}",
        _judgement(line),
    ]


def _judgement(line: Line) -> str:
    if line.load is None or line.cpu_load is None:
        return ""
    if line.load <= 1:
        return "PASS"
    return "OVER TARGET" if line.cpu_load > 1 else "busy machine, cpu is on target"


def _change(line: Line, before: Line | None) -> tuple[list[str], str]:
    if before is None:
        return [""], "new"
    ratio = line.times_slower(before)
    return [f"x{ratio:.2f}"], "SLOWER" if ratio > SLOWER else ""


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    ruler = ["-" * width for width in widths]
    text_columns = {0, 3, len(head) - 1}
    return [
        "  ".join(
            cell.ljust(width) if i in text_columns else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, ruler, *rows)
    ]
