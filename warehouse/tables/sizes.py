"""How many rows and files a table has, and how many rows its files, for reports.

Commits of ours tell all of it, so a process that made the table's last versions asks nobody. What
it did not make it asks once: Delta has the rows of a table in its log, and each file has its own in
its footer. No row is read for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from warehouse.tables.guarded import Entry, GuardedTable
from warehouse.tables.log import file_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_FILES: Final = 100_000
"""Files to remember. More than that are forgotten, and asked again."""


class Size(NamedTuple):
    """How large a version of a table is."""

    rows: int
    files: int


class Sizes:
    """The sizes of one table and its files."""

    def __init__(self, table: GuardedTable) -> None:
        self._table = table
        self._version: int | None = None
        self._size = Size(0, 0)
        self._rows_of: dict[str, int] = {}
        self._are_told = False

    def learn(self, entry: Entry, inserted: int, deleted: int, *, is_load: bool) -> None:
        """Take in a commit of ours. Sizes follow from a load, and from the version before."""
        told = entry.logged
        if told is None:
            return
        self._rows_of |= told.added
        if is_load:
            self._version, self._size = entry.version, Size(inserted, told.come)
        elif self._version == entry.version - 1:
            rows, files = self._size
            self._version = entry.version
            self._size = Size(rows + inserted - deleted, files + told.come - told.gone)

    def of(self, version: int) -> Size:
        """The size of the newest version; a job if it is not the one we know."""
        if self._version != version:
            self._size = Size(self._table.rows(version), self._table.files())
            self._version = version
        return self._size

    def files_of(self, frame: DataFrame) -> list[str] | None:
        """The files of the table that a frame reads; None if Spark names none, but may read some.

        To take a frame for empty that is not would lose rows. So that Spark names no files counts
        only after it has named those of another frame.
        """
        files = list(frame.inputFiles())
        self._are_told = self._are_told or bool(files)
        return files if self._are_told else None

    def rows_in(self, files: Sequence[str]) -> int:
        """The rows in these files, deleted ones that are still in them included.

        One job if some files are new to us, and another one to find these if they are many.
        """
        if len(self._rows_of) > MOST_FILES:
            self._rows_of = {}
        if unknown := [file for file in files if file_name(file) not in self._rows_of]:
            self._rows_of |= self._table.rows_of(unknown)
        return sum(self._rows_of[file_name(file)] for file in files)
