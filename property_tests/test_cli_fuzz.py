"""Law: any `--change` with any CSV gives a verdict or a clear error, in harmless text."""

import csv
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, date
from decimal import Decimal

from hypothesis import example, given
from hypothesis import strategies as st

from cq.diagnostics import DiagnosticError, InputError
from selfmaint import parse
from selfmaint.cli.change import read_change
from selfmaint.cli.console import complain, show, show_json
from selfmaint.cli.decide import decide_change, render, to_json
from selfmaint.cli.rows import read_rows
from selfmaint.cli.values import print_value

PROGRAM = parse(
    """
    .decl facts(id: long, ref: int, amount: decimal(38, 10), note: string)  key(id)
          references things(ref)
    .decl things(ref: int, weight: double, day: date, seen: timestamp, good: boolean)  key(ref)
    typed(I, R, A, N, W, D, S, G) :- facts(I, R, A, N), things(R, W, D, S, G), A >= 0.
    untyped(X, Y, Z) :- r(X, Y), s(Y, Z), r(Y, _).
    hidden(X) :- r(X, Y), s(Y, 'a').
    nothing() :- r(X, X).
    """
)

# Text that is close to what is legal, and text that is far from it.
PIECES = st.sampled_from(
    ["facts", "things", "r", "s", "sales", "null", "NULL", "true", "_", "X", "(", ")", ",", ".",
     ":-", "'", '"', "'a'", "''", "0", "-1", "1.5", "1e400", "1e-400", "9" * 30, "9" * 500, "%",
     "2024-02-29", "2024-02-30", "2024-02-29T23:59", " ", "\n", "\r", "\t", "\x1b[31m", "[red]",
     "\ud800", "\u202e", ";", "\\", "漢", "\x00", ".decl", "&", "<", "inf", "nan"]
)  # fmt: skip
ODD = st.text(max_size=8) | st.text(st.characters(exclude_categories=()), max_size=4)
NEAR = st.lists(PIECES | ODD, max_size=14).map("".join)
ROWS_LIKE = st.builds(
    "{}({})".format,
    st.sampled_from(["facts", "things", "r", "s", "x", "typed"]),
    st.lists(PIECES | ODD.map(print_value), max_size=6).map(", ".join),
)
CSV_LIKE = st.lists(st.lists(PIECES | ODD, max_size=9).map(",".join) | NEAR, max_size=4).map(
    "\n".join
)

VALUES = {
    "long": st.integers(-(2**63), 2**63 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "decimal": st.decimals(0, 10**15, places=4),
    "string": st.text(max_size=12),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "date": st.dates(),
    "timestamp": st.datetimes(timezones=st.just(UTC) | st.none()),
    "boolean": st.booleans(),
}


def assert_calm(text: str) -> None:
    assert [char for char in text if not char.isprintable() and char != "\n"] == []


def attempt(view: str, change: str, rows: str, delete: bool) -> None:
    """Decide as the command does; what it would write is looked at, not returned."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            relation, row = read_change(change, PROGRAM)
            found = PROGRAM.view(view)
            view_rows = read_rows(rows, "rows.csv", found.query, found.columns)
        except (DiagnosticError, InputError) as error:
            complain(str(error))
            assert "error[" in err.getvalue()
        else:
            action = "delete" if delete else "insert"
            decided = decide_change(PROGRAM, view, view_rows, relation, action, row)
            show(render(decided, 80))
            assert decided.verdict.kind in out.getvalue()
            assert_calm(out.getvalue())
            out.truncate(0)
            out.seek(0)
            show_json(to_json(decided))
            json.loads(out.getvalue())
    assert_calm(out.getvalue())
    assert_calm(err.getvalue())


VIEWS = st.sampled_from(PROGRAM.views)


@given(VIEWS, NEAR | ROWS_LIKE, st.sampled_from(["1,2,3\n", "1\n", "\n"]), st.booleans())
@example("typed", "facts(1, 1, 12345678901234567890123456.5, 'a')", "1,2,3\n", False)
@example("typed", "facts(1, 1, 1e-400, 'a')", "1,2,3\n", False)
def test_any_change(view: str, change: str, rows: str, delete: bool) -> None:
    attempt(view, change, rows, delete)


@given(VIEWS, CSV_LIKE, st.booleans())
@example("typed", "1,1,12345678901234567890123456.5,a,1.5,2024-02-29,2024-02-29T23:59,true", False)
@example("typed", "1,1,1e-400,a,1.5,2024-02-29,2024-02-29T23:59,true", False)
@example("untyped", '1,"2\n', True)
def test_any_rows(view: str, rows: str, delete: bool) -> None:
    attempt(view, "r(1, 2)", rows, delete)
    attempt(view, "facts(1, null, 1.5, 'a')", rows, delete)


def written(value: object) -> str:
    """A value as a CSV field of a typed column."""
    match value:
        case None:
            return ""
        case str():
            return '"' + value.replace('"', '""') + '"'
        case date():
            return value.isoformat()
        case bool() | Decimal() | float() | int():
            return str(value)
        case _:
            raise AssertionError(value)


TYPES = [str(kind).split("(")[0] for kind in PROGRAM.view("typed").query.types]
JOINED = (1, 2)  # the columns that are never NULL: they are joined, or compared
TYPED_ROWS = st.lists(
    st.tuples(
        *(
            VALUES[kind] if column in JOINED else st.none() | VALUES[kind]
            for column, kind in enumerate(TYPES)
        )
    ),
    max_size=5,
)


@given(TYPED_ROWS, st.sampled_from(["\n", "\r\n"]))
def test_written_rows_read_back(rows: list[tuple[object, ...]], end: str) -> None:
    view = PROGRAM.view("typed")
    query, names = view.query, view.columns
    lines = [",".join(names), *(",".join(map(written, row)) for row in rows)]
    assert read_rows(end.join(lines), "rows.csv", query, names) == rows
    assert read_rows(end.join(lines) + end, "rows.csv", query, names) == rows


@given(st.lists(st.lists(st.text(max_size=6), min_size=3, max_size=3), min_size=1, max_size=4))
def test_the_standard_library_writes_what_we_read(table: list[list[str]]) -> None:
    program = parse(".decl r(a: string, b: string, c: string) v(A, B, C) :- r(A, B, C).")
    buffer = io.StringIO()
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows(table)
    found = read_rows(buffer.getvalue(), "", program.view("v").query, ("one", "two", "three"))
    assert found == [tuple(row) for row in table]


@given(TYPED_ROWS)
def test_printed_changes_read_back(rows: list[tuple[object, ...]]) -> None:
    for row in rows:
        fact, thing = row[:4], (row[1], *row[4:])
        for relation, values in (("facts", fact), ("things", thing)):
            text = f"{relation}({', '.join(map(print_value, values))})"
            assert read_change(text, PROGRAM) == (relation, values)


def test_decimals_of_38_digits() -> None:
    program = parse(".decl r(a: decimal(38, 10)) v(A) :- r(A).")
    row = (Decimal("1234567890123456789012345678.0123456789"),)
    assert read_change(f"r({row[0]})", program) == ("r", row)
