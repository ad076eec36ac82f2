"""What the batch rule works out from the query alone: once, for all batches of a view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cq.partition import Group, partition
from cq.query import Query
from cq.roles import Roles, roles
from cq.syntax import Comparison, Var
from lookups.emit import emit_step
from lookups.plan import ACTIONS, Action, Step


class Prepared:
    """A query with its steps, roles and groups, each made when it is first needed.

    Args:
        steps: steps that the caller has at hand, by subgoal and action.
    """

    __slots__ = ("_groups", "_roles", "_steps", "query")

    def __init__(
        self, query: Query, steps: Mapping[tuple[int, Action], Step] | None = None
    ) -> None:
        self.query = query
        self._steps = dict(steps or {})
        self._roles: dict[int, Roles] = {}
        self._groups: dict[tuple[int, tuple[int, ...]], tuple[Group, ...]] = {}

    def step(self, subgoal: int, action: Action) -> Step:
        found = self._steps.get((subgoal, action))
        if found is None:
            found = self._steps[subgoal, action] = emit_step(self.query, subgoal, action)
        return found

    def emit_all(self) -> None:
        """Make every step."""
        for subgoal in range(len(self.query.atoms)):
            for action in ACTIONS:
                self.step(subgoal, action)

    def roles(self, subgoal: int) -> Roles:
        found = self._roles.get(subgoal)
        if found is None:
            found = self._roles[subgoal] = roles(self.query, subgoal)
        return found

    def groups(
        self,
        subgoal: int,
        rest: Sequence[int],
        tests: Iterable[Comparison],
        bound: Iterable[Var],
    ) -> tuple[Group, ...]:
        """The groups of `rest` for a change of `subgoal`, all other subgoals being known.

        Args:
            tests: the comparisons that use a variable that is not bound.
            bound: the variables of the subgoals outside `rest`.
        """
        key = (subgoal, tuple(rest))
        found = self._groups.get(key)
        if found is None:
            found = self._groups[key] = partition(self.query, rest, tests, bound)
        return found
