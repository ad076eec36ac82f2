"""An explanation as text: a table, then one paragraph per cell; at most `WIDTH` columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from cq.diagnostics import shorten
from selfmaint.grade import Maintainable

if TYPE_CHECKING:
    from selfmaint.explain import Cell, Explanation
    from selfmaint.proposals import Proposal

WIDTH: Final = 100
_LABEL: Final = 11
_HEADINGS: Final = ("relation", "change", "on its own", "in an update", "lookups")
_LEGEND: Final = (
    "How often a change is decided from the view alone; in an update: as half of an UPDATE that "
    "keeps the row's key. Not counted: an UPDATE that keeps its join values too, and of whose old "
    "row the view shows nothing, never asks."
)


def explanation_text(found: Explanation) -> str:
    """The whole explanation."""
    lines = [f"view {shorten(found.view)}", *_wrapped(found.rule, "  ", "      ")]
    for atom, reason in found.dropped:
        lines += _wrapped(f"without {atom}: {reason}", "  ", "      ")
    if not found.is_minimal:
        lines.append("  minimization stopped early; a redundant subgoal may be left")
    if found.is_empty:
        lines.append("  no database gives this view a row: every change is irrelevant")
    lines += ["", *_table(found.cells), "", *_wrapped(_LEGEND, "  ", "  ")]
    for cell in found.cells:
        lines += ["", *_paragraph(cell)]
    if not found.is_complete:
        lines += ["", "The search for proposals stopped early; there may be more."]
    return "\n".join(lines)


def _table(cells: Iterable[Cell]) -> Iterator[str]:
    rows = [
        (
            shorten(cell.relation, 40),
            cell.action,
            cell.maintainable,
            cell.in_update,
            str(len(cell.lookups)),
        )
        for cell in cells
    ]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    for row in (_HEADINGS, tuple("-" * width for width in widths), *rows):
        *texts, number = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        yield "  " + "  ".join([*texts, number.strip().rjust(widths[-1])])


def _paragraph(cell: Cell) -> Iterator[str]:
    verb = "insert into" if cell.action == "insert" else "delete from"
    yield f"{verb} {shorten(cell.relation)}: {_grade(cell.maintainable, cell.in_update)}"
    if cell.maintainable is Maintainable.UNUSED:
        yield "  the view does not depend on it: every change is irrelevant"
        return
    reasons = (f"{rule}: {why}" for rule, why in zip(cell.rules, cell.reasons, strict=True))
    yield from _entries("rule", dict.fromkeys(reasons))
    yield from _entries("note", cell.notes)
    yield from _entries("looks up", cell.lookups or ("nothing",))
    if (cell.maintainable, cell.in_update) == (Maintainable.ALWAYS, Maintainable.ALWAYS):
        return
    yield from _entries("to lift it", (line for p in cell.proposals for line in _proposal(p)))
    if not cell.proposals:
        yield from _entries("to lift it", ("nothing found",))


def _proposal(proposal: Proposal) -> Iterator[str]:
    yield f"{proposal.text}: {_grade(proposal.grade.alone, proposal.grade.in_update)}"
    yield from (f"    {line}" for line in proposal.fragment)
    for (relation, action), found in proposal.lowers:
        yield f"    but {relation} {action} falls to {_grade(found.alone, found.in_update)}"


def _grade(alone: Maintainable, in_update: Maintainable) -> str:
    return alone if alone == in_update else f"{alone} (in an update: {in_update})"


def _entries(label: str, texts: Iterable[str]) -> Iterator[str]:
    """Texts below each other, with the label before the first."""
    margin = " " * (2 + _LABEL)
    for number, text in enumerate(texts):
        start = f"  {label.ljust(_LABEL)}" if number == 0 else margin
        indent = " " * (len(text) - len(text.lstrip()))
        yield from _wrapped(text.strip(), start + indent, f"{margin}{indent}    ")


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent=first, subsequent_indent=others)
