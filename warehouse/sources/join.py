"""A question to a source: the rows of a small join for given keys.

Variables may differ only by case, and Spark's columns may not. So columns go by position: keys have
`b0`, `b1`, ... for the bound variables, answers have these and `w0`, `w1`, ... for the wanted ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from cq.dependencies import determined
from cq.query import Query
from cq.syntax import Atom, Comparison, Const, Var, variables_of
from warehouse.columns import spark_type
from warehouse.sources.compare import comparison_holds, literal

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Join:
    """Some subgoals and comparisons of a query, asked for by the values of some variables.

    The answer is a set: for each key, every assignment of the wanted variables that satisfies the
    subgoals and comparisons. NULL never joins: a variable that refuses NULL is never NULL, a
    constant and a repeated variable never match it, a comparison with it is false. A bound variable
    that nothing here uses may be NULL and is carried along.

    Args:
        query: where the subgoals, the types and the variables that refuse NULL come from.
        subgoals: positions in `query.atoms`.
        bound: the variables that the keys give values to; with none, the whole join is asked for.
        wanted: the variables whose values are asked for.
        is_null_safe: a key's NULL stands for NULL, in the variables that may hold it. So a slice of
            a view is asked for.
    """

    query: Query
    subgoals: tuple[int, ...]
    comparisons: tuple[Comparison, ...]
    bound: tuple[Var, ...]
    wanted: tuple[Var, ...]
    is_null_safe: bool = False

    def __post_init__(self) -> None:
        known = {*self.bound, *(v for i in self.subgoals for v in self.query.variables[i])}
        compared = variables_of(*(side for c in self.comparisons for side in (c.left, c.right)))
        assert known.issuperset(self.wanted), "a wanted variable has no subgoal"
        assert known.issuperset(compared), "a comparison uses a variable that no subgoal binds"
        assert len(set(self.bound)) == len(self.bound), "a variable is bound twice"
        assert self.subgoals or self.bound, "nothing is asked for"

    @property
    def atoms(self) -> tuple[Atom, ...]:
        return tuple(self.query.atoms[i] for i in self.subgoals)

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """The relations that it reads, sorted."""
        return tuple(sorted({atom.predicate for atom in self.atoms}))

    @cached_property
    def key_schema(self) -> StructType:
        """The columns of the keys."""
        return self._schema({f"b{i}": var for i, var in enumerate(self.bound)})

    @cached_property
    def schema(self) -> StructType:
        """The columns of an answer."""
        wanted = {f"w{i}": var for i, var in enumerate(self.wanted)}
        return self._schema({f"b{i}": var for i, var in enumerate(self.bound)} | wanted)

    def _schema(self, columns: Mapping[str, Var]) -> StructType:
        from pyspark.sql.types import StructField, StructType

        return StructType(
            [
                StructField(name, spark_type(self.query.type_of[var]))
                for name, var in columns.items()
            ]
        )

    def __str__(self) -> str:
        """What is asked for, in the user's names and without a value."""
        count = len(self.bound)
        keys = f"for given values of {count} variable{'s' * (count != 1)}" if count else "whole"
        return f"the join of {', '.join(f'`{atom.predicate}`' for atom in self.atoms)}, {keys}"


def whole(query: Query) -> Join:
    """All rows of a view, one column per distinct variable of its head, in order of first use."""
    return Join(
        query,
        tuple(range(len(query.atoms))),
        query.comparisons,
        bound=(),
        wanted=variables_of(*query.head),
    )


def joined(
    join: Join,
    tables: Mapping[str, DataFrame],
    keys: DataFrame | None = None,
    *,
    few_keys: bool = False,
) -> DataFrame:
    """The answer to a question, as a plan: nothing runs.

    Left-deep from the keys, each subgoal connected to an earlier one where that is possible. A
    column travels no further than it is needed, and a subgoal that adds no column is a semi-join.

    Args:
        tables: per relation its rows, with columns `c0`, `c1`, ... in the declared order and types.
        keys: distinct values of the bound variables; None if and only if there is no such variable.
        few_keys: they fit into the memory of every executor, so that the first table stays put.
    """
    from pyspark.sql import functions

    assert (keys is None) == (not join.bound), "keys belong to bound variables"
    names = _Names(join)
    order = connected(join)
    tests = list(join.comparisons)
    current: DataFrame | None = None
    known: set[Var] = set()
    if keys is not None:
        current = keys.select(
            *(functions.col(f"b{i}").alias(names[var]) for i, var in enumerate(join.bound))
        )
        known.update(join.bound)
        current = _tested(join, current, names, _take_known(tests, known))

    for step, subgoal in enumerate(order):
        part = _matching(join, subgoal, tables, names)
        variables = join.query.variables[subgoal]
        # What this subgoal decides alone is tested before the join, on fewer rows.
        part = _tested(join, part, names, _take_known(tests, set(variables)))
        later = _needed(join, order[step + 1 :], tests)
        shared = [v for v in variables if v in known]
        new = [v for v in variables if v not in known and v in later]
        part = part.select(*(names[v] for v in (*shared, *new)))
        if current is None:
            current = part
        else:
            is_first = step == 0
            left = functions.broadcast(current) if is_first and few_keys else current
            if not shared:
                current = left.crossJoin(part if new else part.limit(1))
            elif new or (is_first and few_keys):
                # The keys stay the broadcast side: a semi-join would send the table to them.
                current = joined_on(join, left, part, names, shared, "inner")
            else:
                current = joined_on(join, left, part, names, shared, "left_semi")
        known.update(variables)
        current = _tested(join, current, names, _take_known(tests, known))
        kept = known & _needed(join, order[step + 1 :], tests)
        current = current.select(*(names[v] for v in names.variables if v in kept))

    assert current is not None
    assert not tests
    if join.query.is_empty:
        current = current.where(functions.lit(False))
    answer = current.select(
        *(functions.col(names[var]).alias(f"b{i}") for i, var in enumerate(join.bound)),
        *(functions.col(names[var]).alias(f"w{i}") for i, var in enumerate(join.wanted)),
    )
    if not answer.columns:  # a set of rows without columns holds one row or none
        return answer.limit(1)
    return answer if is_set(join) else answer.distinct()


def is_set(join: Join) -> bool:
    """Whether no two of the join's rows look the same in the answer, by the declared keys.

    It is so if the answer's variables determine every subgoal's row: all its variables, or a key
    without NULL.

    Example:
        >>> from cq.program import read
        >>> keys = ".decl r(a: long, b: long) key(a) .decl s(b: long, c: long) key(b) "
        >>> [is_set(whole(read(keys + f"v({head}) :- r(A, B), s(B, C){more}.").query("v")))
        ...  for head, more in (("A, C", ", A > 0"), ("B, C", ""), ("A", ", A > 0"), ("A, C", ""))]
        [True, False, True, False]
    """
    query, subgoals = join.query, join.subgoals
    everything = determined(query, {*join.bound, *join.wanted}, subgoals)
    return all(everything.issuperset(query.variables[i]) for i in subgoals)


def joined_on(
    join: Join,
    left: DataFrame,
    part: DataFrame,
    names: Mapping[Var, str] | _Names,
    shared: Sequence[Var],
    how: str,
) -> DataFrame:
    """A join on shared variables; null-safe for those of a slice's key that may hold NULL."""
    from pyspark.sql import functions

    nullable = [v for v in shared if join.is_null_safe and v not in join.query.non_null]
    if not nullable:
        return left.join(part, on=[names[v] for v in shared], how=how)
    theirs = {names[v]: f"their_{names[v]}" for v in shared}
    part = part.withColumnsRenamed(theirs)
    condition = functions.lit(True)
    for var in shared:
        mine, other = functions.col(names[var]), functions.col(theirs[names[var]])
        condition = condition & (mine.eqNullSafe(other) if var in nullable else mine == other)
    return left.join(part, on=condition, how=how).drop(*theirs.values())


def connected(join: Join) -> list[int]:
    """The subgoals in an order in which each, if possible, shares a variable with earlier ones."""
    order: list[int] = []
    known = set(join.bound)
    pending = list(join.subgoals)
    while pending:
        best = max(pending, key=lambda i: sum(t in known for t in join.query.atoms[i].terms))
        pending.remove(best)
        order.append(best)
        known.update(join.query.variables[best])
    return order


def _needed(join: Join, subgoals: Sequence[int], tests: Sequence[Comparison]) -> set[Var]:
    """The variables that the answer, these subgoals and these comparisons use."""
    needed = {*join.bound, *join.wanted}
    needed.update(v for i in subgoals for v in join.query.variables[i])
    needed.update(variables_of(*(side for c in tests for side in (c.left, c.right))))
    return needed


class _Names:
    """A column name for each variable of a join, by position."""

    def __init__(self, join: Join) -> None:
        atoms = (term for atom in join.atoms for term in atom.terms)
        self.variables: Sequence[Var] = variables_of(*join.bound, *atoms)
        self._names = {var: f"v{i}" for i, var in enumerate(self.variables)}

    def __getitem__(self, var: Var) -> str:
        return self._names[var]


def _matching(
    join: Join, subgoal: int, tables: Mapping[str, DataFrame], names: _Names
) -> DataFrame:
    """The rows of a table that match a subgoal, one column per distinct variable."""
    from pyspark.sql import functions

    atom = join.query.atoms[subgoal]
    relation = join.query.by_name[atom.predicate]
    columns: dict[Var, Column] = {}
    conditions: list[Column] = []
    for place, (term, declared) in enumerate(zip(atom.terms, relation.columns, strict=True)):
        column = functions.col(f"c{place}")
        if isinstance(term, Const):
            conditions.append(column == literal(term.value, declared.type))
        elif term in columns:
            conditions.append(column == columns[term])
        else:
            columns[term] = column
            if term in join.query.non_null:
                conditions.append(column.isNotNull())
    table = tables[atom.predicate]
    for condition in conditions:
        table = table.where(condition)
    return table.select(*(column.alias(names[var]) for var, column in columns.items()))


def _tested(
    join: Join, frame: DataFrame, names: _Names, comparisons: Sequence[Comparison]
) -> DataFrame:
    for comparison in comparisons:
        frame = frame.where(comparison_holds(comparison, names.__getitem__, join.query.type_of))
    return frame


def _take_known(tests: list[Comparison], known: set[Var]) -> list[Comparison]:
    """Take from `tests` the comparisons whose variables all have values."""
    taken = [c for c in tests if known.issuperset(variables_of(c.left, c.right))]
    tests[:] = [c for c in tests if c not in taken]
    return taken
