"""Figure 3(a) on Spark, and a page that needs nothing but itself."""

from __future__ import annotations

from html import escape
from typing import Final

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from bench.machine import facts
from bench.page import as_png, page, picture
from bench.paper.experiment import MIXES, TEXT
from bench.paper.figures import COLOURS
from bench.paper.on_spark.results import Run
from bench.tables import html as html_table

TITLE: Final = "Huyn's experiment on Spark and Delta, in micro-batches of 100"


def png(run: Run) -> bytes:
    figure = Figure(figsize=(9, 6), dpi=90, layout="constrained")
    axes = figure.subplots()
    for number, (mix, colour) in enumerate(zip(MIXES, COLOURS, strict=False), 1):
        cells = [run.cell(mix, rho) for rho in run.rhos]
        low, high = ([getattr(c.speed_up, side) for c in cells] for side in ("low", "high"))
        axes.fill_between(run.rhos, low, high, color=colour, alpha=0.2, linewidth=0)
        middle = [cell.speed_up.median for cell in cells]
        name = f"mix {number} {mix}: VDU {cells[0].p_vdu:.0%}, VSM {cells[0].p_vsm:.0%}"
        axes.plot(run.rhos, middle, color=colour, marker="o", markersize=4, label=name)
        limits = [cell.limit.median for cell in cells]
        axes.plot(run.rhos, limits, color=colour, linestyle=":", linewidth=1.5)
    axes.plot([], [], color="#444", linestyle=":", linewidth=1.5, label="limit")
    axes.axhline(1, color="#bbb", linewidth=1, zorder=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(run.rhos, [str(rho) for rho in run.rhos])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(0.5, 30)
    axes.set_yticks([0.5, 1, 2, 5, 10, 20])
    axes.set_xlabel("rho: a source question over the same question to the view")
    axes.set_ylabel("speed-up over asking every time")
    axes.set_title(TITLE)
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    return as_png(figure)


def html(run: Run, image: bytes) -> str:
    notes = "\n".join(
        f"<li>mix {cell.number}, rho {cell.rho}: {escape(cell.lookups)}</li>" for cell in run.cells
    )
    return page(
        TITLE,
        f"""<pre>{escape(TEXT.strip())}</pre>
<p>{run.repetitions} repetitions, plans in turn; {escape(facts(run.machine))}. Bands are quartiles,
dotted lines limits.</p>
{picture(image, "Speed-up against rho")}
{html_table(run.table())}
<h2>Lookups at the end of each stream</h2>
<ul>
{notes}
</ul>""",
    )
