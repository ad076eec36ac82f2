"""Where boxes, wires and labels go, in pixels.

Each link is a wire: a horizontal lane in a gap between two rows, with a vertical line to each of
its boxes.

Law: boxes do not overlap, wires do not cross boxes, labels do not overlap each other, and the same
query gives the same layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from selfmaint.drawing.rows import Link, Rows, Segment

_APART: Final = 8.0  # between the vertical lines of two wires
_CLEAR: Final = 12.0  # between two wires in one lane
_MOST_UNTANGLED: Final = 40  # wires of one gap; more take too long


@dataclass(frozen=True, slots=True)
class Box:
    """The place of a subgoal; `x`, `y` is its upper left corner."""

    subgoal: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Wire:
    """The place of a segment.

    Args:
        ports: where it meets its boxes.
        y: the height of its lane.
        label_x: the middle of its label.
    """

    link: Link
    ports: tuple[tuple[float, float], ...]
    y: float
    label_x: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Boxes and wires between 0, 0 and `width`, `height`."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]


@dataclass(frozen=True, slots=True)
class Style:
    """How much room things take.

    Args:
        box: width and height of a subgoal's box.
        label: width of a link's label.
        between: room between two boxes of a row.
        lane: height of a lane.
        margin: room between a row of boxes and the nearest lane.
    """

    box: Callable[[int], tuple[float, float]]
    label: Callable[[Link], float]
    between: float = 30.0
    lane: float = 26.0
    margin: float = 14.0


@dataclass(frozen=True, slots=True)
class _Routed:
    """A segment with everything that does not depend on heights."""

    segment: Segment
    ports: Mapping[int, float]
    label_x: float
    lane: int


def lay_out(rows: Rows, style: Style) -> Layout:
    """Boxes row by row, with the wires of each gap between them."""
    size = {i: style.box(i) for row in rows.rows for i in row}
    left = {i: x for row in rows.rows for i, x in _spread(row, style).items()}
    gaps = [
        _untangle(
            _route([s for s in rows.segments if s.gap == number], left, size, style),
            frozenset(rows.rows[number]),
        )
        for number in range(len(rows.rows) - 1)
    ]
    edges = [x for i, x in left.items()] + [x + size[i][0] for i, x in left.items()]
    for routed in (r for gap in gaps for r in gap):
        half = style.label(routed.segment.link) / 2
        edges += [routed.label_x - half, routed.label_x + half]
    shift = -min(edges)

    boxes: dict[int, Box] = {}
    wires: list[Wire] = []
    y = 0.0
    for number, row in enumerate(rows.rows):
        if number:
            lanes = 1 + max((routed.lane for routed in gaps[number - 1]), default=0)
            bottom = y
            y += 2 * style.margin + lanes * style.lane
        boxes.update((i, Box(i, left[i] + shift, y, *size[i])) for i in row)
        if number:
            for routed in gaps[number - 1]:
                height = bottom + style.margin + style.lane * (routed.lane + 0.5)
                wires.append(_wire(routed, boxes, set(row), height, shift))
        y += max(size[i][1] for i in row)
    return Layout(max(edges) + shift, y, tuple(boxes.values()), tuple(wires))


def _spread(row: Sequence[int], style: Style) -> dict[int, float]:
    """The left edge of each box of a row, the row centred on 0."""
    widths = [style.box(i)[0] for i in row]
    x = -(sum(widths) + style.between * (len(row) - 1)) / 2
    found: dict[int, float] = {}
    for i, width in zip(row, widths, strict=True):
        found[i] = x
        x += width + style.between
    return found


def _route(
    segments: Sequence[Segment],
    left: Mapping[int, float],
    size: Mapping[int, tuple[float, float]],
    style: Style,
) -> list[_Routed]:
    """Ports, labels and lanes for the segments of one gap."""
    ports = _ports(segments, left, size)
    routed: list[_Routed] = []
    ends: list[float] = []  # how far to the right each lane is taken
    for n in sorted(range(len(segments)), key=lambda n: (min(ports[n].values()), n)):
        xs = ports[n].values()
        others = [x for m in range(len(segments)) if m != n for x in ports[m].values()]
        width = style.label(segments[n].link)
        label_x = _label_place(min(xs), max(xs), width, others)
        start, end = min(*xs, label_x - width / 2), max(*xs, label_x + width / 2)
        free = (lane for lane, taken in enumerate(ends) if taken + _CLEAR < start)
        lane = next(free, len(ends))
        ends[lane : lane + 1] = [end]
        routed.append(_Routed(segments[n], ports[n], label_x, lane))
    return routed


def _untangle(routed: list[_Routed], upper: frozenset[int]) -> list[_Routed]:
    """Reorder lanes so that fewer wires cross: upside down if better, then swaps of neighbours."""
    if not 1 < len(routed) <= _MOST_UNTANGLED:
        return routed
    last = max(r.lane for r in routed)
    turned = [replace(r, lane=last - r.lane) for r in routed]
    best, routed = min(
        ((_crossings(choice, upper), choice) for choice in (routed, turned)), key=lambda c: c[0]
    )
    lane = 0
    while best and lane < last:
        swap = {lane: lane + 1, lane + 1: lane}
        swapped = [replace(r, lane=swap.get(r.lane, r.lane)) for r in routed]
        count = _crossings(swapped, upper)
        if count < best:
            routed, best, lane = swapped, count, max(0, lane - 1)
        else:
            lane += 1
    return routed


def _crossings(routed: Sequence[_Routed], upper: frozenset[int]) -> int:
    """How often the lane of one wire crosses a vertical line of another."""
    return sum(
        min(one.ports.values()) < x < max(one.ports.values())
        and (one.lane < other.lane if i in upper else one.lane > other.lane)
        for one in routed
        for other in routed
        for i, x in other.ports.items()
    )


def _ports(
    segments: Sequence[Segment],
    left: Mapping[int, float],
    size: Mapping[int, tuple[float, float]],
) -> list[dict[int, float]]:
    """For each segment, where its vertical lines stand, apart from others as far as there is room.

    The lines of one box are spread over its width, in the order of where they lead.
    """
    middle = [
        sum(left[i] + size[i][0] / 2 for i in segment.subgoals) / len(segment.subgoals)
        for segment in segments
    ]
    ports: list[dict[int, float]] = [{} for _ in segments]
    for i in sorted({i for segment in segments for i in segment.subgoals}):
        mine = [n for n, segment in enumerate(segments) if i in segment.subgoals]
        for place, n in enumerate(sorted(mine, key=middle.__getitem__), 1):
            x = left[i] + size[i][0] * place / (len(mine) + 1)
            step = min(_APART, size[i][0] / (len(mine) + 1) / 3)
            others = [x for m, found in enumerate(ports) if m != n for x in found.values()]
            right = left[i] + size[i][0]
            while x + step < right and any(abs(x - other) < step for other in others):
                x += step
            ports[n][i] = x
    return [_straight(found) for found in ports]


def _straight(ports: dict[int, float]) -> dict[int, float]:
    """Two ends that are almost above each other are put there."""
    first, *rest = ports.values()
    if len(rest) == 1 and abs(first - rest[0]) < 2 * _APART:
        return dict.fromkeys(ports, (first + rest[0]) / 2)
    return ports


def _label_place(start: float, end: float, width: float, others: Sequence[float]) -> float:
    """Where on the lane a label hides the fewest vertical lines of other wires."""
    middle = (start + end) / 2
    room = max(0.0, (end - start - width) / 2)
    choices = [middle + room * part for part in (0.0, -0.4, 0.4, -0.8, 0.8)]
    return min(choices, key=lambda x: sum(abs(x - other) < width / 2 + 3 for other in others))


def _wire(
    routed: _Routed, boxes: Mapping[int, Box], lower: set[int], y: float, shift: float
) -> Wire:
    """The wire at height `y` between two rows, of which `lower` is the lower one."""
    ports = tuple(
        (x + shift, boxes[i].y + (0.0 if i in lower else boxes[i].height))
        for i, x in routed.ports.items()
    )
    return Wire(routed.segment.link, ports, y, routed.label_x + shift)
