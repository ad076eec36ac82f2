"""Tables of text: for the terminal, the page and the README, from the same cells; and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TypeAlias

Table: TypeAlias = tuple[Sequence[str], list[list[str]]]
"""The titles of the columns, and the rows."""


def aligned(table: Table) -> str:
    """For a terminal."""
    head, rows = table
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in (head, *rows)
    )
    return "\n".join(line.rstrip() for line in lines)


def markdown(table: Table) -> str:
    head, rows = table
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def html(table: Table) -> str:
    head, rows = table
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    lines = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>\n<tr>{titles}</tr>\n{lines}\n</table>"


def csv_of(records: Iterable[Mapping[str, object]]) -> str:
    """A line per record, with all digits; what is nested gets a column for each of its figures.

    Example:
        >>> spread = {"median": 2.5, "low": 1.0, "high": 4.0}
        >>> print(csv_of([{"at": {"rows": 10}, "seconds": spread, "jobs": 3}]).strip())
        rows,seconds,seconds_low,seconds_high,jobs
        10,2.5,1.0,4.0,3
    """
    rows = [dict(_flat(record)) for record in records]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(record: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    for name, value in record.items():
        if not isinstance(value, Mapping):
            yield name, value
        elif "median" in value:
            yield name, value["median"]
            yield from ((f"{name}_{side}", value[side]) for side in ("low", "high"))
        else:
            yield from value.items()
