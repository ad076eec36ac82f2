"""What is wrong with a text, where, and how to show it.

A `Span` names a place in a source text, a `Diagnostic` says what is wrong there, and a
`DiagnosticError` carries all of them at once, sorted by position. The text a person sees is built
here and nowhere else, from the facts that the diagnostics carry.

Codes are stable: CQ1xx front end, LP2xx plans and their inputs, WH3xx warehouse, RT4xx runtime.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum


class Severity(StrEnum):
    """How bad a diagnostic is: an error stops the compilation, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of one source line; line and column count from 1."""

    line: int
    column: int
    length: int = 1

    def to(self, other: Span) -> Span:
        """The stretch from the start of this span to the end of `other`, if on the same line."""
        if other.line != self.line:
            return self
        return Span(
            self.line, self.column, max(self.length, other.column + other.length - self.column)
        )


NO_SPAN = Span(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about a source text.

    Args:
        code: stable code, such as `CQ104`.
        message: what is wrong, in the user's own names.
        span: where; `NO_SPAN` when the whole text is meant.
        help: the rule that is broken, or the legal choices; one line each.
        severity: error or warning.
    """

    code: str
    message: str
    span: Span = NO_SPAN
    help: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR

    def render(self, source: Sequence[str], filename: str) -> str:
        """The diagnostic with its source line, one of `source`, and a caret line under it."""
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.span != NO_SPAN:
            lines.append(f" --> {filename}:{self.span.line}:{self.span.column}")
            lines.extend(_excerpt(source, self.span))
        gutter = " " * len(str(self.span.line)) if self.span != NO_SPAN else ""
        lines.extend(f"{gutter} = help: {line}" for line in self.help)
        return "\n".join(lines)


_WIDTH = 160
"""Excerpts are cut to this many characters around the caret: a megabyte line stays legible."""


def _excerpt(source: Sequence[str], span: Span) -> list[str]:
    if not 1 <= span.line <= len(source):
        return []
    text = source[span.line - 1].rstrip("\r")
    start = span.column - 1
    first = max(0, start - _WIDTH // 2) if len(text) > _WIDTH else 0
    cut = _printable(text[first : first + _WIDTH])
    before = "..." if first else ""
    after = "..." if first + _WIDTH < len(text) else ""
    length = max(1, min(span.length, first + _WIDTH - start))
    number = str(span.line)
    return [
        f"{number} | {before}{cut}{after}",
        f"{' ' * len(number)} | {' ' * (len(before) + start - first)}{'^' * length}",
    ]


def _printable(text: str) -> str:
    """Each control character and tab as one visible column, so that carets stay aligned."""
    return "".join(
        " " if char == "\t" else char if char.isprintable() else "\ufffd" for char in text
    )


_MOST = 100
"""How many findings are written out; all of them are in `Diagnostics.findings`."""


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """All findings about one text, by position, with what is needed to show them."""

    findings: tuple[Diagnostic, ...]
    source: str = field(default="", repr=False)
    filename: str = "<text>"

    @classmethod
    def of(cls, findings: Iterable[Diagnostic], source: str, filename: str) -> Diagnostics:
        """Sort by position, then code; the same finding is said once."""
        unique = sorted(set(findings), key=lambda item: (item.span, item.code, item.message))
        return cls(tuple(unique), source, filename)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.findings if item.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(item for item in self.findings if item.severity is Severity.WARNING)

    def __str__(self) -> str:
        source = self.source.split("\n")
        blocks = [item.render(source, self.filename) for item in self.findings[:_MOST]]
        if len(self.findings) > _MOST:
            blocks.append(f"... and {len(self.findings) - _MOST:,} more")
        counts = [
            f"{len(group)} {name}{'s' if len(group) != 1 else ''}"
            for group, name in ((self.errors, "error"), (self.warnings, "warning"))
            if group
        ]
        if counts:
            blocks.append(f"{' and '.join(counts)} in {self.filename}")
        return "\n".join(blocks)


class SelfmaintError(Exception):
    """Root of every error this project raises on purpose."""


class DiagnosticError(SelfmaintError):
    """A text that cannot be used, with every reason why.

    Attributes:
        diagnostics: the findings, sorted by position.
    """

    def __init__(self, diagnostics: Diagnostics) -> None:
        super().__init__(str(diagnostics))
        self.diagnostics = diagnostics


_CREDENTIALS = re.compile(
    r"(?<=://)[^/@\s]+(?=@)"
    r"|(?i:(?<=password=)|(?<=passwd=)|(?<=pwd=)|(?<=secret=)|(?<=token=))[^\s&;,`'\"]+"
)


def masked(text: str) -> str:
    """The text without what opens a door, as addresses have it: people name sources by these.

    Example:
        >>> masked("source `jdbc:postgresql://erp:hunter2@host/db?ssl=on&Password=hunter2` failed")
        'source `jdbc:postgresql://***@host/db?ssl=on&Password=***` failed'
    """
    return _CREDENTIALS.sub("***", text)


class CodedError(SelfmaintError):
    """One thing that is wrong outside of any text, shown as a diagnostic without a place.

    Attributes:
        code: stable code, such as `LP203`; also an attribute of a class with one code only.
        message: what is the matter.
        help: what to do about it, or what would be legal; one line each.
    """

    code: str

    def __init__(self, code: str, message: str, *help: str) -> None:
        message, help = masked(message), tuple(map(masked, help))
        super().__init__(Diagnostic(code, message, help=help).render((), ""))
        self.code = code
        self.message = message
        self.help = help

    def add_state(self, state: str, *help: str) -> None:
        """Say as well what state the data is in, which only a caller knows, and what to do next."""
        CodedError.__init__(self, self.code, f"{self.message}. {state}", *self.help, *help)


class InputError(CodedError):
    """A value, row, name or change that does not fit what the program declares."""


_MOST_GUESSES = 200
"""Among more names than this nobody is helped by a guess, and it would take long."""

_LONGEST_GUESS = 80
"""Names longer than this are nobody's typing slip, and comparing them would take long."""


def did_you_mean(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Help lines with the nearest known name, or the known names when they are few.

    Example:
        >>> did_you_mean("custmer", ["customer", "orders"])
        ('did you mean `customer`?',)
    """
    given = list(known)
    if len(given) > _MOST_GUESSES:
        return ()
    choices: Sequence[str] = sorted(set(given))
    if len(name) <= _LONGEST_GUESS:
        if same := [choice for choice in choices if choice.casefold() == name.casefold()]:
            return (f"did you mean `{same[0]}`? Upper and lower case differ",)
        near = get_close_matches(name, [c for c in choices if len(c) <= _LONGEST_GUESS], n=1)
        if near:
            return (f"did you mean `{near[0]}`?",)
    if 0 < len(choices) <= 8:
        return ("known: " + ", ".join(choices),)
    return ()


def shown(value: object, width: int = 100) -> str:
    """`repr(value)` for a message: cut to `width`, and never an error itself."""
    try:
        return shorten(repr(value), width)
    except ValueError:  # Python refuses to write out integers of thousands of digits
        return f"a {type(value).__name__} too large to show"


def shorten(text: str, width: int = 60) -> str:
    """`text`, cut in the middle when it is longer than `width`."""
    if len(text) <= width:
        return text
    half = (width - 3) // 2
    return f"{text[:half]}...{text[-half:]}"
