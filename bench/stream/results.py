"""What a run measured, as data: JSON that reads back, and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any, Final

from bench.spread import Spread

VERSION: Final = 1

SELFMAINT: Final = "selfmaint"
NO_KEYS: Final = "no keys"
TRADITIONAL: Final = "traditional"
LOCAL_COPIES: Final = "local copies"
RECOMPUTE: Final = "recompute"
PLANS: Final = (SELFMAINT, NO_KEYS, TRADITIONAL, LOCAL_COPIES, RECOMPUTE)

LATENCIES: Final = (20, 200, 2000)
"""Milliseconds that a question takes, whatever is asked."""

PER_ROW: Final = 0.000_01
"""Seconds for each key and each row that travels."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What was run.

    Args:
        scale: TPC-H's scale factor.
        skew: the exponent of Zipf's law for customers and parts.
    """

    scale: float = 0.1
    batches: int = 50
    skew: float = 0.8
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Happened:
    """The changes of one relation in one batch."""

    batch: int
    relation: str
    inserted: int
    deleted: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What a plan asked the sources about a view, and wrote to it.

    Args:
        keys: distinct keys sent, per question.
        rows: that came back; `bytes`: of their values.
        inserted, deleted: rows of the view.
    """

    plan: str
    view: str
    questions: int
    keys: int
    rows: int
    bytes: int
    inserted: int
    deleted: int

    def __add__(self, other: Asked) -> Asked:
        plan, view, *mine = astuple(self)
        _, _, *theirs = astuple(other)
        return Asked(plan, view, *(a + b for a, b in zip(mine, theirs, strict=True)))


@dataclass(frozen=True, slots=True)
class Line:
    """What a plan did with one batch, all views together.

    Args:
        seconds: measured, on a machine that holds both the warehouse and the sources.
    """

    batch: int
    plan: str
    seconds: float
    questions: int
    keys: int
    rows: int
    bytes: int
    inserted: int
    deleted: int

    @classmethod
    def of(cls, batch: int, plan: str, seconds: float, views: Iterable[Asked]) -> Line:
        figures = zip(*(astuple(view)[2:] for view in views), strict=True)
        return cls(batch, plan, seconds, *map(sum, figures))

    def seconds_at(self, latency: int) -> float:
        """With a source that takes so many milliseconds for a question, one after the other."""
        travel = self.questions * latency / 1000 + (self.keys + self.rows) * PER_ROW
        return self.seconds + travel


@dataclass(frozen=True, slots=True, order=True)
class Decided:
    """How many changes of a relation got which verdict, by which rule."""

    plan: str
    view: str
    relation: str
    action: str
    kind: str
    rule: str
    changes: int


@dataclass(frozen=True, slots=True)
class Kept:
    """Bytes that a plan keeps on disk beyond the views."""

    plan: str
    bytes: int


@dataclass(frozen=True, slots=True)
class ViewSize:
    """A view after the last batch."""

    view: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Run:
    """All that was measured.

    Args:
        compared: how often a plan's view was compared with the recomputed one. All were equal: a
            run that finds a wrong row has no result.
        sittings: how many processes it took, each of which began with a cold machine.
    """

    settings: Settings
    machine: Mapping[str, str | int | float]
    changes: tuple[Happened, ...]
    lines: tuple[Line, ...]
    asked: tuple[Asked, ...]
    decided: tuple[Decided, ...]
    kept: tuple[Kept, ...]
    views: tuple[ViewSize, ...]
    compared: int
    sittings: int = 1

    @property
    def plans(self) -> list[str]:
        """In the order in which they are shown."""
        return [plan for plan in PLANS if any(line.plan == plan for line in self.lines)]

    def of(self, plan: str) -> list[Line]:
        """The batches of a plan."""
        return [line for line in self.lines if line.plan == plan]

    def total(self, plan: str, figure: str) -> int:
        """A figure of `Line`, summed over the batches."""
        return sum(getattr(line, figure) for line in self.of(plan))

    def bytes_kept(self, plan: str) -> int:
        return next(kept.bytes for kept in self.kept if kept.plan == plan)

    def seconds(self, plan: str, latency: int | None = None) -> Spread:
        """Of a batch; without a latency, what was measured here."""
        lines = self.of(plan)
        if latency is None:
            return Spread.of([line.seconds for line in lines])
        return Spread.of([line.seconds_at(latency) for line in lines])

    def speed_up(self, plan: str, over: str, latency: int) -> Spread:
        """The seconds of `over` as a multiple of the plan's, batch by batch."""
        theirs = {line.batch: line.seconds_at(latency) for line in self.of(over)}
        mine = self.of(plan)
        return Spread.of([theirs[line.batch] / line.seconds_at(latency) for line in mine])

    def to_json(self) -> str:
        """A line per entry, so that two runs can be compared by reading."""
        head = {
            "version": VERSION,
            "settings": asdict(self.settings),
            "machine": dict(self.machine),
            "compared": self.compared,
            **({"sittings": self.sittings} if self.sittings > 1 else {}),
        }
        parts = [json.dumps(head, indent=1)[:-2]]
        for name in LISTS:
            rows = ",\n".join(f"  {_compact(astuple(row))}" for row in getattr(self, name))
            columns = _compact([field.name for field in fields(LISTS[name])])
            parts.append(f' "{name}": [\n  {columns}{"," if rows else ""}\n{rows}\n ]')
        return ",\n".join(parts) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Run:
        data = json.loads(text)
        if data["version"] != VERSION:
            raise ValueError(f"not a result of version {VERSION}")
        lists: dict[str, Any] = {
            name: tuple(_rows(kind, data[name])) for name, kind in LISTS.items()
        }
        settings = Settings(**data["settings"])
        return cls(
            settings=settings,
            machine=data["machine"],
            compared=data["compared"],
            sittings=data.get("sittings", 1),
            **lists,
        )

    def to_csv(self) -> str:
        """A row per batch and plan."""
        out = io.StringIO()
        names = [field.name for field in fields(Line)]
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*names, *(f"seconds_at_{latency}_ms" for latency in LATENCIES)])
        for line in self.lines:
            seconds = (f"{line.seconds_at(latency):.3f}" for latency in LATENCIES)
            writer.writerow([*astuple(line), *seconds])
        return out.getvalue()


LISTS: Final[Mapping[str, type[Any]]] = {
    "changes": Happened,
    "lines": Line,
    "asked": Asked,
    "decided": Decided,
    "kept": Kept,
    "views": ViewSize,
}
"""The fields of a run that are lists, and what of. In JSON the first entry names the columns."""


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _rows(kind: type[Any], entries: Sequence[Sequence[Any]]) -> Iterator[Any]:
    names, *rows = entries
    return (kind(**dict(zip(names, row, strict=True))) for row in rows)


@dataclass(frozen=True, slots=True)
class Target:
    """What was to be reached, and what was."""

    name: str
    most: float
    reached: float

    @property
    def is_met(self) -> bool:
        return self.reached <= self.most


def targets(run: Run) -> Iterable[Target]:
    """What the benchmark is for."""
    keys = run.total(SELFMAINT, "keys") / max(1, run.total(TRADITIONAL, "keys"))
    yield Target("keys asked for, as a share of the traditional plan's", 0.10, keys)
    kept = run.bytes_kept(SELFMAINT) / max(1, run.bytes_kept(LOCAL_COPIES))
    yield Target("bytes kept beyond the views, as a share of the local copies'", 0.05, kept)
    views, others = len(run.views), len(run.plans) - 1
    expected = run.settings.batches * views * others
    yield Target("views that were not compared after a batch", 0, expected - run.compared)
