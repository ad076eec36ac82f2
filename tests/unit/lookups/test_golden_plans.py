"""Every plan of every program in tests/golden/plans: its text, and what it does on real databases.

The second half is recomputation: on random databases that satisfy the declared keys and foreign
keys, before and after an effective change, the rows that a plan announces lead to the view of the
new database. A miss announces nothing; the batch rule with that one change must get there too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

import selfmaint
from cq.query import Query
from cq.schema import Relation
from cq.syntax import Atom, Const, Var
from selfmaint import Program, View

PLANS = Path(__file__).resolve().parents[2] / "golden" / "plans"
PROGRAMS = sorted(path.stem for path in PLANS.glob("*.dl"))
DATABASES = 60  # per view, each with one change per relation and action

Row = tuple[object, ...]
Database = dict[str, set[Row]]


def views(program: Program) -> list[View]:
    return [program.view(name) for name in program.views]


@pytest.mark.parametrize("name", PROGRAMS)
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    program = selfmaint.load(PLANS / f"{name}.dl")
    plans = [
        str(view.plan(relation, action))
        for view in views(program)
        for relation in sorted(view.relations)
        for action in ("insert", "delete")
    ]
    golden(f"plans/{name}.plan", "\n\n".join(plans))


def test_every_text_has_its_program() -> None:
    assert sorted(path.stem for path in PLANS.glob("*.plan")) == PROGRAMS


class World:
    """Random databases and changes for one view, with its constants among the values."""

    def __init__(self, view: View, seed: str) -> None:
        self.query: Query = view.normal
        self.random = Random(seed)
        self.relations = self.query.by_name
        terms = [term for atom in self.query.atoms for term in atom.terms]
        terms += [side for c in self.query.comparisons for side in (c.left, c.right)]
        self.constants = [term.value for term in terms if isinstance(term, Const)]
        self.variables = list(dict.fromkeys(term for term in terms if isinstance(term, Var)))

    def pool(self, relation: str, column: int) -> list[object]:
        family = self.relations[relation].columns[column].type.family
        known = [
            value
            for value in self.constants
            if family == "any" or isinstance(value, str) == (family == "string")
        ]
        numbers = {value for value in known if isinstance(value, int)}
        around = {number + step for number in numbers for step in (-1, 1)}
        plain: set[object] = {"a", "b"} if family == "string" else {1, 2, *around}
        return sorted({*plain, *known}, key=repr)

    def value(self, relation: str, column: int) -> object:
        return self.random.choice(self.pool(relation, column))

    def valuation(self) -> dict[Var, object]:
        found: dict[Var, object] = {}
        for atom in self.query.atoms:
            for column, term in enumerate(atom.terms):
                if isinstance(term, Var):
                    found.setdefault(term, self.value(atom.predicate, column))
        return found

    def instance(self, atom: Atom, values: dict[Var, object]) -> Row:
        keys = {column for key in self.relations[atom.predicate].keys for column in key}
        return tuple(
            None
            if column not in keys and self.random.random() < 0.05
            else term.value
            if isinstance(term, Const)
            else values[term]
            for column, term in enumerate(atom.terms)
        )

    def database(self) -> Database:
        """A few valuations of the body and some noise, without what keys or foreign keys forbid."""
        database: Database = {name: set() for name in self.relations}
        for _ in range(self.random.randint(0, 4)):
            values = self.valuation()
            for atom in self.query.atoms:
                self.add(database, atom.predicate, self.instance(atom, values))
        for name in sorted(self.relations):
            if self.random.random() < 0.5:
                self.add(database, name, self.noise(name))
        while lost := list(dangling(self.relations, database)):
            for name, row in lost:
                database[name].discard(row)
        return database

    def noise(self, name: str) -> Row:
        return tuple(self.value(name, column) for column in range(self.relations[name].arity))

    def add(self, database: Database, name: str, row: Row) -> None:
        if keys_hold(self.relations[name], {*database[name], row}):
            database[name].add(row)

    def change(self, database: Database, name: str, action: str) -> Row | None:
        """An effective change after which keys and foreign keys still hold, if one was found."""
        for _ in range(8):
            if action == "delete":
                if not database[name]:
                    return None
                row = self.random.choice(sorted(database[name], key=repr))
            else:
                atoms = [atom for atom in self.query.atoms if atom.predicate == name]
                row = self.instance(self.random.choice(atoms), self.near(database))
                if row in database[name]:
                    continue
            after = applied(database, name, action, row)
            if keys_hold(self.relations[name], after[name]) and not list(
                dangling(self.relations, after)
            ):
                return row
        return None

    def near(self, database: Database) -> dict[Var, object]:
        """Values for the variables, most of them from rows that are there."""
        values = self.valuation()
        for atom in self.query.atoms:
            rows = sorted(database[atom.predicate], key=repr)
            if rows and self.random.random() < 0.7:
                for term, value in zip(atom.terms, self.random.choice(rows), strict=True):
                    if isinstance(term, Var) and self.random.random() < 0.8:
                        values[term] = value
        return values


def keys_hold(relation: Relation, rows: set[Row]) -> bool:
    values = [[tuple(row[i] for i in key) for row in rows] for key in relation.keys]
    return all(len(set(found)) == len(found) for found in values)


def dangling(relations: dict[str, Relation], database: Database) -> Iterator[tuple[str, Row]]:
    for name, relation in relations.items():
        for reference in relation.references:
            if reference.relation not in database:
                continue
            parents = {tuple(row[i] for i in reference.key) for row in database[reference.relation]}
            for row in database[name]:
                value = tuple(row[i] for i in reference.columns)
                if None not in value and value not in parents:
                    yield name, row


def applied(database: Database, name: str, action: str, row: Row) -> Database:
    rows = database[name] | {row} if action == "insert" else database[name] - {row}
    return {**database, name: rows}


@pytest.mark.parametrize("name", PROGRAMS)
def test_execution(name: str) -> None:
    program = selfmaint.load(PLANS / f"{name}.dl")
    kinds: Counter[str] = Counter()
    for view in views(program):
        world = World(view, f"{name}/{view.name}")
        for _ in range(DATABASES):
            database = world.database()
            rows = view.evaluate(database)
            for relation in sorted(view.relations):
                for action in ("insert", "delete"):
                    change = world.change(database, relation, action)
                    if change is None:
                        continue
                    after = applied(database, relation, action, change)
                    expected = view.evaluate(after)
                    verdict = view.plan(relation, action).decide(rows, change)
                    context = f"{view.name}: {action} {relation}{change} on {database}: {verdict}"
                    if verdict.kind != "miss":
                        assert (rows - verdict.deletes) | verdict.inserts == expected, context
                        assert verdict.deletes <= rows, context
                        assert not verdict.inserts & rows, context
                    else:
                        batch = [(relation, action, change)]
                        assert view.maintain(rows, batch, after).rows == expected, context
                    kinds[verdict.kind] += 1
    assert kinds.total() >= DATABASES, "hardly any change was effective"
