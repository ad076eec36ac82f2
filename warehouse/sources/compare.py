"""Constants and comparisons of the language as columns of Spark.

Law: where `cq.types.holds` compares two values, the column says the same, NULL included. Spark on
its own would not: it compares a long with a double as doubles, so that 9007199254740993 equals
9007199254740992.0, and rounds two decimals whose digits do not fit into one type together.

One case is compared as Spark does it: a decimal with a float or double, as two doubles. So
decimal 0.1 equals double 0.1, which holds a little more than a tenth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from cq.syntax import FLIPPED, Comparison, Const, Operator, Var
from cq.types import MAX_PRECISION, Type, holds
from warehouse.columns import spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column

WHOLE: Final = {"int": 10, "long": 20}
"""Whole numbers, and how many digits hold them."""

BINARY: Final = frozenset({"float", "double"})
LONGS: Final = 2**63


def literal(value: object, type: Type) -> Column:
    """A constant that is in the representation of `type`, as `Type.admit` leaves it."""
    from pyspark.sql import functions

    if isinstance(value, datetime):
        # As text: Spark would take a time of Python for one in the zone of this machine.
        value = value.isoformat(sep=" ")
    return functions.lit(value).cast(spark_type(type))


def comparison_holds(
    comparison: Comparison, name_of: Callable[[Var], str], types: Mapping[Var, Type]
) -> Column:
    """Whether a comparison is true: a boolean that is never NULL.

    Args:
        name_of: the column that holds a variable.
    """
    from pyspark.sql import functions

    left, op, right = comparison.left, comparison.operator, comparison.right
    if isinstance(left, Const):
        if isinstance(right, Const):
            return functions.lit(holds(op, left.value, right.value, comparison.numeric))
        left, op, right = right, FLIPPED[op], left
    assert isinstance(left, Var)
    column, kind = functions.col(name_of(left)), types[left]
    if isinstance(right, Var):
        other, other_kind = functions.col(name_of(right)), types[right]
        true = _compare(column, kind, op, other, other_kind)
        return column.isNotNull() & other.isNotNull() & true
    if kind.family != "number" or kind.name in BINARY:
        return column.isNotNull() & _apply(op, column, _near(right.value, kind))
    return column.isNotNull() & _compare_with_number(column, kind, op, right.value)


def _apply(op: Operator, left: Column, right: Column) -> Column:
    match op:
        case "=":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right


def _near(value: object, kind: Type) -> Column:
    """A constant beyond the doubles is infinite: it compares the same with every double."""
    if kind.name in BINARY and isinstance(value, int | Decimal):
        try:
            value = float(value)
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    return literal(value, kind)


def _compare_with_number(column: Column, kind: Type, op: Operator, value: object) -> Column:
    """A whole number or decimal with a constant that may have more digits than the column.

    With `s` digits behind the point in the column, and the constant between its neighbours `low`
    and `high` with `s` digits: `x < c` is `x < high`, `x > c` is `x > low`.
    """
    from pyspark.sql import functions

    assert isinstance(value, int | float | Decimal)
    scale = 0 if kind.name in WHOLE else kind.scale
    exact = Fraction(value) * 10**scale
    low = exact.numerator // exact.denominator
    is_between = exact != low
    if is_between and op in ("=", "!="):
        return functions.lit(op == "!=")
    number = low + 1 if is_between and op in ("<", ">=") else low
    if abs(number) >= 10**MAX_PRECISION:  # beyond every value of the column
        return functions.lit(op == "!=" or op in (("<", "<=") if number > 0 else (">", ">=")))
    digits = Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
    return _apply(
        op, column, functions.lit(digits).cast(spark_type(Type("decimal", MAX_PRECISION, scale)))
    )


def _compare(left: Column, kind: Type, op: Operator, right: Column, other: Type) -> Column:
    match kind.name in BINARY, other.name in BINARY:
        case False, True if kind.name in WHOLE:
            return _whole_with_binary(left, op, right)
        case True, False if other.name in WHOLE:
            return _whole_with_binary(right, FLIPPED[op], left)
        case False, False if kind.family == "number" and _is_too_wide(kind, other):
            return _digit_by_digit(left, op, right)
        case _:
            return _apply(op, left, right)


def _whole_with_binary(whole: Column, op: Operator, binary: Column) -> Column:
    """`l < d` is `l < ceil(d)` and `l > d` is `l > floor(d)`, if `d` is among the longs."""
    from pyspark.sql import functions

    number = binary.cast("double")
    above, below = number >= float(LONGS), number < -float(LONGS)
    low, high = functions.floor(number), functions.ceil(number)
    match op:
        case "<" | ">=":
            inside = _apply(op, whole, high)
        case ">" | "<=":
            inside = _apply(op, whole, low)
        case "=":
            inside = (low == high) & (whole == low)
        case "!=":
            inside = (low != high) | (whole != low)
    return (
        functions.when(above, functions.lit(op in ("<", "<=", "!=")))
        .when(below, functions.lit(op in (">", ">=", "!=")))
        .otherwise(inside)
    )


def _is_too_wide(kind: Type, other: Type) -> bool:
    """Whether no decimal type holds the values of both."""
    if kind.name in WHOLE and other.name in WHOLE:
        return False
    before = max(WHOLE.get(t.name, t.precision - t.scale) for t in (kind, other))
    return before + max(kind.scale, other.scale) > MAX_PRECISION


def _digit_by_digit(left: Column, op: Operator, right: Column) -> Column:
    """First the digits before the point, then those behind it; both carry the sign."""
    from pyspark.sql import functions

    def before(column: Column) -> Column:
        return (
            functions.when(column < 0, functions.ceil(column))
            .otherwise(functions.floor(column))
            .cast("decimal(38,0)")
        )

    def behind(column: Column) -> Column:
        return (column % functions.lit(Decimal(1))).cast("decimal(38,38)")

    pairs = (before(left), before(right)), (behind(left), behind(right))
    (whole, other_whole), (rest, other_rest) = pairs
    is_same = whole == other_whole
    match op:
        case "=":
            return is_same & (rest == other_rest)
        case "!=":
            return ~is_same | (rest != other_rest)
        case _:
            return functions.when(is_same, _apply(op, rest, other_rest)).otherwise(
                _apply(op, whole, other_whole)
            )
