"""The column types of the view language and the values they admit.

Law: for a declared type, `Type.admit` maps a Python value to the one representation under which
equal database values are equal Python values, or says that the value does not fit. So a join is
`==` everywhere else.

A relation without a declaration has columns of type `ANY`: each hashable value equals itself, and
an order comparison holds only between values of one Python type.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timezone
from decimal import Decimal
from typing import Any, Final, TypeAlias, cast

from cq.diagnostics import shown

Value: TypeAlias = str | int | float | bool | Decimal | date | datetime
"""A constant of the language: what may stand in a rule."""

Row: TypeAlias = tuple[object, ...]
"""A row of a relation or a view; a component may be any hashable value, `None` is NULL."""


class Misfit(ValueError):
    """A value that a type does not admit; the text says why."""


@dataclass(frozen=True, slots=True)
class Type:
    """A column type; `precision` and `scale` belong to `decimal`."""

    name: str
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.name == "decimal" else self.name

    @property
    def family(self) -> str:
        """Types of one family are comparable: all numbers, otherwise only the same type."""
        return "number" if self.name in _NUMBERS else self.name

    def admit(self, value: object) -> object:
        """`value` in this type's representation; NULL (`None`) fits every type.

        Raises:
            Misfit: the value does not belong to this type.

        Example:
            >>> Type("double").admit(2)
            2.0
            >>> Type("int").admit(2**31)
            Traceback (most recent call last):
            cq.types.Misfit: 2147483648 is outside the range of int
        """
        if value is None:
            return None
        return _ADMIT[self.name](self, value)

    def is_plain(self, values: Collection[object]) -> bool:
        """Whether a quick look shows that `admit` takes all of these as they are.

        Example:
            >>> Type("int").is_plain([1, 2]), Type("int").is_plain([1, 2.0])
            (True, False)
        """
        if not _PLAIN.get(self.name, frozenset()).issuperset(map(type, values)):
            return False
        bound = _BOUNDS.get(self.name)
        if bound is None or not values:
            return True
        numbers = cast(Collection[int], values)
        return -bound <= min(numbers) and max(numbers) < bound


def _whole(self: Type, value: object) -> object:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Misfit(f"{shown(value)} is no {self}")
    bound = _BOUNDS[self.name]
    if not -bound <= value < bound:
        raise Misfit(f"{shown(value)} is outside the range of {self}")
    return int(value)  # an enumeration's member becomes the number it stands for


def _binary(self: Type, value: object) -> object:
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
        raise Misfit(f"{shown(value)} is no {self}")
    try:
        number = float(value)
    except OverflowError:
        raise Misfit(f"a number of this size is outside the range of {self}") from None
    except ValueError:  # a signalling NaN
        number = math.nan
    if math.isnan(number):
        raise Misfit("NaN equals nothing, not even itself; use NULL for an unknown number")
    return number


def _single(self: Type, value: object) -> object:
    """The nearest number of 32 bits, which is what a column of this type holds."""
    number = cast(float, _binary(self, value))
    try:
        return cast(float, struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        raise Misfit(f"{shown(value)} is outside the range of {self}") from None


def _decimal(self: Type, value: object) -> object:
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        raise Misfit(f"{shown(value)} is no {self}")
    number = Decimal(value)
    if not number.is_finite():
        raise Misfit(f"{shown(value)} is no {self}")
    # By the digits themselves: Python's decimal arithmetic rounds to 28 of them.
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    beyond = digits[max(0, len(digits) + min(0, exponent + self.scale)) :]
    if number and (number.adjusted() >= self.precision - self.scale or any(beyond)):
        raise Misfit(f"{shown(value)} does not fit {self} without rounding")
    return number


def _boolean(self: Type, value: object) -> object:
    if not isinstance(value, bool):
        raise Misfit(f"{shown(value)} is no {self}")
    return value


# Subclasses (an enumeration's member, another library's timestamp) become the plain value.


def _string(self: Type, value: object) -> object:
    if not isinstance(value, str):
        raise Misfit(f"{shown(value)} is no {self}")
    return value if type(value) is str else str.__str__(value)


def _date(self: Type, value: object) -> object:
    # A datetime is a date to Python, but the two never compare equal in a database.
    if not isinstance(value, date) or isinstance(value, datetime):
        raise Misfit(f"{shown(value)} is no {self}")
    return value if type(value) is date else date(value.year, value.month, value.day)


def _timestamp(self: Type, value: object) -> object:
    if not isinstance(value, datetime):
        raise Misfit(f"{shown(value)} is no {self}")
    time = value if type(value) is datetime else datetime.combine(value.date(), value.timetz())
    # Python compares times of one zone by its clock: of an hour that the clock shows twice, two
    # instants would be one, and the second would differ from the same instant in another zone.
    is_fixed = time.tzinfo is None or isinstance(time.tzinfo, timezone)
    return time if is_fixed else time.astimezone(UTC)


def _any(self: Type, value: object) -> object:
    try:
        hash(value)
    except TypeError:
        raise Misfit(f"a {type(value).__name__} cannot be compared by value") from None
    if isinstance(value, float | Decimal) and math.isnan(value):
        raise Misfit("NaN equals nothing, not even itself; use NULL for an unknown number")
    return value


ANY: Final = Type("any")
_PLAIN: Final[dict[str, frozenset[type]]] = {
    "any": frozenset({int, str, bool, date, datetime}),
    "boolean": frozenset({bool}),
    "int": frozenset({int}),
    "long": frozenset({int}),
    "string": frozenset({str}),
    "date": frozenset({date}),
}
"""The classes, without their subclasses, whose values a type takes as they are."""

_BOUNDS: Final = {"int": 2**31, "long": 2**63}
_NUMBERS: Final = frozenset({"int", "long", "float", "double", "decimal"})
_ADMIT: Final[dict[str, Callable[[Type, object], object]]] = {
    "any": _any,
    "boolean": _boolean,
    "int": _whole,
    "long": _whole,
    "float": _single,
    "double": _binary,
    "decimal": _decimal,
    "string": _string,
    "date": _date,
    "timestamp": _timestamp,
}

TYPE_NAMES: Final = tuple(name for name in _ADMIT if name != "any")
"""What may stand behind the colon of a declared column."""

MAX_PRECISION: Final = 38


def constant_family(value: object) -> str:
    """The family a constant of the language belongs to by its spelling."""
    match value:
        case bool():
            return "boolean"
        case int() | float() | Decimal():
            return "number"
        case str():
            return "string"
        case datetime():
            return "timestamp"
        case date():
            return "date"
        case _:
            raise AssertionError(f"no constant: {shown(value)}")


def constant_type(value: object) -> Type:
    """The narrowest type for a column that holds nothing but this constant.

    Example:
        >>> str(constant_type(Decimal("1.50"))), str(constant_type(7)), str(constant_type("EU"))
        ('decimal(3,2)', 'long', 'string')
    """
    match value:
        case bool():
            return Type("boolean")
        case int() if -_BOUNDS["long"] <= value < _BOUNDS["long"]:
            return Type("long")
        case int() | Decimal():
            _, digits, exponent = Decimal(value).as_tuple()
            assert isinstance(exponent, int)
            scale = max(0, -exponent)
            return Type("decimal", max(len(digits) + max(0, exponent), scale), scale)
        case float():
            return Type("double")
        case _:
            return Type(constant_family(value))


_OPERATORS: Final[dict[str, Callable[[Any, Any], object]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(op: str, left: object, right: object, numeric: bool = False) -> bool:
    """Whether `left op right` is true; NULL makes every comparison false.

    Args:
        numeric: both sides are declared as numbers, so that their Python types may differ.

    Example:
        >>> holds("<", 1, 2), holds("<", 1, "a"), holds("!=", None, 1)
        (True, False, False)
    """
    if left is None or right is None:
        return False
    if op in ("=", "!="):
        return bool(_OPERATORS[op](left, right))
    if not numeric and type(left) is not type(right):
        return False
    try:
        return bool(_OPERATORS[op](left, right))
    except TypeError:  # one type, but without an order (complex), or with and without a time zone
        return False
