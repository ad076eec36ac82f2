"""A view as a picture: subgoals as boxes, join variables as wires, groups as colours; SVG.

What one should see at a glance: which values the view shows and which are hidden, what joins with
what, how the subgoals fall into groups when one of them is updated, and how often a change is then
decided from the view alone. Colour never stands alone: whatever it says is written there too.

Law: the text is well-formed XML without scripts or references to other files, and the same view
gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from cq.diagnostics import InputError, did_you_mean, shorten
from cq.printer import print_atom
from cq.query import Query
from selfmaint.drawing.body import full_body
from selfmaint.drawing.rows import central
from selfmaint.drawing.style import INK, PAPER, RULE, Part
from selfmaint.drawing.svg import SANS, element, group, rect, text, title
from selfmaint.drawing.tables import head_strip, legend, matrix, panel, remarks
from selfmaint.program import View

_MARGIN: Final = 28.0
_BETWEEN: Final = 26.0
_LEAST_WIDTH: Final = 480.0
_FLOW_WIDTH: Final = 1000.0
MOST_PANELS: Final = 12


def picture(view: View | Query, updated: str | int | None = None) -> str:
    """The view as SVG text.

    Args:
        view: a view of a program, or its analysed query.
        updated: from where to look: a relation, or a subgoal by its position in the body. The
            groups are then those of a change to it. None: the view itself, and below it one small
            picture per subgoal that may be updated, up to `MOST_PANELS`.
    Raises:
        InputError: the view has no such relation or subgoal.
    """
    query = view.query if isinstance(view, View) else view
    roots = _roots(query, updated)
    is_seen_from_one = updated is not None and bool(roots)
    root = roots[0] if is_seen_from_one else central(query)
    drawing = full_body(query, root, is_updated=is_seen_from_one)
    has_panels = len(query.atoms) > 1 and (updated is None or len(roots) > 1)
    parts = [head_strip(query), drawing]
    if has_panels:
        parts.append(_flow([panel(query, root, i) for i in roots[:MOST_PANELS]], drawing.width))
    said = [*_remarks(query)]
    if has_panels and len(roots) > MOST_PANELS:
        said.append(f"{len(roots) - MOST_PANELS} more subgoals; name one to see its groups")
    if said:
        parts.append(remarks(said))
    tables = [matrix(query), legend(is_grouped=has_panels or is_seen_from_one)]
    parts.append(_flow(tables, max(part.width for part in parts)))
    return _card(query.name, parts)


def _remarks(query: Query) -> Iterator[str]:
    if query.is_empty:
        yield "no database gives this view a row: every change is irrelevant"
    for gone in query.dropped:
        yield f"without {print_atom(gone.atom)}: {gone.reason}"
    if not query.is_minimal:
        yield "minimization stopped early; a redundant subgoal may be left"


def _roots(query: Query, updated: str | int | None) -> Sequence[int]:
    """The subgoals to look from."""
    if updated is None:
        return range(len(query.atoms))
    if isinstance(updated, int):
        if 0 <= updated < len(query.atoms):
            return (updated,)
        count = len(query.atoms)
        raise InputError("LP211", f"view `{query.name}` has {count} subgoals, but no {updated}")
    if updated not in query.by_name:
        raise InputError(
            "LP205",
            f"view `{query.name}` does not use a relation `{shorten(updated)}`",
            *did_you_mean(updated, query.by_name),
        )
    return query.occurrences(updated)


def _flow(parts: Iterable[Part], width: float) -> Part:
    """Parts beside each other, in as many rows as it takes to stay within `width`."""
    drawn: list[str] = []
    x = y = row_height = widest = 0.0
    for part in parts:
        if x > 0 and x + part.width > max(width, _FLOW_WIDTH):
            x, y, row_height = 0.0, y + row_height + _BETWEEN, 0.0
        drawn.append(group(part.svg, x=x, y=y))
        widest = max(widest, x + part.width)
        x += part.width + _BETWEEN
        row_height = max(row_height, part.height)
    return Part("".join(drawn), widest, y + row_height)


def _card(name: str, parts: Sequence[Part]) -> str:
    """Parts below each other on a white card with a title."""
    width = max(_LEAST_WIDTH, 2 * _MARGIN + max(part.width for part in parts))
    drawn: list[str] = []
    y = _MARGIN + 40.0
    for part in parts:
        x = (width - part.width) / 2 if part.is_centred else _MARGIN
        drawn.append(group(part.svg, x=x, y=y))
        y += part.height + _BETWEEN
    height = y - _BETWEEN + _MARGIN
    heading = text(
        _MARGIN, _MARGIN + 18, f"view {shorten(name)}", font_size=20, font_weight=600, fill=INK
    )
    return element(
        "svg",
        title(f"view {shorten(name)}"),
        rect(0.5, 0.5, width - 1, height - 1, rx=12, fill=PAPER, stroke=RULE),
        heading,
        *drawn,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        font_family=SANS,
        role="img",
    )
