"""Values as text: read by the type of their column, written as the language spells them."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from cq.diagnostics import shorten
from cq.syntax import Const
from cq.types import Misfit, Type, Value
from lookups.printer import constant
from selfmaint.cli.console import visible

_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,400}")
_NUMBER: Final = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,9})?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_LONGEST_NUMBER: Final = 400
_LONGEST_SHOWN: Final = 80

LEGAL: Final = {
    "boolean": "true or false",
    "int": "a whole number from -2147483648 to 2147483647",
    "long": "a whole number from -9223372036854775808 to 9223372036854775807",
    "float": "a number, such as 12.5 or 1e-3",
    "double": "a number, such as 12.5 or 1e-3",
    "decimal": "a number, such as 12.50, that fits without rounding",
    "date": "a day, such as 2024-12-31",
    "timestamp": "a time, such as 2024-12-31T23:59:59 or 2024-12-31 23:59:59Z",
}
"""What may be written for a type, in words; any text is a string."""


def read_value(text: str, kind: Type) -> object:
    """The value that `text` spells in a column of type `kind`.

    In a column without a type, the spelling decides, as it does for a constant of the language:
    whole numbers, numbers, `true` and `false`, days and times; all else is a string.

    Raises:
        Misfit: the text spells no value of this type.

    Example:
        >>> read_value("12", Type("any")), read_value("12", Type("string"))
        (12, '12')
    """
    if kind.name == "any":
        return kind.admit(_by_spelling(text))
    if kind.name == "string":
        return kind.admit(text)
    value = _READ[kind.name](text)
    if value is None:
        raise Misfit(f"{short_value(text)} is no {kind}")
    return kind.admit(value)


def _boolean(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def _whole(text: str) -> int | None:
    return int(text) if _WHOLE.fullmatch(text) else None


def _number(text: str) -> Decimal | None:
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    if abs(float(number)) == float("inf"):
        raise Misfit(f"{shorten(text)} is larger than any type holds")
    return number


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        raise Misfit(f"{text} is no day of the calendar") from None


def _timestamp(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if _TIMESTAMP.fullmatch(text) else None
    except ValueError:
        raise Misfit(f"{text} is no time of the calendar") from None


_READ: Final = {
    "boolean": _boolean,
    "int": _whole,
    "long": _whole,
    "float": _number,
    "double": _number,
    "decimal": _number,
    "date": _date,
    "timestamp": _timestamp,
}


def _by_spelling(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    whole = _whole(text)
    if whole is not None:
        return whole
    number = _number(text)
    if number is not None:
        return float(number)  # as the language reads it where no type is declared
    moment = _date(text)
    return moment if moment is not None else _timestamp(text) or text


def print_value(value: object) -> str:
    """A value as the language spells it, on one line, strings always quoted; NULL is `NULL`."""
    if value is None:
        return "NULL"
    assert isinstance(value, Value), value
    return constant(Const(value))


def short_value(value: object) -> str:
    """A value as `print_value` writes it, visible, and cut in the middle if it is long."""
    return shorten(visible(print_value(value)), _LONGEST_SHOWN)


def json_value(value: object) -> object:
    """A value as JSON has it; days, times and decimals are strings, which keeps them exact."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return value.isoformat() if isinstance(value, date) else str(value)


def sort_key(row: tuple[object, ...]) -> tuple[tuple[object, ...], ...]:
    """An order for rows of mixed types: NULL, then numbers, then all else by type and text."""
    return tuple(
        (0,)
        if value is None
        else (1, value)
        if isinstance(value, int | float | Decimal)
        else (2, type(value).__name__, str(value))
        for value in row
    )
