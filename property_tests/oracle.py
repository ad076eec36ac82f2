"""The exact decision for one change of one view state, from the definitions of VDU and VSM.

Given a view's rows V and an effective change, look at all databases D with Q(D) = V that satisfy
the constraints before and after the change, and in which the change is effective: do they agree on
the new view, and on which? Nothing here uses roles, groups or lookups.

`by_enumeration` tries every database over given rows: the definition itself, for tiny cases.
`by_sat` asks a SAT solver; every disagreement it reports comes with two databases that were checked
against the definition. Both take the rows that a database may hold; `domains.py` says which rows
are enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TypeAlias

from pysat.solvers import Solver

from property_tests.domains import Universe, witness_universe
from property_tests.worlds import (
    Atom,
    Binding,
    Change,
    Comparison,
    Database,
    Row,
    Rows,
    Var,
    View,
    World,
    apply,
    database_text,
    evaluate,
    holds,
    instantiate,
    key_of,
    project,
    satisfies,
    strict_variables,
)

Fact: TypeAlias = tuple[str, Row]
Clause: TypeAlias = list[int]

MOST_DERIVATIONS = 10_000
MOST_CONFLICTS = 5_000  # per question to the solver; keys can hide a pigeonhole problem


@dataclass(frozen=True, slots=True)
class Truth:
    """What all databases with this view say about the change.

    `new_rows` is the new view if they agree, `unaffected` whether it is the old one. Otherwise
    `witnesses` are two databases, before the change, that lead to different views.
    """

    agrees: bool
    unaffected: bool
    new_rows: Rows | None
    witnesses: tuple[Database, ...] = ()

    def text(self) -> str:
        if self.new_rows is not None:
            outcome = "unaffected" if self.unaffected else sorted(self.new_rows, key=repr)
            return f"truth: all databases agree on the new view: {outcome}"
        shown = (f"  a database:\n{database_text(database)}" for database in self.witnesses)
        return "\n".join(["truth: databases disagree on the new view", *shown])


class Inconsistent(Exception):
    """No database over the given rows has this view and allows the change."""


class TooLarge(Exception):
    """The case takes more time than it is worth; fewer than one in a hundred does."""


def _agreement(rows: Rows, new_rows: Rows) -> Truth:
    return Truth(agrees=True, unaffected=new_rows == rows, new_rows=new_rows)


def _disagreement(first: Database, second: Database) -> Truth:
    return Truth(agrees=False, unaffected=False, new_rows=None, witnesses=(first, second))


def _is_admissible(world: World, rows: Rows, change: Change, database: Database) -> bool:
    """Whether the database has the view, and it and its successor satisfy the constraints."""
    return (
        evaluate(world.view, database) == rows
        and satisfies(world, database)
        and satisfies(world, apply(database, change))
    )


# By enumeration


def _databases(universe: Universe, change: Change) -> Iterator[dict[str, set[Row]]]:
    facts = [(name, row) for name, rows in sorted(universe.items()) for row in rows]
    subsets = chain.from_iterable(combinations(facts, size) for size in range(len(facts) + 1))
    for subset in subsets:
        database: dict[str, set[Row]] = {name: set() for name in universe}
        for name, row in subset:
            database[name].add(row)
        if change.kind == "delete":
            database[change.relation].add(change.row)
        yield database


def by_enumeration(world: World, rows: Rows, change: Change, universe: Universe) -> Truth:
    """Try all databases over `universe`, which leaves out the changed row."""
    outcomes: dict[Rows, Database] = {}
    for database in _databases(universe, change):
        if _is_admissible(world, rows, change, database):
            outcomes.setdefault(evaluate(world.view, apply(database, change)), database)
        if len(outcomes) == 2:
            return _disagreement(*outcomes.values())
    if not outcomes:
        raise Inconsistent
    return _agreement(rows, *outcomes)


# By SAT


@dataclass(frozen=True, slots=True)
class _Step:
    """One subgoal in the join order.

    `rows` holds the candidates by the values of the variables that are `bound` before; `binds` are
    the columns of the others; `checks` are the comparisons that can be tested from here on.
    """

    bound: tuple[Var, ...]
    binds: tuple[tuple[int, Var], ...]
    checks: tuple[Comparison, ...]
    rows: Mapping[Row, list[tuple[Row, int]]]


def _matches_itself(atom: Atom, row: Row, strict: frozenset[Var]) -> bool:
    """Whether constants, repeated variables and NULLs allow the subgoal to be this row."""
    first: Binding = {}
    for term, value in zip(atom.terms, row, strict=True):
        if not isinstance(term, Var):
            if value != term:
                return False
        elif first.setdefault(term, value) != value or (value is None and term in strict):
            return False
    return True


def _step(
    view: View, atom: Atom, seen: set[Var], facts: Iterable[Fact], ids: Mapping[Fact, int]
) -> _Step:
    columns = {variable: atom.terms.index(variable) for variable in atom.variables()}
    bound = tuple(variable for variable in columns if variable in seen)
    bound_columns = tuple(columns[variable] for variable in bound)
    binds = tuple(
        (column, variable) for variable, column in columns.items() if variable not in seen
    )
    known = seen | set(columns)
    checks = tuple(
        comparison
        for comparison in view.comparisons
        if set(comparison.variables()) <= known and not set(comparison.variables()) <= seen
    )
    rows: defaultdict[Row, list[tuple[Row, int]]] = defaultdict(list)
    strict = strict_variables(view)
    for name, row in facts:
        if name == atom.relation and _matches_itself(atom, row, strict):
            rows[project(row, bound_columns)].append((row, ids[name, row]))
    return _Step(bound, binds, checks, rows)


def _steps(view: View, ids: Mapping[Fact, int]) -> list[_Step]:
    """The subgoals in an order that binds variables early."""
    by_relation: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in ids:
        by_relation[fact[0]].append(fact)
    remaining = list(view.atoms)
    seen: set[Var] = set()
    steps = []
    while remaining:
        atom = min(
            remaining,
            key=lambda a: (len(set(a.variables()) - seen), len(by_relation[a.relation])),
        )
        remaining.remove(atom)
        steps.append(_step(view, atom, seen, by_relation[atom.relation], ids))
        seen |= set(atom.variables())
    return steps


def _join(steps: list[_Step], depth: int, binding: Binding, used: Clause) -> Iterator[Clause]:
    """Each valuation of the body as the facts it uses; `binding` holds its values meanwhile."""
    if depth == len(steps):
        yield used
        return
    step = steps[depth]
    value = tuple(binding[variable] for variable in step.bound)
    for row, fact in step.rows.get(value, ()):
        for column, variable in step.binds:
            binding[variable] = row[column]
        if all(holds(comparison, binding) for comparison in step.checks):
            yield from _join(steps, depth + 1, binding, [*used, fact])


def _derivations(view: View, ids: Mapping[Fact, int]) -> dict[Row, set[frozenset[int]]]:
    """For each possible view row the sets of facts that give it."""
    found: defaultdict[Row, set[frozenset[int]]] = defaultdict(set)
    binding: Binding = {}
    for count, used in enumerate(_join(_steps(view, ids), 0, binding, [])):
        if count == MOST_DERIVATIONS:
            raise TooLarge
        found[instantiate(view.head, binding)].add(frozenset(used))
    return found


class _Encoding:
    """Databases with the given view as the models of a formula.

    A variable for each fact says that the database holds it. The changed row's variable is true for
    a deletion and false for an insertion: the new view is what the derivations give when it flips.
    """

    def __init__(self, world: World, rows: Rows, change: Change, universe: Universe) -> None:
        self._world, self._rows, self._change = world, rows, change
        facts = [(name, row) for name in sorted(universe) for row in universe[name]]
        changed = (change.relation, change.row)
        self._ids = {fact: number for number, fact in enumerate([*facts, changed], start=1)}
        self._changed = self._ids[changed]
        self._count = len(self._ids)
        self._solver = Solver(name="minisat22")
        derivations = _derivations(world.view, self._ids)
        self._constrain_facts()
        self._constrain_view(derivations)
        self._new = self._new_derivations(derivations)

    def __enter__(self) -> _Encoding:
        return self

    def __exit__(self, *_: object) -> None:
        self._solver.delete()

    def _fresh(self) -> int:
        self._count += 1
        return self._count

    def _constrain_facts(self) -> None:
        """Keys and foreign keys before and after; the changed row."""
        is_insertion = self._change.kind == "insert"
        self._solver.add_clause([-self._changed if is_insertion else self._changed])
        for relation in self._world.relations:
            for key in relation.keys:
                self._constrain_key(relation.name, key)
            for foreign in relation.foreign_keys:
                self._constrain_reference(relation.name, foreign.columns, foreign.parent)

    def _by_value(self, name: str, columns: tuple[int, ...]) -> dict[Row, list[int]]:
        groups: defaultdict[Row, list[int]] = defaultdict(list)
        for (relation, row), fact in self._ids.items():
            if relation == name:
                groups[project(row, columns)].append(fact)
        return groups

    def _constrain_key(self, name: str, key: tuple[int, ...]) -> None:
        """At most one row per key, where the changed row counts as present: it is, once."""
        for facts in self._by_value(name, key).values():
            for pair in combinations(facts, 2):
                self._solver.add_clause([-fact for fact in pair if fact != self._changed])

    def _constrain_reference(self, name: str, columns: tuple[int, ...], parent: str) -> None:
        """Every row has a parent that stays; only the changed row may have itself or none.

        An inserted parent is not there before, a deleted one not after: neither can serve another
        row. An inserted row's references count after the insertion, a deleted row's before.
        """
        parents = self._by_value(parent, key_of(self._world, parent))
        for value, facts in self._by_value(name, columns).items():
            if None in value:
                continue
            serving = [fact for fact in parents.get(value, ()) if fact != self._changed]
            for fact in facts:
                self._solver.add_clause([*([] if fact == self._changed else [-fact]), *serving])

    def _some(self, derivations: Iterable[frozenset[int]]) -> Clause:
        """A clause that holds only where one of the derivations does."""
        clause = []
        for facts in derivations:
            holds_here = self._fresh()
            clause.append(holds_here)
            for fact in facts:
                self._solver.add_clause([-holds_here, fact])
        return clause

    def _constrain_view(self, derivations: Mapping[Row, set[frozenset[int]]]) -> None:
        """Every row of the view has a derivation, and no other row has one."""
        for row, ways in derivations.items():
            if row not in self._rows:
                for facts in ways:
                    self._solver.add_clause([-fact for fact in facts])
        for row in self._rows:
            self._solver.add_clause(self._some(derivations.get(row, ())))

    def _new_derivations(
        self, derivations: Mapping[Row, set[frozenset[int]]]
    ) -> dict[Row, list[frozenset[int]]]:
        """How the rows that the change may add, or may take away, come about after it."""
        flipped = {self._changed}
        if self._change.kind == "insert":
            return {
                row: [facts - flipped for facts in ways if self._changed in facts]
                for row, ways in derivations.items()
                if row not in self._rows
            }
        return {
            row: [facts for facts in ways if self._changed not in facts]
            for row, ways in derivations.items()
            if row in self._rows
        }

    def _model(self, assumptions: Clause) -> Database | None:
        self._solver.conf_budget(MOST_CONFLICTS)
        is_satisfiable = self._solver.solve_limited(assumptions=assumptions)
        if is_satisfiable is None:
            raise TooLarge
        if not is_satisfiable:
            return None
        true = {literal for literal in self._solver.get_model() if literal > 0}
        database: dict[str, set[Row]] = {relation.name: set() for relation in self._world.relations}
        for (name, row), fact in self._ids.items():
            if fact in true:
                database[name].add(row)
        return database

    def some_database(self) -> Database | None:
        return self._model([])

    def database_that_differs(self, new_rows: Rows) -> Database | None:
        """A database whose new view is not `new_rows`."""
        more = [ways for row, ways in self._new.items() if row not in new_rows]
        gains = self._fresh()
        self._solver.add_clause([-gains, *self._some(chain.from_iterable(more))])
        lacks = self._fresh()
        absent = []
        for row in new_rows & self._new.keys():
            is_new = self._fresh()
            absent.append(-is_new)
            for facts in self._new[row]:
                self._solver.add_clause([is_new, *(-fact for fact in facts)])
        self._solver.add_clause([-lacks, *absent])
        return self._model([gains]) or self._model([lacks])


def by_sat(
    world: World,
    rows: Rows,
    change: Change,
    universe: Universe | None = None,
    *,
    nulls: bool = False,
) -> Truth:
    """Decide with a SAT solver over `universe`, by default the rows that are enough.

    Raises:
        Inconsistent: if no database over `universe` has this view.
        TooLarge: if the case is too large to decide quickly.
    """
    if universe is None:
        universe = witness_universe(world, rows, change, nulls=nulls)
    with _Encoding(world, rows, change, universe) as encoding:
        first = encoding.some_database()
        if first is None:
            raise Inconsistent
        new_rows = evaluate(world.view, apply(first, change))
        second = encoding.database_that_differs(new_rows)
    assert _is_admissible(world, rows, change, first), "the encoding contradicts the definition"
    if second is None:
        return _agreement(rows, new_rows)
    assert _is_admissible(world, rows, change, second), "the encoding contradicts the definition"
    assert evaluate(world.view, apply(second, change)) != new_rows
    return _disagreement(first, second)
