"""The Spark executor says and does what the reference says and does, on any program and any batch.

A program costs Spark a few seconds of planning, however many batches are packed into one for it. So
the profile says how many programs are drawn, a few of them are checked beside each other, and each
has `COUNT` batches. What is found is not made smaller, which would take hours: it is the text of a
program. Pin it with `@example`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from property_tests.strategies import BATCH_FLAVOURS
from tests.spark.agreement import (
    COUNT,
    THREADS,
    check,
    check_halves,
    check_indexed,
    check_skipped,
    check_slices,
    low_limit_of_answers,
    low_limits,
)
from tests.spark.worlds import VALUES, Scenario, packed, single

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Check: TypeAlias = "Callable[[Scenario, SparkSession], object]"

WAYS: Mapping[str, Check] = {
    "all at once": check,
    "of one kind": check_halves,
    "by slices": check_slices,
    "skipped": check_skipped,
    "indexed": check_indexed,
}
BY_NAME = {flavour.name: flavour for flavour in BATCH_FLAVOURS}

AT_ONCE = 2 * THREADS
"""Programs in one example."""

EXAMPLES = max(1, min(settings().max_examples, 500) // AT_ONCE)
"""So that as many programs are drawn as the profile says, and several hundred at most."""


@dataclass(frozen=True)
class Program:
    """One random program, its batches, and what is checked about them."""

    flavour: str
    seed: int
    size: int = 3
    way: str = "all at once"
    kind: str = "long"

    def scenario(self) -> Scenario:
        flavour = BY_NAME[self.flavour]
        if self.kind == "long":
            return packed(flavour, self.seed, self.size, COUNT, self.kind)
        # Of most types there are few values: no room to pack batches.
        return single(flavour, self.seed, self.size, self.kind)

    def check(self, spark: SparkSession) -> None:
        try:
            WAYS[self.way](self.scenario(), spark)
        except Exception as error:
            error.add_note(f"found by {self}")
            raise


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Half of them with all features; some checked in another way, or with another type.

    Most have two or three subgoals: with four, Spark needs several times as long.
    """
    names = st.sampled_from(["everything", *(flavour.name for flavour in BATCH_FLAVOURS)])
    flavour = BY_NAME[draw(st.one_of(st.just("everything"), names))]
    ways = ["all at once"] * 9 + ["by slices", "skipped", "indexed"]
    ways += [] if flavour.foreign_keys else ["of one kind"]  # they tie the two kinds together
    kinds = ["long"] * 3 * len(VALUES) + list(VALUES)
    return Program(
        flavour.name,
        draw(st.integers(0, 2**32 - 1)),
        draw(st.sampled_from((1, 2, 2, 3))),
        draw(st.sampled_from(ways)),
        draw(st.sampled_from(kinds)),
    )


def several(chosen: Mapping[str, tuple[int, ...]], way: str = "all at once") -> list[Program]:
    """Flavour to seeds."""
    return [Program(name, seed, way=way) for name, seeds in chosen.items() for seed in seeds]


FOUND = several(
    {
        "pure": (15,),
        "plain": (12,),
        "plain nulls": (13,),
        "tree": (13,),
        "exposed": (11,),
        "repeats": (4, 6),
        "comparisons": (4,),
        "comparisons repeats nulls": (8,),
        "keys repeats": (19,),
        "foreign keys": (3,),
        "foreign keys tree": (11,),
        "foreign keys repeats": (5, 13),
        "foreign keys nulls": (0,),
        "everything": (10,),
    }
)
"""With those of `tests/spark/test_executor.py` they notice every mutant of the reference that
random programs reach, most of them several times."""

OTHERWISE = [
    *several({"repeats": (11,), "keys repeats": (11,)}, "of one kind"),
    *several({"pure": (7,), "keys repeats": (7,)}, "by slices"),
    *several({"exposed": (5,), "comparisons": (5,), "keys repeats": (5,)}, "skipped"),
    *several({"foreign keys nulls": (5,)}, "skipped"),
    *several({"pure": (2,), "foreign keys": (6,), "everything": (2,)}, "indexed"),
]

TYPED = [Program("everything", seed, kind=kind) for kind in VALUES for seed in (38, 268)]
"""With constants in the body, in comparisons and in the head."""


def check_all(chosen: list[Program], spark: SparkSession) -> None:
    """All of them, beside each other; the first error, when all have ended."""
    with ThreadPoolExecutor(THREADS) as pool:
        outcomes = [pool.submit(program.check, spark) for program in chosen]
    for outcome in outcomes:
        outcome.result()


@example(FOUND)
@example(OTHERWISE)
@example(TYPED)
@settings(max_examples=EXAMPLES, phases=(Phase.explicit, Phase.generate))
@given(st.lists(programs(), min_size=AT_ONCE, max_size=AT_ONCE))
def test_spark_agrees_with_the_reference(spark: SparkSession, chosen: list[Program]) -> None:
    check_all(chosen, spark)


def test_large_batches(spark: SparkSession) -> None:
    """What only large batches or programs come to, here with limits that small ones exceed."""
    chosen = several({"everything": (2,), "keys repeats": (2,), "repeats nulls": (13,)})
    with low_limits(), low_limit_of_answers():
        check_all(chosen, spark)
