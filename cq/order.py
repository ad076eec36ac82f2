"""What a set of comparisons implies: enough of the theory of order to see that none can hold.

The comparisons are edges `a < b` or `a <= b` between terms; constants of one type are ordered by
value. The set contradicts itself when a strict edge lies on a cycle, or when `a != b` stands
beside `a <= b <= a`. Values are taken to be densely ordered: a contradiction found this way is one
in every type; whole numbers between 1 and 2 are not looked for.
"""

from __future__ import annotations

from collections.abc import Iterable

from cq.syntax import FLIPPED, Atom, Comparison, Const, Term
from cq.types import holds

_NONE, _WEAK, _STRICT = 0, 1, 2

_MOST_TERMS = 60
"""The closure takes cubic time; beyond this many terms only the comparisons themselves count."""


def contradict(comparisons: Iterable[Comparison]) -> bool:
    """Whether no values satisfy all `comparisons`; True is always right, False may miss some.

    Example:
        >>> from cq.syntax import Var
        >>> x, y = Var("X"), Var("Y")
        >>> contradict([Comparison(x, "<", y), Comparison(y, "<", x)])
        True
        >>> contradict([Comparison(x, ">", Const(3)), Comparison(x, "<=", Const(3))])
        True
        >>> contradict([Comparison(x, ">", Const(3)), Comparison(x, "<=", Const(4))])
        False
    """
    listed = list(comparisons)
    if len(listed) < 2:
        return False
    reach = _closure(listed)
    terms = {term for pair in reach for term in pair}
    if any(reach.get((term, term)) == _STRICT for term in terms):
        return True
    return any(
        c.operator == "!="
        and reach.get((c.left, c.right), _NONE) != _NONE
        and reach.get((c.right, c.left), _NONE) != _NONE
        for c in listed
    )


def implies(comparisons: Iterable[Comparison], wanted: Comparison) -> bool:
    """Whether `comparisons` force `wanted`; True is always right, False may miss some.

    Example:
        >>> from cq.syntax import Var
        >>> x, y = Var("X"), Var("Y")
        >>> implies([Comparison(x, "<", y)], Comparison(y, "!=", x))
        True
    """
    return implies_all(comparisons, [wanted])


def implies_all(comparisons: Iterable[Comparison], wanted: Iterable[Comparison]) -> bool:
    """Whether `comparisons` force every one of `wanted`; see `implies`."""
    known, asked = list(comparisons), list(wanted)
    # An order by value is none within a type. Different is different either way.
    for numeric in (True, False):
        ordered = [c for c in asked if c.operator != "!=" and c.numeric is numeric]
        if not _force([c for c in known if c.numeric is numeric], ordered):
            return False
    return _force(known, [c for c in asked if c.operator == "!="])


def _force(known: list[Comparison], wanted: list[Comparison]) -> bool:
    if not wanted:
        return True
    direct = {
        (a, b, weaker)
        for c in known
        for a, op, b in ((c.left, c.operator, c.right), (c.right, FLIPPED[c.operator], c.left))
        for weaker in _WEAKER[op]
    }
    left = [c for c in wanted if (c.left, c.right, c.operator) not in direct]
    if not left:
        return True
    reach = _closure(known, tuple(side for c in left for side in (c.left, c.right)))
    return all(_follows(c, reach) for c in left)


def _follows(wanted: Comparison, reach: dict[tuple[Term, Term], int]) -> bool:
    left, right = wanted.left, wanted.right
    if isinstance(left, Const) and isinstance(right, Const):
        return holds(wanted.operator, left.value, right.value, wanted.numeric)
    forth, back = reach.get((left, right), _NONE), reach.get((right, left), _NONE)
    match wanted.operator:
        case "<":
            return forth == _STRICT
        case "<=":
            return forth != _NONE
        case ">":
            return back == _STRICT
        case ">=":
            return back != _NONE
        case "!=":
            return _STRICT in (forth, back)
        case "=":
            return False  # equalities are merged before comparisons are looked at


def implied(comparisons: Iterable[Comparison], atoms: Iterable[Atom]) -> tuple[Comparison, ...]:
    """What the comparisons together say about the variables of one subgoal, and it alone does not.

    Such a comparison screens changes of that subgoal: where `Day <= Ship` and `Day > 7` stand in
    different subgoals, no row with `Ship = 7` matters. Of several bounds the tightest is listed.

    Example:
        >>> from cq.syntax import Var
        >>> ship, day = Var("Ship"), Var("Day")
        >>> known = [Comparison(day, "<=", ship), Comparison(day, ">", Const(7))]
        >>> found = implied(known, [Atom("line", (ship,)), Atom("orders", (day,))])
        >>> [(c.left.name, c.operator, c.right.value) for c in found]
        [('Ship', '>', 7)]
    """
    listed = list(comparisons)
    body = list(atoms)
    # Numbers compare by value, other values only within one type: the two do not mix.
    return tuple(
        bound
        for numeric in (True, False)
        for bound in _implied([c for c in listed if c.numeric is numeric], body, numeric)
    )


def _implied(listed: list[Comparison], atoms: list[Atom], numeric: bool) -> Iterable[Comparison]:
    compared = {side for c in listed for side in (c.left, c.right)}
    if len(listed) < 2 or len(compared) > _MOST_TERMS:
        return ()
    reach = _closure(listed)
    constants = {term for term in compared if isinstance(term, Const)}
    found: dict[Comparison, None] = {}
    for atom in atoms:
        if compared.isdisjoint(atom.terms):
            continue
        sides = {*atom.terms, *constants}
        own = [c for c in listed if {c.left, c.right} <= sides]
        for (low, high), strength in reach.items():
            if not {low, high} <= sides or constants >= {low, high} or low == high:
                continue
            if any((low, between) in reach and (between, high) in reach for between in constants):
                continue
            if isinstance(low, Const):
                bound = Comparison(high, ">" if strength == _STRICT else ">=", low, numeric)
            else:
                bound = Comparison(low, "<" if strength == _STRICT else "<=", high, numeric)
            if not implies(own, bound):
                found[bound] = None
    return found


_WEAKER = {
    "=": ("=", "<=", ">="),
    "!=": ("!=",),
    "<": ("<", "<=", "!="),
    "<=": ("<=",),
    ">": (">", ">=", "!="),
    ">=": (">=",),
}


def _closure(
    comparisons: list[Comparison], others: tuple[Term, ...] = ()
) -> dict[tuple[Term, Term], int]:
    """For every pair of terms, whether the first is below the second, weakly or strictly.

    Args:
        others: terms to place among those of the comparisons; a constant has its place.
    """
    reach: dict[tuple[Term, Term], int] = {}

    def add(low: Term, high: Term, strength: int) -> None:
        reach[low, high] = max(reach.get((low, high), _NONE), strength)

    numeric = all(comparison.numeric for comparison in comparisons)
    for c in comparisons:
        match c.operator:
            case "<" | "<=":
                add(c.left, c.right, _STRICT if c.operator == "<" else _WEAK)
            case ">" | ">=":
                add(c.right, c.left, _STRICT if c.operator == ">" else _WEAK)
            case _:
                pass
    terms = list(dict.fromkeys([*(t for c in comparisons for t in (c.left, c.right)), *others]))
    if len(terms) > _MOST_TERMS:
        return reach
    constants = [term for term in terms if isinstance(term, Const)]
    for small in constants:
        for large in constants:
            if holds("<", small.value, large.value, numeric):
                add(small, large, _STRICT)
    for middle in terms:
        for low in terms:
            first = reach.get((low, middle), _NONE)
            if first == _NONE:
                continue
            for high in terms:
                second = reach.get((middle, high), _NONE)
                if second != _NONE:
                    add(low, high, max(first, second))
    return reach
