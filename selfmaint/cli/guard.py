"""What every command shares: its options, its exit codes, and how it ends on an error."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Final, ParamSpec, TypeAlias

import typer

from cq.diagnostics import SelfmaintError
from selfmaint.cli.console import complain

FAILED: Final = 1
"""The exit code for diagnostics and bad input; usage errors are 2, which is typer's."""

STRICT: Final = 3
"""The exit code when a policy asked for with --strict is broken."""

File: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help="The program; `-` is stdin.")]
ViewName: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="VIEW", help="One view; every view if left out.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Debug: TypeAlias = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")]

P = ParamSpec("P")


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """`command` with errors as messages; its option `debug` adds the traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.BadParameter, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - the outermost place, and nothing is hidden
            if kwargs["debug"]:
                complain(traceback.format_exc())
            complain(str(error) if isinstance(error, SelfmaintError) else _bug(error))
            raise typer.Exit(FAILED) from None

    return run


def _bug(error: Exception) -> str:
    return (
        f"error[RT400]: selfmaint broke: {type(error).__name__}: {error}\n"
        " = help: this is a bug; run again with --debug and report what it shows"
    )
