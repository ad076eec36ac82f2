"""A batch that grows while it is decided, because the source has moved on.

A source that cannot answer as of an earlier version says which later one it answered as of. The
batch is then extended with the changes up to that version, and decided anew as the batch of that
number. Deciding only reads, so there is nothing to take back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from selfmaint.deciding import Decision, Task
from selfmaint.errors import RuntimeStateError
from warehouse.batches import Changes, followed_by
from warehouse.sources import Cost
from warehouse.tables import Extent, State, last_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cq.schema import Relation

MOST_EXTENSIONS: Final = 5
"""So often a batch is extended before it is given up: each time it is decided anew."""

Later: TypeAlias = Callable[[int, int], "Mapping[str, DataFrame]"]
"""The net changes of the source after one version, up to and with another one, as a batch."""

Deciding: TypeAlias = Callable[[Sequence[Task], Mapping[str, Changes], int], Sequence[Decision]]
"""Decides changes for some views, which they take to a version."""

WAYS_OUT: Final = (
    "open the warehouse with `later`, a function that knows the changes between two versions",
    "or run `load()`, which takes the views to what the source has now and returns that version: "
    "batches up to it are in them then, and are not to be applied any more",
)


@dataclass(frozen=True)
class Extending:
    """A batch that can be extended.

    Args:
        number: of the batch.
        changes: its own ones.
        later: see `Later`; None if nobody knows these changes.
    """

    relations: Mapping[str, Relation]
    number: int
    changes: Mapping[str, Changes]
    later: Callable[[int, int], Mapping[str, Changes]] | None

    def decided(
        self, tasks: Sequence[Task], reached: Mapping[str, int], decide: Deciding
    ) -> tuple[list[Decision], int]:
        """The decisions for the views that lack something, and the version the batch ends in.

        Law: every view gets the net changes from the version that it has reached to that in which
        the batch ends, and every answer of the source is as of the latter. No view ends before
        another one: after a crash some have a longer batch than was given.

        Args:
            reached: the version of each view; `number - 1` for one that lacks the batch.
        Raises:
            RuntimeStateError: RT404, nobody knows the later changes, or the source moves on faster
                than a batch is decided.
        """
        behind: dict[int, list[Task]] = {}
        for task in tasks:
            behind.setdefault(reached[task.stored.name], []).append(task)
        upto = max([self.number, *behind])
        spent: dict[str, Cost] = {}
        for _ in range(MOST_EXTENSIONS + 1):
            found: list[Decision] = []
            for version, lacking in behind.items():
                if version < upto:
                    found += decide(lacking, self._since(version, upto), upto)
            for decision in found:
                name = decision.task.stored.name
                spent[name] = spent.get(name, Cost()) + decision.cost
            answered = [d.answered_as_of for d in found if d.answered_as_of is not None]
            if not answered:
                return [replace(d, cost=spent[d.task.stored.name]) for d in found], upto
            if self.later is None:
                raise _overtaken(max(answered), upto, *WAYS_OUT)
            before, upto = upto, max(answered)
        raise _overtaken(
            upto,
            before,
            f"it was extended {MOST_EXTENSIONS} times, and each time the source had moved on: "
            "apply it again when the source changes less often",
            WAYS_OUT[-1],
        )

    def _since(self, reached: int, upto: int) -> Mapping[str, Changes]:
        """The net changes that take a view from one version to another."""
        if reached < self.number == upto:
            return self.changes
        if self.later is None:
            raise RuntimeStateError(
                "RT404",
                f"some views have batch {self.number} with the changes up to version {upto}, which "
                f"the source had answered as of; others end at version {reached}. Nothing was "
                "changed now",
                *WAYS_OUT,
            )
        if reached >= self.number:
            return self.later(reached, upto)
        return followed_by(self.relations, self.changes, self.later(self.number, upto))


def _overtaken(answered: int, end: int, *help: str) -> RuntimeStateError:
    return RuntimeStateError(
        "RT404",
        f"the source answered as of version {answered}, but the batch ends at version {end}. "
        "Nothing was changed",
        *help,
    )


def extent_of(number: int, upto: int, states: Mapping[str, State]) -> Extent:
    """The numbers of a batch that ends at `upto`: also those of a longer one that it finishes."""
    last = last_batch(states)
    return Extent(last.first if last is not None and number in last else number, upto)


def extension_note(extent: Extent) -> tuple[str, ...]:
    """For a report: that the batch was extended."""
    if extent.extended_from is None:
        return ()
    return (
        f"batch {extent.first} was extended to batch {extent.last}: the source answered as of it",
    )
