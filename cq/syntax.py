"""The nodes of a program as written: terms, atoms, comparisons, rules, declarations.

Nodes are data. Each carries the span of text it came from, which equality ignores, so that a
program printed and parsed again equals the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cq.diagnostics import NO_SPAN, Span
from cq.types import Value

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]

FLIPPED: dict[Operator, Operator] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}


@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """A variable. Every `_` of the text is one of its own, with a name no text can spell: `_#1`."""

    name: str
    span: Span = field(default=NO_SPAN, compare=False, repr=False)

    # Variables are hashed and compared more than anything else: by hand it is twice as fast.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Var) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def is_anonymous(self) -> bool:
        return self.name.startswith("_")


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A constant. Equal means of one Python type and equal: `1`, `1.0` and `true` all differ."""

    value: Value
    span: Span = field(default=NO_SPAN, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Const)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


Term: TypeAlias = Var | Const


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate applied to terms: the head of a rule, or a subgoal of its body."""

    predicate: str
    terms: tuple[Term, ...]
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison between two terms.

    `numeric` is set by the checker when both sides are declared as numbers: they then compare by
    value even where their Python types differ.
    """

    left: Term
    operator: Operator
    right: Term
    numeric: bool = False
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """`head :- atoms, comparisons.`; the order of the body's parts is kept within each kind."""

    head: Atom
    atoms: tuple[Atom, ...]
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class NameRef:
    """A name with its place, where the name itself may turn out to be wrong."""

    name: str
    span: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ColumnSyntax:
    """`name: type` in a declaration; `arguments` are the numbers of `decimal(p, s)`."""

    name: NameRef
    type: NameRef
    arguments: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferencesSyntax:
    """`references relation(own columns)`."""

    relation: NameRef
    columns: tuple[NameRef, ...]


@dataclass(frozen=True, slots=True)
class Declaration:
    """`.decl name(columns) key(..) references ..`, as written."""

    name: NameRef
    columns: tuple[ColumnSyntax, ...]
    keys: tuple[tuple[NameRef, ...], ...] = ()
    references: tuple[ReferencesSyntax, ...] = ()


@dataclass(frozen=True, slots=True)
class Syntax:
    """A whole file: declarations and rules in the order written."""

    declarations: tuple[Declaration, ...]
    rules: tuple[Rule, ...]


def variables_of(*terms: Term) -> tuple[Var, ...]:
    """The distinct variables among `terms`, in order of first use."""
    return tuple(dict.fromkeys(term for term in terms if isinstance(term, Var)))


def body_terms(rule: Rule) -> Iterator[Term]:
    """Every term of the body, atoms first."""
    for atom in rule.atoms:
        yield from atom.terms
    for comparison in rule.comparisons:
        yield comparison.left
        yield comparison.right
