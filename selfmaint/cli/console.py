"""What reaches the terminal: results on stdout, messages on stderr, nothing that acts on it.

Law: every character written is printable or a line feed, apart from the colour codes written here,
and those go to terminals only. Names and values come from files, so a text is made visible before
it is styled. Lines are folded on terminals only: in a pipe a line stays one line, of any length.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import Final, TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

_UNBOUNDED: Final = 1_000_000
"""The width of a pipe."""

_MESSAGE: Final = re.compile(
    r"(?P<error>^error(?:\[\w+\])?:)|(?P<warning>^warning(?:\[\w+\])?:)"
    r"|(?P<place>^ *--> .*$)|(?P<caret>^ *\| *\^+$)|(?P<help>^ *= help:)",
    re.MULTILINE,
)
_MESSAGE_STYLES: Final = {
    "error": "bold red",
    "warning": "bold yellow",
    "place": "dim",
    "caret": "red",
    "help": "cyan",
}
_BLOCK: Final = re.compile(
    r"(?P<title>^(?:view|plan|insert into|delete from) .*?"
    r"(?=: (?:always|sometimes|never|unused)|$))"
    r"|(?P<label>^ +(?:rule|screen|keys|VDU|VSM|rows|view|without|note|looks up|to lift it) )"
    r"|(?<![-\w])(?:(?P<always>always)|(?P<sometimes>sometimes)|(?P<never>never))(?!\w)",
    re.MULTILINE,
)
_BLOCK_STYLES: Final = {
    "title": "bold",
    "label": "dim",
    "always": "green",
    "sometimes": "yellow",
    "never": "red",
}
_LABEL: Final = re.compile(r" *(\w[\w ]*?  +)?")
_NARROWEST: Final = 20


def visible(text: str) -> str:
    r"""`text` with every character that a terminal would act on, or not show, spelled out.

    Example:
        >>> print(visible("a\x1b[31mb\u202e"))
        a\x1b[31mb\u202e
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


def styled(text: str, style: str = "") -> Text:
    """A visible text in one style; markup such as `[red]` in it means nothing."""
    return Text(visible(text), style)


def counted(number: int, noun: str) -> str:
    """`no views`, `1 view`, `2 views`."""
    return f"{number or 'no'} {noun}{'s' * (number != 1)}"


def grid(*rows: tuple[RenderableType, ...]) -> Table:
    """Aligned columns without lines; on a terminal the last one is folded to the width."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row)
    return table


def output_width() -> int:
    """How many characters a line of stdout holds."""
    return max(_console(sys.stdout).width, _NARROWEST)


def show(*items: RenderableType) -> None:
    """Write results to stdout, each on lines of its own, folded between words on a terminal."""
    _write(sys.stdout, items, fold=True)


def show_block(text: str) -> None:
    """Write laid-out text to stdout; on a terminal, long lines hang below their own start."""
    shown = visible(text)
    if sys.stdout.isatty():
        width = output_width()
        shown = "\n".join(part for line in shown.split("\n") for part in _hang(line, width))
    _write(sys.stdout, (emphasized(shown),), fold=False)


def _hang(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    label = _LABEL.match(line)
    assert label is not None  # the pattern matches the empty text
    indent = min(label.end() if label[1] else label.end() + 4, width // 2)
    start = label.group()
    return wrap(
        line[label.end() :],
        width,
        initial_indent=start,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )


def emphasized(text: str) -> Text:
    """Laid-out text with its titles, labels and grades styled."""
    return _emphasized(visible(text), _BLOCK, _BLOCK_STYLES)


def complain(message: str) -> None:
    """Write a message to stderr, with its parts coloured on a terminal."""
    _write(sys.stderr, (_emphasized(visible(message), _MESSAGE, _MESSAGE_STYLES),), fold=False)


def _emphasized(shown: str, pattern: re.Pattern[str], styles: Mapping[str, str]) -> Text:
    """`shown` with each match styled by the name of the group that matched."""
    text = Text(shown)
    for match in pattern.finditer(shown):
        text.stylize(styles[match.lastgroup or ""], *match.span())
    return text


def show_json(document: object) -> None:
    """Write `document` to stdout as JSON that is safe to look at."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    sys.stdout.write("".join(map(_json_character, text)) + "\n")


def _json_character(char: str) -> str:
    return char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1]


def _write(stream: TextIO, items: Iterable[RenderableType], fold: bool) -> None:
    console = _console(stream)
    with console.capture() as capture:
        for item in items:
            console.print(item, soft_wrap=not fold)
    # Cells are padded to the width of their column; behind the last one that is of no use.
    stream.write("\n".join(line.rstrip() for line in capture.get().split("\n")))


def _console(stream: TextIO) -> Console:
    return Console(
        file=stream,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        width=None if stream.isatty() else _UNBOUNDED,
        markup=False,
        emoji=False,
        highlight=False,
    )
