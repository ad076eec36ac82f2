"""What a batch did, as data, as a table, as JSON, and as rows for a table of reports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from lookups.verdict import Kind
from warehouse.sources import Cost

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class Count:
    """How many changes of a relation ended where, and by which rule."""

    relation: str
    action: str
    kind: str
    rule: str
    changes: int


@dataclass(frozen=True, slots=True)
class Stage:
    """How long a stage of a batch took."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ViewReport:
    """What a batch did to one view.

    Args:
        version: the version of the view's table with the batch.
        counts: the changes, by relation, verdict and rule.
        lookups: the lookups that were made.
        cost: what the source was asked, and what that took.
        traditional: what asking the source for every change that matches would have taken: one
            question per changed subgoal.
        inserted, deleted: rows of the view.
        is_replay: the view had the batch already; nothing was done.
    """

    view: str
    version: int
    counts: tuple[Count, ...] = ()
    lookups: int = 0
    cost: Cost = field(default_factory=Cost)
    traditional: Cost = field(default_factory=Cost)
    inserted: int = 0
    deleted: int = 0
    stages: tuple[Stage, ...] = ()
    is_replay: bool = False

    def changes(self, *kinds: Kind) -> int:
        """How many changes got one of these verdicts; all of them without any."""
        return sum(c.changes for c in self.counts if not kinds or c.kind in kinds)

    @property
    def decided_here(self) -> int:
        """Changes that asked nobody."""
        return self.changes(*(kind for kind in Kind if kind is not Kind.MISS))

    @property
    def seconds_saved(self) -> float:
        return max(0.0, self.traditional.seconds - self.cost.seconds)


@dataclass(frozen=True, slots=True)
class Report:
    """What a batch did to all views of a warehouse.

    Args:
        seconds: from the call to the last commit.
    """

    batch: int
    views: tuple[ViewReport, ...]
    seconds: float

    @property
    def is_replay(self) -> bool:
        return all(view.is_replay for view in self.views)

    def of(self, view: str) -> ViewReport:
        return next(report for report in self.views if report.view == view)

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    def rows(self) -> list[tuple[int, str, int, str]]:
        """Batch, view, version and the view's report as JSON: a row per view."""
        return [
            (self.batch, view.view, view.version, json.dumps(asdict(view), sort_keys=True))
            for view in self.views
        ]

    def __rich__(self) -> RenderableType:
        return report_table([self])


def report_table(reports: Iterable[Report]) -> RenderableType:
    """A table with a line per batch and view."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("batch", justify="right")
    table.add_column("view")
    for name in ("changes", "decided here", "asked", "questions", "rows +", "rows -"):
        table.add_column(name, justify="right")
    table.add_column("source s", justify="right")
    table.add_column("saved s", justify="right", style="green")
    for report in reports:
        for view in report.views:
            if view.is_replay:
                table.add_row(str(report.batch), view.view, "replay", *[""] * 7, style="dim")
                continue
            table.add_row(
                str(report.batch),
                view.view,
                f"{view.changes():,}",
                f"{view.decided_here:,}",
                f"{view.changes(Kind.MISS):,}",
                str(view.cost.questions),
                f"{view.inserted:,}",
                f"{view.deleted:,}",
                f"{view.cost.seconds:.2f}",
                f"{view.seconds_saved:.2f}",
            )
    return table
