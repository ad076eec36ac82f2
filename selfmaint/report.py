"""What a batch did: as data, as a table, as JSON, and as columns of a table of reports."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Final

from lookups.verdict import Kind
from warehouse.sources import Cost

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
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
    """What a stage of a batch took.

    Args:
        jobs: Spark jobs, as `ViewReport.jobs` has them, of deciding and of committing. Those of a
            question count where it is asked, as part of deciding.
    """

    name: str
    seconds: float
    jobs: int | None = None


@dataclass(frozen=True, slots=True)
class ViewReport:
    """What a batch did to one view.

    Args:
        version: the version of the view's table with the batch.
        counts: the changes, by relation, verdict and rule.
        lookups: the lookups that were made.
        files_read, files: how many files of the view's table they were made in, of how many. What
            is left out cannot hold what was looked up, by the least and greatest values that Delta
            keeps for each file.
        rows_read, rows: how many rows these files hold, of how many that the view had. Rows that
            are deleted and still in their files are read as well.
        cost: what the source was asked, and what that took.
        traditional: an estimate of what the source would have been asked by a warehouse that looks
            nothing up: one question per changed subgoal for the rows of the other subgoals, with
            the distinct keys of the changes that match the subgoal. None for a view of one
            subgoal. Its seconds are `questions` times those of one question, which is the
            source's `latency` if it has one and otherwise the mean of the questions that this
            warehouse has asked since it was opened, 0 before the first; and `per_row_sent`, if
            the source has that, for each key. Not counted, so that savings are rather understated:
            rows and bytes that would have come back and what scanning for them takes, and the
            questions whether a deleted row of the view has another reason to be there.
        inserted, deleted: rows of the view.
        jobs: Spark jobs, as far as Spark's status tracker has heard of them, which may take it
            some milliseconds; None over Spark Connect, which has none.
        stages: seconds, without those of the journal, which a report is written to.
        notes: that the batch was extended, and to which; for which relations lookups are off from
            now on, and why.
        indexed: values of the view that are kept in memory now; one that recent batches have
            touched may count several times. Lookups among them read nothing.
        is_replay: the view had the batch already; nothing was done.
    """

    view: str
    version: int
    counts: tuple[Count, ...] = ()
    lookups: int = 0
    files_read: int = 0
    files: int = 0
    rows_read: int = 0
    rows: int = 0
    cost: Cost = field(default_factory=Cost)
    traditional: Cost = field(default_factory=Cost)
    inserted: int = 0
    deleted: int = 0
    jobs: int | None = None
    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = ()
    indexed: int = 0
    is_replay: bool = False

    def with_jobs(self, **jobs: int | None) -> ViewReport:
        """The same with the jobs of its stages, by name; their sum is that of the view."""
        stages = tuple(replace(stage, jobs=jobs.get(stage.name)) for stage in self.stages)
        known = [count for count in jobs.values() if count is not None]
        return replace(self, stages=stages, jobs=sum(known) if len(known) == len(jobs) else None)

    def changes(self, *kinds: Kind) -> int:
        """How many changes got one of these verdicts; all of them without any."""
        return sum(c.changes for c in self.counts if not kinds or c.kind in kinds)

    @property
    def verdicts(self) -> dict[str, int]:
        """How many changes got which verdict; those that none got are left out."""
        return {str(kind): number for kind in Kind if (number := self.changes(kind))}

    @property
    def decided_here(self) -> int:
        """Changes that asked nobody."""
        return self.changes(*(kind for kind in Kind if kind is not Kind.MISS))

    @property
    def questions_avoided(self) -> int:
        """What the traditional plan would have asked, less what was asked; negative if more was."""
        return self.traditional.questions - self.cost.questions

    @property
    def seconds(self) -> float:
        """Of all stages."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def seconds_saved(self) -> float:
        return max(0.0, self.traditional.seconds - self.cost.seconds)

    def as_dict(self) -> dict[str, object]:
        """The report as JSON has it, with the figures that follow from others."""
        return {
            **asdict(self),
            "verdicts": self.verdicts,
            "questions_avoided": self.questions_avoided,
            "seconds": self.seconds,
            "seconds_saved": self.seconds_saved,
        }

    def __rich__(self) -> RenderableType:
        """The changes by verdict and rule."""
        from rich.table import Table

        table = Table(box=None, header_style="bold", pad_edge=False, title=self.view)
        table.caption = "\n".join(self.notes) or None
        for name in ("relation", "change", "verdict", "rule"):
            table.add_column(name)
        table.add_column("changes", justify="right")
        for count in self.counts:
            words = count.relation, count.action, count.kind, count.rule
            table.add_row(*words, f"{count.changes:,}")
        return table


@dataclass(frozen=True, slots=True)
class Report:
    """What a batch did to all views of a warehouse.

    Args:
        batch: the last one that the views have now: the one that was given, or a later one that it
            was extended to.
        seconds: from the call to its end, the journal included.
        jobs: Spark jobs of the whole call, as `ViewReport.jobs` has them for a view.
    """

    batch: int
    views: tuple[ViewReport, ...]
    seconds: float
    jobs: int | None = None

    @property
    def is_replay(self) -> bool:
        return all(view.is_replay for view in self.views)

    def of(self, view: str) -> ViewReport:
        return next(report for report in self.views if report.view == view)

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(
            {
                "batch": self.batch,
                "seconds": self.seconds,
                "jobs": self.jobs,
                "views": [view.as_dict() for view in self.views],
            },
            sort_keys=True,
        )

    def __rich__(self) -> RenderableType:
        """A column per view; large figures are rounded. Below, the notes."""
        from rich.table import Table

        table = Table(box=None, header_style="bold", pad_edge=False, caption_justify="left")
        table.add_column(f"batch {self.batch}", no_wrap=True)
        for view in self.views:
            style = "dim" if view.is_replay else None
            table.add_column(view.view, justify="right", overflow="fold", style=style)
        shown = [{"changes": "replay"} if v.is_replay else _figures(v) for v in self.views]
        kinds = tuple(f"  {kind}" for kind in Kind if any(v.changes(kind) for v in self.views))
        stages = dict.fromkeys(f"  {stage.name}" for view in self.views for stage in view.stages)
        for label in ("changes", *kinds, *_LABELS, "seconds", *stages, *_SOURCE):
            style = "green" if label == SAVED else None
            table.add_row(label, *(figures.get(label, "") for figures in shown), style=style)
        notes = dict.fromkeys(f"{view.view}: {note}" for view in self.views for note in view.notes)
        table.caption = "\n".join(notes) or None
        return table


_LABELS: Final = (
    "decided here", "lookups", "files read", "rows read", "values indexed", "questions asked",
    "questions avoided", "keys sent", "rows received", "bytes received", "rows inserted",
    "rows deleted", "Spark jobs",
)  # fmt: skip
SAVED: Final = "source seconds saved"
_SOURCE: Final = ("source seconds", SAVED)


def _figures(view: ViewReport) -> dict[str, str]:
    """What a report shows of a view, by label."""
    jobs = "unknown" if view.jobs is None else rounded(view.jobs)
    return {
        "changes": rounded(view.changes()),
        **{f"  {kind}": rounded(view.changes(kind)) for kind in Kind},
        "decided here": rounded(view.decided_here),
        "lookups": rounded(view.lookups),
        "files read": f"{rounded(view.files_read)} of {rounded(view.files)}",
        "rows read": f"{rounded(view.rows_read)} of {rounded(view.rows)}",
        "values indexed": rounded(view.indexed),
        "questions asked": rounded(view.cost.questions),
        "questions avoided": rounded(view.questions_avoided),
        "keys sent": rounded(view.cost.keys_sent),
        "rows received": rounded(view.cost.rows_sent),
        "bytes received": rounded(view.cost.bytes_sent),
        "rows inserted": rounded(view.inserted),
        "rows deleted": rounded(view.deleted),
        "Spark jobs": jobs,
        "seconds": f"{view.seconds:.1f}",
        **{f"  {stage.name}": f"{stage.seconds:.1f}" for stage in view.stages},
        "source seconds": f"{view.cost.seconds:.2f}",
        SAVED: f"{view.seconds_saved:.2f}",
    }


def rounded(number: int) -> str:
    """A number in at most six characters: all digits below a hundred thousand, three above.

    Example:
        >>> [rounded(n) for n in (99_999, 100_000, 1_234_567, 999_999_999)]
        ['99,999', '100k', '1.23M', '1.00G']
    """
    if number < 100_000:
        return f"{number:,}"
    power = next(p for p in (1, 2, 3, 4, 5, 6) if number < 999.5 * 1000**p or p == 6)
    return f"{number / 1000**power:#.3g}".rstrip(".") + "kMGTPE"[power - 1]


# In the journal

_COST: Final = (
    "struct<questions: bigint, keys_sent: bigint, rows_sent: bigint, rows_scanned: bigint, "
    "seconds: double, bytes_sent: bigint>"
)
_REPORT: Final = (
    "struct<"
    f"verdicts: struct<{', '.join(f'`{kind}`: bigint' for kind in Kind)}>, lookups: bigint, "
    f"files_read: bigint, files: bigint, rows_read: bigint, rows: bigint, indexed: bigint, "
    f"cost: {_COST}, traditional: {_COST}, "
    "questions_avoided: bigint, inserted: bigint, deleted: bigint, jobs: bigint, "
    "seconds: double, seconds_saved: double, "
    "stages: array<struct<name: string, seconds: double>>, notes: array<string>>"
)


def report_columns(journal: DataFrame) -> DataFrame:
    """The reports among the lines of a journal, in columns: one line per batch and view.

    Args:
        journal: `batch`, `view`, `version`, `is_changed`, and `info`, JSON with the report of the
            view under `report`.
    """
    from pyspark.sql import functions as sf

    def kind_column(kind: Kind) -> str:
        return f"coalesce(r.verdicts.`{kind}`, 0) AS `{kind.replace('-', '_')}`"

    lines = journal.select(
        "batch",
        "view",
        "version",
        "is_changed",
        sf.get_json_object("info", "$.report").alias("report"),
    ).where("report IS NOT NULL")
    return lines.withColumn("r", sf.from_json("report", _REPORT)).selectExpr(
        "batch",
        "view",
        "version",
        "is_changed",
        *map(kind_column, Kind),
        "r.lookups",
        "r.files_read",
        "r.files",
        "r.rows_read",
        "r.rows",
        "coalesce(r.indexed, 0) AS indexed",
        "r.cost.questions",
        "r.questions_avoided",
        "r.cost.keys_sent",
        "r.cost.rows_sent",
        "r.cost.bytes_sent",
        "r.inserted",
        "r.deleted",
        "r.jobs",
        "r.seconds",
        "r.cost.seconds AS source_seconds",
        "r.traditional.seconds AS traditional_seconds",
        "r.seconds_saved",
        "map_from_entries(r.stages) AS stages",
        "r.notes",
        "report",
    )
