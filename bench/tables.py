"""Tables of text: for the terminal, the page and the README, from the same cells."""

from __future__ import annotations

from collections.abc import Sequence
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
