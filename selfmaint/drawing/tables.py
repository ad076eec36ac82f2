"""What stands around the body: the head, the panels' captions, the matrix, the legend, remarks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from cq.printer import print_term
from cq.query import Query
from lookups.emit import emit
from lookups.plan import ACTIONS, Action
from selfmaint.drawing.body import TERM, small_body
from selfmaint.drawing.style import (
    COMPARED,
    COMPARISON_MARK,
    CONSTANT,
    CONSTANT_MARK,
    EXPOSED_MARK,
    FAINT,
    GRADES,
    GROUPS,
    HIDDEN,
    HIDDEN_MARK,
    INK,
    PAPER,
    RULE,
    UPDATED,
    Part,
    mark,
    term_text,
)
from selfmaint.drawing.svg import MONO, fit, group, path, rect, text, title, width_of
from selfmaint.grade import Grade, grade, step_grade

_STRIP: Final = 900.0
_CELL: Final = 140.0
_REMARK: Final = 110


def head_strip(query: Query) -> Part:
    """The columns that the view shows."""
    label = "shows" if query.head else "shows only whether it has a row"
    start = width_of(label) + 6
    drawn = [text(0, 15, label, font_size=12, fill=FAINT)]
    x, y, widest = start, 0.0, start
    for term in query.head:
        content = f"{mark(query, term)} {fit(print_term(term), TERM)}"
        width = width_of(content) + 18
        if x > start and x + width > _STRIP:
            x, y = start, y + 28
        drawn.append(rect(x, y, width, 22, rx=11, fill=PAPER, stroke=RULE))
        drawn.append(term_text(query, term, content, x + 9, y + 15))
        x += width + 6
        widest = max(widest, x)
    return Part(group(*drawn), widest, y + 22)


def panel(query: Query, root: int, subgoal: int) -> Part:
    """The groups for a change of one subgoal, and how often it is decided.

    Args:
        root: from where the boxes are placed; the same for all panels of a view.
    """
    inner = small_body(query, root, subgoal)
    name = fit(query.atoms[subgoal].predicate, 20)
    several = len(query.occurrences(query.atoms[subgoal].predicate)) > 1
    heading = f"change of {name}" + (f", subgoal {subgoal + 1}" if several else "")
    grades = [(a, _subgoal_grade(query, subgoal, a)) for a in ACTIONS]
    width = max(inner.width + 28, 2 * _CELL + 8 + 28, width_of(heading, 13) + 28)
    drawn = [
        rect(0, 0, width, inner.height + 96, rx=10, fill="#f8fafc", stroke=RULE),
        text(14, 24, heading, font_size=13, font_weight=600, fill=INK),
        group(inner.svg, x=(width - inner.width) / 2, y=38),
    ]
    for number, (action, found) in enumerate(grades):
        chip = _chip(found, action)
        drawn.append(group(chip, x=14 + number * (_CELL + 8), y=inner.height + 50))
    return Part(group(*drawn), width, inner.height + 96)


def _subgoal_grade(query: Query, subgoal: int, action: Action) -> Grade:
    plan = emit(query, query.atoms[subgoal].predicate, action)
    (step,) = (step for step in plan.steps if step.subgoal == subgoal)
    return grade(plan) if query.is_empty else step_grade(query, step)


def _chip(found: Grade, label: str = "") -> str:
    """A grade as a coloured cell with its name, and the one in an update below if it differs."""
    paint = GRADES[found.alone]
    same = found.alone is found.in_update
    shown = f"{label}: {found.alone}" if label else found.alone
    drawn = [
        rect(0, 0, _CELL, 34, rx=6, fill=paint.fill),
        text(
            _CELL / 2,
            21 if same else 15,
            shown,
            font_size=12.5,
            font_weight=600,
            fill=paint.ink,
            text_anchor="middle",
        ),
    ]
    if not same:
        below = f"update: {found.in_update}"
        middle = {"text_anchor": "middle", "fill": paint.ink}
        drawn.append(text(_CELL / 2, 28, below, font_size=10, **middle))
    return group(*drawn)


def matrix(query: Query) -> Part:
    """How often a change of each relation is decided from the view alone."""
    relations = list(dict.fromkeys([a.predicate for a in query.atoms] + sorted(query.by_name)))
    names = [fit(relation, 28) for relation in relations]
    start = max(90.0, *(width_of(name) + 16 for name in names))
    faint = {"font_size": 12, "fill": FAINT}
    drawn = [text(0, 14, "decided from the view alone", **faint)]
    for column, action in enumerate(ACTIONS):
        x = start + column * (_CELL + 6) + _CELL / 2
        drawn.append(text(x, 36, action, text_anchor="middle", **faint))
    y = 44.0
    for relation, name in zip(relations, names, strict=True):
        drawn.append(
            text(0, y + 21, name, font_family=MONO, font_size=12, font_weight=600, fill=INK)
        )
        for column, action in enumerate(ACTIONS):
            found = grade(emit(query, relation, action))
            drawn.append(group(_chip(found), x=start + column * (_CELL + 6), y=y))
        y += 40
    return Part(group(*drawn), start + 2 * (_CELL + 6), y - 6)


def legend(*, is_grouped: bool) -> Part:
    """What the marks, lines and colours mean."""
    mono = {"font_family": MONO, "font_size": 12}
    line = {"stroke_width": 1.6}
    samples = [
        (text(4, 12, EXPOSED_MARK, fill=INK, **mono), "exposed: in the head"),
        (text(4, 12, HIDDEN_MARK, fill=FAINT, **mono), "hidden: not in the head"),
        (text(4, 12, CONSTANT_MARK, fill=CONSTANT, **mono), "constant"),
        (text(4, 12, COMPARISON_MARK, fill=COMPARED, **mono), "comparison"),
        (text(0, 12, "key", fill=FAINT, text_decoration="underline", **mono), "column of a key"),
        (path([(0, 8), (30, 8)], stroke=INK, **line), "joins on an exposed variable"),
        (
            path([(0, 8), (30, 8)], stroke=HIDDEN, stroke_dasharray="6 4", **line),
            "joins on a hidden variable",
        ),
    ]
    if is_grouped:
        updated = rect(0, 1, 30, 13, rx=3, fill=UPDATED.fill, stroke=FAINT)
        group_ = [rect(n * 16, 1, 14, 13, rx=3, fill=p.fill) for n, p in enumerate(GROUPS[:2])]
        samples += [
            (updated, "the updated subgoal"),
            (group(*group_), "groups, by colour and number"),
        ]
    update = text(0, 12, "update", font_size=10.5, fill=INK)
    samples.append((update, "half of an UPDATE that keeps the key"))
    drawn = [
        group(sample, text(42, 12, words, font_size=12, fill=INK), y=n * 20)
        for n, (sample, words) in enumerate(samples)
    ]
    return Part(group(*drawn), 300.0, len(samples) * 20.0)


def remarks(lines: Iterable[str]) -> Part:
    """Sentences below each other."""
    shown: Sequence[str] = [fit(line, _REMARK) for line in lines]
    drawn = [
        group(title(fit(line, 300)), text(0, 12 + n * 18, short, font_size=12, fill=FAINT))
        for n, (line, short) in enumerate(zip(lines, shown, strict=True))
    ]
    return Part(group(*drawn), max(map(width_of, shown)), 18.0 * len(shown))
