"""Arguments of the public calls, refused where they cannot mean anything.

Without this the first thing that is asked of them would fail, in words about our own code.
"""

from __future__ import annotations

from collections.abc import Mapping

from cq.diagnostics import InputError
from selfmaint.program import Program


def require_program(program: object) -> None:
    """Refuse what is no program, such as its text.

    Raises:
        InputError: RT407.
    """
    if not isinstance(program, Program):
        raise _not_one("a program is expected", program, "`selfmaint.parse(text)` makes one")


def require_patience(limit_seconds: object, retries: object) -> None:
    """Refuse a time limit that no question could keep, and attempts that cannot be counted.

    Raises:
        InputError: RT407.
    """
    is_limit = isinstance(limit_seconds, int | float) and limit_seconds > 0
    if limit_seconds is not None and not is_limit:
        raise _not_one(
            "`limit_seconds` is a number of seconds above 0", limit_seconds, "None is for no limit"
        )
    if not isinstance(retries, int) or retries < 0:
        raise _not_one("`retries` is a whole number", retries, "0 is for one attempt")


def require_batch(batch: object) -> None:
    """Refuse what does not map names to frames; which names and columns is another question.

    Raises:
        InputError: RT407.
    """
    from pyspark.sql import DataFrame

    example = 'write `{"orders": changes}`, where `changes` is a DataFrame'
    if not isinstance(batch, Mapping):
        raise _not_one("a batch maps the names of relations to their changes", batch, example)
    for name, frame in batch.items():
        if not isinstance(name, str):
            raise _not_one("a batch maps the names of relations to their changes", name, example)
        if not isinstance(frame, DataFrame):
            raise _not_one(f"the changes of `{name}` are a DataFrame", frame, example)


def require_name(name: object) -> None:
    """Refuse what is no name of a view, such as the function under a bare decorator.

    Raises:
        InputError: RT407.
    """
    if not isinstance(name, str):
        raise _not_one(
            "the name of a view is expected",
            name,
            'as a decorator: `@warehouse.maintains("sales")`',
        )


def _not_one(expected: str, given: object, help: str) -> InputError:
    """Says the kind of what was given, and a number itself: text could be anything."""
    is_number = isinstance(given, int | float)
    shown = repr(given) if is_number else f"a {type(given).__name__}"
    return InputError("RT407", f"{expected}, not {shown}. Nothing was changed", help)
