"""One verdict of the product held against the truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import SystemRandom
from typing import Protocol, TypeAlias

from hypothesis import settings

import selfmaint
from property_tests.oracle import Inconsistent, TooLarge, Truth, by_sat
from property_tests.strategies import Case, Flavour, case, size_at

Run: TypeAlias = tuple[int, int]  # a seed and a size

UNTOUCHED = ("irrelevant", "unaffected")


class Verdict(Protocol):
    """What the public surface promises about a verdict."""

    @property
    def kind(self) -> str: ...
    @property
    def inserts(self) -> frozenset[tuple[object, ...]]: ...
    @property
    def deletes(self) -> frozenset[tuple[object, ...]]: ...
    @property
    def reason(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Judgement:
    case: Case
    truth: Truth
    verdict: Verdict

    @property
    def is_exact(self) -> bool:
        """Whether the verdict says all there is to say."""
        if self.truth.unaffected:
            return self.verdict.kind in UNTOUCHED
        return self.truth.agrees == (self.verdict.kind != "miss")

    def problem(self) -> str | None:
        """What is wrong: unsound anywhere, or incomplete where the rules promise otherwise."""
        kind = self.verdict.kind
        if kind in UNTOUCHED and not self.truth.unaffected:
            return f"{kind}, but a database says otherwise"
        if kind == "self-maintained" and not self.truth.agrees:
            return "self-maintained, but databases disagree on the new view"
        new_rows = (self.case.rows - self.verdict.deletes) | self.verdict.inserts
        if kind != "miss" and new_rows != self.truth.new_rows:
            return f"{kind}, with the wrong rows"
        if kind == "miss" and new_rows != self.case.rows:
            return "a miss that changes rows"
        if self.case.flavour.is_complete and not self.is_exact:
            return f"{kind}, but the databases agree on more and the rules are complete here"
        return None

    def text(self) -> str:
        """All that is needed to understand a failure."""
        verdict = self.verdict
        return "\n".join(
            [
                str(self.problem()),
                self.case.text(),
                f"verdict: {verdict.kind}",
                f"  inserts {sorted(verdict.inserts, key=repr)}",
                f"  deletes {sorted(verdict.deletes, key=repr)}",
                f"  reason {verdict.reason}",
                self.truth.text(),
            ]
        )


def judge(case: Case) -> Judgement:
    """Decide the change, once by the product and once by definition.

    Raises:
        TooLarge: if the truth takes too long to find.
    """
    truth = by_sat(case.world, case.rows, case.change, nulls=case.flavour.nulls)
    plan = selfmaint.parse(case.world.text()).view("v").plan(case.change.relation, case.change.kind)
    return Judgement(case, truth, plan.decide(case.rows, case.change.row))


def judgements(flavour: Flavour, runs: Iterable[Run]) -> Iterator[Judgement]:
    """The judgements of all cases that the oracle can decide.

    It leaves out what takes too long, and the few cases with foreign keys whose view needs more
    rows than its universe has: there it knows no database with this view, and so no truth. Most
    cases must be left, or the law would hold for want of any.
    """
    tried = left_out = 0
    for seed, size in runs:
        tried += 1
        try:
            judgement = judge(case(flavour, seed, size))
        except (Inconsistent, TooLarge):
            left_out += 1
            continue
        yield judgement
    assert left_out <= 1 + tried // 10, f"{left_out} of {tried} cases left out"


def seeded_runs(start: int, count: int) -> Iterator[Run]:
    """Seeds from `start` on, small sizes first."""
    return ((start + index, size_at(index, count)) for index in range(count))


def profile_runs(multiple: int) -> Iterator[Run]:
    """`multiple` times as many runs as the Hypothesis profile has examples.

    A derandomized profile gets the same ones each time, others new ones.
    """
    profile = settings()
    start = 0 if profile.derandomize else SystemRandom().randrange(2**32)
    return seeded_runs(start, multiple * profile.max_examples)
