"""Columns of the language as columns of Spark: types, names, and whether a frame has them.

Law: `struct_type(relation)` is the one schema under which a relation's rows, as `Type.admit`
represents them, go into a frame and come back equal.

A name is compared letter by letter, though Spark would take `Cust` for `cust`: a frame's column
that is spelt otherwise is reported, not guessed. Whether a column may hold NULL is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cq.diagnostics import CodedError, did_you_mean, shorten
from cq.schema import Relation
from cq.types import ANY, Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType


class ColumnError(CodedError):
    """Columns that are not the ones a relation or a question calls for.

    Nothing has been read or written. Trying again does not help.

    Attributes:
        code: WH320 for a column without a type, WH321 for a frame that does not fit.
        misfits: every column that does not fit; empty for WH320.
    """

    def __init__(self, code: str, message: str, *help: str, misfits: Sequence[Misfit] = ()) -> None:
        super().__init__(code, message, *help)
        self.misfits = tuple(misfits)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A column that is missing (nothing found), extra (nothing needed), or of another type."""

    column: str
    found: str | None
    needed: str | None

    def __str__(self) -> str:
        name = f"`{shorten(self.column)}`"
        if self.found is None:
            return f"{name} is missing; it must be {self.needed}"
        if self.needed is None:
            return f"{name} is one too many"
        return f"{name} is {self.found}; it must be {self.needed}"


def quoted(name: str) -> str:
    """`name` as an identifier of Spark SQL, whatever it contains; also a path, after `delta.`.

    Example:
        >>> quoted("a`b")
        '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def delta_table(path: str) -> str:
    """The Delta table at `path`, as it is named in Spark SQL.

    Example:
        >>> delta_table("/data/a table")
        'delta.`/data/a table`'
    """
    return f"delta.{quoted(path)}"


def spark_type(type: Type) -> DataType:
    """The type of Spark that holds the values of a declared type.

    Raises:
        ColumnError: WH320, for a type that was not declared.
    """
    from pyspark.sql import types as spark

    known: dict[str, DataType] = {
        "boolean": spark.BooleanType(),
        "int": spark.IntegerType(),
        "long": spark.LongType(),
        "float": spark.FloatType(),
        "double": spark.DoubleType(),
        "string": spark.StringType(),
        "date": spark.DateType(),
        "timestamp": spark.TimestampNTZType(),  # a time in a program names no zone
    }
    if type.name == "decimal":
        return spark.DecimalType(type.precision, type.scale)
    if type == ANY:
        raise ColumnError(
            "WH320",
            "a column without a declared type cannot be stored",
            "declare its relation: `.decl name(column: type, ..)`",
        )
    return known[type.name]


def struct_type(relation: Relation) -> StructType:
    """The schema of the relation's rows.

    Raises:
        ColumnError: WH320, if a column has no declared type.
    """
    from pyspark.sql.types import StructField, StructType

    if untyped := [column.name for column in relation.columns if column.type == ANY]:
        raise ColumnError(
            "WH320",
            f"`{shorten(relation.name)}` has columns without a type: "
            f"{shorten(', '.join(untyped), 200)}",
            f"declare it: `.decl {shorten(relation.name)}(column: type, ..)`",
        )
    return StructType(
        [StructField(column.name, spark_type(column.type)) for column in relation.columns]
    )


def check_columns(frame: DataFrame, needed: StructType, what: str) -> None:
    """Refuse a frame that has not exactly the needed columns, in any order.

    Runs no job: the schema is enough.

    Args:
        what: the frame, as a message names it, such as "the rows of `orders`".
    Raises:
        ColumnError: WH321, with every column that does not fit.
    """
    if misfits := tuple(misfits_of(frame.schema, needed)):
        missing = [misfit.column for misfit in misfits if misfit.found is None]
        guesses = dict.fromkeys(
            line
            for misfit in misfits
            if misfit.needed is None
            for line in did_you_mean(misfit.column, missing)
            if line.startswith("did")
        )
        columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in needed)
        raise ColumnError(
            "WH321",
            f"the columns of {what} do not fit: " + "; ".join(map(str, misfits)),
            *guesses,
            shorten(f"needed: {columns}", 400),
            misfits=misfits,
        )


def misfits_of(found: StructType, needed: StructType) -> Iterator[Misfit]:
    """What is wrong with the columns found: in the order needed, then what is one too many."""
    left = [(field.name, field.dataType) for field in found]
    for field in needed:
        same_name = next((pair for pair in left if pair[0] == field.name), None)
        if same_name is not None:
            left.remove(same_name)
        if same_name is None or same_name[1] != field.dataType:
            kind = same_name[1].simpleString() if same_name else None
            yield Misfit(field.name, kind, field.dataType.simpleString())
    for name, extra in left:  # also a second column of one name
        yield Misfit(name, extra.simpleString(), None)


def positional(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The columns `names` of a frame, in that order, as `c0`, `c1`, ...

    By position throughout: Spark would find two columns where names differ only by case.
    """
    found = frame.columns
    renamed = frame.toDF(*(f"f{i}" for i in range(len(found))))
    places = [found.index(name) for name in names]
    return renamed.select(*(renamed[f"f{place}"].alias(f"c{i}") for i, place in enumerate(places)))
