"""Comparisons of two columns in SQL that says what `cq.types.holds` says of their values.

Spark on its own would not: it compares a long with a double as doubles, so that 9007199254740993
equals 9007199254740992.0, and rounds two decimals whose digits do not fit into one type together.

One case is compared as Spark does it: a decimal with a float or double, as two doubles. So decimal
0.1 equals double 0.1, which holds a little more than a tenth.
"""

from __future__ import annotations

from typing import Final

from cq.syntax import FLIPPED, Operator
from cq.types import MAX_PRECISION, Type

WHOLE: Final = {"int": 10, "long": 20}
"""Whole numbers, and how many digits hold them."""

BINARY: Final = frozenset({"float", "double"})
BEYOND_LONGS: Final = "9.223372036854775808E18D"


def compared(left: str, kind: Type, operator: Operator, right: str, other: Type) -> str:
    """Whether a comparison of two columns is true, as SQL; NULL or false if one of them is NULL.

    Args:
        left, right: expressions, of the types `kind` and `other`.

    Example:
        >>> compared("a", Type("long"), "<", "b", Type("long"))
        'a < b'
    """
    match kind.name in BINARY, other.name in BINARY:
        case False, True if kind.name in WHOLE:
            exact = _whole_with_binary(left, operator, right)
        case True, False if other.name in WHOLE:
            exact = _whole_with_binary(right, FLIPPED[operator], left)
        case False, False if kind.family == other.family == "number" and _is_too_wide(kind, other):
            exact = _digit_by_digit(left, operator, right)
        case _:
            return f"{left} {operator} {right}"
    return f"{left} IS NOT NULL AND {right} IS NOT NULL AND ({exact})"


def _whole_with_binary(whole: str, operator: Operator, binary: str) -> str:
    """`l < d` is `l < ceil(d)` and `l > d` is `l > floor(d)`, if `d` is among the longs."""
    number = f"CAST({binary} AS double)"
    low, high = f"floor({number})", f"ceil({number})"
    match operator:
        case "<" | ">=":
            inside = f"{whole} {operator} {high}"
        case ">" | "<=":
            inside = f"{whole} {operator} {low}"
        case "=":
            inside = f"{low} = {high} AND {whole} = {low}"
        case "!=":
            inside = f"{low} != {high} OR {whole} != {low}"
    above, below = operator in ("<", "<=", "!="), operator in (">", ">=", "!=")
    return (
        f"CASE WHEN {number} >= {BEYOND_LONGS} THEN {above} "
        f"WHEN {number} < -{BEYOND_LONGS} THEN {below} ELSE {inside} END"
    )


def _is_too_wide(kind: Type, other: Type) -> bool:
    """Whether no decimal type holds the values of both."""
    if kind.name in WHOLE and other.name in WHOLE:
        return False
    before = max(WHOLE.get(t.name, t.precision - t.scale) for t in (kind, other))
    return before + max(kind.scale, other.scale) > MAX_PRECISION


def _digit_by_digit(left: str, operator: Operator, right: str) -> str:
    """First the digits before the point, then those behind it; both carry the sign."""

    def before(column: str) -> str:
        rounded = f"CASE WHEN {column} < 0 THEN ceil({column}) ELSE floor({column}) END"
        return f"CAST({rounded} AS decimal({MAX_PRECISION},0))"

    def behind(column: str) -> str:
        return f"CAST({column} % 1BD AS decimal({MAX_PRECISION},{MAX_PRECISION}))"

    is_same = f"{before(left)} = {before(right)}"
    wholes = f"{before(left)} {operator} {before(right)}"
    rests = f"{behind(left)} {operator} {behind(right)}"
    match operator:
        case "=":
            return f"{is_same} AND {rests}"
        case "!=":
            return f"NOT ({is_same}) OR {rests}"
        case _:
            return f"CASE WHEN {is_same} THEN {rests} ELSE {wholes} END"
