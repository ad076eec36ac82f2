"""Verdicts: what a change does to a view, and why, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cq.types import Row
from lookups.plan import Lookup


class Kind(StrEnum):
    """The four verdicts."""

    IRRELEVANT = "irrelevant"
    UNAFFECTED = "unaffected"
    SELF_MAINTAINED = "self-maintained"
    MISS = "miss"


class Test(StrEnum):
    """What a lookup was made for."""

    VDU = "VDU"
    VSM = "VSM"
    CONTRADICTION = "contradiction"


class Because(StrEnum):
    """What settled a change, besides the rules of the tables (`lookups.plan.Rule`)."""

    UNUSED = "unused"  # the view does not depend on the relation
    SCREEN = "screen"  # the change does not match the subgoal
    FOREIGN_KEY = "foreign-key"  # nothing can refer to a key that comes or goes
    UNSEEN = "unseen"  # the batch replaces the row by one that looks the same to the view
    UPDATE = "update"  # the row that the batch deletes for it has the same join values
    BATCH = "batch"  # rows that the batch itself brings answer the rest
    SETTLED = "settled"  # ... together with the settled view
    SKIPPED = "skipped"  # no lookup was made: they do not pay for this relation
    SOURCE = "source"  # a source had to be asked
    SEVERAL = "several"  # one reason per subgoal of the relation


@dataclass(frozen=True, slots=True)
class Answer:
    """One lookup that was made: the pattern, the values in it, and whether a row was found."""

    test: Test
    lookup: Lookup
    values: Row
    found: bool


class Screened(StrEnum):
    """Which test of a screen a change failed."""

    EMPTY = "empty"  # no database gives the view a row
    CONSTANT = "constant"  # a column holds another value than the subgoal's constant
    NULL = "null"  # a column that joins or is compared holds NULL
    REPEATED = "repeated"  # two columns of one variable hold different values
    COMPARISON = "comparison"  # a comparison over the change's values is false


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why a change does not match a subgoal.

    Args:
        positions: the columns of the change that the test is about.
        values: what was compared, left and right.
        operator: how; empty for `Screened.EMPTY`.
    """

    test: Screened
    positions: tuple[int, ...] = ()
    values: Row = ()
    operator: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a verdict is what it is.

    Args:
        rule: the rule that decided, a `Rule` of the tables or a `Because`.
        answers: the lookups made, in order.
        subgoal: the subgoal the reason is about, by position in the body; None for all.
        mismatch: with `Because.SCREEN`, what the change failed.
        parts: with `Because.SEVERAL`, one reason per subgoal of the changed relation.
    """

    rule: str
    answers: tuple[Answer, ...] = ()
    subgoal: int | None = None
    mismatch: Mismatch | None = None
    parts: tuple[Reason, ...] = ()

    @property
    def missing(self) -> tuple[Answer, ...]:
        """The lookups that found no row."""
        return tuple(answer for answer in self.answers if not answer.found)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a change does to the view.

    Args:
        inserts: rows that the view gains.
        deletes: rows that it loses.
    """

    kind: Kind
    reason: Reason
    inserts: frozenset[Row] = frozenset()
    deletes: frozenset[Row] = frozenset()

    def __post_init__(self) -> None:
        changes = bool(self.inserts or self.deletes)
        assert changes == (self.kind is Kind.SELF_MAINTAINED), self
