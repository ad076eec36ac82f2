"""The body of a view: a box per subgoal with its terms, a wire per join variable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cq.printer import print_atom, print_comparison, print_term
from cq.query import Query
from cq.syntax import Term
from selfmaint.drawing.layout import Box, Style, Wire, lay_out
from selfmaint.drawing.rows import Link, arrange, groups_of, home_of
from selfmaint.drawing.style import (
    COMPARED,
    COMPARISON_MARK,
    EXPOSED_MARK,
    FAINT,
    GROUPS,
    HIDDEN,
    HIDDEN_MARK,
    INK,
    PAPER,
    PLAIN,
    UPDATED,
    Paint,
    Part,
    mark,
    term_text,
)
from selfmaint.drawing.svg import (
    MONO,
    cells,
    element,
    fit,
    group,
    path,
    rect,
    text,
    title,
    width_of,
)

TERM: Final = 16
"""The longest term, column or label that is written out, in columns of a monospaced font."""

_NAME: Final = 20
_SMALL_NAME: Final = 14
_COMPARISON: Final = 28
_MOST_TERMS: Final = 12
_MOST_TESTS: Final = 6
_LINE: Final = 18.0
_HEADER: Final = 26.0
_PORT: Final = 14.0


def full_body(query: Query, root: int, *, is_updated: bool) -> Part:
    """Boxes with all their terms; coloured by group if the root is updated."""
    content = [_Content.of(query, i, root) for i in range(len(query.atoms))]
    rows = arrange(query, root)
    wires = [sum(i in segment.subgoals for segment in rows.segments) for i in range(len(content))]
    style = Style(
        box=lambda i: (max(content[i].width, min(480.0, _PORT * wires[i])), content[i].height),
        label=lambda link: _label_width(link, 12),
    )
    layout = lay_out(rows, style)
    paint = _paint(query, root) if is_updated else {}
    boxes = (
        _box(query, box, content[box.subgoal], *paint.get(box.subgoal, (PLAIN, "")))
        for box in layout.boxes
    )
    drawn = (*_wires(layout.wires, 12), *boxes)
    return Part(group(*drawn), layout.width, layout.height, is_centred=True)


def small_body(query: Query, root: int, updated: int) -> Part:
    """Boxes with names only, placed as seen from `root` and coloured for a change of `updated`."""
    names = [fit(atom.predicate, _SMALL_NAME) for atom in query.atoms]
    rows = arrange(query, root)
    wires = [sum(i in segment.subgoals for segment in rows.segments) for i in range(len(names))]
    style = Style(
        box=lambda i: (max(width_of(names[i], 11) + 30, min(300.0, _PORT * (wires[i] + 1))), 24.0),
        label=lambda link: _label_width(link, 10),
        between=16.0,
        lane=20.0,
        margin=8.0,
    )
    layout = lay_out(rows, style)
    paint = {**_paint(query, updated), updated: (UPDATED, "")}
    drawn = [
        *_wires(layout.wires, 10),
        *(_small_box(query, box, names[box.subgoal], *paint[box.subgoal]) for box in layout.boxes),
    ]
    return Part(group(*drawn), layout.width, layout.height)


def _small_box(query: Query, box: Box, name: str, paint: Paint, tag: str) -> str:
    x, right, y = box.x + 8, box.x + box.width - 7, box.y + 16
    ink = {"font_family": MONO, "fill": paint.ink}
    return group(
        title(f"{fit(print_atom(query.atoms[box.subgoal]), 300)}: {tag}"),
        rect(box.x, box.y, box.width, box.height, rx=6, fill=paint.fill, stroke=FAINT),
        text(x, y, name, font_size=11, font_weight=600, **ink),
        text(right, y, tag.removeprefix("group "), font_size=9, text_anchor="end", **ink),
    )


def _paint(query: Query, root: int) -> dict[int, tuple[Paint, str]]:
    """Colours and tag of each subgoal when `root` is updated."""
    found = {root: (UPDATED, "updated")}
    for number, members in enumerate(groups_of(query, root), 1):
        paint = GROUPS[(number - 1) % len(GROUPS)]
        found.update((i, (paint, f"group {number}")) for i in members.subgoals)
    return found


# Boxes


@dataclass(frozen=True, slots=True)
class _Line:
    """One term of a box, with the column it stands in if the relation is declared."""

    column: str
    is_key: bool
    term: Term
    shown: str


@dataclass(frozen=True, slots=True)
class _Content:
    """What stands in a box: its terms, and the comparisons over its own variables."""

    name: str
    lines: tuple[_Line, ...]
    notes: tuple[str, ...]
    tests: tuple[str, ...]

    @classmethod
    def of(cls, query: Query, subgoal: int, root: int) -> _Content:
        atom = query.atoms[subgoal]
        relation = query.by_name[atom.predicate]
        keys = {position for key in relation.keys for position in key}
        lines = [
            _Line(
                fit(column.name, TERM) if relation.declared else "",
                position in keys,
                term,
                f"{mark(query, term)} {fit(print_term(term), TERM)}",
            )
            for position, (column, term) in enumerate(
                zip(relation.columns, atom.terms, strict=True)
            )
        ]
        shown = len(lines) if len(lines) <= _MOST_TERMS else _MOST_TERMS - 1
        notes = (f"and {len(lines) - shown} more",) if shown < len(lines) else ()
        at_home = [c for c in query.comparisons if home_of(query, c, root) == subgoal]
        tests = [fit(f"{COMPARISON_MARK} {print_comparison(c)}", _COMPARISON) for c in at_home]
        if len(tests) > _MOST_TESTS:
            tests[_MOST_TESTS - 1 :] = [
                f"{COMPARISON_MARK} and {len(tests) - _MOST_TESTS + 1} more"
            ]
        return cls(fit(atom.predicate, _NAME), tuple(lines[:shown]), notes, tuple(tests))

    @property
    def width(self) -> float:
        columns = max((cells(line.column) for line in self.lines), default=0)
        terms = max((cells(line.shown) for line in self.lines), default=0)
        texts = (f"{self.name}   group 10", *self.tests)
        return 24 + width_of(" " * max(columns + terms + 2, *map(cells, texts)))

    @property
    def height(self) -> float:
        return _HEADER + (len(self.lines) + len(self.notes) + len(self.tests)) * _LINE + 8


def _box(query: Query, box: Box, content: _Content, paint: Paint, tag: str) -> str:
    x, right = box.x + 12, box.x + box.width - 12
    head = f"h{box.width - 16:.1f} q8 0 8 8 v{_HEADER - 8:.1f} h{-box.width:.1f} z"
    name = {"font_family": MONO, "font_size": 12.5, "font_weight": 600, "fill": paint.ink}
    drawn = [
        title(fit(print_atom(query.atoms[box.subgoal]), 300)),
        rect(box.x, box.y, box.width, box.height, rx=8, fill=PAPER, stroke=FAINT),
        element(
            "path",
            d=f"M{box.x:.1f} {box.y + 8:.1f} q0 -8 8 -8 {head}",
            fill=paint.fill,
            stroke=FAINT,
        ),
        text(x, box.y + 17.5, content.name, **name),
        text(right, box.y + 17.5, tag, font_size=10.5, fill=paint.ink, text_anchor="end"),
    ]
    y = box.y + _HEADER + 16
    for line in content.lines:
        if line.column:
            underline = "underline" if line.is_key else None
            column = {"font_family": MONO, "font_size": 11, "fill": FAINT}
            drawn.append(text(x, y, line.column, text_decoration=underline, **column))
            drawn.append(term_text(query, line.term, line.shown, right, y, "end"))
        else:
            drawn.append(term_text(query, line.term, line.shown, x, y))
        y += _LINE
    for note, colour in [(n, FAINT) for n in content.notes] + [
        (t, COMPARED) for t in content.tests
    ]:
        drawn.append(text(x, y, note, font_family=MONO, font_size=11.5, fill=colour))
        y += _LINE
    return group(*drawn)


# Wires


def _wires(wires: Iterable[Wire], size: float) -> Iterable[str]:
    """All lines first, so that no line runs over a label."""
    listed = list(wires)
    yield from map(_line, listed)
    yield from (_label(wire, size) for wire in listed)


def _colour(link: Link) -> str:
    return COMPARED if link.is_comparison else INK if link.is_exposed else HIDDEN


def _line(wire: Wire) -> str:
    xs = [x for x, _ in wire.ports]
    dashes = "2 4" if wire.link.is_comparison else None if wire.link.is_exposed else "6 4"
    stroke = {"stroke": _colour(wire.link), "stroke_width": 1.6, "stroke_dasharray": dashes}
    drawn = [path([(min(xs), wire.y), (max(xs), wire.y)], **stroke)]
    drawn += [path([port, (port[0], wire.y)], **stroke) for port in wire.ports]
    if len(xs) > 2:
        drawn += [element("circle", cx=x, cy=wire.y, r=3, fill=_colour(wire.link)) for x in xs]
    return group(*drawn)


def _label_text(link: Link) -> str:
    if link.is_comparison:
        return fit(f"{COMPARISON_MARK} {link.label}", _COMPARISON)
    return f"{EXPOSED_MARK if link.is_exposed else HIDDEN_MARK} {fit(link.label, TERM)}"


def _label_width(link: Link, size: float) -> float:
    return width_of(_label_text(link), size) + (26 if link.is_comparison else 14)


def _label(wire: Wire, size: float) -> str:
    """The name of a variable in a pill, a comparison in a diamond as wide as its text."""
    link, x, y = wire.link, wire.label_x, wire.y
    half, tall = _label_width(link, size) / 2, size * 0.75
    outline = {"fill": PAPER, "stroke": _colour(link)}
    if link.is_comparison:
        tips = f"{x - half:.1f},{y:.1f} {x - half + 9:.1f},{y - tall:.1f} "
        tips += f"{x + half - 9:.1f},{y - tall:.1f} {x + half:.1f},{y:.1f} "
        tips += f"{x + half - 9:.1f},{y + tall:.1f} {x - half + 9:.1f},{y + tall:.1f}"
        shape = element("polygon", points=tips, **outline)
    else:
        shape = rect(x - half, y - tall, 2 * half, 2 * tall, rx=tall, **outline)
    return group(
        title(fit(link.label, 300)),
        shape,
        text(
            x,
            y + size * 0.35,
            _label_text(link),
            font_family=MONO,
            font_size=size,
            font_style=None if link.is_exposed else "italic",
            fill=_colour(link),
            text_anchor="middle",
        ),
    )
