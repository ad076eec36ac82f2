"""The figures in `bench/README.md`, filled from the committed result."""

from __future__ import annotations

from typing import Final

from bench import readme
from bench.machine import facts
from bench.paper import tables
from bench.paper.experiment import MIXES
from bench.paper.results import PAPER, PAPER_OF_LIMIT, PAPER_POINTS, Run, targets
from bench.readme import README, RESULTS, paragraph
from bench.spread import amount
from bench.tables import markdown

__all__ = ["README", "RESULT", "block", "filled", "summary"]

RESULT: Final = RESULTS / "paper.json"


def filled(run: Run) -> str:
    """The README with the run's figures in it."""
    return readme.filled("paper", block(run))


def block(run: Run) -> str:
    """What was found, in sentences and tables."""
    parts = [
        summary(run),
        readme.shown("paper", "Speed-up against rho, p_vsm and p_vdu: Figure 3 of the paper"),
        markdown(tables.reached(run)),
        "**Table 6**, the extreme cells, change by change",
        markdown(tables.extremes(run)),
        "**Table 5**, the cost of each step",
        markdown(tables.parameters(run)),
    ]
    for batch in tables.batch_sizes(run):
        cells = markdown(tables.all_cells(run, batch))
        parts.append(readme.folded(f"All cells, {tables.form_name(batch)}", cells))
    lines = "\n".join(f"- {line}" for line in tables.lookups(run))
    parts.append(readme.folded("Lookups at the end of each stream, rho = 1", lines))
    return "\n\n".join(parts)


def summary(run: Run) -> str:
    best, worst = run.cell(MIXES[2], None, 100), run.cell(MIXES[0], None, 1)
    ours = run.parameters
    cheaper = run.cell(MIXES[2], None, 10)
    met = [target.is_met for target in targets(run)]
    text = f"""
        {run.repetitions} repetitions; {facts(run.machine)}.
        {sum(met)} of {len(met)} targets are met. The best
        mix (3) at rho 100 is {amount(best.speed_up.median)} times as fast as the traditional plan,
        {best.of_limit.median:.2f} of the limit {amount(best.limit.median)}; the paper reports
        {PAPER_POINTS[3, 100]:.0f} and {PAPER_OF_LIMIT:.2f}. The worst mix (1) at rho 1 runs at
        {worst.speed_up.median:.2f} of the traditional plan's speed; the paper's, which keeps
        looking, at {PAPER_POINTS[1, 1]}. A question to the view takes {amount(ours.qview * 1e6)} us
        here, {amount(ours.qview / ours.vdu)} times a VDU lookup
        ({amount(PAPER.qview / PAPER.vdu)} times in the paper). Were it ten times cheaper, mix 3 at
        rho 100 would be the row of rho 10, with {cheaper.of_limit.median:.2f} of the limit."""
    return paragraph(text)
