"""How many rows a table and its files have, for reports.

Commits of ours tell both, so a process that made the table's last versions asks nobody. What it did
not make it asks once: Delta has the rows of a table in its log, and each file has its own in its
footer. No row is read for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from warehouse.tables.guarded import Entry, GuardedTable
from warehouse.tables.log import file_name

MOST_FILES: Final = 100_000
"""Files to remember. More than that are forgotten, and asked again."""


class Sizes:
    """The sizes of one table and its files."""

    def __init__(self, table: GuardedTable) -> None:
        self._table = table
        self._version: int | None = None
        self._rows = 0
        self._files: dict[str, int] = {}

    def learn(self, entry: Entry, inserted: int, deleted: int, *, is_load: bool) -> None:
        """Take in a commit of ours. The rows follow from a load, and from the version before."""
        self._files |= entry.added
        if is_load:
            self._version, self._rows = entry.version, inserted
        elif self._version == entry.version - 1:
            self._version, self._rows = entry.version, self._rows + inserted - deleted

    def rows(self, version: int) -> int:
        """The rows of a version; one job if it is not the one we know."""
        if self._version != version:
            self._rows = self._table.rows(version)
            self._version = version
        return self._rows

    def rows_in(self, files: Sequence[str]) -> int:
        """The rows in these files, deleted ones that are still in them included.

        One job if some files are new to us, and another one to find these if they are many.
        """
        if len(self._files) > MOST_FILES:
            self._files = {}
        if unknown := [file for file in files if file_name(file) not in self._files]:
            self._files |= self._table.rows_of(unknown)
        return sum(self._files[file_name(file)] for file in files)
