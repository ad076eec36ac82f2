"""What a column admits, and when a comparison holds."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal

import pytest

from cq.types import ANY, TYPE_NAMES, Misfit, Type, constant_family, holds


@pytest.mark.parametrize("name", [*TYPE_NAMES, "any"])
def test_null_fits_every_type(name: str) -> None:
    assert Type(name, 5, 2).admit(None) is None


@pytest.mark.parametrize(
    ("kind", "value", "admitted"),
    [
        (Type("boolean"), True, True),
        (Type("int"), -(2**31), -(2**31)),
        (Type("int"), 2**31 - 1, 2**31 - 1),
        (Type("long"), 2**63 - 1, 2**63 - 1),
        (Type("double"), 2, 2.0),
        (Type("double"), Decimal("0.5"), 0.5),
        (Type("float"), 0.5, 0.5),
        (Type("float"), 0.1, 0.10000000149011612),
        (Type("float"), float("-inf"), float("-inf")),
        (Type("double"), float("inf"), float("inf")),
        (Type("decimal", 5, 2), 7, Decimal(7)),
        (Type("decimal", 5, 2), Decimal("-999.99"), Decimal("-999.99")),
        (Type("decimal", 38, 0), 10**37, Decimal(10**37)),
        (Type("decimal", 38, 0), 10**38 - 1, Decimal(10**38 - 1)),
        (Type("decimal", 38, 10), Decimal("1e20"), Decimal("1e20")),
        (Type("decimal", 38, 38), Decimal("1e-38"), Decimal("1e-38")),
        (Type("string"), "", ""),
        (Type("date"), date(2024, 1, 31), date(2024, 1, 31)),
        (Type("timestamp"), datetime(2024, 1, 31), datetime(2024, 1, 31)),
        (ANY, frozenset({1}), frozenset({1})),
        (ANY, float("inf"), float("inf")),
    ],
)
def test_admitted(kind: Type, value: object, admitted: object) -> None:
    found = kind.admit(value)
    assert (type(found), found) == (type(admitted), admitted)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Type("boolean"), 1),
        (Type("int"), True),
        (Type("int"), 2**31),
        (Type("int"), -(2**31) - 1),
        (Type("long"), 2**63),
        (Type("long"), 1.0),
        (Type("long"), "1"),
        (Type("double"), "1"),
        (Type("double"), True),
        (Type("double"), float("nan")),
        (Type("float"), 1e39),
        (Type("double"), 10**400),
        (Type("double"), Decimal("NaN")),
        (Type("double"), Decimal("sNaN")),
        (Type("decimal", 5, 2), 1.5),
        (Type("decimal", 5, 2), 1000),
        (Type("decimal", 5, 2), Decimal("0.001")),
        (Type("decimal", 5, 2), Decimal("Infinity")),
        (Type("decimal", 5, 2), Decimal("sNaN")),
        (Type("decimal", 38, 0), 10**38),
        (Type("decimal", 5, 2), Decimal("1e-999999")),
        (Type("decimal", 5, 2), Decimal("1e999999")),
        (Type("string"), 1),
        (Type("date"), datetime(2024, 1, 31)),
        (Type("timestamp"), date(2024, 1, 31)),
        (ANY, float("nan")),
        (ANY, Decimal("sNaN")),
        (ANY, [1]),
    ],
)
def test_refused(kind: Type, value: object) -> None:
    with pytest.raises(Misfit):
        kind.admit(value)


def test_equal_numbers_of_a_column_are_equal_values() -> None:
    assert Type("decimal", 5, 2).admit(Decimal("1.50")) == Type("decimal", 5, 2).admit(
        Decimal("1.5")
    )
    assert hash(Type("double").admit(2)) == hash(Type("double").admit(Decimal("2.0")))


def test_families() -> None:
    families = {name: Type(name).family for name in TYPE_NAMES}
    numbers = {name for name, family in families.items() if family == "number"}
    assert numbers == {"int", "long", "float", "double", "decimal"}
    assert all(families[name] == name for name in set(TYPE_NAMES) - numbers)


@pytest.mark.parametrize(
    ("value", "family"),
    [
        (True, "boolean"),
        (1, "number"),
        (Decimal("1.5"), "number"),
        ("a", "string"),
        (date(2024, 1, 31), "date"),
        (datetime(2024, 1, 31), "timestamp"),
    ],
)
def test_constant_family(value: object, family: str) -> None:
    assert constant_family(value) == family


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_null_makes_every_comparison_false(operator: str) -> None:
    assert not holds(operator, None, 1)
    assert not holds(operator, 1, None)
    assert not holds(operator, None, None)


@pytest.mark.parametrize(
    ("operator", "truth"),
    [
        ("=", (False, True, False)),
        ("!=", (True, False, True)),
        ("<", (True, False, False)),
        ("<=", (True, True, False)),
        (">", (False, False, True)),
        (">=", (False, True, True)),
    ],
)
def test_operators(operator: str, truth: tuple[bool, bool, bool]) -> None:
    assert (holds(operator, 1, 2), holds(operator, 2, 2), holds(operator, 3, 2)) == truth


def test_order_only_between_values_of_one_type() -> None:
    assert not holds("<", 1, 2.5)
    assert not holds(">=", "b", 1)
    assert holds("!=", "b", 1)
    assert holds("<", "a", "b")


def test_declared_numbers_compare_by_value() -> None:
    assert holds("<", 1, 2.5, numeric=True)
    assert holds("<", Decimal("1.5"), 2, numeric=True)


def test_values_of_one_type_without_an_order() -> None:
    assert not holds("<", 1j, 2j)
    assert not holds("<", datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC))


class PutBack(tzinfo):
    """A zone at the hour that its clock shows twice, as Berlin's did at 2 on 2024-10-27."""

    def utcoffset(self, moment: datetime | None) -> timedelta:
        return timedelta(hours=1 if moment is not None and moment.fold else 2)


def test_an_hour_that_a_clock_shows_twice_is_two() -> None:
    first = datetime(2024, 10, 27, 2, 30, tzinfo=PutBack())
    second = first.replace(fold=1)
    column = Type("timestamp")
    assert first == second, "to Python"
    assert column.admit(first) == datetime(2024, 10, 27, 0, 30, tzinfo=UTC)
    assert column.admit(second) == datetime(2024, 10, 27, 1, 30, tzinfo=UTC)
    assert not column.is_plain([first])
    fixed = datetime(2024, 10, 27, 2, 30, tzinfo=timezone(timedelta(hours=1)))
    assert repr(column.admit(fixed)) == repr(fixed), "as it was written"
