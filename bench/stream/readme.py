"""The figures in `bench/README.md`, filled from the committed result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench import readme
from bench.machine import facts
from bench.readme import README, RESULTS, paragraph
from bench.spread import amount
from bench.stream import tables
from bench.stream.results import (
    LATENCIES,
    LOCAL_COPIES,
    NO_KEYS,
    SELFMAINT,
    TRADITIONAL,
    Run,
    Settings,
    targets,
)
from bench.stream.tables import in_bytes, latency_name
from bench.tables import markdown

__all__ = ["README", "RESULT", "beside", "block", "filled", "result_of", "summary"]

RESULT: Final = RESULTS / "stream.json"
USUAL: Final = 200
"""The latency, in ms, by which runs are compared."""


def result_of(settings: Settings) -> Path:
    """Where a result is committed: that of the usual scale and skew, or one beside it."""
    usual = Settings()
    if (settings.scale, settings.skew) == (usual.scale, usual.skew):
        return RESULT
    return RESULTS / f"stream-scale-{settings.scale:g}-skew-{settings.skew:g}.json"


def beside() -> list[Run]:
    """The committed results of other scales and skews."""
    found = (Run.from_json(p.read_text(encoding="utf-8")) for p in RESULTS.glob("stream-*.json"))
    return sorted(found, key=lambda run: (run.settings.scale, run.settings.skew))


def filled(run: Run, others: Sequence[Run]) -> str:
    """The README with the run's figures in it."""
    return readme.filled("stream", block(run, others))


def block(run: Run, others: Sequence[Run]) -> str:
    """What was found, in sentences and tables.

    Args:
        others: runs of other scales and skews.
    """
    everything = [run, *others]
    compared = (
        ("By scale and skew", tables.by_settings(everything)),
        (
            f"By scale and skew, at {latency_name(USUAL)} a question: seconds a batch, and how "
            "many times as long the other plans take",
            tables.seconds_by_settings(everything, USUAL),
        ),
    )
    told = (
        ("What was to be reached", tables.reached(run)),
        ("All batches and views together", tables.overall(run)),
        *(compared if others else ()),
        ("Seconds a batch: median and quartiles", tables.seconds(run)),
        ("Against the other plans, batch by batch", tables.speed_ups(run)),
    )
    more = (
        ("By view", tables.views(run)),
        ("Who decided: changes by verdict and rule, all views together", tables.verdicts(run)),
        ("The stream", tables.changes(run)),
    )
    return "\n\n".join(
        [
            summary(run),
            readme.shown("stream", "Keys asked, seconds and bytes of five plans"),
            *(f"**{title}**\n\n{markdown(table)}" for title, table in told),
            *(readme.folded(title, markdown(table)) for title, table in more),
        ]
    )


def summary(run: Run) -> str:
    settings = run.settings
    met = [target.is_met for target in targets(run)]
    rows, size = sum(v.rows for v in run.views), sum(v.bytes for v in run.views)
    times = "; ".join(
        f"at {latency_name(latency)} a question "
        + ", ".join(
            f"{plan} {amount(run.speed_up(SELFMAINT, plan, latency).median)}"
            for plan in run.plans
            if plan != SELFMAINT
        )
        for latency in LATENCIES
    )
    sittings = f" in {run.sittings} sittings" if run.sittings > 1 else ""
    asked = run.total(SELFMAINT, "keys") / max(1, run.total(TRADITIONAL, "keys"))
    return paragraph(f"""
        Scale factor {settings.scale:g}, {settings.batches} batches{sittings}, skew
        {settings.skew:g}, seed {settings.seed}; {facts(run.machine)}. {sum(met)} of {len(met)}
        targets are met. The {len(run.views)} views hold {rows:,} rows in {in_bytes(size)} after
        the last batch; {run.compared:,} comparisons with recomputation found no wrong row. With
        keys, selfmaint
        asks for {run.total(SELFMAINT, "keys"):,} keys, {asked:.1%} of the traditional plan's
        {run.total(TRADITIONAL, "keys"):,}; without keys for {run.total(NO_KEYS, "keys"):,}.
        Beyond the views it keeps {in_bytes(run.bytes_kept(SELFMAINT))}; local copies take
        {in_bytes(run.bytes_kept(LOCAL_COPIES))}. A batch takes the other plans so many times as
        long as selfmaint: {times}.""")
