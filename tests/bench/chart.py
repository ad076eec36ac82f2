"""The run as a picture: for every line with a target, how much of it is used up."""

from __future__ import annotations

import math
from html import escape

from tests.bench.report import Run, amount

ROW, LABEL, SCALE_WIDTH, VALUE = 22, 320, 420, 130
MARKS = {0.01: "1 %", 0.1: "10 %", 1.0: "target", 10.0: "10 times"}
"""Shares of the target on the logarithmic scale, from end to end."""

LOW, HIGH = min(MARKS), max(MARKS)

STYLE = """
text { font: 13px sans-serif; fill: #222 }
.axis, .value { fill: #666 }
.fine { fill: #4a7ebb } .over { fill: #c0504d }
.grid { stroke: #ddd } .target { stroke: #222; stroke-dasharray: 4 3 }
"""


def chart(run: Run) -> str:
    """A bar per line, on a logarithmic scale; what ends left of the dashed rule is on target."""
    lines = [line for line in run.lines if line.load is not None]
    height = ROW * (len(lines) + 2) + 10
    width = LABEL + SCALE_WIDTH + VALUE
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    at_end = 'text-anchor="end"'
    bottom = ROW * (len(lines) + 1)
    for share, shown in MARKS.items():
        x, kind = _x(share), "target" if share == 1.0 else "grid"
        out.append(f'<line class="{kind}" x1="{x}" x2="{x}" y1="{ROW}" y2="{bottom}"/>')
        out.append(f'<text class="axis" x="{x}" y="15" text-anchor="middle">{shown}</text>')
    for number, line in enumerate(lines, 1):
        load = line.load or 0.0
        y, end = ROW * number, _x(load)
        kind = "fine" if load <= 1 else "over"
        out.append(f'<text x="{LABEL - 10}" y="{y + 15}" {at_end}>{escape(line.name)}</text>')
        out.append(
            f'<rect class="{kind}" x="{LABEL}" y="{y + 3}" width="{end - LABEL}" '
            f'height="{ROW - 6}"/>'
        )
        value = f"{amount(line.median)} {'per s' if line.unit == '1/s' else line.unit}"
        out.append(f'<text class="value" x="{width - 10}" y="{y + 15}" {at_end}>{value}</text>')
    return "\n".join([*out, "</svg>", ""])


def _x(share: float) -> float:
    inside = min(max(share, LOW), HIGH)
    return round(LABEL + SCALE_WIDTH * math.log(inside / LOW) / math.log(HIGH / LOW), 1)
