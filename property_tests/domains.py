"""Which rows a database needs to be able to hold, so that larger ones change no answer.

The exact decision quantifies over all databases with a given view. Two observations make it
finite.

**Witnesses are enough.** Views without negation are monotone. If a database D gives the view V,
then so does the part of D that holds one witness (the rows that one valuation uses) for each row
of V, and for the row ρ that two databases disagree about: the rest of D can only add rows to the
view. So D is the union of at most |V| + 1 witnesses, the changed row, and what foreign keys force.

**One fresh value per witness and hidden variable is enough.** Call the values in V, in the change
and in the view's constants known. Take a D where two hidden variables, of one witness or of two,
share a value that is not known, and give each of them a value of its own. Mapping the new values
to the old one maps the new database into D. A row of its view that has only known values is
therefore in V, and no row has another value, because its image would be a row of V with a value
that is not known. So the split database gives V as well, and by the same mapping ρ is in its new
view only if it was in D's. A hidden variable therefore takes a known value, or the one fresh value
that belongs to its witness and to itself.

**Sorts.** Columns that no variable, comparison or foreign key connects never meet, so their values
can be renamed independently. Values are known per sort, a class of connected columns.

Some features break the splitting argument and get more values:

- A key can force two values of a column it determines to be equal. There each witness may also
  take the fresh values of the witnesses before it: the chase merges nothing else.
- Merging can falsify `!=` between variables, so splitting can add rows: the same remedy.
- Comparisons with constants: a fresh value for each interval between them. Untyped columns also
  get a value of another type, which is neither smaller nor larger than any of them.
- Order between variables: as many values for each interval between known values as variables are
  ordered, in common for all witnesses. That is many but not always enough. A disagreement that is
  found stays one; an agreement is then only likely.
- A parent row that a foreign key forces takes known values or fresh ones of its own outside its
  key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from property_tests.worlds import (
    Atom,
    Binding,
    Change,
    ForeignKey,
    Row,
    Rows,
    Value,
    Var,
    View,
    World,
    holds,
    instantiate,
    key_of,
    match,
    project,
    strict_variables,
)

Universe: TypeAlias = dict[str, set[Row]]
Sort: TypeAlias = Hashable
Node: TypeAlias = Hashable  # a Var, or a column as (relation, position)

ORDER = frozenset({"<", "<=", ">", ">="})
FIRST_FRESH = 10_000  # above all values that cases use


class Classes:
    """Union-find: the finest partition in which the joined pairs are together."""

    def __init__(self) -> None:
        self._parent: dict[Node, Node] = {}

    def find(self, node: Node) -> Node:
        parent = self._parent.setdefault(node, node)
        if parent != node:
            parent = self._parent[node] = self.find(parent)
        return parent

    def join(self, left: Node, right: Node) -> None:
        self._parent[self.find(left)] = self.find(right)


def sorts(world: World) -> Classes:
    """The columns and variables whose values can meet."""
    classes = Classes()
    for atom in world.view.atoms:
        for column, term in enumerate(atom.terms):
            if isinstance(term, Var):
                classes.join((atom.relation, column), term)
    for relation in world.relations:
        for foreign in relation.foreign_keys:
            key = key_of(world, foreign.parent)
            for own, column in zip(foreign.columns, key, strict=True):
                classes.join((relation.name, own), (foreign.parent, column))
    for comparison in world.view.comparisons:
        variables = comparison.variables()
        classes.join(variables[0], variables[-1])
    return classes


def _equal_variables(view: View) -> Classes:
    """Variables that an `=` makes one."""
    classes = Classes()
    for comparison in view.comparisons:
        if comparison.operator == "=" and len(comparison.variables()) == 2:
            classes.join(comparison.left, comparison.right)
    return classes


def bind_head(view: View, row: Row) -> Binding | None:
    """The exposed variables' values in a view row, or None if the head cannot be that row."""
    return match(Atom("head", view.head), row, {}, strict_variables(view))


@dataclass
class _Fresh:
    """The fresh values of one sort.

    A slot is an interval that the sort's comparisons tell apart, given by its type and its lower
    end. Each owner (a witness's hidden variable) has one value per slot. In a mergeable sort an
    owner may also take the values of earlier owners. In an ordered one there are no owners: each
    slot has `in_common` values for all.
    """

    slots: tuple[tuple[type, Value], ...]
    is_mergeable: bool = False
    in_common: int = 0
    _values: dict[Hashable, tuple[Value, ...]] = field(default_factory=dict)

    def own(self, owner: Hashable) -> tuple[Value, ...]:
        if self.in_common:
            return tuple(
                _value(slot, number + 1) for slot in self.slots for number in range(self.in_common)
            )
        if owner not in self._values:
            number = len(self._values) + 1
            self._values[owner] = tuple(_value(slot, number) for slot in self.slots)
        return self._values[owner]

    def own_and_earlier(self, owner: Hashable) -> tuple[Value, ...]:
        own = self.own(owner)
        if self.in_common or not self.is_mergeable:
            return own
        owners = list(self._values)
        earlier = owners[: owners.index(owner)]
        return (*own, *(value for other in earlier for value in self._values[other]))


def _value(slot: tuple[type, Value], number: int) -> Value:
    """Value `number` of a slot; the values that cases use leave room for 99 in each interval."""
    kind, low = slot
    assert low is None or number < 100, "an interval has no room for so many fresh values"
    if kind is str:
        return f"{low or ''}0{number:02}"
    return (FIRST_FRESH if low is None else int(low)) + number


def _slots(boundaries: Iterable[Value], *, is_typed: bool) -> tuple[tuple[type, Value], ...]:
    """The intervals between the boundaries, for numbers and for strings.

    >>> _slots([100, 200], is_typed=True)
    ((<class 'int'>, 0), (<class 'int'>, 100), (<class 'int'>, 200))
    """
    boundaries = set(boundaries)
    numbers = sorted(value for value in boundaries if isinstance(value, int))
    strings = sorted(value for value in boundaries if isinstance(value, str))
    lows: list[Value] = [numbers[0] - 100, *numbers] if numbers else [None]
    slots: list[tuple[type, Value]] = [(int, low) for low in lows]
    if not is_typed:
        slots += [(str, low) for low in ["", *strings]]
    return tuple(slots)


class Domain:
    """Known and fresh values per sort, for one view state and change."""

    def __init__(self, world: World, rows: Rows, change: Change, *, nulls: bool) -> None:
        self.world = world
        self.view = world.view
        self.has_nulls = nulls or any(None in row for row in (*rows, change.row))
        self._sorts = sorts(world)
        self._equal = _equal_variables(world.view)
        self._strict = strict_variables(world.view)
        self._known = self._known_values(rows, change)
        self._fresh: dict[Sort, _Fresh] = {}

    def _known_values(self, rows: Rows, change: Change) -> dict[Sort, list[Value]]:
        known: defaultdict[Sort, set[Value]] = defaultdict(set)
        for node, value in self._evidence(rows, change):
            if value is not None:
                known[self._sorts.find(node)].add(value)
        return {sort: sorted(values, key=repr) for sort, values in known.items()}

    def _evidence(self, rows: Rows, change: Change) -> Iterator[tuple[Node, Value]]:
        for term, column in zip(self.view.head, zip(*rows, strict=True), strict=False):
            if isinstance(term, Var):
                yield from ((term, value) for value in column)
        for index, value in enumerate(change.row):
            yield (change.relation, index), value
        for atom in self.view.atoms:
            for index, term in enumerate(atom.terms):
                if not isinstance(term, Var):
                    yield (atom.relation, index), term
        for comparison in self.view.comparisons:
            yield from product(comparison.variables(), comparison.constants())

    def _fresh_of(self, sort: Sort) -> _Fresh:
        if sort not in self._fresh:
            self._fresh[sort] = self._make_fresh(sort)
        return self._fresh[sort]

    def _make_fresh(self, sort: Sort) -> _Fresh:
        comparisons = [
            comparison
            for comparison in self.view.comparisons
            if self._sorts.find(comparison.variables()[0]) == sort
        ]
        is_typed = self.world.is_typed
        between = [c for c in comparisons if len(c.variables()) == 2]
        ordered = {var for c in between if c.operator in ORDER for var in c.variables()}
        if ordered:
            slots = _slots(self._known.get(sort, ()), is_typed=is_typed)
            return _Fresh(slots, in_common=len(ordered))
        ends = [
            side
            for comparison in comparisons
            if comparison.operator in ORDER
            for side in comparison.constants()
        ]
        slots = _slots(ends, is_typed=is_typed) if ends else ((int, None),)
        is_distinct = any(c.operator == "!=" for c in between)
        return _Fresh(slots, is_mergeable=is_distinct or self._is_determined(sort))

    def _is_determined(self, sort: Sort) -> bool:
        """Whether a key determines a column of this sort."""
        return any(
            self._sorts.find((relation.name, column)) == sort
            for relation in self.world.relations
            for key in relation.keys
            for column in range(relation.arity)
            if column not in key
        )

    def of_variable(self, owner: Hashable, variable: Var) -> list[Value]:
        """What a hidden variable of the owner's witness may be."""
        sort = self._sorts.find(variable)
        fresh = self._fresh_of(sort).own_and_earlier((owner, self._equal.find(variable)))
        null = [None] if self.has_nulls and variable not in self._strict else []
        return [*self._known.get(sort, ()), *fresh, *null]

    def of_forced_column(self, owner: Hashable, relation: str, column: int) -> list[Value]:
        """What a column outside the key of a forced parent row may be."""
        sort = self._sorts.find((relation, column))
        fresh = self._fresh_of(sort).own((owner, relation, column))
        null = [None] if self.has_nulls else []
        return [*self._known.get(sort, ()), *fresh, *null]


def _instances(domain: Domain, atom: Atom, owner: Hashable, fixed: Binding) -> Iterator[Row]:
    """The rows that a subgoal may be in the owner's witness."""
    variables = list(dict.fromkeys(atom.variables()))
    choices = [
        [fixed[variable]] if variable in fixed else domain.of_variable(owner, variable)
        for variable in variables
    ]
    inner = [c for c in domain.view.comparisons if set(c.variables()) <= set(variables)]
    for values in product(*choices):
        binding = dict(zip(variables, values, strict=True))
        if all(holds(comparison, binding) for comparison in inner):
            yield instantiate(atom.terms, binding)


def _add_witness(universe: Universe, domain: Domain, owner: Hashable, fixed: Binding) -> None:
    for atom in domain.view.atoms:
        universe[atom.relation].update(_instances(domain, atom, owner, fixed))


def _parents(domain: Domain, foreign: ForeignKey, row: Row) -> Iterator[Row]:
    """The rows that may serve as the parent of `row` and nothing else."""
    value = project(row, foreign.columns)
    if None in value:
        return
    key = dict(zip(key_of(domain.world, foreign.parent), value, strict=True))
    columns = range(domain.world.relation(foreign.parent).arity)
    choices = [
        [key[column]]
        if column in key
        else domain.of_forced_column(("parent", value), foreign.parent, column)
        for column in columns
    ]
    yield from product(*choices)


def _close(universe: Universe, domain: Domain, change: Change) -> None:
    """Add parents until every foreign key of every row can be satisfied."""
    pending = [(name, row) for name, rows in universe.items() for row in rows]
    pending.append((change.relation, change.row))
    pending.sort(key=repr)
    while pending:
        name, row = pending.pop()
        for foreign in domain.world.relation(name).foreign_keys:
            for parent in _parents(domain, foreign, row):
                if parent not in universe[foreign.parent]:
                    universe[foreign.parent].add(parent)
                    pending.append((foreign.parent, parent))


def _is_key_null(world: World, name: str, row: Row) -> bool:
    return any(None in project(row, key) for key in world.relation(name).keys)


def witness_universe(world: World, rows: Rows, change: Change, *, nulls: bool = False) -> Universe:
    """The rows that databases with this view need; the changed row itself is left out.

    Raises:
        ValueError: if no database gives this view, because a row does not fit the head.
    """
    domain = Domain(world, rows, change, nulls=nulls)
    universe: Universe = {relation.name: set() for relation in world.relations}
    for row in sorted(rows, key=repr):
        fixed = bind_head(world.view, row)
        if fixed is None:
            raise ValueError(f"{row!r} does not fit the head of {world.view.text()}")
        _add_witness(universe, domain, row, fixed)
    if change.kind == "insert":
        for atom in world.view.atoms:
            if atom.relation == change.relation:
                fixed = match(atom, change.row, {}, strict_variables(world.view))
                if fixed is not None:
                    _add_witness(universe, domain, "new", fixed)
    _close(universe, domain, change)
    universe[change.relation].discard(change.row)
    return {
        name: {row for row in candidates if not _is_key_null(world, name, row)}
        for name, candidates in universe.items()
    }


def uniform_universe(
    world: World, rows: Rows, change: Change, *, fresh: int, nulls: bool = False
) -> Universe:
    """All rows over the known values and some fresh ones, the same values in all columns.

    With comparisons there are `fresh` values in each interval between the known ones. This is the
    plain reading of "all databases over a finite domain"; `witness_universe` is held against it.
    """
    known = {value for row in (*rows, change.row) for value in row}
    for part in world.view.body():
        known.update(part.constants())
    slots = _slots(known, is_typed=world.is_typed) if world.view.comparisons else ((int, None),)
    values = known | {_value(slot, number + 1) for slot in slots for number in range(fresh)}
    values = values | {None} if nulls else values - {None}
    return {
        relation.name: {
            row
            for row in product(sorted(values, key=repr), repeat=relation.arity)
            if not _is_key_null(world, relation.name, row)
            and (relation.name, row) != (change.relation, change.row)
        }
        for relation in world.relations
    }
