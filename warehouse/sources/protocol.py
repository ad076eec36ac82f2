"""What a source is: it answers "rows of this small join for these keys, as of this version"."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from cq.diagnostics import did_you_mean
from warehouse.columns import check_columns, positional, quoted, struct_type
from warehouse.sources.errors import SourceError
from warehouse.sources.join import Join, joined

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

FEW_KEYS: Final = 200_000
"""So many keys are sent to every executor; with more, Spark chooses how to join."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What answering took.

    Args:
        questions: how often a source was asked.
        keys_sent: distinct keys that went to a source.
        rows_sent: rows that came back.
        rows_scanned: the rows of all relations asked about, each relation once per question. An
            upper figure: files and rows that the source could skip count as well.
        seconds: how long the source took; of a simulated source, what its settings say.
        bytes_sent: the values of the rows that came back: a fixed width per type, strings in
            UTF-8, nothing for NULL. What a protocol adds or compresses away is not in it. A source
            that does not say counts as 0.
    """

    questions: int = 0
    keys_sent: int = 0
    rows_sent: int = 0
    rows_scanned: int = 0
    seconds: float = 0.0
    bytes_sent: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.questions + other.questions,
            self.keys_sent + other.keys_sent,
            self.rows_sent + other.rows_sent,
            self.rows_scanned + other.rows_scanned,
            self.seconds + other.seconds,
            self.bytes_sent + other.bytes_sent,
        )


@dataclass(frozen=True, slots=True)
class Part:
    """One question to one of several sources, and what it took."""

    source: str
    join: Join
    version: int
    cost: Cost


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a join for some keys.

    Args:
        frame: columns as `Join.schema`; distinct rows. It is fixed: reading it asks nobody.
        version: what the rows are as of. It may be later than asked for, never earlier.
        cost: what it took; with several sources, the sum of the parts.
        rows: how many rows the source says there are, so that lost rows are noticed.
        parts: what was asked of whom, where a question was split; in the order asked.
    """

    frame: DataFrame
    version: int
    cost: Cost
    rows: int
    parts: tuple[Part, ...] = ()


class Source(Protocol):
    """A holder of relations. Versions are the warehouse's: version 7 ends the seventh batch."""

    @property
    def name(self) -> str:
        """For messages and reports."""

    @property
    def relations(self) -> frozenset[str]: ...

    def version(self) -> int:
        """The newest version that it can answer as of."""

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        """The rows of `join` for `keys`, as of `version` or a later one that it names.

        Several threads may ask at the same time.

        Args:
            keys: columns as `Join.key_schema`; None if no variable is bound.
        Raises:
            SourceError: it holds not all of the relations, or cannot answer as of the version.
        """


@runtime_checkable
class TableSource(Source, Protocol):
    """A source whose relations Spark itself can read, as they were at any version it has."""

    def read(self, relation: str, version: int) -> DataFrame:
        """The rows of a relation as of a version; always the same ones."""


def require_relations(source: Source, join: Join) -> None:
    """Refuse a question about a relation that the source does not hold."""
    if missing := [name for name in join.relations if name not in source.relations]:
        raise SourceError(
            "WH330",
            f"source `{source.name}` holds no relation `{missing[0]}`",
            *did_you_mean(missing[0], source.relations),
        )


def computed(
    source: Source,
    join: Join,
    keys: DataFrame | None,
    version: int,
    read: Callable[[str], DataFrame],
    size: Callable[[str], int],
) -> Answer:
    """The answer of a source whose relations Spark can read.

    Two jobs, and those of broadcasts: one for the keys, one for the rows. What was computed stays
    with the executors until the frame is no longer used.

    Args:
        read: the rows of a relation at `version`.
        size: how many they are.
    Raises:
        ColumnError: WH321, if a relation's rows have not the declared columns.
    """
    require_relations(source, join)
    started = time.monotonic()
    tables = checked_tables(join, read)
    sent = 0
    if keys is not None:
        check_columns(keys, join.key_schema, "the keys")
        keys = keys.distinct().localCheckpoint(eager=False)
        sent = keys.count()
    frame = joined(join, tables, keys, few_keys=sent <= FEW_KEYS)
    frame = frame.localCheckpoint(eager=False)
    rows, size_sent = measured(frame)
    scanned = sum(map(size, join.relations))
    seconds = time.monotonic() - started
    return Answer(frame, version, Cost(1, sent, rows, scanned, seconds, size_sent), rows)


def measured(frame: DataFrame) -> tuple[int, int]:
    """How many rows, and the bytes of their values as `Cost.bytes_sent` has them; one job."""
    from pyspark.sql import functions as sf

    sizes = [_size(quoted(field.name), field.dataType) for field in frame.schema]
    (row,) = frame.agg(
        sf.count(sf.lit(1)).alias("rows"),
        sf.expr(" + ".join(sizes) if sizes else "0").cast("long").alias("bytes"),
    ).collect()
    return int(row["rows"]), int(row["bytes"])


WIDTHS: Final = {
    "boolean": 1,
    "int": 4,
    "date": 4,
    "float": 4,
    "bigint": 8,
    "double": 8,
    "timestamp_ntz": 8,
    "decimal": 16,
}
"""Bytes of a value, by the type's name in Spark; a decimal of up to 18 digits has 8."""


def _size(column: str, kind: DataType) -> str:
    from pyspark.sql.types import DecimalType, StringType

    if isinstance(kind, StringType):
        return f"coalesce(sum(octet_length({column})), 0)"
    is_short = isinstance(kind, DecimalType) and kind.precision <= 18
    name = kind.simpleString().partition("(")[0]
    return f"{8 if is_short else WIDTHS[name]} * count({column})"


def checked_tables(join: Join, read: Callable[[str], DataFrame]) -> Mapping[str, DataFrame]:
    """The relations of a join, each with its columns by position.

    Raises:
        ColumnError: WH321, if a relation's rows have not the declared columns.
    """
    tables: dict[str, DataFrame] = {}
    for name in join.relations:
        schema = struct_type(join.query.by_name[name])
        table = read(name)
        check_columns(table, schema, f"the rows of `{name}`")
        tables[name] = positional(table, schema.fieldNames())
    return tables
