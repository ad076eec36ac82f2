"""`selfmaint check`: every diagnostic of a program, or what its views are."""

from __future__ import annotations

from cq.printer import print_atom
from selfmaint.cli.console import complain, counted, grid, show, styled
from selfmaint.cli.files import read_program
from selfmaint.cli.guard import Debug, File, guarded
from selfmaint.program import Program, View


@guarded
def check(file: File, debug: Debug = False) -> None:
    """Check a program, and say what its views are.

    Shows all errors and warnings; without errors, one line per view.
    """
    program = read_program(file)
    warn(program)
    views = [program.view(name) for name in program.views]
    if views:
        show(grid(*((styled(view.name, "bold"), styled(_summary(view))) for view in views)))
    totals = counted(len(views), "view"), counted(len(program.relations), "relation")
    show(styled(" over ".join(totals)))


def warn(program: Program) -> None:
    """Show the warnings about a program, if there are any."""
    if program.diagnostics.warnings:
        complain(str(program.diagnostics))


def _summary(view: View) -> str:
    query = view.query
    used = ", ".join(sorted({atom.predicate for atom in query.atoms}))
    parts = [f"{counted(len(query.atoms), 'subgoal')} over {used}"]
    parts += [f"without {print_atom(gone.atom)}: {gone.reason}" for gone in query.dropped]
    if not query.is_minimal:
        parts.append("minimization stopped early, a redundant subgoal may be left")
    if query.is_empty:
        parts.append("empty in every database")
    return "; ".join(parts)
