"""Colours, marks and measures that all parts of a picture share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cq.query import Query
from cq.syntax import Const, Term
from selfmaint.drawing.svg import MONO, text
from selfmaint.grade import Maintainable

INK: Final = "#1e293b"
FAINT: Final = "#64748b"
RULE: Final = "#cbd5e1"
PAPER: Final = "#ffffff"
HIDDEN: Final = "#c2410c"
COMPARED: Final = "#7c3aed"
CONSTANT: Final = "#0f766e"

EXPOSED_MARK: Final = "●"
HIDDEN_MARK: Final = "○"
CONSTANT_MARK: Final = "="
COMPARISON_MARK: Final = "◇"


@dataclass(frozen=True, slots=True)
class Paint:
    """A background and the ink that is legible on it."""

    fill: str
    ink: str = INK


PLAIN: Final = Paint("#e2e8f0")
UPDATED: Final = Paint("#1e3a8a", PAPER)
GROUPS: Final = tuple(
    map(
        Paint,
        (
            "#bfdbfe",
            "#fde68a",
            "#bbf7d0",
            "#fbcfe8",
            "#ddd6fe",
            "#fed7aa",
            "#a5f3fc",
            "#d9f99d",
        ),
    )
)
GRADES: Final[Mapping[Maintainable, Paint]] = {
    Maintainable.ALWAYS: Paint("#bbf7d0", "#14532d"),
    Maintainable.SOMETIMES: Paint("#fef08a", "#713f12"),
    Maintainable.NEVER: Paint("#fecaca", "#7f1d1d"),
    Maintainable.UNUSED: Paint("#e2e8f0", "#334155"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of SVG that reaches from 0, 0 to `width`, `height`."""

    svg: str
    width: float
    height: float
    is_centred: bool = False


def mark(query: Query, term: Term) -> str:
    """The sign before a term: exposed, hidden or constant."""
    if isinstance(term, Const):
        return CONSTANT_MARK
    return EXPOSED_MARK if query.is_exposed(term) else HIDDEN_MARK


def term_text(
    query: Query, term: Term, content: str, x: float, y: float, anchor: str = "start"
) -> str:
    """A term in the manner of its kind: exposed ones are bold, hidden ones grey and italic."""
    is_hidden = not query.is_exposed(term)
    return text(
        x,
        y,
        content,
        font_family=MONO,
        font_size=12,
        font_weight=None if is_hidden else 600,
        font_style="italic" if is_hidden else None,
        fill=CONSTANT if isinstance(term, Const) else FAINT if is_hidden else INK,
        text_anchor=anchor,
    )
