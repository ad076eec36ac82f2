"""Recomputation over Python sets: the yardstick, and the reference's source.

Plain backtracking over the subgoals. NULL never joins: a variable that refuses NULL is never bound
to it, a constant never matches it, and every comparison with it is false.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from cq.query import Query
from cq.syntax import Atom, Comparison, Const, Term, Var
from cq.types import Row, holds

Binding: TypeAlias = dict[Var, object]
Database: TypeAlias = Mapping[str, Iterable[Sequence[object]]]


def evaluate(query: Query, database: Database) -> frozenset[Row]:
    """The view's rows in `database`.

    Example:
        >>> from cq.program import read
        >>> query = read("v(X, Z) :- r(X, Y), s(Y, Z).").query("v")
        >>> sorted(evaluate(query, {"r": {(1, 2), (3, None)}, "s": {(2, 5), (None, 6)}}))
        [(1, 5)]
    """
    if query.is_empty:
        return frozenset()
    tables = tabulate(query, database)
    found = solve(query, range(len(query.atoms)), query.comparisons, [{}], tables)
    return frozenset(head_row(query, binding) for binding in found)


def tabulate(query: Query, database: Database) -> dict[str, list[Row]]:
    """The relations of `query` as lists of rows in their columns' representation."""
    return {
        relation.name: [relation.admit(row) for row in database.get(relation.name, ())]
        for relation in query.relations
    }


def head_row(query: Query, binding: Binding) -> Row:
    return tuple(value_in(term, binding) for term in query.head)


def value_in(term: Term, binding: Binding) -> object:
    return term.value if isinstance(term, Const) else binding[term]


def match(query: Query, atom: Atom, row: Row, binding: Binding) -> Binding | None:
    """`binding` extended so that `atom` becomes `row`, or None."""
    extended = dict(binding)
    for term, value in zip(atom.terms, row, strict=True):
        if isinstance(term, Const):
            if value is None or term.value != value:
                return None
        elif term in extended:
            if extended[term] is None or extended[term] != value:
                return None
        elif value is None and term in query.non_null:
            return None
        else:
            extended[term] = value
    return extended


def solve(
    query: Query,
    subgoals: Iterable[int],
    comparisons: Iterable[Comparison],
    starts: Sequence[Binding],
    tables: Mapping[str, Sequence[Row]],
) -> Iterator[Binding]:
    """Every extension of a binding that satisfies the subgoals and comparisons.

    Args:
        starts: the bindings to extend; all bind the same variables.
    """
    known = set(starts[0]) if starts else set()
    order = _connected(query, list(subgoals), known)
    tests = list(comparisons)
    ready: list[list[Comparison]] = []  # which comparisons become decidable after how many subgoals
    finders: list[dict[Row, list[Row]]] = []  # per subgoal: its rows by the values known before it
    keys: list[tuple[Term, ...]] = []
    for depth in range(len(order) + 1):
        now = [c for c in tests if is_known(c, known)]
        tests = [c for c in tests if c not in now]
        ready.append(now)
        if depth < len(order):
            atom = query.atoms[order[depth]]
            at = [i for i, t in enumerate(atom.terms) if isinstance(t, Const) or t in known]
            keys.append(tuple(atom.terms[i] for i in at))
            finders.append(_by_values(tables[atom.predicate], at))
            known.update(t for t in atom.terms if isinstance(t, Var))
    assert not tests, "a comparison uses a variable that no subgoal binds"

    def extend(depth: int, current: Binding) -> Iterator[Binding]:
        if not all(comparison_holds(c, current) for c in ready[depth]):
            return
        if depth == len(order):
            yield current
            return
        key = tuple(value_in(term, current) for term in keys[depth])
        for row in finders[depth].get(key, ()):
            extended = match(query, query.atoms[order[depth]], row, current)
            if extended is not None:
                yield from extend(depth + 1, extended)

    return (found for start in starts for found in extend(0, start))


def _by_values(rows: Sequence[Row], positions: list[int]) -> dict[Row, list[Row]]:
    found: dict[Row, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[i] for i in positions), []).append(row)
    return found


def comparison_holds(comparison: Comparison, binding: Binding) -> bool:
    left, right = value_in(comparison.left, binding), value_in(comparison.right, binding)
    return holds(comparison.operator, left, right, comparison.numeric)


def is_known(comparison: Comparison, known: Container[Var]) -> bool:
    """Whether all variables of the comparison have values."""
    return all(isinstance(t, Const) or t in known for t in (comparison.left, comparison.right))


def _connected(query: Query, subgoals: list[int], known: set[Var]) -> list[int]:
    """The subgoals in an order in which each, if possible, shares a variable with earlier ones."""
    order: list[int] = []
    known = set(known)
    while subgoals:
        best = max(subgoals, key=lambda i: sum(t in known for t in query.atoms[i].terms))
        subgoals.remove(best)
        order.append(best)
        known.update(t for t in query.atoms[best].terms if isinstance(t, Var))
    return order
