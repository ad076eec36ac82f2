"""What can go wrong with a view's table: each error says the table's state and the next step.

No message repeats what Spark said: its texts can hold rows and addresses with passwords. The
original error is the cause, and only its stable condition or the operating system's words are
shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from cq.diagnostics import CodedError, shorten

REPAIR: Final = "`verify` shows which rows differ; `repair` puts the view right in one commit"


class TableError(CodedError):
    """A table cannot be used, or a batch was not applied to it.

    Attributes:
        message: what is the matter, and the state of the table.
        table: the table, as messages name it: "view `sales`".
        version: its version, as far as it is known.
        batch: the batch that was not applied, if there was one.
        is_retryable: whether the same call can succeed without anybody doing anything.
    """

    is_retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *help: str,
        table: str,
        version: int | None = None,
        batch: int | None = None,
    ) -> None:
        super().__init__(self.code, message, *help)
        self.table = table
        self.version = version
        self.batch = batch


class ConflictError(TableError):
    """Somebody else committed between the decision on a batch and its commit."""

    code = "WH340"
    is_retryable = True


class ForeignWriteError(TableError):
    """The table's rows were changed by somebody who does not maintain the view.

    Attributes:
        versions: the commits that are not ours.
    """

    code = "WH341"

    def __init__(
        self,
        message: str,
        *help: str,
        table: str,
        version: int | None = None,
        batch: int | None = None,
        versions: Sequence[int] = (),
    ) -> None:
        super().__init__(message, *help, table=table, version=version, batch=batch)
        self.versions = tuple(versions)


class BatchOrderError(TableError):
    """A batch that is neither the next one nor the last one again.

    Attributes:
        expected: the number of the next batch.
    """

    code = "WH342"

    def __init__(self, message: str, *help: str, table: str, batch: int, expected: int) -> None:
        super().__init__(message, *help, table=table, batch=batch)
        self.expected = expected


class MissingTableError(TableError):
    """A table that was there has gone."""

    code = "WH343"


class CorruptLogError(TableError):
    """The table's log has a gap, or cannot be read."""

    code = "WH344"


class StorageError(TableError):
    """The storage refused: a full disk, missing rights, a lost connection."""

    code = "WH345"
    is_retryable = True


class ProgramChangedError(TableError):
    """The folder was made for another program.

    Attributes:
        changes: per relation or view, what it was and what it is now; None for nothing.
    """

    code = "WH346"

    def __init__(self, changes: Sequence[tuple[str, str | None, str | None]]) -> None:
        shown = [
            f"{name}: {shorten(old or 'nothing', 300)} -> {shorten(new or 'nothing', 300)}"
            for name, old, new in changes
        ]
        super().__init__(
            f"this folder was made for another program; {len(changes)} "
            f"{'part differs' if len(changes) == 1 else 'parts differ'}. Nothing was changed",
            *shown,
            "open it with the program it was made for, or open an empty folder and `load` there",
            table="warehouse",
        )
        self.changes = tuple(changes)


class StrangeTableError(TableError):
    """There is a table where ours must be, and it is not ours."""

    code = "WH347"


class MissingVersionError(TableError):
    """A version that the table does not have, or no longer."""

    code = "WH348"


_CONFLICT: Final = re.compile(r"DELTA_MAX_COMMIT_RETRIES_EXCEEDED|DELTA_CONCURRENT_\w+")
_MISSING: Final = re.compile(
    r"PATH_NOT_FOUND|DELTA_TABLE_ONLY_OPERATION|DELTA_MISSING_DELTA_TABLE\w*|DELTA_TABLE_NOT_FOUND"
    r"|DELTA_PATH_DOES_NOT_EXIST|DELTA_FILE_NOT_FOUND|TABLE_OR_VIEW_NOT_FOUND"
    r"|DELTA_EMPTY_DIRECTORY|DELTA_NO_COMMITS_FOUND|FileNotFoundException\W[^\n]*_delta_log(?!/)"
)
_CORRUPT: Final = re.compile(
    r"DELTA_VERSIONS_NOT_CONTIGUOUS|DELTA_STATE_RECOVER_ERROR\w*|DELTA_LOG_FILE_NOT_FOUND\w*"
    r"|DELTA_TRUNCATED_TRANSACTION_LOG|DELTA_MISSING_\w+|ChecksumException|JsonParseException"
    r"|JsonEOFException|JsonMappingException|FileNotFoundException\W[^\n]*_delta_log/"
    r"|FAILED_READ_FILE\S*(?=[^\n]*/_delta_log/)"
)
_SYSTEM: Final = re.compile(
    r"No space left on device|File too large|Disk quota exceeded|Permission denied"
    r"|Read-only file system|Not a directory|Input/output error"
)
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")


def kind_of(error: BaseException) -> type[TableError]:
    """Which of our errors an error of Spark or Delta is.

    Some of Delta's errors reach Python without a class of their own, so this goes by the text:
    the stable conditions that Delta prints in brackets, and names of Java classes.
    """
    if versions_of(error):
        return MissingVersionError
    text = str(error)
    for pattern, kind in (
        (_CONFLICT, ConflictError),
        (_CORRUPT, CorruptLogError),
        (_MISSING, MissingTableError),
    ):
        # `DELTA_MISSING_DELTA_TABLE` is a missing table; the other `DELTA_MISSING_..` are gaps.
        if (found := pattern.search(text)) and not (
            kind is CorruptLogError and _MISSING.match(found[0])
        ):
            return kind
    return StorageError


@dataclass(frozen=True, slots=True)
class Versions:
    """Which versions a table has; Delta says so where it is asked for another one."""

    asked: int
    earliest: int
    latest: int


def versions_of(error: BaseException) -> Versions | None:
    """What Delta's error about a missing version says, as data; None for any other error."""
    found: dict[str, str] = getattr(error, "getMessageParameters", dict)() or {}
    if not found.keys() >= {"userVersion", "earliest", "latest"}:
        return None
    return Versions(int(found["userVersion"]), int(found["earliest"]), int(found["latest"]))


def reason_of(error: BaseException) -> str:
    """What may be shown of an error of Spark: its condition, or the operating system's words."""
    text = str(error)
    found = _SYSTEM.search(text)
    if found:
        return found[0]
    condition = _CONDITION.search(text)
    return condition[1] if condition else type(error).__name__
