"""A loader that people have already, as a source: it computes rows of one view."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from cq.diagnostics import shorten
from cq.syntax import Const
from cq.types import constant_type
from warehouse.columns import check_columns, positional
from warehouse.sources.compare import literal
from warehouse.sources.errors import SourceError
from warehouse.sources.join import Join
from warehouse.sources.protocol import Answer, Cost, measured

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Loading: TypeAlias = Callable[["DataFrame | None"], "DataFrame"]
"""Computes rows of a view from its sources, as they are with the batch applied: those with the
given values in the columns that the argument has, or all rows if there is no argument. Rows with
other values there do no harm, rows that come twice neither. It may be called again while an earlier
call that took too long still runs."""

Knowing: TypeAlias = Callable[[], int]
"""Tells which batch is the last one that a loader's sources have."""


class LoaderSource:
    """A function that computes rows of a view; it answers for whole rows of that view only.

    It is never asked for NULL. Where a slice has NULL in some column, the function gets the other
    columns, and the rows that it returns are compared here: the plain join that people write would
    leave such rows out, and with them the view would lose rows.

    Args:
        view: its name, for messages.
        columns: of the view's table.
        knowing: if there is one, answers are as of what it says, and not as of what was asked.
    """

    def __init__(
        self,
        view: str,
        columns: StructType,
        relations: frozenset[str],
        load: Loading,
        knowing: Knowing | None = None,
    ) -> None:
        self._view = view
        self._columns = columns
        self._relations = relations
        self._load = load
        self._knowing = knowing

    @property
    def name(self) -> str:
        return f"loader of {self._view}"

    @property
    def relations(self) -> frozenset[str]:
        return self._relations

    def version(self) -> int:
        """What the sources have, if somebody knows; what a function computes first is version 0."""
        return 0 if self._knowing is None else int(self._knowing())

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        """The rows of a slice, or of the whole view, as of now.

        That must be `version`, unless the loader knows what its sources have.

        Raises:
            ColumnError: WH321, if the function returns other columns than the view has.
            SourceError: WH338, the sources moved on meanwhile.
        """
        from pyspark.sql import functions as sf

        assert len(join.subgoals) == len(join.query.atoms), "a loader knows whole rows only"
        started = time.monotonic()
        before = version if self._knowing is None else self.version()
        sent = 0
        if keys is None:
            calls, rows = 1, self._rows(None)
        else:
            keys = keys.distinct().localCheckpoint(eager=False)
            sent = keys.count()
            calls, rows = self._slices(join, keys)
        own = [f"c{join.query.columns[var]} AS b{i}" for i, var in enumerate(join.bound)]
        own += [f"c{join.query.columns[var]} AS w{i}" for i, var in enumerate(join.wanted)]
        frame = self._of_the_view(join, rows).selectExpr(*own).distinct()
        if keys is not None:
            wanted = keys.toDF(*(f"k{i}" for i in range(len(join.bound))))
            same = " AND ".join(f"b{i} <=> k{i}" for i in range(len(join.bound)))
            frame = frame.join(wanted, sf.expr(same), "left_semi")
        frame = frame.localCheckpoint(eager=False)
        count, size = measured(frame)
        if self._knowing is not None and self.version() != before:
            raise SourceError(
                "WH338",
                f"the sources of the {self.name} moved on from version {before} while it computed",
                "ask again",
                retryable=True,
            )
        seconds = time.monotonic() - started
        return Answer(frame, before, Cost(calls, sent, count, 0, seconds, size), count)

    def _of_the_view(self, join: Join, rows: DataFrame) -> DataFrame:
        """The rows that the view may have.

        Others show another value than its constant, or two values of one variable.
        """
        from pyspark.sql import functions as sf

        for column, term in enumerate(join.query.head):
            if isinstance(term, Const):
                value = literal(term.value, constant_type(term.value))
                rows = rows.where(sf.col(f"c{column}").eqNullSafe(value))
            elif (first := join.query.columns[term]) != column:
                rows = rows.where(f"c{column} <=> c{first}")
        return rows

    def _slices(self, join: Join, keys: DataFrame) -> tuple[int, DataFrame]:
        """The function's rows for these keys, and how often it was called: once or twice."""
        names = {f"b{i}": self._column(join, i) for i in range(len(join.bound))}
        nullable = [f"b{i}" for i, var in enumerate(join.bound) if var not in join.query.non_null]
        if not nullable:
            return 1, self._rows(keys.toDF(*names.values()))
        has_null = " OR ".join(f"{name} IS NULL" for name in nullable)
        partial = keys.where(has_null)
        if partial.isEmpty():
            return 1, self._rows(keys.toDF(*names.values()))
        sure = {name: column for name, column in names.items() if name not in nullable}
        fewer = partial.select(*sure).distinct().toDF(*sure.values()) if sure else None
        complete = keys.where(f"NOT ({has_null})")
        rows = self._rows(fewer)
        if fewer is None or complete.isEmpty():  # without keys it has returned everything
            return 1, rows
        return 2, rows.unionByName(self._rows(complete.toDF(*names.values())))

    def _column(self, join: Join, place: int) -> str:
        return self._columns[join.query.columns[join.bound[place]]].name

    def _rows(self, keys: DataFrame | None) -> DataFrame:
        """What the function returns, with columns by position."""
        from pyspark.sql import DataFrame

        rows = self._load(keys)
        if not isinstance(rows, DataFrame):
            raise SourceError(
                "WH336",
                f"the {self.name} returned no DataFrame, but {shorten(repr(type(rows).__name__))}",
                "it returns rows of the view, with the view's columns",
            )
        check_columns(rows, self._columns, f"what the {self.name} returned")
        return positional(rows, self._columns.names)
