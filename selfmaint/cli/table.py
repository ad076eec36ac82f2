"""CSV text to records: RFC 4180, strictly, with the place of every field.

The standard library's reader cannot tell an empty field from a quoted empty string, and the first
is NULL here. This one keeps them apart, and a text that breaks the format is an error with a caret
rather than a guess: a guess would decide changes on rows that the view does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cq.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Span

MOST_CHARACTERS: Final = 1_000_000
"""A longer field is taken for a quote that was never closed."""

# Possessive, so that an unclosed quote is seen as one and found in linear time.
_FIELD: Final = re.compile(r'"((?:[^"]++|"")*+)"|([^",\r\n]*+)')
_END: Final = re.compile(r",|\r?\n|\Z")


@dataclass(frozen=True, slots=True)
class Field:
    """One field.

    Args:
        text: its content; None where nothing stands, not even quotes.
        line: where it starts; the column counts from 1 too.
        width: how far it reaches in the text, quotes included.
    """

    text: str | None
    line: int
    column: int
    width: int

    @property
    def span(self) -> Span:
        return Span(self.line, self.column, max(self.width, 1))


def records(text: str, filename: str) -> Iterator[list[Field]]:
    """The records of `text`, one per line; a quoted field may hold line breaks.

    Raises:
        DiagnosticError: a quote is out of place or not closed, or a line ends in a bare CR.

    Example:
        >>> [[field.text for field in record] for record in records("1,,'a'", "rows.csv")]
        [['1', None, "'a'"]]
    """
    at, line, line_start = 0, 1, 0
    record: list[Field] = []
    while at < len(text) or record:
        found = _FIELD.match(text, at)
        assert found is not None  # the pattern matches the empty text
        quoted, bare = found.groups()
        content = quoted.replace('""', '"') if quoted is not None else bare or None
        field = Field(content, line, at - line_start + 1, found.end() - at)
        end = _END.match(text, found.end())
        if end is None or found.end() - at > MOST_CHARACTERS:
            broken = _broken(text, found, field)
            raise DiagnosticError(Diagnostics.of([broken], text, filename))
        record.append(field)
        breaks = text.count("\n", at, end.end())
        if breaks:
            line += breaks
            line_start = text.rindex("\n", at, end.end()) + 1
        at = end.end()
        if end.group() != ",":
            yield record
            record = []


def _broken(text: str, found: re.Match[str], field: Field) -> Diagnostic:
    """What is wrong with the field, or with the character behind it."""
    behind = text[found.end() : found.end() + 1]
    if found.end() - found.start() > MOST_CHARACTERS:
        message = f"a field of more than {MOST_CHARACTERS:,} characters"
        return Diagnostic(
            "LP224", message, Span(field.line, field.column), ("is a quote missing?",)
        )
    if behind == '"' and field.width == 0:
        message, help_ = "a quoted field is not closed", 'close it with `"`; inside, write `""`'
        return Diagnostic("LP224", message, field.span, (help_,))
    end = Span(field.line, field.column + field.width)
    if "\n" in found.group():
        line = field.line + found.group().count("\n")
        end = Span(line, found.end() - text.rindex("\n", 0, found.end()))
    if behind == "\r":
        message, help_ = "a carriage return without a line feed", "end lines with LF or CRLF"
    elif behind == '"':
        message = "a quote inside a field that does not start with one"
        help_ = 'quote the whole field and write `""` for each quote in it'
    else:
        message, help_ = "text behind the closing quote", "a comma or the end of the line follows"
    return Diagnostic("LP224", message, end, (help_,))
