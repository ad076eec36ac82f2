"""Constants and comparisons of the language as columns of Spark.

Law: where `cq.types.holds` compares two values, the column says the same, NULL included; see
`cq.comparing` for what Spark alone would say, and for the one exception.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from cq.comparing import BINARY, WHOLE, compared
from cq.syntax import FLIPPED, Comparison, Const, Operator, Var
from cq.types import MAX_PRECISION, Type, holds
from warehouse.columns import spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column


def literal(value: object, type: Type) -> Column:
    """A constant that is in the representation of `type`, as `Type.admit` leaves it."""
    from pyspark.sql import functions

    # As text: Spark would take a time of Python for one in the zone of this machine, and an old
    # date for one of the Julian calendar.
    if isinstance(value, datetime):
        value = value.isoformat(sep=" ")
    elif isinstance(value, date):
        value = value.isoformat()
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
        true = compared(name_of(left), kind, op, name_of(right), types[right])
        return functions.coalesce(functions.expr(true), functions.lit(False))
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
