"""Where tables are: paths that mean the same to everybody."""

from __future__ import annotations

import re
from typing import Final

from cq.diagnostics import InputError

ABSOLUTE: Final = re.compile(r"/|[A-Za-z][\w+.-]*:")
"""A path from the root, or one that names its file system."""


def require_absolute(path: str) -> None:
    """Refuse a path that depends on where somebody stands.

    A client, the driver and the executors may each stand elsewhere, and Delta names a table by a
    path from the root alone.

    Example:
        >>> require_absolute("/data/views"), require_absolute("s3a://bucket/views")
        (None, None)

    Raises:
        InputError: WH349.
    """
    if not ABSOLUTE.match(path):
        raise InputError(
            "WH349",
            "the path of a folder of tables has to begin at the root; this one is relative. "
            "Nothing was made",
            "give the whole path, as `os.path.abspath` computes it, or one such as s3a://...",
        )
