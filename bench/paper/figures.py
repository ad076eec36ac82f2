"""Figures 3(a), (b) and (c) from a run, and a page that needs nothing but itself."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator, PercentFormatter

from bench.machine import facts
from bench.page import as_png, page, picture
from bench.paper import tables
from bench.paper.experiment import BY_VDU, BY_VSM, MIXES, TEXT
from bench.paper.plans import BatchSize
from bench.paper.results import PAPER_POINTS, Run
from bench.spread import amount
from bench.tables import html as html_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from bench.paper.experiment import Mix
    from bench.paper.results import Cell

TITLE: Final = "Huyn's experiment: how much faster than asking the source every time?"
COLOURS: Final = ("#8a8f98", "#d98e04", "#2a7f62", "#3b6fb6", "#7b4fa3")


def png(run: Run) -> bytes:
    """Above: Figure 3 change by change. Below: Figure 3(a) in batches."""
    has_curves = all(run.has(mix, None) for mix in (*BY_VSM, *BY_VDU))
    batches = [batch for batch in tables.batch_sizes(run) if batch is not None]
    figure = Figure(figsize=(16, 10.5), dpi=90, layout="constrained")
    figure.suptitle(TITLE, fontsize=16, fontweight="bold")
    above, below = figure.subplots(2, 3)
    _by_rho(above[0], run, None, "3(a) change by change")
    if has_curves:
        _by_share(above[1], run, BY_VSM, lambda cell: cell.p_vsm, "3(b) p_vsm, with p_vdu = 0")
        _by_share(above[2], run, BY_VDU, lambda cell: cell.p_vdu, "3(c) p_vdu, with p_vsm = 99 %")
    else:
        above[1].set_axis_off()
        above[2].set_axis_off()
    for axes, batch in zip(below, batches, strict=True):
        _by_rho(axes, run, batch, f"3(a) in batches of {batch}")
    return as_png(figure)


def _by_rho(axes: Axes, run: Run, batch: BatchSize, title: str) -> None:
    rhos = tables.rhos(run)
    for number, (mix, colour) in enumerate(zip(MIXES, COLOURS, strict=False), 1):
        cells = [run.cell(mix, batch, rho) for rho in rhos]
        shares = f"VDU {cells[0].p_vdu:.0%}, VSM {cells[0].p_vsm:.0%}"
        _curve(axes, rhos, cells, colour, f"mix {number}: {shares}")
        limits = [cell.limit.median for cell in cells]
        axes.plot(rhos, limits, color=colour, linestyle=":", linewidth=1)
    axes.plot([], [], color="#444", linestyle=":", linewidth=1, label="limit")
    if batch is None:
        axes.scatter(
            [rho for _, rho in PAPER_POINTS],
            list(PAPER_POINTS.values()),
            marker="*",
            s=150,
            zorder=5,
            color=[COLOURS[number - 1] for number, _ in PAPER_POINTS],
            edgecolors="#222",
            label="stated in the paper",
        )
    axes.set_xscale("log")
    axes.set_xticks(rhos, [str(rho) for rho in rhos])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("rho: a source question over the same question to the view")
    _finish(axes, title)


def _by_share(
    axes: Axes, run: Run, mixes: Sequence[Mix], share: Callable[[Cell], float], title: str
) -> None:
    for rho, colour in zip(tables.rhos(run), COLOURS, strict=False):
        cells = [run.cell(mix, None, rho) for mix in mixes]
        _curve(axes, [share(cell) for cell in cells], cells, colour, f"rho = {rho}")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel(title[5:])
    _finish(axes, title)


def _curve(
    axes: Axes, places: Sequence[float], cells: Sequence[Cell], colour: str, name: str
) -> None:
    low, high = ([getattr(c.speed_up, side) for c in cells] for side in ("low", "high"))
    axes.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
    middle = [cell.speed_up.median for cell in cells]
    axes.plot(places, middle, color=colour, marker="o", markersize=4, label=name)


def _finish(axes: Axes, title: str) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.axhline(1, color="#bbb", linewidth=1, zorder=0)
    axes.set_ylim(0.4, 700)  # with room for the legend
    axes.set_ylabel("speed-up")
    axes.set_title(title)
    axes.legend(frameon=False, fontsize="small", loc="upper left", ncols=2)
    axes.spines[["top", "right"]].set_visible(False)


def html(run: Run, image: bytes) -> str:
    """The pictures and every figure behind them."""
    parts = [
        ("Targets", tables.reached(run)),
        ("Table 5: what each step takes", tables.parameters(run)),
        ("Table 6: the extreme cells", tables.extremes(run)),
        *((tables.form_name(b), tables.all_cells(run, b)) for b in tables.batch_sizes(run)),
    ]
    body = "\n".join(f"<h2>{escape(title)}</h2>\n{html_table(table)}" for title, table in parts)
    notes = "\n".join(f"<li>{escape(line)}</li>" for line in tables.lookups(run))
    return page(
        TITLE,
        f"""<pre>{escape(TEXT.strip())}</pre>
<p>{run.repetitions} repetitions, plans in turn; {escape(facts(run.machine))}. A question to the
view takes {amount(run.parameters.qview * 1e6)} us. Bands are quartiles, dotted lines limits.</p>
{picture(image, "Speed-up against rho, p_vsm and p_vdu")}
{body}
<h2>Lookups at rho = 1</h2>
<ul>
{notes}
</ul>""",
    )
