"""A source whose relations are frames: every version is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cq.schema import Relation
from warehouse.columns import struct_type
from warehouse.sources.changes import counted, require_known
from warehouse.sources.errors import SourceError
from warehouse.sources.join import Join
from warehouse.sources.protocol import Answer, computed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _without_zone(value: object) -> object:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


class MemorySource:
    """Relations as frames, for tests and small data; version 0 is what it starts with.

    Args:
        tables: per relation its rows, a set.
        name: for messages and reports.
    """

    def __init__(self, tables: Mapping[str, DataFrame], *, name: str = "memory") -> None:
        self._name = name
        self._versions = [dict(tables)]
        self._sizes: dict[tuple[int, str], int] = {}

    @classmethod
    def of_rows(
        cls,
        spark: SparkSession,
        relations: Iterable[Relation],
        rows: Mapping[str, Iterable[Sequence[object]]],
        *,
        name: str = "memory",
    ) -> MemorySource:
        """Declared relations with rows of Python values; a row given twice is one row.

        Times with a zone are kept in UTC: a column of Spark has none.

        Raises:
            InputError: a row that its relation does not admit.
            ColumnError: WH320, a relation without declared types.
        """

        def table(relation: Relation) -> DataFrame:
            admitted = (relation.admit(row) for row in rows.get(relation.name, ()))
            distinct = dict.fromkeys(tuple(map(_without_zone, row)) for row in admitted)
            return spark.createDataFrame(list(distinct), struct_type(relation))

        return cls({relation.name: table(relation) for relation in relations}, name=name)

    @property
    def name(self) -> str:
        return self._name

    @property
    def relations(self) -> frozenset[str]:
        return frozenset(self._versions[0])

    def version(self) -> int:
        return len(self._versions) - 1

    def read(self, relation: str, version: int) -> DataFrame:
        """The rows of a relation as of a version."""
        if version > self.version():
            raise SourceError(
                "WH332",
                f"source `{self.name}` is at version {self.version()}, asked for is {version}",
                "a source takes a batch before the warehouse does: have it advance, or wait for it",
                retryable=True,
            )
        if version < 0:
            raise SourceError("WH331", f"source `{self.name}` has no version {version}")
        return self._versions[version][relation]

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        def size(relation: str) -> int:
            place = version, relation
            if place not in self._sizes:
                self._sizes[place] = self.read(relation, version).count()
            return self._sizes[place]

        return computed(self, join, keys, version, lambda name: self.read(name, version), size)

    def advance(self, changes: Mapping[str, DataFrame]) -> int:
        """Apply net changes; the next version, which they make.

        Raises:
            ColumnError: WH321, WH322; nothing has been applied.
        """
        tables = dict(self._versions[-1])
        require_known(self.name, changes, tables)
        netted = {
            relation: counted(relation, frame, tables[relation].schema)
            for relation, frame in changes.items()
        }
        for relation, change in netted.items():
            rows = tables[relation].subtract(change.deleted).union(change.inserted).distinct()
            # Computed once: otherwise each version would be computed from all before it.
            tables[relation] = rows.localCheckpoint()
        self._versions.append(tables)
        return self.version()
