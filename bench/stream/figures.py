"""A run as a picture, and as a page that needs nothing but itself."""

from __future__ import annotations

from collections import Counter
from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from bench.machine import facts
from bench.page import as_png, page, picture
from bench.spread import amount
from bench.stream import program, tables
from bench.stream.results import (
    LATENCIES,
    LOCAL_COPIES,
    NO_KEYS,
    RECOMPUTE,
    SELFMAINT,
    TRADITIONAL,
    Run,
)
from bench.tables import html as html_table
from lookups.verdict import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE: Final = "TPC-H as a living warehouse: what does it take to maintain five views?"

COLOURS: Final = {
    SELFMAINT: "#2a7f62",
    NO_KEYS: "#7fb8a4",
    TRADITIONAL: "#d98e04",
    LOCAL_COPIES: "#3b6fb6",
    RECOMPUTE: "#8a8f98",
}
KINDS: Final = {
    Kind.IRRELEVANT: "#d4d7dc",
    Kind.UNAFFECTED: "#a7cfc0",
    Kind.SELF_MAINTAINED: "#2a7f62",
    Kind.MISS: "#d98e04",
}


def png(run: Run) -> bytes:
    """Keys asked, seconds a batch, bytes, and who decided."""
    layout = ConstrainedLayoutEngine(h_pad=0.15, w_pad=0.15)
    figure = Figure(figsize=(16, 11), dpi=90, layout=layout)
    figure.suptitle(TITLE, fontsize=16, fontweight="bold")
    (keys, seconds), (sizes, verdicts) = figure.subplots(2, 2)
    _draw_keys(keys, run)
    _draw_seconds(seconds, run)
    _draw_bytes(sizes, run)
    _draw_verdicts(verdicts, run)
    return as_png(figure)


def _draw_keys(axes: Axes, run: Run) -> None:
    for plan in (TRADITIONAL, NO_KEYS, SELFMAINT):
        lines = run.of(plan)
        totals = list(accumulate((line.keys for line in lines), initial=0))
        axes.plot(range(len(totals)), totals, color=COLOURS[plan], linewidth=2.5, label=plan)
        axes.annotate(
            f"{totals[-1]:,}",
            (len(lines), totals[-1]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=COLOURS[plan],
            fontweight="bold",
            annotation_clip=False,
        )
    axes.set_xlim(0, run.settings.batches)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("batches so far (local copies ask for none, recompute for whole views)")
    axes.set_ylabel("keys asked of the sources, in total")
    _finish(axes, "What are the sources asked?")


def _draw_seconds(axes: Axes, run: Run) -> None:
    width = 0.8 / len(run.plans)
    for place, plan in enumerate(run.plans):
        spreads = [run.seconds(plan, latency) for latency in LATENCIES]
        places = [group + (place + 0.5) * width - 0.4 for group in range(len(LATENCIES))]
        middle = [spread.median for spread in spreads]
        errors = [
            [max(0.0, s.median - s.low) for s in spreads],
            [max(0.0, s.high - s.median) for s in spreads],
        ]
        axes.bar(
            places,
            middle,
            width * 0.9,
            color=COLOURS[plan],
            label=plan,
            yerr=errors,
            error_kw={"ecolor": "#444", "elinewidth": 1},
        )
        for x, value, spread in zip(places, middle, spreads, strict=True):
            axes.annotate(
                amount(value),
                (x, max(value, spread.high)),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
    axes.set_xticks(range(len(LATENCIES)), [tables.latency_name(n) for n in LATENCIES])
    axes.set_xlabel("what a question takes")
    axes.set_ylabel("seconds a batch: median, quartiles")
    axes.set_ylim(0, 1.2 * max(run.seconds(p, n).high for p in run.plans for n in LATENCIES))
    _finish(axes, "How long does a batch take?")


def _draw_bytes(axes: Axes, run: Run) -> None:
    parts = {
        "sent by the sources": {plan: run.total(plan, "bytes") for plan in run.plans},
        "kept beyond the views": {plan: run.bytes_kept(plan) for plan in run.plans},
    }
    height = 0.8 / len(run.plans)
    least = min(n for part in parts.values() for n in part.values() if n) / 3
    for place, plan in enumerate(run.plans):
        values = [part[plan] for part in parts.values()]
        places = [group + (place + 0.5) * height - 0.4 for group in range(len(parts))]
        axes.barh(places, values, height * 0.9, color=COLOURS[plan], label=plan)
        for y, value in zip(places, values, strict=True):
            words = tables.in_bytes(value) if value else "nothing"
            axes.annotate(
                words,
                (max(value, least), y),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
    axes.set_xscale("log")
    most = max(n for part in parts.values() for n in part.values())
    axes.set_xlim(least, most * 20)
    axes.xaxis.set_major_formatter(FuncFormatter(_power_of_ten))
    axes.set_yticks(range(len(parts)), list(parts), rotation=90, va="center")
    axes.set_ylim(len(parts) - 0.5, -0.5)
    axes.set_xlabel("bytes, all batches; each step is ten times the last")
    _finish(axes, "What travels, and what is kept?")


def _power_of_ten(value: float, _: object) -> str:
    """In bytes without digits that say nothing: 1 MB, not 1.00 MB."""
    number, unit = tables.in_bytes(value).split()
    return f"{float(number):g} {unit}"


def _draw_verdicts(axes: Axes, run: Run) -> None:
    by_plan = {plan: tables.kinds(run, plan) for plan in (SELFMAINT, NO_KEYS)}
    relations = sorted({relation for found in by_plan.values() for relation in found})
    rows = [
        (f"{relation}, {plan}", found.get(relation, Counter()))
        for relation in relations
        for plan, found in by_plan.items()
    ]
    lefts = [0.0] * len(rows)
    for kind, colour in KINDS.items():
        shares = [counts[kind] / max(1, counts.total()) for _, counts in rows]
        axes.barh(range(len(rows)), shares, 0.75, left=lefts, color=colour, label=str(kind))
        lefts = [left + share for left, share in zip(lefts, shares, strict=True)]
    for place, (_, counts) in enumerate(rows):
        axes.text(1.02, place, f"{counts.total():,}", va="center", fontsize=9, clip_on=False)
    axes.text(1.02, -0.9, "decisions", va="center", fontsize=9, fontweight="bold")
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -1.3)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("share of the decisions: one for each change and view")
    _finish(axes, "Who decided? Only a miss is asked.")


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, pad=30, fontweight="bold")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, frameon=False, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)


def html(run: Run, image: bytes) -> str:
    """The picture and every figure behind it."""
    parts = [
        ("Targets", tables.reached(run)),
        ("All batches and views together", tables.overall(run)),
        ("Seconds a batch: median and quartiles", tables.seconds(run)),
        ("Against the other plans, batch by batch", tables.speed_ups(run)),
        ("By view", tables.views(run)),
        ("Who decided: changes by verdict and rule", tables.verdicts(run)),
        ("The stream", tables.changes(run)),
    ]
    body = "\n".join(f"<h2>{escape(title)}</h2>\n{html_table(table)}" for title, table in parts)
    settings = run.settings
    return page(
        TITLE,
        f"""<p>Scale factor {settings.scale:g}, {settings.batches} batches, skew
{settings.skew:g}; {escape(facts(run.machine))}. After every batch every view of every plan was
compared with recomputation: {run.compared:,} times, and every row was right.</p>
{picture(image, "Keys asked, seconds a batch, bytes sent and kept, and who decided")}
{body}
<h2>The program</h2>
<pre>{escape(program.TEXT.read_text(encoding="utf-8").strip())}</pre>""",
    )
