"""A run as tables: for the terminal, the page and the README, from the same cells."""

from __future__ import annotations

from dataclasses import asdict

from bench.paper.experiment import MIXES
from bench.paper.plans import BatchSize
from bench.paper.results import PAPER, Cell, Run, targets
from bench.spread import amount
from bench.tables import Table, aligned


def form_name(batch: BatchSize) -> str:
    return "(a) change by change" if batch is None else f"(b) batches of {batch}"


def batch_sizes(run: Run) -> list[BatchSize]:
    return [b for b in dict.fromkeys(c.batch for c in run.cells) if run.has(MIXES[0], b)]


def rhos(run: Run) -> list[int]:
    return sorted({cell.rho for cell in run.cells})


def all_cells(run: Run, batch: BatchSize) -> Table:
    """The four mixes of Figure 3(a) in one form."""
    head = ("mix", "p_vdu", "p_vsm", "rho", "speed-up", "quartiles", "limit", "of limit", "model")
    cells = [run.cell(mix, batch, rho) for mix in MIXES for rho in rhos(run)]
    return head, [_row(cell) for cell in cells]


def _row(cell: Cell) -> list[str]:
    return [
        f"{cell.number} {cell.mix}",
        f"{cell.p_vdu:.0%}",
        f"{cell.p_vsm:.0%}",
        str(cell.rho),
        amount(cell.speed_up.median),
        f"{amount(cell.speed_up.low)} to {amount(cell.speed_up.high)}",
        amount(cell.limit.median),
        f"{cell.of_limit.median:.2f}",
        amount(cell.model),
    ]


def parameters(run: Run) -> Table:
    """Table 5: the paper's milliseconds and our microseconds, each also in its t_qview."""
    head = ("parameter", "paper, ms", "here, us", "paper, t_qview = 1", "here, t_qview = 1")
    ours, theirs = asdict(run.parameters), asdict(PAPER)
    return head, [
        [
            f"t_{name}",
            f"{theirs[name] * 1e3:.2f}",
            amount(ours[name] * 1e6),
            f"{theirs[name] / PAPER.qview:.2f}",
            f"{ours[name] / run.parameters.qview:.3f}",
        ]
        for name in ours
    ]


def extremes(run: Run) -> Table:
    """Table 6: the four extreme cells; t_qbase low and high, p_vsm low and high."""
    head = ("t_qbase", "p_vsm", "the paper's formula", "its value there", "here")
    low, high = (run.cell(MIXES[0], None, r) for r in (1, 100))
    low_high, high_high = (run.cell(MIXES[2], None, r) for r in (1, 100))
    p = PAPER
    cheap = (p.qbase + p.ins) / (p.vdu + p.vsm + p.qbase + p.xins)
    helped = (p.qbase + p.ins) / (p.vdu + (p.vsm + p.qview + p.xins) * (1 - low_high.p_vdu))
    return head, [
        [
            "low",
            "low",
            "(qbase + ins) / (vdu + vsm + qbase + xins)",
            amount(cheap),
            str(low.speed_up),
        ],
        [
            "low",
            "high",
            "(qbase + ins) / (vdu + (vsm + qview + xins)(1 - p_vdu))",
            amount(helped),
            str(low_high.speed_up),
        ],
        ["high", "low", "1", "1", str(high.speed_up)],
        [
            "high",
            "high",
            "1 / (1 - p_vsm)",
            amount(1 / (1 - high_high.p_vsm)),
            str(high_high.speed_up),
        ],
    ]


def reached(run: Run) -> Table:
    """What was to be reached."""
    return ("target", "at least", "reached", ""), [
        [t.name, f"{t.least:.2f}", f"{t.reached:.2f}", "met" if t.is_met else "MISSED"]
        for t in targets(run)
    ]


def lookups(run: Run) -> list[str]:
    """What the maintainer says about its lookups at the end of each stream, at rho = 1."""
    return [
        f"mix {c.number}, {form_name(c.batch)}: {c.lookups}"
        for c in run.cells
        if c.rho == 1 and c.number is not None
    ]


def text(run: Run) -> str:
    """All of it for a terminal."""
    parts = [f"{form_name(b)}\n\n{aligned(all_cells(run, b))}" for b in batch_sizes(run)]
    for title, table in (
        ("Table 5", parameters(run)),
        ("Table 6", extremes(run)),
        ("Targets", reached(run)),
    ):
        parts.append(f"{title}\n\n{aligned(table)}")
    return "\n\n".join([*parts, "\n".join(lookups(run))])
