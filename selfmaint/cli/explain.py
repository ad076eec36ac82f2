"""`selfmaint explain`: which changes a view decides alone, and what would lift the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cq.diagnostics import InputError, shorten
from selfmaint.cli.check import warn
from selfmaint.cli.console import show_block, show_json
from selfmaint.cli.files import choose_views, read_program
from selfmaint.cli.guard import STRICT, AsJson, Debug, File, ViewName, guarded
from selfmaint.explain import Cell
from selfmaint.explain import explain as explain_view
from selfmaint.grade import Maintainable


@guarded
def explain(
    file: File,
    view: ViewName = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Also draw the view into this file.", show_default=False),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help=f"Exit with {STRICT} if some change is `never` decided."),
    ] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Show which changes a view decides alone.

    For each relation and kind of change: always, sometimes or never, the lookups it costs, and
    what would lift it.
    """
    program = read_program(file)
    names = choose_views(program, view)
    if svg is not None and len(names) != 1:
        raise typer.BadParameter("name one view to draw", param_hint="VIEW")
    warn(program)
    found = [explain_view(program, name) for name in names]
    if svg is not None:
        from selfmaint.picture import picture  # loaded only to draw

        write_text(svg, picture(program.view(names[0])))
    if as_json:
        show_json({"explanations": [json.loads(item.to_json()) for item in found]})
    else:
        show_block("\n\n\n".join(item.to_text() for item in found))
    if strict and any(is_never(cell) for item in found for cell in item.cells):
        raise typer.Exit(STRICT)


def is_never(cell: Cell) -> bool:
    """Whether every change of the cell misses, on its own or as half of an UPDATE."""
    return Maintainable.NEVER in (cell.maintainable, cell.in_update)


def write_text(path: Path, text: str) -> None:
    """Write a file, and the folders it lies in.

    Raises:
        InputError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError("LP229", f"cannot write `{shorten(str(path), 200)}`: {reason}") from None
