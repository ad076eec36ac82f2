"""Batches of changes: checked before anything runs, and the net effect of an ordered log.

A batch maps relations to frames with the relation's columns and a column `change` that holds
`insert` or `delete`; an UPDATE is one of each. It is net: no row is in it twice, and with a
declared key no two inserted and no two deleted rows share that key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from cq.diagnostics import CodedError, did_you_mean, shorten
from cq.schema import Relation
from warehouse.columns import ColumnError, check_columns, positional, quoted, struct_type
from warehouse.sparklog import silent_query_errors, spark_errors
from warehouse.tables.errors import reason_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

CHANGE: Final = "change"
INSERT: Final = "insert"
DELETE: Final = "delete"

FRACTIONS: Final = ("float", "double")
"""The types that have NaN."""


class BatchError(CodedError):
    """A batch that cannot be applied as it is. Nothing was changed.

    Attributes:
        relation: the relation that it is about, or all of them.
    """

    def __init__(self, code: str, relation: str, message: str, *help: str) -> None:
        super().__init__(code, f"{message}. Nothing was changed", *help)
        self.relation = relation
        self.message = message


@dataclass(frozen=True)
class Changes:
    """The net changes of one relation, computed once.

    Args:
        frame: `id`, unique and always the same for the same row, `insert`, and the relation's
            columns in their declared order as `c0`, `c1`, ...
        is_named: known to have no NULL in a declared key.
    """

    relation: str
    frame: DataFrame
    inserts: int
    deletes: int
    is_named: bool = False


def checked(
    relations: Mapping[str, Relation], batch: Mapping[str, DataFrame]
) -> dict[str, Changes]:
    """The batch, once it is known to be one; relations without a change are left out.

    First all columns of all relations are checked, which runs nothing; then one job computes the
    batch, keeps it, and counts what is wrong in all relations.

    Raises:
        BatchError: WH350 an unknown relation, WH351 an unknown word for a change, WH352 a row that
            is in the batch twice, WH353 two rows with one key, WH354 NULL in a declared key, WH356
            NaN, WH357 Spark failed to compute it.
        ColumnError: WH321, columns that are missing, too many or of another type.
    """
    for name, frame in batch.items():
        if name not in relations:
            raise BatchError(
                "WH350",
                name,
                f"the batch has changes of `{shorten(name)}`, which is no relation of the program",
                *did_you_mean(name, relations),
            )
        try:
            check_changes(name, struct_type(relations[name]), frame)
        except ColumnError as error:
            error.add_state("Nothing was changed")
            raise
    try:
        with silent_query_errors():
            # Of rows that are at hand, Spark computes some as soon as it plans them.
            kept = {name: _kept(relations[name], frame) for name, frame in batch.items()}
            counts = _counts(relations, kept)
    except spark_errors() as error:
        names = ", ".join(f"`{name}`" for name in batch)
        raise BatchError(
            "WH357",
            ", ".join(batch),
            f"the changes of {names} could not be computed ({reason_of(error)})",
            "see to the frames that they come from; then apply the same batch again",
        ) from error
    for name in kept:
        _check_counts(relations[name], counts[name])
    found = (
        Changes(name, kept[name].drop("known"), count["inserts"], count["deletes"], is_named=True)
        for name, count in counts.items()
    )
    return {changes.relation: changes for changes in found if changes.inserts or changes.deletes}


def require_changeable(relation: Relation) -> None:
    """Refuse a relation whose changes cannot be told.

    Raises:
        ColumnError: WH320, a column without a type, or one with the name that tells the change.
    """
    # Spark does not tell `Change` from `change`.
    if any(column.name.casefold() == CHANGE for column in struct_type(relation)):
        raise ColumnError(
            "WH320",
            f"`{shorten(relation.name)}` has a column `{CHANGE}`, which is what a batch calls the "
            "column that says whether a row is inserted or deleted",
            "give the column another name in the declaration, and rename it in what is loaded",
        )


def check_changes(relation: str, rows: StructType, frame: DataFrame) -> None:
    """Refuse a frame that has not the columns of the relation's rows and `change`; runs no job.

    Raises:
        ColumnError: WH321, with every column that does not fit.
    """
    from pyspark.sql.types import StringType, StructType

    needed = StructType([*rows.fields]).add(CHANGE, StringType())
    check_columns(frame, needed, f"the changes of `{relation}`")


def _kept(relation: Relation, frame: DataFrame) -> DataFrame:
    """The rows as `Changes` has them, and whether the change is `known`.

    The first job that reads them keeps them. Only then is `id` fixed: a second computation could
    find the rows in another order.
    """
    rows = positional(frame, [*(column.name for column in relation.columns), CHANGE])
    arity = len(relation.columns)
    return rows.selectExpr(
        "monotonically_increasing_id() AS id",
        f"c{arity} = '{INSERT}' AS insert",
        f"coalesce(c{arity} IN ('{INSERT}', '{DELETE}'), false) AS known",
        *(f"c{i}" for i in range(arity)),
    ).localCheckpoint(eager=False)


def _counts(
    relations: Mapping[str, Relation], kept: Mapping[str, DataFrame]
) -> dict[str, dict[str, int]]:
    """Per relation, how many changes there are, and how many are wrong in which way; one job."""
    from pyspark.sql import DataFrame

    if not kept:
        return {}
    figures = {name: _figures(relations[name]) for name in kept}
    parts = [
        frame.selectExpr("*", *figures[name].columns).selectExpr(
            f"{place} AS place", f"array({', '.join(figures[name].counts.values())}) AS n"
        )
        for place, (name, frame) in enumerate(kept.items())
    ]
    found = {row["place"]: row["n"] for row in reduce(DataFrame.unionAll, parts).collect()}
    return {
        name: dict(zip(each.counts, found[place], strict=True))
        for place, (name, each) in enumerate(figures.items())
    }


@dataclass(frozen=True, slots=True)
class _Figures:
    """What to count of a relation's changes, as SQL over the names of `Changes`.

    Args:
        columns: that the counts need beside those of the changes.
        counts: by name.
    """

    columns: tuple[str, ...]
    counts: Mapping[str, str]


def _figures(relation: Relation) -> _Figures:
    def shared(columns: Iterable[int], *more: str) -> str:
        """How many changes agree on these columns."""
        by = ", ".join([*(f"c{i}" for i in columns), *more]) or "0"  # a relation without columns
        return f"count(1) OVER (PARTITION BY {by})"

    columns = [f"{shared(range(len(relation.columns)))} AS twice"]
    counts = {
        "inserts": "count_if(known AND insert)",
        "deletes": "count_if(known AND NOT insert)",
        "unknown": "count_if(NOT known)",
        "twice": "count_if(twice > 1)",
    }
    if fractions := [i for i, c in enumerate(relation.columns) if c.type.name in FRACTIONS]:
        counts["nan"] = f"count_if({' OR '.join(f'isnan(c{i})' for i in fractions)})"
    for number, key in enumerate(relation.keys):
        columns.append(f"{shared(key, 'insert')} AS key{number}")
        counts[f"key{number}"] = f"count_if(key{number} > 1)"
        counts[f"null{number}"] = f"count_if({' OR '.join(f'c{i} IS NULL' for i in key)})"
    return _Figures(tuple(columns), counts)


NETTING: Final = "`netted` computes the net effect of an ordered log of changes"


def not_net(relation: str, changes: int) -> BatchError:
    """So many changes are of a row that comes more than once."""
    return BatchError(
        "WH352",
        relation,
        f"the batch is not net: {changes} changes of `{relation}` are of a row that is in it more "
        "than once",
        NETTING,
    )


def _check_counts(relation: Relation, counts: Mapping[str, int]) -> None:
    name = relation.name
    if count := counts["unknown"]:
        raise BatchError(
            "WH351",
            name,
            f"{count} changes of `{name}` are neither insertions nor deletions",
            f"column `{CHANGE}` holds `{INSERT}` or `{DELETE}`",
        )
    if count := counts["twice"]:
        raise not_net(name, count)
    if count := counts.get("nan", 0):
        raise BatchError(
            "WH356",
            name,
            f"{count} changes of `{name}` hold NaN, which equals nothing",
            "use NULL for an unknown number; if rows with NaN were loaded, `load` as of the batch "
            "that changes them",
        )
    for number, key in enumerate(relation.keys):
        columns = ", ".join(relation.columns[i].name for i in key)
        if count := counts[f"null{number}"]:
            raise BatchError(
                "WH354",
                name,
                f"{count} changes of `{name}` have NULL in key({columns})",
                "leave the key out of the declaration if the source does not keep it",
            )
        if count := counts[f"key{number}"]:
            raise BatchError(
                "WH353",
                name,
                f"the batch is not net: {count} changes of `{name}` share key({columns}) with "
                "another one of the same kind",
                NETTING,
                "or the declared key does not hold in the source",
            )


def netted(relation: Relation, log: DataFrame, order: str) -> DataFrame:
    """The net effect of an ordered log of changes, as a frame for a batch.

    Law: applied to a state that the log fits, the result does what the log does, and no row is in
    it twice. A row's first and last change say all: a row that is first inserted was absent, one
    that is last deleted is absent.

    Args:
        log: the relation's columns, `change`, and a column to order by, such as a log position.
        order: the name of that column; of two changes of one row the greater one came later.
    Raises:
        ColumnError: WH321; BatchError: WH351 as for a batch, WH355 an order with NULL or ties.
    """
    from pyspark.sql import functions as sf

    if order not in log.columns:
        raise ColumnError(
            "WH321",
            f"the log of `{relation.name}` has no column `{shorten(order)}` to order by",
            *did_you_mean(order, log.columns),
        )
    if any(column.name == order for column in relation.columns):
        raise ColumnError(
            "WH321",
            f"`{shorten(order)}` is a column of `{relation.name}`, and a log is ordered by one "
            "beside these",
            f"copy it under another name: `log.withColumn('position', log[{order!r}])`",
        )
    check_changes(relation.name, struct_type(relation), log.drop(sf.col(quoted(order))))
    names = [*(column.name for column in relation.columns), CHANGE, order]
    arity = len(relation.columns)
    rows, own = positional(log, names), [f"c{i}" for i in range(arity)]
    change, position = sf.col(f"c{arity}"), sf.col(f"c{arity + 1}")
    is_known = sf.coalesce(change.isin(INSERT, DELETE), sf.lit(False))
    at_once = rows.groupBy(*own, position).agg(
        sf.count_if(~is_known).alias("unknown"),
        sf.count_if(position.isNull()).alias("unordered"),
        sf.countDistinct(change).alias("words"),
    )
    (row,) = at_once.agg(
        sf.sum("unknown").alias("unknown"),
        sf.sum("unordered").alias("unordered"),
        sf.count_if(sf.col("words") > 1).alias("ties"),
    ).collect()
    if row["unknown"]:
        _check_counts(relation, {"unknown": row["unknown"]})
    if row["unordered"]:
        raise BatchError(
            "WH355",
            relation.name,
            f"{row['unordered']} changes of `{relation.name}` have no place in the order",
            "the column to order by must not hold NULL",
        )
    if row["ties"]:
        raise BatchError(
            "WH355",
            relation.name,
            f"{row['ties']} rows of `{relation.name}` are inserted and deleted at one place in the "
            "order",
            "order by a column that tells which change came later",
        )
    net = rows.groupBy(*own).agg(
        sf.min_by(change, position).alias("began"), sf.max_by(change, position).alias("ended")
    )
    kept = net.where("began = ended").select(*own, "ended")
    return kept.toDF(*names[:-1])


def followed_by(
    relations: Mapping[str, Relation], first: Mapping[str, Changes], then: Mapping[str, Changes]
) -> dict[str, Changes]:
    """The net effect of two batches in a row; one job if they share a relation.

    Law: applied to a state that they fit, the result does what the first and then the second does,
    and it is a batch itself: what one of them inserts and the other deletes is not in it.

    Raises:
        BatchError: WH352, WH353, the second one does not fit what the first one leaves.
    """
    shared = {
        name: _one_after_the_other(relations[name], first[name], then[name])
        for name in first
        if name in then
    }
    alone = {name: c for name, c in {**first, **then}.items() if name not in shared}
    return {**alone, **checked(relations, shared)}


def _one_after_the_other(relation: Relation, first: Changes, then: Changes) -> DataFrame:
    """The changes of both, as a frame for a batch.

    A row's changes take turns, so their sum says whether it comes, goes or stays. A row that comes
    or goes twice is in the frame twice, for `checked` to refuse.
    """
    from pyspark.sql import functions as sf

    own = [f"c{i}" for i in range(len(relation.columns))]
    rows = first.frame.select("insert", *own).unionAll(then.frame.select("insert", *own))
    net = rows.groupBy(*own).agg(sf.expr("sum(IF(insert, 1, -1)) AS turns"))
    word = f"IF(turns > 0, '{INSERT}', '{DELETE}')"
    kept = net.selectExpr(*own, f"explode(array_repeat({word}, CAST(abs(turns) AS int)))")
    return kept.toDF(*(column.name for column in relation.columns), CHANGE)
