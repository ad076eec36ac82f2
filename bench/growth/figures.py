"""Curves with their slopes, and a page that needs nothing but itself."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from bench.growth.results import Run
from bench.machine import facts
from bench.page import as_png, page, picture
from bench.spread import Spread
from bench.tables import html as html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE: Final = "What a batch costs as things grow"
CURVES: Final = {"seconds": "#222222", "decide": "#2a7f62", "commit": "#d98e04"}
WORDS: Final = {
    "rows": "rows of the view",
    "changes": "changes of the batch",
    "subgoals": "subgoals of the view",
    "views": "views of the program",
    "spared": "views that the batch does not meet, beside one that it does",
}


def png(run: Run, before: Run) -> bytes:
    """The curves, with those of `before` beside them."""
    figure = Figure(figsize=(14, 14), dpi=90, layout="constrained")
    figure.suptitle(TITLE, fontsize=16, fontweight="bold")
    panels = figure.subplots(3, 2).flatten()
    for axes, axis in zip(panels, run.axes, strict=False):
        _panel(axes, run, axis, before)
    for axes in panels[len(run.axes) :]:
        axes.set_axis_off()
    return as_png(figure)


def _panel(axes: Axes, run: Run, axis: str, before: Run) -> None:
    along = run.along(axis)
    if was := before.along(axis):
        label = f"whole batch, before: exponent {before.slope(axis, 'seconds'):.2f}"
        costs = [measured.seconds.median for measured in was]
        axes.plot([m.point.value for m in was], costs, color="#999999", ls="--", label=label)
    places = [measured.point.value for measured in along]
    for stage, colour in CURVES.items():
        spreads = [s for m in along if isinstance(s := getattr(m, stage), Spread)]
        if len(spreads) == len(along):  # older results have medians alone
            low, high = ([getattr(s, side) for s in spreads] for side in ("low", "high"))
            axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
        name = "whole batch" if stage == "seconds" else f"{stage}, sum over views"
        label = f"{name}: exponent {run.slope(axis, stage):.2f}"
        costs = [measured.of(stage) for measured in along]
        axes.plot(places, costs, color=colour, marker="o", markersize=4, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(places, [f"{place:,}" for place in places])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top * (top / bottom) ** 0.35)  # room for the legend
    axes.set_xlabel(WORDS[axis])
    axes.set_ylabel("seconds")
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    jobs = axes.twinx()
    jobs.plot(places, [m.jobs for m in along], color="#7b4fa3", linestyle=":", marker=".")
    jobs.set_ylabel("Spark jobs (dotted)", color="#7b4fa3")
    jobs.set_ylim(0, max(m.jobs for m in along) * 1.6)
    jobs.spines[["top"]].set_visible(False)


def html(run: Run, image: bytes) -> str:
    body = "\n".join(
        f"<h2>{escape(WORDS[axis])}</h2>\n{html_table(run.table(axis))}" for axis in run.axes
    )
    return page(
        TITLE,
        f"""<p>{escape(run.order())} Measured with {escape(facts(run.machine))}. Bands are
quartiles. An exponent of 1 grows as fast as what it is drawn over.</p>
{picture(image, "Seconds and Spark jobs of a batch")}
<h2>Exponents</h2>
{html_table(run.slopes())}
{body}""",
    )
