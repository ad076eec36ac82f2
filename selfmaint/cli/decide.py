"""`selfmaint decide`: one change, decided from the rows of a view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import typer
from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from cq.printer import print_atom
from cq.types import Row
from lookups.plan import Action, Plan
from lookups.verdict import Because, Kind, Verdict
from selfmaint.cli.change import read_change
from selfmaint.cli.console import counted, grid, output_width, show, show_json, styled
from selfmaint.cli.files import read_program, read_text
from selfmaint.cli.guard import STRICT, AsJson, Debug, File, guarded
from selfmaint.cli.reasons import Asked, Found, Words
from selfmaint.cli.rows import read_rows
from selfmaint.cli.values import json_value, short_value, sort_key
from selfmaint.program import Program

MOST_ROWS: Final = 20
"""How many changed rows are shown; JSON has them all."""

_UPDATE_NOTE: Final = (
    "An UPDATE that keeps the key is another matter: a deletion and an insertion in one batch."
)
_MARGIN: Final = len("removes  +  ")

VERDICT_STYLES: Final = {
    Kind.IRRELEVANT: "bold",
    Kind.UNAFFECTED: "bold green",
    Kind.SELF_MAINTAINED: "bold green",
    Kind.MISS: "bold yellow",
}
_ANSWER_STYLES: Final = {Found.FOUND: "green", Found.MISSING: "yellow", Found.NOT_NEEDED: "dim"}


@dataclass(frozen=True, slots=True)
class Decided:
    """A change, the verdict on it, and what is needed to explain both.

    Args:
        names: the view's columns.
        size: how many rows the view has.
    """

    plan: Plan
    names: tuple[str, ...]
    size: int
    row: Row
    verdict: Verdict

    @property
    def words(self) -> Words:
        return Words(self.plan, self.names, self.row)


def decide_change(
    program: Program, view_name: str, rows: list[Row], relation: str, action: Action, row: Row
) -> Decided:
    """Decide one change of a relation of the program.

    Args:
        rows: the view's rows, in the representation of its columns.
    """
    view = program.view(view_name)
    plan = view.plan(relation, action)
    return Decided(plan, view.columns, len(set(rows)), row, plan.decide(rows, row))


@guarded
def decide(
    file: File,
    view: Annotated[str, typer.Argument(metavar="VIEW", help="The view whose rows are given.")],
    rows: Annotated[
        str,
        typer.Option(metavar="CSV", help="The view's rows; `-` is stdin."),
    ],
    change: Annotated[
        str, typer.Option(metavar="ROW", help="The row that comes, such as 'orders(7, null)'.")
    ],
    delete: Annotated[bool, typer.Option("--delete", help="The row goes instead.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help=f"Exit with {STRICT} if it is a miss.")
    ] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Decide one change from the rows of a view.

    Shows what was looked up in the view, the verdict and its reason, and the rows that the view
    gains or loses. The change must be effective: an inserted row was absent, a deleted one present.

    The CSV has one view row per line, in the order of the view's head. A first line with the names
    of the columns is skipped: they are the head's variables in lower case. An empty field is NULL,
    "" is the empty string. Columns without a declared type are read by their spelling.
    """
    if file == "-" and rows == "-":
        raise typer.BadParameter("stdin holds the program already", param_hint="--rows")
    program = read_program(file)
    found = program.view(view)
    relation, row = read_change(change, program)
    text, filename = read_text(rows)
    view_rows = read_rows(text, filename, found.query, found.columns)
    action: Action = "delete" if delete else "insert"
    decided = decide_change(program, view, view_rows, relation, action, row)
    if as_json:
        show_json(to_json(decided))
    else:
        show(render(decided, output_width()))
    if strict and decided.verdict.kind is Kind.MISS:
        raise typer.Exit(STRICT)


# Text


def render(decided: Decided, width: int) -> RenderableType:
    """The decision as labelled blocks."""
    plan, verdict = decided.plan, decided.verdict
    asked = list(decided.words.asked(verdict.reason))
    blocks: list[tuple[str, RenderableType]] = [
        ("change", styled(change_text(plan, decided.row))),
        ("view", styled(f"{plan.query.name}, {counted(decided.size, 'row')}")),
        ("", ""),
        ("lookups", _lookups(decided, asked)),
        ("", ""),
        ("verdict", styled(verdict.kind, VERDICT_STYLES[verdict.kind])),
        ("reason", styled("\n".join(decided.words.sentences(verdict.reason)))),
    ]
    if Because.FOREIGN_KEY in (verdict.reason.rule, *(p.rule for p in verdict.reason.parts)):
        blocks.append(("note", styled(_UPDATE_NOTE, "dim")))
    for title, sign, style, rows in (
        ("removes", "-", "red", verdict.deletes),
        ("adds", "+", "green", verdict.inserts),
    ):
        if rows:
            blocks += [("", ""), (title, _rows(decided, rows, sign, style, width - _MARGIN))]
    return grid(*((Text(title, "dim"), body) for title, body in blocks))


def change_text(plan: Plan, row: Row) -> str:
    """`insert orders(7, 1)`."""
    return f"{plan.action} {plan.relation}({', '.join(map(short_value, row))})"


def _lookups(decided: Decided, asked: list[Asked]) -> RenderableType:
    if not asked:
        return styled("none")
    lines: list[tuple[RenderableType, ...]] = []
    several = len(decided.plan.steps) > 1
    for number, item in enumerate(asked):
        if several and (number == 0 or asked[number - 1].subgoal != item.subgoal):
            atom = print_atom(decided.plan.query.atoms[item.subgoal])
            lines.append((styled(f"as {atom}", "dim"),))
        lines.append(
            (
                styled(item.pattern),
                styled(item.about, "dim"),
                styled(item.answer, _ANSWER_STYLES[item.answer]),
            )
        )
    return grid(*lines)


def _rows(
    decided: Decided, rows: frozenset[Row], sign: str, style: str, width: int
) -> RenderableType:
    """The first rows as a table, or one below the other where the terminal is too narrow."""
    listed = sorted(rows, key=sort_key)
    cells = [decided.names, *(tuple(map(short_value, row)) for row in listed[:MOST_ROWS])]
    needed = sum(max(map(cell_len, column)) + 2 for column in zip(*cells, strict=True))
    if needed > width or not decided.names:
        cells = [(f"({', '.join(row)})",) for row in cells]
    header, *body = cells
    lines: list[tuple[RenderableType, ...]] = []
    if decided.names:
        lines.append(("", *(styled(name, "dim") for name in header)))
    lines += [(Text(sign, style), *(styled(cell, style) for cell in row)) for row in body]
    more = len(listed) - MOST_ROWS
    if more <= 0:
        return grid(*lines)
    return grid((grid(*lines),), (styled(f"... and {more} more", "dim"),))


# JSON


def to_json(decided: Decided) -> dict[str, object]:
    """The decision as data."""
    plan, verdict = decided.plan, decided.verdict
    return {
        "view": plan.query.name,
        "columns": list(decided.names),
        "change": {"action": plan.action, "relation": plan.relation, "row": _json_row(decided.row)},
        "lookups": [
            _json_lookup(item, decided.names) for item in decided.words.asked(verdict.reason)
        ],
        "verdict": str(verdict.kind),
        "rule": str(verdict.reason.rule),
        "reason": decided.words.sentences(verdict.reason),
        "inserts": [_json_row(row) for row in sorted(verdict.inserts, key=sort_key)],
        "deletes": [_json_row(row) for row in sorted(verdict.deletes, key=sort_key)],
    }


def _json_lookup(item: Asked, names: Sequence[str]) -> dict[str, object]:
    return {
        "subgoal": item.subgoal + 1,
        "test": str(item.test),
        "about": item.about,
        "columns": [names[column] for column in item.lookup.columns],
        "values": _json_row(item.values),
        "answer": str(item.answer),
    }


def _json_row(row: Row) -> list[object]:
    return [json_value(value) for value in row]
