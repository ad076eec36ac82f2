"""One scan of the view that answers every lookup of a batch.

The scan returns, for each family and key that the batch asks about, the distinct values that the
matching rows give, each with the number of rows that give it. With the counts the batch's own
deletions and insertions are subtracted and added later, without another scan:

    f   the family            g   what the rows give, as a masked row
    k   the key, masked       n   how many rows give it
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
)

from lookups.spark.columns import (
    Names,
    Sql,
    all_of,
    any_of,
    balanced,
    certain,
    exploded,
    if_,
    is_one_of,
    literal,
)
from lookups.spark.probes import Families, Family

MOST_BROADCAST = 200_000
"""Keys of a pattern that every executor gets in full. More are joined by shuffling the view."""

ORDERED: tuple[type[DataType], ...] = (
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    DecimalType,
    DateType,
    StringType,
)
"""Types whose values come to the driver and go back as they are. A time does not: Python's has no
type of its own for one without a zone."""

WHOLE: tuple[type[DataType], ...] = (ByteType, ShortType, IntegerType, LongType, DateType)
"""Types whose ends are whole numbers, which Spark writes into the code that it compiles."""

DAYS = 2**31
"""Spark counts days from the epoch, as many as this in either direction."""


@dataclass(frozen=True, slots=True)
class Range:
    """How many keys a pattern is asked for, and the least and the greatest value per column.

    A date is its number of days: Python's dates end with the year 9999, and Spark's do not.
    """

    keys: int
    ends: Mapping[int, tuple[object, object]]


def ranges(names: Names, families: Families, keys: DataFrame) -> dict[int, Range]:
    """What the keys of each pattern span; patterns without keys are left out.

    One job, which returns one row per pattern.
    """
    sortable = [i for i, kind in enumerate(names.kinds) if isinstance(kind, ORDERED)]
    figures = ["count(1) AS keys"]
    for i in sortable:
        column, kind = f"k.h{i}", names.kinds[i]
        # Text that is none would come to the driver as other text, and over Connect as an error.
        value = f"try_validate_utf8({column})" if _is_text(kind) else column
        end = f"unix_date({value})" if isinstance(kind, DateType) else value
        figures += [f"count({value}) AS n{i}", f"min({end}) AS low{i}"]
        figures.append(f"max({end}) AS high{i}")
    found: dict[int, Range] = {}
    for row in keys.groupBy("p").agg(*map(sf.expr, figures)).collect():
        pattern = families.patterns[row["p"]]
        ends = {
            i: (row[f"low{i}"], row[f"high{i}"])
            for i in pattern
            if i in sortable and row[f"n{i}"] == row["keys"]
        }
        found[row["p"]] = Range(row["keys"], ends)
    return found


def _is_text(kind: DataType) -> bool:
    return isinstance(kind, StringType)


def pruned(names: Names, view: DataFrame, spans: Mapping[int, Range]) -> DataFrame:
    """The rows that lie within the ends of the keys: every row that a lookup can find.

    So Delta can leave out files. The ends are values of the batch: they become literals, not text.

    Args:
        view: its rows, with columns by position.
    """

    def between(column: int, low: Any, high: Any) -> Column:
        kind = names.kinds[column]
        if isinstance(kind, WHOLE):
            low, high = outward(low, high)
        value = _day if isinstance(kind, DateType) else literal
        return sf.col(f"h{column}").between(value(low), value(high))

    arms = []
    for span in spans.values():
        if not span.ends:
            return view
        sides = [between(i, low, high) for i, (low, high) in span.ends.items()]
        arms.append(balanced(Column.__and__, sides))
    return view.where(balanced(Column.__or__, arms))


def _day(number: int) -> Column:
    return sf.date_from_unix_date(sf.lit(max(-DAYS, min(number, DAYS - 1))))


def outward(low: int, high: int) -> tuple[int, int]:
    """Round numbers at or beyond these ends, up to an eighth of what they span beyond each.

    Spark makes a whole number part of the code that it compiles, and what is compiled anew is slow
    at first. Batches that ask about the same region share the round numbers, and so the code.

    Example:
        >>> outward(3, 99_998), outward(1_000_001, 1_000_100), outward(7, 7)
        ((0, 106496), (1000000, 1000104), (7, 7))
    """
    step = 1 << max((high - low).bit_length() - 4, 0)
    return low // step * step, -(-high // step) * step


def scan(
    names: Names,
    families: Families,
    rows: DataFrame,
    keys: DataFrame,
    spans: Mapping[int, Range],
    wanted: Mapping[Family, int],
) -> DataFrame:
    """The evidence that the view holds about these keys.

    Args:
        rows: the view, as far as `pruned` leaves it.
        keys: distinct `p`, `k`: the number of a pattern and a masked key.
        spans: of the patterns of the families that are wanted.
    """
    patterns = families.patterns
    for p, span in spans.items():
        rows = _joined(names, rows, keys, p, patterns[p], span.keys)
    marks = [certain(f"m{p}") if patterns[p] else "true" for p in spans]
    columns = (f"{mark} AS m{p}" for mark, p in zip(marks, spans, strict=True))
    rows = rows.selectExpr(*names.row, *columns)
    asked = [
        (family, number, f"m{p}")
        for family, number in wanted.items()
        if (p := patterns.index(family.pattern)) in spans
    ]
    rows = rows.where(any_of(f"m{p}" for p in spans))
    return counted(names, rows, asked)


def counted(names: Names, rows: DataFrame, asked: Sequence[tuple[Family, int, Sql]]) -> DataFrame:
    """The values that the rows give each family, counted; its mark says which rows give any.

    Counted in columns of their own and put into structs afterwards: that is twice as fast.
    """
    used = sorted({i for family, _, _ in asked for i in (*family.pattern, *family.gives)})
    cells = [
        cell
        for family, number, mark in asked
        for cell in (str(number), mark, *_cells(names, used, {*family.pattern, *family.gives}))
    ]
    columns = [f"h{i}" for i in used]
    rows = rows.selectExpr(
        f"stack({len(asked)}, {', '.join(cells)}) AS ({', '.join(['f', 'm', *columns])})"
    )
    found = rows.where("m").groupBy("f", *columns).agg(sf.expr("count(1) AS n"))

    def of_families(place: Callable[[Family], Sequence[int]]) -> Sql:
        having = {i: [number for family, number, _ in asked if i in place(family)] for i in used}
        return names.mask(
            {i: if_(is_one_of("f", numbers), f"h{i}") for i, numbers in having.items()}
        )

    key, given = (of_families(attrgetter(name)) for name in ("pattern", "gives"))
    return found.selectExpr("f", f"{key} AS k", f"{given} AS g", "n")


def _cells(names: Names, used: Sequence[int], kept: Collection[int]) -> list[Sql]:
    return [f"h{i}" if i in kept else f"CAST(NULL AS {names.head[i]})" for i in used]


def _joined(
    names: Names,
    rows: DataFrame,
    keys: DataFrame,
    number: int,
    pattern: Sequence[int],
    count: int,
) -> DataFrame:
    """The rows with a mark where they have one of the keys of a pattern."""
    if not pattern:
        return rows
    columns = {i: f"k{number}_{i}" for i in pattern}
    wanted = keys.where(f"p = {number}").selectExpr(
        *(f"k.h{i} AS {name}" for i, name in columns.items()), f"true AS m{number}"
    )
    wanted = sf.broadcast(wanted) if count <= MOST_BROADCAST else wanted.hint("merge")
    same = all_of(f"h{i} {names.equals(i)} {name}" for i, name in columns.items())
    return rows.join(wanted, sf.expr(same), "left")


def entry(names: Names, number: int, family: Family) -> Sql:
    """What a row of the view tells a family, as a struct."""
    key, given = names.masked(family.pattern), names.masked(family.gives)
    return f"named_struct('f', {number}, 'k', {key}, 'g', {given})"


def at(
    names: Names,
    families: Families,
    before: DataFrame | None,
    deltas: Sequence[DataFrame],
    wanted: Collection[int],
) -> DataFrame | None:
    """The evidence after the changes `deltas` of the view, for some families: `f`, `k`, `g`.

    Args:
        before: the evidence of the scan; None, here as in what is returned: there is none.
        deltas: view rows with `n`, 1 for a row that came and -1 for one that went.
    """
    numbers = sorted(set(wanted))
    evidence = [] if before is None else [before.where(is_one_of("f", numbers))]
    if not numbers or not (evidence or deltas):
        return None
    if not deltas:
        return evidence[0].selectExpr("f", "k", "g")
    structs = [entry(names, number, families.of(number)) for number in numbers]
    changed = [exploded(delta, ("n",), structs, "f") for delta in deltas]
    together = names.together([*evidence, *changed])
    counted = together.groupBy("f", "k", "g").agg(sf.expr("sum(n) AS n"))
    return counted.where("n > 0").selectExpr("f", "k", "g")


def nothing(names: Names, frame: DataFrame) -> DataFrame:
    """No evidence, as a frame; `frame` is any other one."""
    row = names.mask({})
    return frame.where("false").selectExpr("0 AS f", f"{row} AS k", f"{row} AS g")
