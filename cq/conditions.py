"""Symbolic conditions on a change: when the instance of one subgoal matches another subgoal.

A condition is a conjunction of equalities between the change's values and constants, kept in a
canonical form that plans store and executors test. `can_hold` drops the conditions that contradict
what every change that gets this far has passed. `expression` gives a condition its meaning as a
simplified sympy expression with one symbol per value, for people and for further reasoning; sympy
is loaded there and nowhere else. (The compiler does not ask sympy itself: simplifying one condition
under four comparisons takes it the time in which a hundred views compile.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from cq.printer import print_value
from cq.query import decide_ground
from cq.syntax import Comparison, Const, Term, Var

if TYPE_CHECKING:
    import sympy

Equality: TypeAlias = tuple[Var, Term]
"""A value of the change, by the variable it is bound to, and what it must equal."""


def conjunction(pairs: Iterable[tuple[Term, Term]]) -> tuple[Equality, ...] | None:
    """The canonical form of a conjunction of equalities, or None when it cannot hold.

    Each class of equal terms is written as `member = leader`, where the leader is the class's
    constant or its first variable; so equal conjunctions have equal forms.

    Example:
        >>> x, y, b = Var("X"), Var("Y"), Const("b")
        >>> conjunction([(y, x), (x, b)]) == conjunction([(b, y), (x, y)])
        True
        >>> conjunction([(x, b), (x, Const("c"))]) is None
        True
    """
    classes: list[set[Term]] = []
    for pair in pairs:
        touched = [group for group in classes if not group.isdisjoint(pair)]
        merged = set(pair).union(*touched)
        classes = [group for group in classes if group not in touched] + [merged]
    equalities: list[Equality] = []
    for group in classes:
        constants = [term for term in group if isinstance(term, Const)]
        if len(constants) > 1:
            return None
        variables = sorted((t for t in group if isinstance(t, Var)), key=lambda var: var.name)
        leader: Term = constants[0] if constants else variables[0]
        equalities.extend((var, leader) for var in variables if var != leader)
    return tuple(sorted(equalities, key=lambda pair: pair[0].name))


def expression(equalities: Iterable[Equality], known: Iterable[Comparison] = ()) -> sympy.Basic:
    """The conjunction as a simplified sympy expression: `false` where it contradicts `known`.

    Args:
        equalities: in canonical form.
        known: comparisons that the screen has established before the condition is asked.

    Example:
        >>> x, y = Var("X"), Var("Y")
        >>> print(expression([(x, y)]))
        Eq(X, Y)
        >>> print(expression([(x, y)], [Comparison(x, "<", y)]))
        False
    """
    import sympy

    pairs = list(equalities)
    wanted = sympy.And(*(sympy.Eq(_symbol(left), _symbol(right)) for left, right in pairs))
    touched = {term for pair in pairs for term in pair}
    facts = [_relation(c) for c in known if not touched.isdisjoint((c.left, c.right))]
    if facts and sympy.And(wanted, *facts).simplify() == sympy.false:
        return sympy.false
    return wanted


def can_hold(equalities: tuple[Equality, ...], known: tuple[Comparison, ...]) -> bool:
    """Whether some change that passed `known` satisfies the equalities; False is always right.

    Example:
        >>> x, y = Var("X"), Var("Y")
        >>> can_hold(((x, y),), (Comparison(x, "<", y),)), can_hold(((x, y),), ())
        (False, True)
    """
    if not equalities or not known:
        return True
    values: dict[Term, Term] = dict(equalities)
    under = (
        replace(c, left=values.get(c.left, c.left), right=values.get(c.right, c.right))
        for c in known
    )
    _, _, is_possible = decide_ground(under)
    return is_possible


def _relation(fact: Comparison) -> sympy.Basic:
    import sympy

    make = {"!=": sympy.Ne, "<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge}
    relation: sympy.Basic = make[fact.operator](_symbol(fact.left), _symbol(fact.right))
    return relation


def _symbol(term: Term) -> sympy.Basic:
    """One symbol per value; numbers stand for themselves, so that sympy knows their order."""
    import sympy

    match term:
        case Const(value=bool()):
            return sympy.Symbol(print_value(term.value), real=True)
        case Const(value=int() | float() | Decimal()):
            return sympy.Rational(str(term.value))
        case Const():
            return sympy.Symbol(repr(term.value), real=True)
        case Var():
            return sympy.Symbol(term.name, real=True)
