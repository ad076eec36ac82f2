"""Changes as a source takes them: a relation's columns and `change`, `insert` or `delete`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cq.diagnostics import did_you_mean
from warehouse.batches import CHANGE, DELETE, INSERT, check_changes
from warehouse.columns import ColumnError
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
    """
    from pyspark.sql import functions

    check_changes(relation, schema, frame)
    frame = frame.localCheckpoint(eager=False)
    change = functions.col(CHANGE)
    (row,) = frame.select(
        functions.count_if(change == INSERT),
        functions.count_if(change == DELETE),
        functions.count(functions.lit(1)),
    ).collect()
    inserts, deletes, total = row
    if inserts + deletes != total:
        raise ColumnError(
            "WH322",
            f"{total - inserts - deletes} changes of `{relation}` are neither insertions nor "
            "deletions; nothing has been applied",
            f"column `{CHANGE}` holds `{INSERT}` or `{DELETE}`",
        )
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
