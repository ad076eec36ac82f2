"""Small worlds: schemas, views and databases as plain data, with their meaning by definition.

Nothing here knows the product: no parser, no roles, no groups, no lookups. `evaluate` is the
definition of a conjunctive view as nested loops, so that it can prove the product wrong.

NULL is `None` and behaves as in SQL. It equals nothing, so a variable that has to equal something
(it occurs twice in the subgoals, or in a comparison) never takes it, and no constant matches it.
A variable that occurs once may carry it to the head.
"""

from __future__ import annotations

import operator as operators
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

Value: TypeAlias = int | str | None
Row: TypeAlias = tuple[Value, ...]
Rows: TypeAlias = frozenset[Row]
Database: TypeAlias = Mapping[str, AbstractSet[Row]]
Kind: TypeAlias = Literal["insert", "delete"]
Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]
Columns: TypeAlias = tuple[int, ...]

ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}


@dataclass(frozen=True, slots=True)
class Var:
    """A variable; its name starts with an upper-case letter."""

    name: str


Term: TypeAlias = Var | int | str
Binding: TypeAlias = dict[Var, Value]


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` of the own relation refer to the key of `parent`, in the key's order."""

    columns: Columns
    parent: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A base relation. A relation that others refer to has exactly one key."""

    name: str
    arity: int
    keys: tuple[Columns, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()

    def text(self) -> str:
        """The declaration, all columns `long`."""
        columns = ", ".join(f"c{column}: long" for column in range(self.arity))
        keys = [f"key({_columns(key)})" for key in self.keys]
        references = ", ".join(
            f"references {foreign.parent}({_columns(foreign.columns)})"
            for foreign in self.foreign_keys
        )
        return " ".join([f".decl {self.name}({columns})", *keys, references]).rstrip()


@dataclass(frozen=True, slots=True)
class Atom:
    """A subgoal."""

    relation: str
    terms: tuple[Term, ...]

    def variables(self) -> list[Var]:
        """The variables in order, with repetitions."""
        return [term for term in self.terms if isinstance(term, Var)]

    def constants(self) -> list[int | str]:
        return [term for term in self.terms if not isinstance(term, Var)]

    def text(self) -> str:
        return f"{self.relation}({_terms(self.terms)})"


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Term
    operator: Operator
    right: Term

    def variables(self) -> list[Var]:
        return [term for term in (self.left, self.right) if isinstance(term, Var)]

    def constants(self) -> list[int | str]:
        return [term for term in (self.left, self.right) if not isinstance(term, Var)]

    def text(self) -> str:
        return f"{_term(self.left)} {self.operator} {_term(self.right)}"


@dataclass(frozen=True, slots=True)
class View:
    """A conjunctive query with comparisons, named `v`; every variable occurs in a subgoal."""

    head: tuple[Term, ...]
    atoms: tuple[Atom, ...]
    comparisons: tuple[Comparison, ...] = ()

    def body(self) -> list[Atom | Comparison]:
        return [*self.atoms, *self.comparisons]

    def text(self) -> str:
        body = [part.text() for part in self.body()]
        return f"v({_terms(self.head)}) :- {', '.join(body)}."


@dataclass(frozen=True, slots=True)
class World:
    """The relations and one view over them."""

    relations: tuple[Relation, ...]
    view: View

    @property
    def is_typed(self) -> bool:
        """Whether the program declares its relations: keys and foreign keys need that."""
        return any(relation.keys or relation.foreign_keys for relation in self.relations)

    def relation(self, name: str) -> Relation:
        return next(relation for relation in self.relations if relation.name == name)

    def text(self) -> str:
        """The program in the view language."""
        declared = self.relations if self.is_typed else ()
        return "\n".join([*(relation.text() for relation in declared), self.view.text()])


@dataclass(frozen=True, slots=True)
class Change:
    relation: str
    kind: Kind
    row: Row

    def text(self) -> str:
        return f"{self.kind} {self.relation}{self.row!r}"


def _columns(columns: Columns) -> str:
    return ", ".join(f"c{column}" for column in columns)


def _term(term: Term) -> str:
    match term:
        case Var(name):
            return name
        case str():
            return f"'{term}'"
        case _:
            return str(term)


def _terms(terms: tuple[Term, ...]) -> str:
    return ", ".join(map(_term, terms))


def body_variables(view: View) -> tuple[Var, ...]:
    """The variables of the subgoals, each once, in order of appearance."""
    return tuple(dict.fromkeys(variable for atom in view.atoms for variable in atom.variables()))


@lru_cache(maxsize=4096)
def strict_variables(view: View) -> frozenset[Var]:
    """The variables that never take NULL: used twice in the subgoals, or compared."""
    uses = Counter(variable for atom in view.atoms for variable in atom.variables())
    compared = {variable for part in view.comparisons for variable in part.variables()}
    return frozenset(compared | {variable for variable, count in uses.items() if count > 1})


def compare(left: Value, operator: Operator, right: Value) -> bool:
    """Compare as SQL does: never with NULL; order only values of one type."""
    if left is None or right is None:
        return False
    if operator == "=":
        return left == right
    if operator == "!=":
        return left != right
    return type(left) is type(right) and ORDERS[operator](left, right)


def match(atom: Atom, row: Row, binding: Binding, strict: AbstractSet[Var]) -> Binding | None:
    """Extend `binding` so that `atom` becomes `row`, or None where that is impossible."""
    extended = dict(binding)
    for term, value in zip(atom.terms, row, strict=True):
        if not isinstance(term, Var):
            if value != term:
                return None
        elif term not in extended:
            if value is None and term in strict:
                return None
            extended[term] = value
        elif extended[term] != value:
            return None
    return extended


def resolve(term: Term, binding: Binding) -> Value:
    return binding[term] if isinstance(term, Var) else term


def instantiate(terms: tuple[Term, ...], binding: Binding) -> Row:
    return tuple(resolve(term, binding) for term in terms)


def holds(comparison: Comparison, binding: Binding) -> bool:
    left, right = resolve(comparison.left, binding), resolve(comparison.right, binding)
    return compare(left, comparison.operator, right)


def _valuations(view: View, database: Database, depth: int, binding: Binding) -> Iterator[Binding]:
    if depth == len(view.atoms):
        yield binding
        return
    atom = view.atoms[depth]
    for row in database.get(atom.relation, ()):
        extended = match(atom, row, binding, strict_variables(view))
        if extended is not None:
            yield from _valuations(view, database, depth + 1, extended)


def evaluate(view: View, database: Database) -> Rows:
    """The view's rows: the head of every valuation under which the whole body holds."""
    return frozenset(
        instantiate(view.head, binding)
        for binding in _valuations(view, database, 0, {})
        if all(holds(comparison, binding) for comparison in view.comparisons)
    )


def project(row: Row, columns: Columns) -> Row:
    return tuple(row[column] for column in columns)


def key_of(world: World, name: str) -> Columns:
    """The key that foreign keys into the relation refer to."""
    (key,) = world.relation(name).keys
    return key


def _keys_hold(relation: Relation, rows: AbstractSet[Row]) -> bool:
    for key in relation.keys:
        values = [project(row, key) for row in rows]
        if len(set(values)) < len(values) or any(None in value for value in values):
            return False
    return True


def _reference_holds(world: World, foreign: ForeignKey, row: Row, database: Database) -> bool:
    value = project(row, foreign.columns)
    key = key_of(world, foreign.parent)
    parents = database.get(foreign.parent, ())
    return None in value or any(project(parent, key) == value for parent in parents)


def dangling(world: World, database: Database) -> list[tuple[str, Row]]:
    """The rows with a foreign key that refers to no row; a NULL refers to nothing."""
    return [
        (relation.name, row)
        for relation in world.relations
        for row in sorted(database.get(relation.name, ()), key=repr)
        for foreign in relation.foreign_keys
        if not _reference_holds(world, foreign, row, database)
    ]


def satisfies(world: World, database: Database) -> bool:
    """Whether keys are unique and without NULL, and foreign keys refer to rows that exist."""
    keys_hold = all(
        _keys_hold(relation, database.get(relation.name, frozenset()))
        for relation in world.relations
    )
    return keys_hold and not dangling(world, database)


def apply(database: Database, change: Change) -> dict[str, Rows]:
    """The database after the change."""
    result = {name: frozenset(rows) for name, rows in database.items()}
    before = result.get(change.relation, frozenset())
    row = frozenset({change.row})
    result[change.relation] = before | row if change.kind == "insert" else before - row
    return result


def database_text(database: Database) -> str:
    """One line per relation, for failure messages."""
    lines = (
        f"    {name}: {', '.join(map(repr, sorted(rows, key=repr))) or '-'}"
        for name, rows in sorted(database.items())
    )
    return "\n".join(lines)
