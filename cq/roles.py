"""What each variable is to an updated subgoal: own, join or far; exposed or hidden.

Everything is relative to one subgoal of one query (Huyn section 2). A comparison
over the updated subgoal's variables alone screens changes. Every other comparison is a subgoal of
the rest whose content is known, so the variables it shares with the updated subgoal are join
variables too.
"""

from __future__ import annotations

from dataclasses import dataclass

from cq.query import Query
from cq.syntax import Comparison, Const, Var


@dataclass(frozen=True, slots=True)
class Roles:
    """The variables of a query as seen from the subgoal `updated`, each kind in body order.

    Args:
        own: variables of the updated subgoal that nothing else uses (X).
        join: variables that it shares with another subgoal or comparison (Y).
        far: all other variables (Z).
        screens: comparisons over the updated subgoal's variables alone.
        rest: the other subgoals, by position.
        tests: the other comparisons.
    """

    updated: int
    own: tuple[Var, ...]
    join: tuple[Var, ...]
    far: tuple[Var, ...]
    screens: tuple[Comparison, ...]
    rest: tuple[int, ...]
    tests: tuple[Comparison, ...]


def roles(query: Query, updated: int) -> Roles:
    """Assign every variable of `query` its role.

    Example:
        >>> from cq.program import read
        >>> query = read("v(X, Z) :- r(U, X, Y), s(X, Y, Z), U > 3, Z < U.").query("v")
        >>> found = roles(query, 0)
        >>> [[var.name for var in kind] for kind in (found.own, found.join, found.far)]
        [[], ['U', 'X', 'Y'], ['Z']]
    """
    inside = query.variables[updated]
    known = set(inside)
    screens = tuple(c for c in query.comparisons if comparison_variables(c) <= known)
    tests = tuple(c for c in query.comparisons if not comparison_variables(c) <= known)
    rest = tuple(i for i in range(len(query.atoms)) if i != updated)
    outside = dict.fromkeys(var for i in rest for var in query.variables[i])
    shared = outside.keys() | {var for c in tests for var in comparison_variables(c)}
    return Roles(
        updated=updated,
        own=tuple(var for var in inside if var not in shared),
        join=tuple(var for var in inside if var in shared),
        far=tuple(var for var in outside if var not in known),
        screens=screens,
        rest=rest,
        tests=tests,
    )


def join_columns(query: Query, updated: int) -> tuple[int, ...]:
    """The columns in which a subgoal has its join variables; of each variable the first.

    Example:
        >>> from cq.program import read
        >>> query = read("v(X) :- r(X, Y, Z), s(Y, Y), t(U), U < Z.").query("v")
        >>> join_columns(query, 0), join_columns(query, 1)
        ((1, 2), (0,))
    """
    terms = query.atoms[updated].terms
    return tuple(terms.index(var) for var in roles(query, updated).join)


def comparison_variables(comparison: Comparison) -> set[Var]:
    """The variables of a comparison, as a set."""
    return {side for side in (comparison.left, comparison.right) if not isinstance(side, Const)}
