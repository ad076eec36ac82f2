"""What declared keys determine: which variables of a query follow from others.

A subgoal whose key is known is one row, so all its variables are known: the closure of a set of
variables under the functional dependencies that keys declare. A key may hold NULL, as `UNIQUE` in
SQL, and names no row then: unless no key does, only variables that refuse NULL count.
"""

from __future__ import annotations

from collections.abc import Iterable

from cq.query import Query
from cq.syntax import Const, Var


def determined(
    query: Query, known: Iterable[Var], subgoals: Iterable[int], *, are_named: bool = False
) -> frozenset[Var]:
    """The variables that have one value each, in these subgoals, where the known ones have.

    Args:
        are_named: no key holds NULL.

    Example:
        >>> from cq.program import read
        >>> text = ".decl r(a: long, b: long) key(a) .decl s(b: long, c: long) key(b) "
        >>> query = read(text + "v(A, C) :- r(A, B), s(B, C), A > 0.").query("v")
        >>> sorted(v.name for v in determined(query, [Var("A")], [0, 1]))
        ['A', 'B', 'C']
        >>> sorted(v.name for v in determined(query, [Var("C")], [0, 1]))
        ['C']
    """
    found, left = set(known), list(subgoals)

    def is_one_row(subgoal: int) -> bool:
        atom = query.atoms[subgoal]
        keys = query.by_name[atom.predicate].keys
        naming = found if are_named else found & query.non_null
        return any(
            all(isinstance(t := atom.terms[i], Const) or t in naming for i in key) for key in keys
        )

    while rows := [i for i in left if is_one_row(i)]:
        found.update(var for i in rows for var in query.variables[i])
        left = [i for i in left if i not in rows]
    return frozenset(found)


def telling_columns(query: Query) -> tuple[int, ...]:
    """Columns of a view that tell its rows apart: by the declared keys, and without one too many.

    It is so where no key holds NULL. The first columns stay where there is a choice.

    Example:
        >>> from cq.program import read
        >>> text = ".decl r(a: long, b: long) key(a) .decl s(b: long, c: long) key(b) "
        >>> telling_columns(read(text + "v(C, A, B) :- r(A, B), s(B, C).").query("v"))
        (1,)
        >>> telling_columns(read("v(X, Y) :- r(X, Y).").query("v"))
        (0, 1)
    """
    kept = sorted(query.columns.values())
    every = range(len(query.atoms))
    for column in kept[::-1]:
        others = [var for var, place in query.columns.items() if place in kept and place != column]
        if determined(query, others, every, are_named=True).issuperset(query.columns):
            kept.remove(column)
    return tuple(kept)
