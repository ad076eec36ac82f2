"""What a commit of ours says about itself, in the commit's metadata.

The mark travels with the rows, in one atomic step: a batch is applied exactly if a commit with its
number is there. What has no mark, was written by somebody else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from uuid import uuid4

FORMAT: Final = 1


def compact(content: Mapping[str, object]) -> str:
    """JSON without a space: what is written with each batch stays."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


class Kind(StrEnum):
    """What a commit of ours did."""

    CREATE = "create"
    BATCH = "batch"
    LOAD = "load"  # all rows replaced: what was there before no longer matters
    OPTIMIZE = "optimize"
    RECORD = "record"  # a line of the journal


@dataclass(frozen=True, slots=True)
class Mark:
    """The metadata of one commit.

    Args:
        batch: the last batch that the rows include; None if there was none.
        info: what a report wants to find again; JSON.
        id: tells two attempts at the same batch apart.
        only_at: the one version at which the commit counts; None if it counts anywhere.
        extended_from: the batch's own number, if it was extended to `batch`.
    """

    kind: Kind
    batch: int | None = None
    info: Mapping[str, object] = field(default_factory=dict)
    id: str = field(default_factory=lambda: uuid4().hex)
    only_at: int | None = None
    extended_from: int | None = None

    @property
    def number(self) -> int | None:
        """The number that the batch was given, and is to be given again."""
        return self.batch if self.extended_from is None else self.extended_from

    def dump(self) -> str:
        content = {"kind": self.kind, "batch": self.batch, "info": self.info, "id": self.id}
        if self.only_at is not None:
            content["only_at"] = self.only_at
        if self.extended_from is not None:
            content["extended_from"] = self.extended_from
        return compact({"selfmaint": FORMAT, **content})

    @classmethod
    def parse(cls, text: str | None) -> Mark | None:
        """The mark, or None if the text is not one.

        Example:
            >>> Mark.parse(Mark(Kind.BATCH, 18).dump()).batch, Mark.parse("by hand")
            (18, None)
        """
        try:
            found = json.loads(text or "")
            if found["selfmaint"] != FORMAT:
                return None
            kind, only_at = Kind(found["kind"]), found.get("only_at")
            began = found.get("extended_from")
            return cls(kind, found["batch"], found["info"], found["id"], only_at, began)
        except (ValueError, KeyError, TypeError):
            return None
