"""PART: the groups of the subgoals that a change leaves to be answered.

`partition(.., bound)` is the finest partition of some subgoals and comparisons in which no two
parts share a variable that is not bound (Huyn, Definition 2.1, with the far variables as the glue).

Law: once the bound variables have values, the answers of the whole are the product of the answers
of the groups. So a view row that agrees with those values on a group's bound variables shows that
group's answers, all of them, whatever the other groups answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cq.query import Query
from cq.roles import comparison_variables
from cq.syntax import Comparison, Var


@dataclass(frozen=True, slots=True)
class Group:
    """Subgoals and comparisons that answer together.

    Args:
        subgoals: positions in the query's body, ascending.
        comparisons: those that use one of the group's free variables.
        bound: the bound variables the group uses (`Y_g`), in body order.
        free: its other variables (`Z_g`), in body order.
    """

    subgoals: tuple[int, ...]
    comparisons: tuple[Comparison, ...]
    bound: tuple[Var, ...]
    free: tuple[Var, ...]


def partition(
    query: Query,
    subgoals: Iterable[int],
    comparisons: Iterable[Comparison],
    bound: Iterable[Var],
) -> tuple[Group, ...]:
    """Split `subgoals` and `comparisons` into groups, in body order.

    Args:
        comparisons: each uses at least one variable that is not bound.
        bound: variables whose values are known.

    Example:
        >>> from cq.program import read
        >>> text = "v(X, Y) :- r(X, Y), p(X, U), q(U, Y), s(Y, W), t(X)."
        >>> query = read(text).query("v")
        >>> groups = partition(query, (1, 2, 3, 4), (), query.columns)
        >>> [group.subgoals for group in groups]
        [(1, 2), (3,), (4,)]
    """
    known = set(bound)
    members = list(subgoals)
    tests = list(comparisons)
    uses = query.variables

    owner: dict[Var, int] = {}  # a free variable to one subgoal that uses it
    leader = {i: i for i in members}

    def find(i: int) -> int:
        while leader[i] != i:
            i = leader[i]
        return i

    def join(first: int, second: int) -> None:
        low, high = sorted((find(first), find(second)))
        leader[high] = low

    for i in members:
        for var in uses[i]:
            if var not in known:
                join(owner.setdefault(var, i), i)
    for test in tests:
        free = [owner[var] for var in comparison_variables(test) - known]
        for other in free[1:]:
            join(free[0], other)

    groups: dict[int, list[int]] = {}
    for i in members:
        groups.setdefault(find(i), []).append(i)
    attached: dict[int, list[Comparison]] = {}
    for test in tests:
        free_var = next(iter(comparison_variables(test) - known))
        attached.setdefault(find(owner[free_var]), []).append(test)
    return tuple(
        _group(uses, tuple(group), tuple(attached.get(lead, ())), known)
        for lead, group in groups.items()
    )


def _group(
    uses: tuple[tuple[Var, ...], ...],
    subgoals: tuple[int, ...],
    comparisons: tuple[Comparison, ...],
    known: set[Var],
) -> Group:
    used = dict.fromkeys(var for i in subgoals for var in uses[i])
    sides = (side for c in comparisons for side in (c.left, c.right) if isinstance(side, Var))
    used.update(dict.fromkeys(sides))
    return Group(
        subgoals,
        comparisons,
        tuple(var for var in used if var in known),
        tuple(var for var in used if var not in known),
    )
