"""Changes as a source takes them: a relation's columns and `change`, `insert` or `delete`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cq.diagnostics import did_you_mean
from warehouse.batches import CHANGE, DELETE, INSERT, check_changes, not_net
from warehouse.columns import ColumnError, quoted
from warehouse.sources.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Changes:
    """Net changes of one relation, and how many they are."""

    frame: DataFrame
    columns: tuple[str, ...]
    inserts: int
    deletes: int

    @property
    def inserted(self) -> DataFrame:
        return self._rows(INSERT)

    @property
    def deleted(self) -> DataFrame:
        return self._rows(DELETE)

    def _rows(self, kind: str) -> DataFrame:
        from pyspark.sql import functions

        rows = self.frame.where(functions.col(CHANGE) == kind)
        return rows.select(*(rows[name] for name in self.columns))


def counted(relation: str, frame: DataFrame, schema: StructType) -> Changes:
    """The changes of a relation whose rows have the schema, computed once; one job.

    Raises:
        ColumnError: WH321 for other columns, WH322 for other words in the column `change`.
        BatchError: WH352 for a row that comes more than once.
    """
    from pyspark.sql import Window, functions

    check_changes(relation, schema, frame)
    frame = frame.localCheckpoint(eager=False)
    own = [frame[quoted(name)] for name in schema.fieldNames()] or [functions.lit(0)]
    times = functions.count(functions.lit(1)).over(Window.partitionBy(*own))
    change = functions.col("change")
    (row,) = (
        frame.select(frame[CHANGE].alias("change"), times.alias("times"))
        .select(
            functions.count_if(change == INSERT),
            functions.count_if(change == DELETE),
            functions.count(functions.lit(1)),
            functions.count_if(functions.col("times") > 1),
        )
        .collect()
    )
    inserts, deletes, total, twice = row
    if inserts + deletes != total:
        raise ColumnError(
            "WH322",
            f"{total - inserts - deletes} changes of `{relation}` are neither insertions nor "
            "deletions; nothing has been applied",
            f"column `{CHANGE}` holds `{INSERT}` or `{DELETE}`",
        )
    if twice:
        raise not_net(relation, twice)
    return Changes(frame, tuple(schema.fieldNames()), inserts, deletes)


def require_known(source: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse changes of a relation that the source does not hold."""
    held = frozenset(known)
    if missing := sorted(set(names) - held):
        raise SourceError(
            "WH330",
            f"source `{source}` holds no relation `{missing[0]}`",
            *did_you_mean(missing[0], held),
        )
