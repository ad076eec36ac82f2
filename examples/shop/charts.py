"""A run as a picture, and as a page that needs nothing but itself."""

from __future__ import annotations

import base64
from html import escape
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from examples.shop.screen import TITLES, cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from examples.shop.run import Line, Result

HERE, ASKED, USUAL = "#2a7f62", "#d98e04", "#8a8f98"
TITLE: Final = "A shop's views, maintained batch by batch"

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1100px; margin: 2em auto;
       padding: 0 1em }
img { max-width: 100%; height: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: 2px 12px 2px 0; text-align: right; border-bottom: 1px solid #eee }
th:nth-child(2), td:nth-child(2) { text-align: left }
.wrong { color: #b00020; font-weight: bold }
"""


def write(result: Result, out: Path) -> tuple[Path, Path]:
    """Write `shop.png` and `shop.html` into a folder; their paths."""
    out.mkdir(parents=True, exist_ok=True)
    picture, page = out / "shop.png", out / "shop.html"
    image = png(result)
    picture.write_bytes(image)
    page.write_text(html(result, image), encoding="utf-8")
    return picture, page


def png(result: Result) -> bytes:
    """Left: who decided each batch. Right: the seconds of the source, added up."""
    lines = result.lines
    figure = Figure(figsize=(13, 1.9 + 0.3 * len(lines)), dpi=110, layout="constrained")
    figure.suptitle(TITLE, fontsize=15, fontweight="bold")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_decisions(left, lines)
    _draw_seconds(right, lines)
    target = BytesIO()
    figure.savefig(target, format="png", metadata={"Software": None})
    return target.getvalue()


def _draw_decisions(axes: Axes, lines: Sequence[Line]) -> None:
    places = range(len(lines))
    totals = [line.here + line.asked for line in lines]
    here = [line.here / total if total else 0.0 for line, total in zip(lines, totals, strict=True)]
    asked = [1 - part if total else 0.0 for part, total in zip(here, totals, strict=True)]
    axes.barh(places, here, color=HERE, label="decided here")
    axes.barh(places, asked, left=here, color=ASKED, label="asked the source")
    for place, line, total in zip(places, lines, totals, strict=True):
        if not total:
            words = "known: nothing to do" if line.is_replay else "no change is left"
            axes.text(0.01, place, words, va="center", color="#666", fontsize=9)
        axes.text(1.02, place, f"{total:,}", va="center", fontsize=9, clip_on=False)
    axes.text(1.02, -1, "decisions", va="center", fontsize=9, fontweight="bold")
    axes.set_yticks(places, [f"{line.words}  {line.number}" for line in lines])
    axes.set_ylim(len(lines) - 0.4, -1.5)  # from the top down, with room for a heading
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("share of the batch's decisions (one for each change and view)")
    axes.set_ylabel("batch")
    axes.set_title("Who decided?", pad=26)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_seconds(axes: Axes, lines: Sequence[Line]) -> None:
    steps = range(len(lines) + 1)
    usual = list(accumulate((line.traditional.seconds for line in lines), initial=0.0))
    ours = list(accumulate((line.cost.seconds for line in lines), initial=0.0))
    axes.fill_between(steps, ours, usual, color=HERE, alpha=0.12, label="saved")
    axes.plot(steps, usual, color=USUAL, linewidth=2, label="asking about every change")
    axes.plot(steps, ours, color=ASKED, linewidth=2, label="asking for what is missing")
    for values, color in ((usual, USUAL), (ours, ASKED)):
        axes.annotate(
            f"{values[-1]:.1f} s",
            (steps[-1], values[-1]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=color,
            fontweight="bold",
            annotation_clip=False,
        )
    axes.set_xlim(0, len(lines))
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("batches so far")
    axes.set_ylabel("seconds waiting for the source, in total")
    axes.set_title("What did the source cost?", pad=26)
    axes.legend(loc="upper left", frameon=False)  # the lines rise to the right
    axes.spines[["top", "right"]].set_visible(False)


def html(result: Result, image: bytes) -> str:
    """A page with the picture and the figures in it."""
    data = base64.b64encode(image).decode("ascii")
    head = "".join(f"<th>{escape(title)}</th>" for title in TITLES)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells(line)) + "</tr>"
        for line in result.lines
    )
    checks = "\n".join(
        f"<li>{check.view}: all {check.rows:,} rows are as recomputed</li>"
        if check.is_right
        else f'<li class="wrong">{check.view}: {check.surplus:,} rows too many, '
        f"{check.missing:,} missing</li>"
        for check in result.checks
    )
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{TITLE}</title>
<style>{STYLE}</style>
<h1>{TITLE}</h1>
<p>{escape(result.summary())}</p>
<img alt="Who decided each batch, and what the source cost" src="data:image/png;base64,{data}">
<h2>The views after the last batch</h2>
<ul>
{checks}
</ul>
<h2>The batches</h2>
<table>
<tr>{head}</tr>
{body}
</table>
</html>
"""
