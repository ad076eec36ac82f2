"""A view's rows from CSV text, converted and checked against the view's definition.

A first line that holds the names of the view's columns, as `View.columns` has them, is a header.

A field without text is NULL, `""` is the empty string. For a view without columns each line is
empty and stands for the one row it can have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cq.diagnostics import Diagnostic, DiagnosticError, Diagnostics, InputError, Span
from cq.printer import print_comparison
from cq.query import Query
from cq.syntax import Const, Var
from cq.types import Misfit, Row
from lookups.evaluate import comparison_holds, is_known
from selfmaint.cli.console import counted
from selfmaint.cli.table import Field, records
from selfmaint.cli.values import LEGAL, read_value, short_value

_MOST_ERRORS: Final = 20
"""After this many the rest of the text is left unread."""


def read_rows(text: str, filename: str, query: Query, names: Sequence[str]) -> list[Row]:
    """The rows of the view `query`, whose columns are `names`.

    Raises:
        InputError: the text is empty, which is more likely an accident than an empty view.
        DiagnosticError: the text is not CSV, or a line holds no row of this view.
    """
    if not text and names:
        header = ",".join(names)
        help_ = f"an empty view is written as its header: {header}"
        raise InputError("LP224", f"`{filename}` is empty", help_)
    reader = _Reader(query, names)
    rows: list[Row] = []
    for number, record in enumerate(records(text, filename)):
        if number == 0 and reader.is_header(record):
            continue
        row = reader.row(record)
        if row is not None:
            rows.append(row)
        elif len(reader.errors) >= _MOST_ERRORS:
            break
    if reader.errors:
        errors = reader.errors[:_MOST_ERRORS]
        raise DiagnosticError(Diagnostics.of(errors, text, filename))
    return rows


class _Reader:
    """Records to rows; what is wrong with them is collected."""

    def __init__(self, query: Query, names: Sequence[str]) -> None:
        self.query = query
        self.names = list(names)
        self.errors: list[Diagnostic] = []

    def error(self, code: str, message: str, span: Span, *help_: str) -> None:
        self.errors.append(Diagnostic(code, message, span, help_))

    def is_header(self, record: list[Field]) -> bool:
        found = [(field.text or "").lower() for field in record]
        if not self.names or sorted(found) != sorted(self.names):
            return False
        if found != self.names:
            help_ = f"columns of `{self.query.name}`: {','.join(self.names)}"
            message = "the header names the view's columns in another order"
            self.error("LP225", message, _whole(record), help_)
        return True

    def row(self, record: list[Field]) -> Row | None:
        """The record as a row of the view, or None, with the reasons among the errors."""
        width = len(self.names)
        if width == 0 and len(record) == 1 and record[0].text is None:
            return ()
        if len(record) != width:
            self.error(
                "LP225",
                f"`{self.query.name}` has {counted(width, 'column')}, but this line has "
                f"{counted(len(record), 'field')}",
                _whole(record),
                f"columns: {','.join(self.names)}" if self.names else "each line is empty",
            )
            return None
        before = len(self.errors)
        row = tuple(self.value(field, column) for column, field in enumerate(record))
        if len(self.errors) == before:
            self.check(row, record)
        return row if len(self.errors) == before else None

    def value(self, field: Field, column: int) -> object:
        if field.text is None:
            return None
        kind = self.query.types[column]
        try:
            return read_value(field.text, kind)
        except Misfit as misfit:
            legal = [f"legal: {LEGAL[kind.name]}; nothing for NULL"] if kind.name in LEGAL else []
            self.error("LP226", f"column `{self.names[column]}`: {misfit}", field.span, *legal)
            return None

    def check(self, row: Row, record: list[Field]) -> None:
        """Every row of the view has what the definition says of all its rows."""
        query = self.query
        before = len(self.errors)
        binding: dict[Var, object] = {}
        for column, (term, value) in enumerate(zip(query.head, row, strict=True)):
            known = term.value if isinstance(term, Const) else binding.setdefault(term, value)
            if value is None and (isinstance(term, Const) or term in query.non_null):
                self.impossible(column, "never NULL, since it is joined or compared", record)
            elif value != known:
                self.impossible(column, f"{short_value(known)} in such a row", record)
        if len(self.errors) > before:
            return
        for comparison in query.comparisons:
            if is_known(comparison, binding) and not comparison_holds(comparison, binding):
                rule = print_comparison(comparison)
                self.error("LP227", f"no row of `{query.name}` breaks `{rule}`", _whole(record))
        if query.is_empty:
            self.error("LP227", f"`{query.name}` has no row in any database", _whole(record))

    def impossible(self, column: int, what: str, record: list[Field]) -> None:
        message = f"column `{self.names[column]}` of `{self.query.name}` is {what}"
        self.error("LP227", message, record[column].span)


def _whole(record: list[Field]) -> Span:
    return record[0].span.to(record[-1].span)
