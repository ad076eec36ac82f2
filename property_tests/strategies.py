"""Random small cases: a world, a database that satisfies it, and a change or a batch.

Everything is drawn from `random.Random` with a seed, so that thousands of cases run per minute and
flavour, seed and size bring a case back. `cases` and `batch_cases` let Hypothesis choose them.

A case is worth the time if its view has rows and its change meets them: databases are built
from valuations of the body, and changes from the values that the view shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Literal, TypeAlias

from hypothesis import strategies as st

from property_tests.worlds import (
    Atom,
    Binding,
    Change,
    Comparison,
    Database,
    ForeignKey,
    Kind,
    Operator,
    Relation,
    Row,
    Rows,
    Term,
    Value,
    Var,
    View,
    World,
    apply,
    body_variables,
    dangling,
    database_text,
    evaluate,
    holds,
    instantiate,
    key_of,
    project,
    satisfies,
)

UPDATED = "r"
OTHERS = ("p", "q", "s")
VARIABLES = tuple(Var(name) for name in "ABCDEF")
NUMBERS = (100, 200, 300, 400)  # with room for fresh values in each gap
STRINGS = ("a", "b")
OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=")
SIZES = (1, 2, 2, 3, 3, 3, 4, 4, 4, 4)  # how often each size is drawn; small ones find little
MOST_VIEW_ROWS = 6
MOST_CHANGES = 8

Draft: TypeAlias = dict[str, set[Row]]


@dataclass(frozen=True, slots=True)
class Flavour:
    """Which features of the language a random case may use.

    `repeats` says which relations may occur several times: none; all but the updated one, if every
    subgoal of a repeated relation uses only exposed join variables; or any. A tree joins each
    subgoal to an earlier one by one variable, as facts and their dimensions do. A steady one is
    mostly updated, and in what no other subgoal uses.
    """

    name: str
    repeats: Literal["none", "exposed", "any"] = "none"
    constants: bool = True
    repeated_variables: bool = True
    comparisons: bool = False
    keys: bool = False
    foreign_keys: bool = False
    nulls: bool = False
    is_tree: bool = False
    is_steady: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether the rules are complete here: a miss where all databases agree is a failure."""
        return self.repeats != "any" and not (self.comparisons or self.keys or self.foreign_keys)


FLAVOURS = (
    Flavour("pure", constants=False, repeated_variables=False),
    Flavour("plain"),
    Flavour("plain nulls", nulls=True),
    Flavour("tree", is_tree=True),
    Flavour("exposed", repeats="exposed"),
    Flavour("exposed nulls", repeats="exposed", nulls=True),
    Flavour("repeats", repeats="any"),
    Flavour("repeats nulls", repeats="any", nulls=True),
    Flavour("comparisons", comparisons=True),
    Flavour("comparisons repeats nulls", repeats="any", comparisons=True, nulls=True),
    Flavour("keys", keys=True),
    Flavour("keys exposed", repeats="exposed", keys=True),
    Flavour("keys repeats", repeats="any", keys=True),
    Flavour("foreign keys", keys=True, foreign_keys=True),
    Flavour("foreign keys tree", keys=True, foreign_keys=True, is_tree=True),
    Flavour("foreign keys repeats", repeats="any", keys=True, foreign_keys=True),
    Flavour("foreign keys nulls", keys=True, foreign_keys=True, nulls=True),
    Flavour(
        "everything",
        repeats="any",
        comparisons=True,
        keys=True,
        foreign_keys=True,
        nulls=True,
    ),
)

BATCH_FLAVOURS = (
    *FLAVOURS,
    Flavour("steady", is_steady=True),
    Flavour("steady keys", keys=True, is_tree=True, is_steady=True),
    replace(FLAVOURS[-1], name="steady everything", is_steady=True),
)
"""Some are about batches alone."""


@dataclass(frozen=True, slots=True)
class Case:
    """One change in a world: `rows` is the view that `database` produces before the change."""

    flavour: Flavour
    seed: int
    size: int
    world: World
    database: Database
    change: Change
    rows: Rows

    def text(self) -> str:
        return "\n".join(
            [
                f"flavour {self.flavour.name!r}, seed={self.seed}, size={self.size}",
                self.world.text(),
                f"rows: {sorted(self.rows, key=repr)}",
                f"change: {self.change.text()}",
            ]
        )


@dataclass(frozen=True, slots=True)
class BatchCase:
    """A net batch: it leads from `before` to `after`, and both satisfy the world's constraints."""

    flavour: Flavour
    seed: int
    size: int
    world: World
    before: Database
    after: Database
    changes: tuple[Change, ...]

    def text(self) -> str:
        return "\n".join(
            [
                f"batch of flavour {self.flavour.name!r}, seed={self.seed}, size={self.size}",
                self.world.text(),
                "before:",
                database_text(self.before),
                "after:",
                database_text(self.after),
                *(f"change: {change.text()}" for change in self.changes),
            ]
        )


# Views


def _terms(rng: Random, flavour: Flavour, arity: int, variables: list[Var]) -> tuple[Term, ...]:
    terms: list[Term] = []
    for _ in range(arity):
        fresh = [variable for variable in variables if variable not in terms]
        choices = variables if flavour.repeated_variables else fresh
        if choices and not (flavour.constants and rng.random() < 0.1):
            terms.append(rng.choice(choices if rng.random() < 0.2 else fresh or choices))
        else:
            terms.append(rng.choice(NUMBERS[:2]))
    return tuple(terms)


def _arity(rng: Random) -> int:
    return rng.choices((0, 1, 2, 3), weights=(1, 6, 12, 8))[0]


def _names(rng: Random, flavour: Flavour, count: int) -> list[str]:
    """The relation of each subgoal; the first is the updated one."""
    if flavour.repeats == "none":
        return [UPDATED, *OTHERS[: count - 1]]
    pool = OTHERS[:2] if flavour.repeats == "exposed" else (UPDATED, *OTHERS[:2])
    return [UPDATED, *rng.choices(pool, k=count - 1)]


def _tree(rng: Random, size: int) -> tuple[Atom, ...]:
    """Subgoals that share one variable each with an earlier one, and bring up to two new ones."""
    unused = list(VARIABLES)
    atoms: list[Atom] = []
    names = [UPDATED, *OTHERS[:size]]
    for name in rng.sample(names, len(names)):
        joined = rng.choice(atoms).variables() if atoms else []
        new = [unused.pop(0) for _ in range(min(len(unused), rng.choice((1, 1, 2))))]
        terms = [rng.choice(joined), *new] if joined else [*new, unused.pop(0)]
        atoms.append(Atom(name, tuple(terms)))
    return tuple(atoms)


def _atoms(rng: Random, flavour: Flavour, size: int) -> tuple[tuple[Atom, ...], frozenset[Var]]:
    """Subgoals, and the variables that the flavour wants exposed."""
    if flavour.is_tree:
        return _tree(rng, size), frozenset()
    count = rng.randint(1 if size < 3 else 2, min(4, size + 1))
    names = _names(rng, flavour, count)
    arities = {name: _arity(rng) for name in (UPDATED, *OTHERS)}
    fewest = 1 if flavour.repeated_variables else 3  # as many as the widest subgoal has places
    variables = list(VARIABLES[: rng.randint(fewest, max(fewest, min(6, count + 2)))])
    atoms = [Atom(UPDATED, _terms(rng, flavour, arities[UPDATED], variables))]
    exposed = [variable for variable in atoms[0].variables() if rng.random() < 0.8]
    for name in names[1:]:
        is_exposed = flavour.repeats == "exposed" and names.count(name) > 1
        choices = exposed if is_exposed else variables
        atoms.append(Atom(name, _terms(rng, flavour, arities[name], choices)))
    rng.shuffle(atoms)
    return tuple(atoms), frozenset(exposed if flavour.repeats == "exposed" else ())


def _head(
    rng: Random, flavour: Flavour, atoms: tuple[Atom, ...], exposed: frozenset[Var]
) -> tuple[Term, ...]:
    probability = rng.choice((0.0, 0.4, 0.7, 0.9, 0.9, 1.0))
    variables = body_variables(View((), atoms))
    times = Counter(term for atom in atoms for term in atom.terms)
    likely = {v: 0.3 if flavour.is_steady and times[v] > 1 else probability for v in variables}
    head: list[Term] = [v for v in variables if v in exposed or rng.random() < likely[v]]
    if head and rng.random() < 0.1:
        head.append(rng.choice(head))
    if flavour.constants and rng.random() < 0.05:
        head.append(rng.choice(NUMBERS))
    rng.shuffle(head)
    return tuple(head)


def _comparison(rng: Random, variables: tuple[Var, ...]) -> Comparison:
    left = rng.choice(variables)
    others: list[Term] = [variable for variable in variables if variable != left]
    right = rng.choice(others) if others and rng.random() < 0.5 else rng.choice(NUMBERS[:3])
    return Comparison(left, rng.choice(OPERATORS), right)


def _view(rng: Random, flavour: Flavour, size: int) -> View:
    atoms, exposed = _atoms(rng, flavour, size)
    view = View(_head(rng, flavour, atoms, exposed), atoms)
    variables = body_variables(view)
    if not (flavour.comparisons and variables):
        return view
    comparisons = [_comparison(rng, variables) for _ in range(rng.choice((1, 1, 2)))]
    return replace(view, comparisons=tuple(comparisons))


# Schemas


def _keys(rng: Random, arity: int) -> tuple[tuple[int, ...], ...]:
    if arity == 0 or rng.random() < 0.3:
        return ()
    first = tuple(range(rng.choice((1, 1, 1, 2)) if arity > 1 else 1))
    if arity > 1 and rng.random() < 0.1:
        return (first, (arity - 1,)) if first != (arity - 1,) else (first,)
    return (first,)


def _reference(rng: Random, child: Atom, parent: Atom, key: tuple[int, ...]) -> ForeignKey | None:
    """A foreign key that follows a join of the view, or now and then any."""
    wanted = [parent.terms[column] for column in key]
    if all(isinstance(term, Var) and term in child.terms for term in wanted):
        if rng.random() < 0.8:
            return ForeignKey(tuple(map(child.terms.index, wanted)), parent.relation)
    elif len(child.terms) >= len(key) and rng.random() < 0.1:
        return ForeignKey(tuple(rng.sample(range(len(child.terms)), len(key))), parent.relation)
    return None


def _foreign_keys(
    rng: Random, relation: Relation, parents: list[Relation], view: View
) -> tuple[ForeignKey, ...]:
    found: dict[str, ForeignKey] = {}
    for child in view.atoms:
        for parent in view.atoms:
            for candidate in parents:
                if child.relation != relation.name or parent.relation != candidate.name:
                    continue
                foreign = _reference(rng, child, parent, candidate.keys[0])
                if foreign is not None:
                    found.setdefault(candidate.name, foreign)
    return tuple(found.values())


def _world(rng: Random, flavour: Flavour, view: View) -> World:
    """Relations for the view; foreign keys never form a cycle."""
    arities = {atom.relation: len(atom.terms) for atom in view.atoms}
    relations = [
        Relation(name, arity, _keys(rng, arity) if flavour.keys else ())
        for name, arity in arities.items()
    ]
    if flavour.foreign_keys:
        rng.shuffle(relations)
        relations = [
            replace(
                relation,
                foreign_keys=_foreign_keys(
                    rng, relation, [p for p in relations[:index] if len(p.keys) == 1], view
                ),
            )
            for index, relation in enumerate(relations)
        ]
    return World(tuple(sorted(relations, key=lambda relation: relation.name)), view)


def _interesting_world(rng: Random, flavour: Flavour, size: int) -> World:
    """A world, if foreign keys are wanted mostly one that has some."""
    while True:
        world = _world(rng, flavour, _view(rng, flavour, size))
        has_references = any(relation.foreign_keys for relation in world.relations)
        if has_references or not flavour.foreign_keys or rng.random() < 0.2:
            return world


# Databases and changes


def _ordered(rows: AbstractSet[Row]) -> list[Row]:
    return sorted(rows, key=repr)


def _freeze(draft: Draft) -> dict[str, Rows]:
    return {name: frozenset(rows) for name, rows in draft.items()}


def _pool(rng: Random, world: World) -> tuple[Value, ...]:
    if world.is_typed or rng.random() < 0.7:
        return NUMBERS[: rng.randint(2, 4)]
    return (*NUMBERS[: rng.randint(1, 3)], *STRINGS[: rng.randint(1, 2)])


@dataclass(frozen=True, slots=True)
class _Scene:
    """What databases and changes are drawn with: a world and a few values."""

    rng: Random
    flavour: Flavour
    world: World
    pool: tuple[Value, ...]

    def null_out(self, relation: Relation, row: Row) -> Row:
        if not self.flavour.nulls:
            return row
        fixed = {column for key in relation.keys for column in key}
        return tuple(
            None if column not in fixed and self.rng.random() < 0.15 else value
            for column, value in enumerate(row)
        )

    def random_row(self, relation: Relation) -> Row:
        return tuple(self.rng.choice(self.pool) for _ in range(relation.arity))

    def valuation(self) -> Binding:
        """Values for the variables, which mostly satisfy the comparisons."""
        view = self.world.view
        for _ in range(5):
            binding: Binding = {var: self.rng.choice(self.pool) for var in body_variables(view)}
            if all(holds(comparison, binding) for comparison in view.comparisons):
                break
        return binding

    def add(self, draft: Draft, name: str, row: Row) -> bool:
        """Add the row unless a key forbids it."""
        rows = draft[name]
        for key in self.world.relation(name).keys:
            value = project(row, key)
            if None in value or any(project(other, key) == value for other in rows):
                return False
        rows.add(row)
        return True

    def repair(self, draft: Draft) -> None:
        """Give dangling rows the parents they lack, then drop those that still dangle."""
        for name, row in dangling(self.world, draft):
            for foreign in self.world.relation(name).foreign_keys:
                if self.rng.random() < 0.9:
                    self.add(draft, foreign.parent, self.parent(foreign, row))
        while lost := dangling(self.world, draft):
            for name, row in lost:
                draft[name].discard(row)

    def parent(self, foreign: ForeignKey, child: Row) -> Row:
        parent = list(self.random_row(self.world.relation(foreign.parent)))
        key = key_of(self.world, foreign.parent)
        for column, value in zip(key, project(child, foreign.columns), strict=True):
            parent[column] = value
        return tuple(parent)

    def database(self, size: int) -> Draft:
        """A database with a few valuations of the body in it, and a little noise."""
        rng, world = self.rng, self.world
        draft: Draft = {relation.name: set() for relation in world.relations}
        for _ in range(rng.randint(0 if rng.random() < 0.1 else 1, size + 1)):
            binding = self.valuation()
            for atom in world.view.atoms:
                row = instantiate(atom.terms, binding)
                relation = world.relation(atom.relation)
                self.add(draft, atom.relation, self.null_out(relation, row))
        for relation in world.relations:
            for _ in range(rng.choice((0, 0, 1, 2))):
                row = self.random_row(relation)
                self.add(draft, relation.name, self.null_out(relation, row))
        self.repair(draft)
        return draft

    def shown_valuation(self, rows: Rows) -> Binding:
        """A valuation with values that the view shows, mostly those of one row."""
        rng = self.rng
        binding = self.valuation()
        shown = _ordered(rows)
        if shown:
            base = rng.choice(shown)
            for column, term in enumerate(self.world.view.head):
                if isinstance(term, Var) and rng.random() < 0.9:
                    binding[term] = (base if rng.random() < 0.7 else rng.choice(shown))[column]
        return binding

    def inserted(self, atom: Atom, binding: Binding) -> Row:
        """A row for the subgoal: mostly its instance."""
        relation = self.world.relation(atom.relation)
        if self.rng.random() < 0.1:
            return self.random_row(relation)
        row = instantiate(atom.terms, binding)
        return self.null_out(relation, row) if self.rng.random() < 0.3 else row

    def change(self, database: Database, rows: Rows) -> Change | None:
        """An effective change of the updated relation that keeps all constraints."""
        rng = self.rng
        kind: Kind = rng.choice(("insert", "insert", "delete"))
        present = database[UPDATED]
        if kind == "insert":
            atoms = [atom for atom in self.world.view.atoms if atom.relation == UPDATED]
            row = self.inserted(rng.choice(atoms), self.shown_valuation(rows))
        elif present:
            row = rng.choice(_ordered(present))
        else:
            return None
        change = Change(UPDATED, kind, row)
        is_effective = (row in present) == (kind == "delete")
        return change if is_effective and satisfies(self.world, apply(database, change)) else None

    def edit(self, draft: Draft, rows: Rows) -> None:
        """Insert rows that join, delete a row, or update one so that it keeps its first key."""
        usual = "update" if self.flavour.is_steady else "insert"
        kind = self.rng.choice(("insert", usual, "delete", "update"))
        relation = self.rng.choice(self.world.relations)
        if kind == "insert":
            self.insert_some(draft, rows)
        elif draft[relation.name]:
            old = self.rng.choice(_ordered(draft[relation.name]))
            draft[relation.name].discard(old)
            if kind == "update" and not self.add(draft, relation.name, self.update(relation, old)):
                draft[relation.name].add(old)

    def insert_some(self, draft: Draft, rows: Rows) -> None:
        """Rows for one or several subgoals under one valuation."""
        binding = self.shown_valuation(rows)
        atoms = self.world.view.atoms
        for atom in self.rng.sample(atoms, self.rng.choice((1, self.rng.randint(1, len(atoms))))):
            self.add(draft, atom.relation, self.inserted(atom, binding))
        self.repair(draft)

    def update(self, relation: Relation, row: Row) -> Row:
        kept = set(relation.keys[0] if relation.keys else range(min(1, relation.arity)))
        if self.flavour.is_steady and self.rng.random() < 0.8:
            kept = {*(kept if relation.keys else ()), *self.joined(relation)}
        new = tuple(
            value if column in kept else self.rng.choice(self.pool)
            for column, value in enumerate(row)
        )
        return self.null_out(relation, new)

    def joined(self, relation: Relation) -> set[int]:
        """The columns with a variable that stands in another place, too."""
        view = self.world.view
        places = [(atom, i, term) for atom in view.atoms for i, term in enumerate(atom.terms)]
        times = Counter(term for _, _, term in places)
        times.update(side for test in view.comparisons for side in (test.left, test.right))
        return {i for atom, i, term in places if atom.relation == relation.name and times[term] > 1}


def _net(before: Mapping[str, Rows], after: Mapping[str, Rows]) -> list[Change]:
    changes = []
    for name in sorted(before):
        gone, new = before[name] - after[name], after[name] - before[name]
        changes += [Change(name, "delete", row) for row in _ordered(gone)]
        changes += [Change(name, "insert", row) for row in _ordered(new)]
    return changes


# Cases


def _scene(rng: Random, flavour: Flavour, size: int) -> _Scene:
    world = _interesting_world(rng, flavour, size)
    return _Scene(rng, flavour, world, _pool(rng, world))


def case(flavour: Flavour, seed: int, size: int) -> Case:
    """The case that flavour, seed and size determine."""
    rng = Random(f"{flavour.name}/{seed}/{size}")
    while True:
        scene = _scene(rng, flavour, size)
        database = _freeze(scene.database(size))
        rows = evaluate(scene.world.view, database)
        if len(rows) > MOST_VIEW_ROWS or (not rows and rng.random() < 0.7):
            continue
        change = scene.change(database, rows)
        if change is not None:
            return Case(flavour, seed, size, scene.world, database, change, rows)


def batch_case(flavour: Flavour, seed: int, size: int) -> BatchCase:
    """The batch that flavour, seed and size determine: 1 to 8 net changes."""
    rng = Random(f"batch/{flavour.name}/{seed}/{size}")
    while True:
        found = _batch(_scene(rng, flavour, size), seed, size)
        if found is not None:
            return found


def batches_of_one_world(flavour: Flavour, seed: int, size: int, count: int) -> list[BatchCase]:
    """Several batches, each on a database of its own, for one view."""
    rng = Random(f"batches/{flavour.name}/{seed}/{size}")
    while True:
        scene = _scene(rng, flavour, size)
        tries = (_batch(scene, seed, size) for _ in range(5 * count))
        found = list(islice((case for case in tries if case is not None), count))
        if len(found) == count:
            return found


def _batch(scene: _Scene, seed: int, size: int) -> BatchCase | None:
    """A batch on a new database, if it comes out interesting and small."""
    rng = scene.rng
    draft = scene.database(size)
    before = _freeze(draft)
    rows = evaluate(scene.world.view, before)
    if not rows and rng.random() < 0.7:
        return None
    for _ in range(rng.randint((size + 1) // 2, 2 * size)):
        scene.edit(draft, rows)
    scene.repair(draft)
    after = _freeze(draft)
    changes = _net(before, after)
    if not 1 <= len(changes) <= MOST_CHANGES:
        return None
    rng.shuffle(changes)
    return BatchCase(scene.flavour, seed, size, scene.world, before, after, tuple(changes))


def size_at(index: int, count: int) -> int:
    """The size of case `index` of `count`: small ones first, so that the first failure is small."""
    return SIZES[index * len(SIZES) // count]


_SEEDS = st.integers(0, 2**32 - 1)


def cases(flavour: Flavour) -> st.SearchStrategy[Case]:
    """Cases of one flavour, with seed and size drawn by Hypothesis."""
    return st.builds(case, st.just(flavour), _SEEDS, st.sampled_from(SIZES))


def batch_cases(flavour: Flavour) -> st.SearchStrategy[BatchCase]:
    """Batches of one flavour, with seed and size drawn by Hypothesis."""
    return st.builds(batch_case, st.just(flavour), _SEEDS, st.sampled_from(SIZES))
