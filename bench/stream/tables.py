"""A run as tables: for the terminal, the page and the README, from the same figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bench.spread import amount
from bench.stream.results import (
    LATENCIES,
    NO_KEYS,
    SELFMAINT,
    TRADITIONAL,
    Decided,
    Happened,
    Run,
    targets,
)
from bench.tables import Table, aligned


def latency_name(latency: int) -> str:
    return f"{latency:,} ms"


def in_bytes(count: float) -> str:
    """A number of bytes with three digits.

    Example:
        >>> in_bytes(999), in_bytes(12_345), in_bytes(6_000_000)
        ('999 B', '12.3 kB', '6.00 MB')
    """
    if count < 1000:
        return f"{count:.0f} B"
    power = next(p for p in (1, 2, 3) if count < 1000 ** (p + 1) or p == 3)
    return f"{amount(count / 1000**power)} {'kMG'[power - 1]}B"


def overall(run: Run) -> Table:
    """What each plan asked, wrote and keeps, all batches and views together."""
    head = (
        *("plan", "questions", "keys asked", "rows sent", "bytes sent", "rows written"),
        "kept beyond the views",
    )
    return head, [
        [
            plan,
            *(f"{run.total(plan, figure):,}" for figure in ("questions", "keys", "rows")),
            in_bytes(run.total(plan, "bytes")),
            f"{run.total(plan, 'inserted') + run.total(plan, 'deleted'):,}",
            in_bytes(run.bytes_kept(plan)),
        ]
        for plan in run.plans
    ]


def seconds(run: Run) -> Table:
    """What a batch takes: the median and the quartiles."""
    head = ("seconds a batch", "here", *(f"at {latency_name(n)}" for n in LATENCIES))
    return head, [
        [plan, *(str(run.seconds(plan, latency)) for latency in (None, *LATENCIES))]
        for plan in run.plans
    ]


def speed_ups(run: Run) -> Table:
    """How many times as long the other plans take, batch by batch."""
    head = (f"times as long as {SELFMAINT}", *(f"at {latency_name(n)}" for n in LATENCIES))
    return head, [
        [plan, *(str(run.speed_up(SELFMAINT, plan, latency)) for latency in LATENCIES)]
        for plan in run.plans
        if plan != SELFMAINT
    ]


def views(run: Run) -> Table:
    """What each plan asked about each view."""
    head = ("view", "rows", "plan", "questions", "keys asked", "rows sent", "bytes sent")
    rows = {view.view: view.rows for view in run.views}
    order = {plan: place for place, plan in enumerate(run.plans)}
    places = {view.view: place for place, view in enumerate(run.views)}
    return head, [
        [
            found.view,
            f"{rows[found.view]:,}",
            found.plan,
            f"{found.questions:,}",
            f"{found.keys:,}",
            f"{found.rows:,}",
            in_bytes(found.bytes),
        ]
        for found in sorted(run.asked, key=lambda a: (places[a.view], order[a.plan]))
    ]


def verdicts(run: Run) -> Table:
    """Which verdict and rule decided how many changes of each relation, all views together."""
    plans = [plan for plan in run.plans if any(d.plan == plan for d in run.decided)]
    counts = _by(run.decided, ("relation", "action", "kind", "rule"))
    head = ("relation", "change", "verdict", "rule", *plans)
    return head, [
        [*what, *(f"{found[plan]:,}" if plan in found else "" for plan in plans)]
        for what, found in sorted(counts.items())
    ]


def kinds(run: Run, plan: str) -> dict[str, Counter[str]]:
    """Relation to verdict to the number of changes, all views together."""
    found: dict[str, Counter[str]] = {}
    for each in run.decided:
        if each.plan == plan:
            found.setdefault(each.relation, Counter())[each.kind] += each.changes
    return found


def _by(decided: Iterable[Decided], names: tuple[str, ...]) -> dict[tuple[str, ...], Counter[str]]:
    found: dict[tuple[str, ...], Counter[str]] = {}
    for each in decided:
        what = tuple(getattr(each, name) for name in names)
        found.setdefault(what, Counter())[each.plan] += each.changes
    return found


def changes(run: Run) -> Table:
    """What the stream brought, a batch on average and in all."""
    head = ("relation", "insertions", "deletions", "insertions a batch", "deletions a batch")
    batches = run.settings.batches

    def row(name: str, found: list[Happened]) -> list[str]:
        figures = [sum(each.inserted for each in found), sum(each.deleted for each in found)]
        return [name, *(f"{n:,}" for n in figures), *(amount(n / batches) for n in figures)]

    names = sorted({each.relation for each in run.changes})
    return head, [row(name, [c for c in run.changes if c.relation == name]) for name in names]


def by_settings(runs: Sequence[Run]) -> Table:
    """What runs of several scales and skews asked for, a batch on average."""
    head = (
        *("scale factor", "skew", "batches", "rows of the views", "keys a batch: selfmaint"),
        *("traditional", "share", "no keys", "comparisons"),
    )
    return head, [
        [
            f"{run.settings.scale:g}",
            f"{run.settings.skew:g}",
            str(run.settings.batches),
            f"{sum(view.rows for view in run.views):,}",
            *(
                amount(run.total(plan, "keys") / run.settings.batches)
                for plan in (SELFMAINT, TRADITIONAL)
            ),
            f"{run.total(SELFMAINT, 'keys') / max(1, run.total(TRADITIONAL, 'keys')):.1%}",
            amount(run.total(NO_KEYS, "keys") / run.settings.batches),
            f"{run.compared:,}",
        ]
        for run in runs
    ]


def seconds_by_settings(runs: Sequence[Run], latency: int) -> Table:
    """What a batch took in these runs, and how many times as long the other plans took.

    Seconds are of the machine of each run; the multiples are of things measured in one run.
    """
    others = [plan for plan in runs[0].plans if plan != SELFMAINT]
    head = ("scale factor", "skew", f"{SELFMAINT}, seconds a batch", *others)
    return head, [
        [
            f"{run.settings.scale:g}",
            f"{run.settings.skew:g}",
            str(run.seconds(SELFMAINT, latency)),
            *(str(run.speed_up(SELFMAINT, plan, latency)) for plan in others),
        ]
        for run in runs
    ]


def reached(run: Run) -> Table:
    """What was to be reached."""
    return ("target", "at most", "reached", ""), [
        [t.name, f"{t.most:g}", f"{t.reached:.3g}", "met" if t.is_met else "MISSED"]
        for t in targets(run)
    ]


def text(run: Run) -> str:
    """All of it for a terminal."""
    parts = (
        changes(run),
        views(run),
        verdicts(run),
        overall(run),
        seconds(run),
        speed_ups(run),
        reached(run),
    )
    return "\n\n".join(map(aligned, parts))
