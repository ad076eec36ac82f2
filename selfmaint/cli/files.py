"""Reading what the command line names: UTF-8 text from a file, or from stdin for `-`."""

from __future__ import annotations

import sys
from pathlib import Path

from cq.diagnostics import InputError, shorten
from selfmaint.cli.console import visible
from selfmaint.program import Program, parse


def read_text(path: str) -> tuple[str, str]:
    """The text at `path`, without a byte order mark, and the name it goes by in messages.

    Raises:
        InputError: there is nothing to read, or it is not UTF-8.
    """
    name = "<stdin>" if path == "-" else shorten(visible(path).replace("\n", "\\n"), 200)
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except IsADirectoryError:
        help_ = "name a file, or `-` for stdin"
        raise InputError("LP221", f"`{name}` is a directory", help_) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError("LP221", f"cannot read `{name}`: {reason}") from None
    except ValueError as error:  # a name that no file can have
        raise InputError("LP221", f"cannot read `{name}`: {error}") from None
    try:
        return data.decode("utf-8-sig"), name
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        raise InputError(
            "LP222",
            f"`{name}` is not UTF-8: byte 0x{data[error.start]:02x} at line {line}, "
            f"column {column}",
            "save the file as UTF-8",
        ) from None


def read_program(path: str) -> Program:
    """The program in the file `path`.

    Raises:
        InputError: the file cannot be read, or says nothing.
        DiagnosticError: the program has errors.
    """
    text, name = read_text(path)
    program = parse(text, filename=name)
    if not program.views and not program.relations:
        raise InputError(
            "LP223", f"`{name}` holds no program", "a view is written `v(X) :- r(X, Y), s(Y).`"
        )
    return program


def choose_views(program: Program, name: str | None) -> tuple[str, ...]:
    """The view `name`, or every view if there is no name.

    Raises:
        InputError: there is no such view, or no view at all.
    """
    if name is not None:
        return (program.view(name).name,)
    if not program.views:
        raise InputError(
            "LP223", "the program has no view", "a view is written `v(X) :- r(X, Y), s(Y).`"
        )
    return program.views
