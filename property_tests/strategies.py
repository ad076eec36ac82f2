"""Random small cases: a world, a database that satisfies it, and a change or a batch.

Everything is drawn from `random.Random` with a seed, so that thousands of cases run per minute and
flavour, seed and size bring a case back. `cases` and `batch_cases` let Hypothesis choose them.

A case is worth the time if its view has rows and its change meets them: databases are built
from valuations of the body, and changes from the values that the view shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, TypeVar

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

T = TypeVar("T")
Draft = dict[str, set[Row]]


@dataclass(frozen=True, slots=True)
class Flavour:
    """Which features of the language a random case may use.

    `repeats` says which relations may occur several times: none; all but the updated one, if every
    subgoal of a repeated relation uses only exposed join variables; or any.
    """

    name: str
    repeats: Literal["none", "exposed", "any"] = "none"
    constants: bool = True
    repeated_variables: bool = True
    comparisons: bool = False
    keys: bool = False
    foreign_keys: bool = False
    nulls: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether the rules are complete here: a miss where all databases agree is a failure."""
        return self.repeats != "any" and not (self.comparisons or self.keys or self.foreign_keys)


FLAVOURS = (
    Flavour("pure", constants=False, repeated_variables=False),
    Flavour("plain"),
    Flavour("plain nulls", nulls=True),
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
                f"flavour {self.flavour.name!r}, seed={self.seed}, size={self.size})",
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


def _atoms(rng: Random, flavour: Flavour, size: int) -> tuple[tuple[Atom, ...], frozenset[Var]]:
    """Subgoals, and the variables that the flavour wants exposed."""
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
    probability = rng.choice((0.0, 0.4, 0.7, 0.9, 1.0))
    variables = body_variables(View((), atoms))
    head: list[Term] = [
        variable for variable in variables if variable in exposed or rng.random() < probability
    ]
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


# Databases


def _pool(rng: Random, world: World) -> tuple[Value, ...]:
    if world.is_typed or rng.random() < 0.7:
        return NUMBERS[: rng.randint(2, 4)]
    return (*NUMBERS[: rng.randint(1, 3)], *STRINGS[: rng.randint(1, 2)])


def _null_out(rng: Random, flavour: Flavour, relation: Relation, row: Row) -> Row:
    if not flavour.nulls:
        return row
    fixed = {column for key in relation.keys for column in key}
    return tuple(
        None if column not in fixed and rng.random() < 0.15 else value
        for column, value in enumerate(row)
    )


def _add(world: World, draft: Draft, name: str, row: Row) -> bool:
    """Add the row unless a key forbids it."""
    rows = draft[name]
    for key in world.relation(name).keys:
        value = project(row, key)
        if None in value or any(project(other, key) == value for other in rows):
            return False
    rows.add(row)
    return True


def _repair(rng: Random, world: World, draft: Draft, pool: tuple[Value, ...]) -> None:
    """Give dangling rows the parents they lack, then drop those that still dangle."""
    for name, row in dangling(world, draft):
        for foreign in world.relation(name).foreign_keys:
            parent = [rng.choice(pool) for _ in range(world.relation(foreign.parent).arity)]
            key = key_of(world, foreign.parent)
            for column, value in zip(key, project(row, foreign.columns), strict=True):
                parent[column] = value
            if rng.random() < 0.9:
                _add(world, draft, foreign.parent, tuple(parent))
    while lost := dangling(world, draft):
        for name, row in lost:
            draft[name].discard(row)


def _valuation(rng: Random, view: View, pool: tuple[Value, ...]) -> Binding:
    """Values for the variables, which mostly satisfy the comparisons."""
    for _ in range(5):
        binding: Binding = {variable: rng.choice(pool) for variable in body_variables(view)}
        if all(holds(comparison, binding) for comparison in view.comparisons):
            break
    return binding


def _database(
    rng: Random, flavour: Flavour, world: World, size: int, pool: tuple[Value, ...]
) -> Draft:
    """A database with a few valuations of the body in it, and a little noise."""
    draft: Draft = {relation.name: set() for relation in world.relations}
    for _ in range(rng.randint(0 if rng.random() < 0.1 else 1, size + 1)):
        binding = _valuation(rng, world.view, pool)
        for atom in world.view.atoms:
            row = instantiate(atom.terms, binding)
            relation = world.relation(atom.relation)
            _add(world, draft, atom.relation, _null_out(rng, flavour, relation, row))
    for relation in world.relations:
        for _ in range(rng.choice((0, 0, 1, 2))):
            row = tuple(rng.choice(pool) for _ in range(relation.arity))
            _add(world, draft, relation.name, _null_out(rng, flavour, relation, row))
    _repair(rng, world, draft, pool)
    return draft


def _freeze(draft: Draft) -> dict[str, Rows]:
    return {name: frozenset(rows) for name, rows in draft.items()}


# Changes


def _ordered(rows: Rows | set[Row]) -> list[Row]:
    return sorted(rows, key=repr)


def _inserted(
    rng: Random, flavour: Flavour, world: World, name: str, rows: Rows, pool: tuple[Value, ...]
) -> Row:
    """A row whose values come, variable by variable, from rows that the view shows."""
    view = world.view
    relation = world.relation(name)
    atoms = [atom for atom in view.atoms if atom.relation == name]
    if not atoms or rng.random() < 0.1:
        return tuple(rng.choice(pool) for _ in range(relation.arity))
    binding = _valuation(rng, view, pool)
    shown = _ordered(rows)
    if shown:
        base = rng.choice(shown)
        for column, term in enumerate(view.head):
            if isinstance(term, Var) and rng.random() < 0.9:
                binding[term] = (base if rng.random() < 0.7 else rng.choice(shown))[column]
    row = instantiate(rng.choice(atoms).terms, binding)
    return _null_out(rng, flavour, relation, row) if rng.random() < 0.3 else row


def _change(
    rng: Random, flavour: Flavour, world: World, database: Database, pool: tuple[Value, ...]
) -> Change | None:
    """An effective change of the updated relation that keeps all constraints."""
    kind: Kind = rng.choice(("insert", "insert", "delete"))
    present = database[UPDATED]
    if kind == "delete":
        if not present:
            return None
        change = Change(UPDATED, kind, rng.choice(_ordered(frozenset(present))))
    else:
        rows = evaluate(world.view, database)
        change = Change(UPDATED, kind, _inserted(rng, flavour, world, UPDATED, rows, pool))
        if change.row in present:
            return None
    return change if satisfies(world, apply(database, change)) else None


def _edit(
    rng: Random, flavour: Flavour, world: World, draft: Draft, rows: Rows, pool: tuple[Value, ...]
) -> None:
    """Insert a row, delete one, or update one so that it keeps its first key."""
    relation = rng.choice(world.relations)
    present = draft[relation.name]
    kind = rng.choice(("insert", "insert", "delete", "update"))
    if kind == "insert":
        row = _inserted(rng, flavour, world, relation.name, rows, pool)
        if _add(world, draft, relation.name, row):
            _repair(rng, world, draft, pool)
    elif present:
        old = rng.choice(_ordered(present))
        present.discard(old)
        if kind == "update":
            kept = relation.keys[0] if relation.keys else range(min(1, relation.arity))
            new = tuple(
                value if column in kept else rng.choice(pool) for column, value in enumerate(old)
            )
            if not _add(world, draft, relation.name, _null_out(rng, flavour, relation, new)):
                present.add(old)


def _net(before: Mapping[str, Rows], after: Mapping[str, Rows]) -> list[Change]:
    changes = []
    for name in sorted(before):
        gone, new = before[name] - after[name], after[name] - before[name]
        changes += [Change(name, "delete", row) for row in _ordered(gone)]
        changes += [Change(name, "insert", row) for row in _ordered(new)]
    return changes


# Cases


def _first(rng: Random, attempt: Callable[[Random], T | None]) -> T:
    while True:
        result = attempt(rng)
        if result is not None:
            return result


def case(flavour: Flavour, seed: int, size: int) -> Case:
    """The case that flavour, seed and size determine."""

    def attempt(rng: Random) -> Case | None:
        world = _interesting_world(rng, flavour, size)
        pool = _pool(rng, world)
        database = _freeze(_database(rng, flavour, world, size, pool))
        change = _change(rng, flavour, world, database, pool)
        rows = evaluate(world.view, database)
        if change is None or len(rows) > MOST_VIEW_ROWS or (not rows and rng.random() < 0.7):
            return None
        return Case(flavour, seed, size, world, database, change, rows)

    return _first(Random(f"{flavour.name}/{seed}/{size}"), attempt)


def batch_case(flavour: Flavour, seed: int, size: int) -> BatchCase:
    """The batch that flavour, seed and size determine: 1 to 8 net changes."""

    def attempt(rng: Random) -> BatchCase | None:
        world = _interesting_world(rng, flavour, size)
        pool = _pool(rng, world)
        draft = _database(rng, flavour, world, size, pool)
        before = _freeze(draft)
        rows = evaluate(world.view, before)
        for _ in range(rng.randint((size + 1) // 2, 2 * size)):
            _edit(rng, flavour, world, draft, rows, pool)
        _repair(rng, world, draft, pool)
        changes = _net(before, _freeze(draft))
        rng.shuffle(changes)
        if not 1 <= len(changes) <= 8 or (not rows and rng.random() < 0.7):
            return None
        return BatchCase(flavour, seed, size, world, before, _freeze(draft), tuple(changes))

    return _first(Random(f"batch/{flavour.name}/{seed}/{size}"), attempt)


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
