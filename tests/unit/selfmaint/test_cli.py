"""The command line as its users meet it: every command, exit code and kind of bad input."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cq.diagnostics import DiagnosticError, InputError
from cq.types import Misfit, Type
from lookups.plan import Plan
from lookups.verdict import Because, Kind, Reason, Verdict
from selfmaint import __version__, parse
from selfmaint.cli.app import EXAMPLES, app
from selfmaint.cli.change import read_change
from selfmaint.cli.console import visible
from selfmaint.cli.decide import Decided, to_json
from selfmaint.cli.rows import read_rows
from selfmaint.cli.table import MOST_CHARACTERS, records
from selfmaint.cli.values import print_value, read_value

ROOT = Path(__file__).resolve().parents[3]
RETAIL = "examples/retail.dl"
SALES = "examples/sales.csv"

SELF_MAINTAINED = "order_lines(102, 2, 10, 3)"
MISS = "order_lines(102, 2, 13, 3)"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process, from the root of the repository."""
    monkeypatch.chdir(ROOT)

    def invoke(*args: str, stdin: str | bytes = b"") -> Done:
        result = CliRunner().invoke(app, list(args), input=stdin)
        # An exception that is no exit would be a traceback.
        assert result.exception is None or isinstance(result.exception, SystemExit), result
        return Done(result.exit_code, result.stdout, result.stderr)

    return invoke


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], str]:
    def to_file(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return to_file


Write = Callable[[str, str | bytes], str]


def process(*args: str, stdin: bytes = b"", **environment: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "selfmaint", *args],
        cwd=ROOT,
        env={**os.environ, **environment},
        input=stdin,
        capture_output=True,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def terminal(*args: str, columns: int = 80, **environment: str) -> Done:
    """Run in a pseudo terminal, where stdout and stderr are one."""
    reader, writer = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "selfmaint", *args],
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), **environment},
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=writer,
    ) as child:
        os.close(writer)
        output = b"".join(_until_closed(reader))
    os.close(reader)
    return Done(child.returncode, output.decode().replace("\r\n", "\n"), "")


def _until_closed(reader: int) -> Iterator[bytes]:
    # Linux says that the other end is closed with an error, others with no bytes.
    with suppress(OSError):
        while piece := os.read(reader, 65536):
            yield piece


COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def assert_calm(done: Done) -> None:
    """Nothing in the output acts on a terminal, and nothing is a traceback."""
    for text in (done.out, done.err):
        assert [char for char in text if not char.isprintable() and char != "\n"] == []
        assert "Traceback" not in text


# The process


def test_version(run: Run) -> None:
    assert run("--version") == Done(0, f"selfmaint {__version__}\n", "")


def test_help_is_quick_to_load() -> None:
    code = (
        "import sys; import selfmaint.cli; "
        "print(*sorted({'sympy', 'pyspark', 'matplotlib', 'lark'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_every_command_has_help_with_an_example(run: Run) -> None:
    for command, example in EXAMPLES:
        shown = run(command.__name__, "--help")
        assert shown.code == 0
        assert f"selfmaint {example}" in shown.out


def test_the_examples_of_the_help_work(run: Run, tmp_path: Path) -> None:
    for _, example in EXAMPLES:
        words = re.findall(r"'[^']*'|\S+", example)
        files = {"retail.dl": RETAIL, "sales.csv": SALES, "sales.svg": str(tmp_path / "sales.svg")}
        done = run(*(files.get(word, word.strip("'")) for word in words))
        assert done.code == 0, done.err


def test_no_command_shows_the_help() -> None:
    done = process()
    assert done.code == 2
    assert "Commands:" in done.out + done.err


def test_module_runs_and_reads_stdin() -> None:
    done = process("check", "-", stdin=b"v(X) :- r(X, Y), s(Y).")
    assert done == Done(0, "v  2 subgoals over r, s\n1 view over 2 relations\n", "")


@pytest.mark.parametrize(
    "args",
    [
        ("nothing",),
        ("check",),
        ("check", RETAIL, "--what"),
        ("check", RETAIL, "more"),
        ("plan", RETAIL, "--on", "update"),
        ("plan", RETAIL, "--show", "everything"),
        ("plan", RETAIL, "--show", "normal", "--on", "insert"),
        ("explain", RETAIL, "--svg", "out.svg"),
        ("decide", RETAIL, "sales", "--rows", SALES),
        ("decide", RETAIL, "sales", "--change", MISS),
        ("decide", "-", "sales", "--rows", "-", "--change", MISS),
        ("check", RETAIL, "--\x1b[31m"),
        ("\x1b[31m",),
    ],
)
def test_usage_errors_exit_with_2(run: Run, args: tuple[str, ...]) -> None:
    done = run(*args)
    assert (done.code, done.out) == (2, "")
    assert "Error" in done.err
    assert_calm(done)


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m selfmaint plan {RETAIL} | true"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_an_encoding_without_the_letters() -> None:
    done = process("check", "-", stdin="v(X) :- 'ä'.".encode(), PYTHONIOENCODING="ascii")
    assert done.code == 1
    assert "\\xe4" in done.err


# Terminals and pipes


def test_colours_are_for_terminals_only() -> None:
    args = ("decide", RETAIL, "sales", "--rows", SALES, "--change", MISS)
    assert_calm(process(*args))
    coloured = terminal(*args)
    assert COLOUR.search(coloured.out)
    assert_calm(Done(0, COLOUR.sub("", coloured.out), ""))
    assert_calm(terminal(*args, NO_COLOR="1"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize(
    "args",
    [
        ("plan", RETAIL),
        ("explain", RETAIL),
        ("check", RETAIL),
        ("decide", RETAIL, "sales", "--rows", SALES, "--change", SELF_MAINTAINED),
        ("decide", RETAIL, "sales", "--rows", SALES, "--change", MISS),
    ],
)
def test_lines_fit_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    with redirect_stdout(Terminal()) as shown:
        app(list(args), standalone_mode=False)
    assert max(map(len, shown.getvalue().split("\n"))) <= columns
    if args[0] in ("plan", "explain"):  # elsewhere folded columns lie side by side
        assert shown.getvalue().split() == run(*args).out.split() or columns == 40


def test_lines_in_a_pipe_are_not_folded(run: Run) -> None:
    names = [f"Variable{number}" for number in range(60)]
    text = f"v({', '.join(names)}) :- r({', '.join(names)})."
    shown = run("plan", "-", "--show", "syntax", stdin=text)
    assert shown.out == f"{text}\n"


def test_no_line_ends_in_blanks(run: Run) -> None:
    done = run("decide", RETAIL, "sales", "--rows", SALES, "--change", SELF_MAINTAINED)
    assert [line for line in done.out.split("\n") if line != line.rstrip()] == []


# check


def test_check_says_what_was_dropped_and_why(run: Run) -> None:
    done = run("check", RETAIL)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) == 5
    assert lines[2] == (
        "bulk_eu     3 subgoals over customers, order_lines, orders; without "
        "products(P, _, _, _): guaranteed by the foreign key of "
        "order_lines(Order, Line, P, Quantity)"
    )
    assert lines[4] == "4 views over 5 relations"


def test_check_shows_all_errors(run: Run) -> None:
    done = run("check", "-", stdin="v(X) :- r(Y). w(X) :- r(X, X). u(Z) :- s(Z), Z < A.")
    assert (done.code, done.out) == (1, "")
    assert done.err.count("error[") == 3
    assert " --> <stdin>:1:3" in done.err
    assert "in <stdin>" in done.err


def test_check_shows_warnings_and_is_content(run: Run) -> None:
    done = run("check", "-", stdin="v(X) :- r(X, Y).")
    assert done.code == 0
    assert "warning[CQ120]" in done.err
    assert done.out == "v  1 subgoal over r\n1 view over 1 relation\n"


def test_check_of_declarations_alone(run: Run) -> None:
    assert run("check", "-", stdin=".decl r(a: int)").out == "no views over 1 relation\n"


def test_check_names_views_that_are_always_empty(run: Run) -> None:
    done = run("check", "-", stdin="v(X) :- r(X), X < 1, X > 2.")
    assert "empty in every database" in done.out


# plan


def test_plan_of_one_kind_of_change(run: Run) -> None:
    done = run("plan", RETAIL, "sales", "--relation", "orders", "--on", "insert")
    assert (done.code, done.err) == (0, "")
    view = parse((ROOT / RETAIL).read_text()).view("sales")
    assert done.out == f"{view.plan('orders', 'insert')}\n"


def test_plan_without_a_view_shows_every_plan(run: Run) -> None:
    done = run("plan", RETAIL)
    assert len(re.findall(r"^plan ", done.out, re.MULTILINE)) == 2 * (4 + 4 + 4 + 5)
    some = run("plan", RETAIL, "--relation", "regions", "--on", "delete")
    assert re.findall(r"^plan .*", some.out, re.MULTILINE) == [
        "plan tool_sales: delete from regions"
    ]


def test_plan_json_reads_back(run: Run) -> None:
    done = run("plan", RETAIL, "sales", "--json")
    plans = json.loads(done.out)["plans"]
    view = parse((ROOT / RETAIL).read_text()).view("sales")
    assert len(plans) == 8
    for document in plans:
        plan = Plan.from_json(json.dumps(document))
        assert plan == view.plan(plan.relation, plan.action)


def test_plan_stops_after_a_stage(run: Run) -> None:
    text = "w(X) :- r(X, _). v(X) :- w(X), r(X, _)."
    assert run("plan", "-", "v", "--show", "syntax", stdin=text).out == "v(X) :- w(X), r(X, _).\n"
    assert run("plan", "-", "v", "--show", "normal", stdin=text).out == (
        "v(X) :- r(X, _), r(X, _).\n%   without r(X, _): implied by r(X, _)\n"
    )
    done = run("plan", "-", "--show", "syntax", "--json", stdin=text)
    assert json.loads(done.out) == {
        "show": "syntax",
        "views": {"w": "w(X) :- r(X, _).", "v": "v(X) :- w(X), r(X, _)."},
    }


@pytest.mark.parametrize(
    ("args", "code", "help_"),
    [
        (("plan", RETAIL, "sale"), "LP204", "did you mean `sales`?"),
        (("explain", RETAIL, "sale"), "LP204", "did you mean `sales`?"),
        (("plan", RETAIL, "sales", "--relation", "order"), "LP205", "did you mean `orders`?"),
        (("plan", RETAIL, "sales", "--relation", "regions"), "LP205", "known: customers"),
        (("plan", RETAIL, "--relation", "region"), "LP205", "did you mean `regions`?"),
    ],
)
def test_unknown_names_bring_the_nearest(
    run: Run, args: tuple[str, ...], code: str, help_: str
) -> None:
    done = run(*args)
    assert (done.code, done.out) == (1, "")
    assert f"error[{code}]" in done.err
    assert help_ in done.err


def test_no_view_to_plan(run: Run) -> None:
    for command in ("plan", "explain"):
        done = run(command, "-", stdin=".decl r(a: int)")
        assert done.code == 1
        assert "no view" in done.err


# explain


def test_explain_shows_the_matrix(run: Run) -> None:
    done = run("explain", RETAIL, "demand")
    assert (done.code, done.err) == (0, "")
    assert re.search(r"order_lines +insert +never", done.out)
    assert len(json.loads(run("explain", RETAIL, "--json").out)["explanations"]) == 4


def test_explain_strict_exits_with_3_on_never(run: Run) -> None:
    assert run("explain", RETAIL, "demand", "--strict").code == 3
    assert run("explain", RETAIL, "sales", "--strict").code == 0
    assert run("explain", RETAIL, "--strict", "--json").code == 3


def test_explain_draws(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "new" / "sales.svg"
    done = run("explain", RETAIL, "sales", "--svg", str(file))
    assert (done.code, done.err) == (0, "")
    assert file.read_text(encoding="utf-8").lstrip().startswith("<svg")


def test_explain_cannot_draw_into_a_folder(run: Run, tmp_path: Path) -> None:
    done = run("explain", RETAIL, "sales", "--svg", str(tmp_path))
    assert (done.code, done.out) == (1, "")
    assert "error[LP229]" in done.err


# decide


def decided(run: Run, change: str, *args: str, view: str = "sales", rows: str = SALES) -> Done:
    done = run("decide", RETAIL, view, "--rows", rows, "--change", change, *args)
    assert_calm(done)
    return done


def test_decide_self_maintained(run: Run) -> None:
    assert decided(run, SELF_MAINTAINED) == Done(
        0,
        "change   insert order_lines(102, 2, 10, 3)\n"
        "view     sales, 5 rows\n"
        "\n"
        "lookups  order = 102   orders and customers  found\n"
        "         product = 10  products              found\n"
        "\n"
        "verdict  self-maintained\n"
        "reason   The view already shows what the new row joins with: `orders` and `customers` "
        "(order = 102), and `products` (product = 10).\n"
        "\n"
        "adds        order  line  day         customer  name     region  product  title     "
        "category  quantity\n"
        "         +  102    2     2024-03-02  3         'Linus'  'EU'    10       'Hammer'  "
        "'tools'   3\n",
        "",
    )


def test_decide_miss_names_what_is_missing(run: Run) -> None:
    done = decided(run, MISS)
    assert done.code == 0
    assert "verdict  miss" in done.out
    assert "The view does not show `products` (product = 13); a source has to be asked." in done.out
    assert re.search(r"product = 13 +products +missing", done.out)


def test_decide_strict_exits_with_3_on_a_miss(run: Run) -> None:
    assert decided(run, MISS, "--strict").code == 3
    assert decided(run, MISS, "--strict", "--json").code == 3
    assert decided(run, SELF_MAINTAINED, "--strict").code == 0


@pytest.mark.parametrize(
    ("view", "change", "args", "verdict", "reason"),
    [
        ("sales", "order_lines(100, 1, 10, 2)", ["--delete"], "self-maintained", "go with it"),
        ("sales", "order_lines(100, 9, 10, 2)", ["--delete"], "unaffected", "The view has no rows"),
        ("sales", "customers(4, 'Eve', 'EU')", [], "unaffected", "by a foreign key"),
        ("sales", "customers(4, 'Eve', 'EU')", ["--delete"], "unaffected", "by a foreign key"),
        ("sales", "order_lines(null, 1, 10, 2)", [], "irrelevant", "order_lines.order_id is NULL"),
        ("sales", "regions('EU', 'Europe')", [], "irrelevant", "does not use `regions`"),
    ],
)
def test_decide_reasons(
    run: Run, view: str, change: str, args: list[str], verdict: str, reason: str
) -> None:
    done = decided(run, change, *args, view=view)
    assert f"verdict  {verdict}\n" in done.out
    assert reason in done.out


REASONS = """
.decl k(key: int, a: int, day: date) key(key)
own(A)          :- r(A, _).
hidden(A, C)    :- r(A, B), s(B, C).
open(A)         :- r(A, B), s(B, 3), B != 9.
constant(A)     :- r(A, 'x'), A > 5.
twice(A)        :- r(A, A).
star(A, B, C)   :- r(A, B), s(B, C).
keyed(A, K, B)  :- r(A, K, B), k(K, B, _).
product(A, B)   :- a(A), b(B).
path(A, B, C)   :- e(A, B), e(B, C).
shown(D)        :- k(_, 1, D), D > 2024-01-01.
none()          :- a(1).
""".replace("r(A, K, B)", "t(A, K, B)")


@pytest.mark.parametrize(
    ("view", "rows", "change", "verdict", "reason"),
    [
        ("own", "1", "r(2, 2)", "self-maintained", "built from `r` alone"),
        ("own", "1", "r(1, 2)", "unaffected", "already has rows with a = 1"),
        ("own", "1", "- r(1, 2)", "miss", "lacks value 2 of r"),
        ("hidden", "1,2", "r(1, 2)", "miss", "joins on value 2 of r, which the view lacks"),
        ("open", "1", "r(2, 2)", "miss", "no rows with a = 2 and lacks value 2 of r"),
        ("open", "1", "r(1, 9)", "irrelevant", "9 != 9 does not hold"),
        ("constant", "7", "r(8, y)", "irrelevant", "value 2 of r is 'y', not 'x'"),
        ("constant", "7", "r(null, x)", "irrelevant", "is NULL, which joins with nothing"),
        ("twice", "7", "r(8, 9)", "irrelevant", "value 1 of r and value 2 of r differ"),
        ("star", "1,2,3", "r(4, 2)", "self-maintained", "`s` (b = 2)"),
        ("star", "1,2,3", "r(4, 5)", "miss", "does not show `s` (b = 5)"),
        ("keyed", "1,2,3", "t(5, 2, 4)", "unaffected", "b = 4. So the new row joins nothing"),
        ("product", "1,2", "a(3)", "self-maintained", "any `b`"),
        ("path", "1,2,3", "e(3, 1)", "miss", "As e(A, B): "),
        ("path", "1,2,3", "- e(1, 2)", "self-maintained", "As e(B, C): "),
        ("path", "1,1,1", "e(1, 1)", "unaffected", "already has rows"),
        ("shown", "2024-05-05", "k(1, 1, 2020-01-01)", "irrelevant", "2020-01-01 > 2024-01-01"),
        ("none", "", "a(1)", "self-maintained", "built from `a` alone"),
        ("none", "", "a(2)", "irrelevant", "value 1 of a is 2, not 1"),
    ],
)
def test_every_rule_has_its_words(
    run: Run, write: Write, view: str, rows: str, change: str, verdict: str, reason: str
) -> None:
    program = write("reasons.dl", REASONS)
    args = ["decide", program, view, "--rows", "-", "--change", change.removeprefix("- ")]
    args += ["--delete"] if change.startswith("- ") else []
    done = run(*args, stdin=f"{rows}\n" if rows else "")
    assert done.code == 0, done.err
    assert f"verdict  {verdict}\n" in done.out
    assert reason in done.out
    assert_calm(done)


def test_a_dropped_relation_is_explained(run: Run) -> None:
    done = run(
        "decide", RETAIL, "bulk_eu", "--rows", "-", "--change", "products(9, 'A', 'B', 1)",
        stdin="order,line,customer,name,quantity\n",
    )  # fmt: skip
    assert "guaranteed by the foreign key" in done.out
    assert "lookups  none" in done.out


def test_decide_json(run: Run) -> None:
    document = json.loads(decided(run, SELF_MAINTAINED, "--json").out)
    assert document["verdict"] == "self-maintained"
    assert document["change"] == {
        "action": "insert",
        "relation": "order_lines",
        "row": [102, 2, 10, 3],
    }
    assert document["inserts"] == [
        [102, 2, "2024-03-02", 3, "Linus", "EU", 10, "Hammer", "tools", 3]
    ]
    assert document["deletes"] == []
    assert [item["answer"] for item in document["lookups"]] == ["found", "found"]
    assert document["lookups"][0]["columns"] == ["order"]


def test_at_most_20_rows_are_shown(run: Run, write: Write) -> None:
    program = write("v.dl", "v(X, Y, Z) :- r(X, Y), s(Y, Z).")
    rows = write("rows.csv", "".join(f"1,2,{number}\n" for number in range(23)))
    done = run("decide", program, "v", "--rows", rows, "--change", "r(5, 2)")
    assert done.out.count("+") == 20
    assert done.out.endswith("\n         ... and 3 more\n")
    complete = run("decide", program, "v", "--rows", rows, "--change", "r(5, 2)", "--json")
    assert len(json.loads(complete.out)["inserts"]) == 23


def test_rows_from_stdin(run: Run) -> None:
    text = (ROOT / SALES).read_bytes()
    args = ("decide", RETAIL, "sales", "--change", SELF_MAINTAINED, "--rows")
    assert run(*args, "-", stdin=text) == run(*args, SALES)
    assert run(*args, "-", stdin=b"\xef\xbb\xbf" + text) == run(*args, SALES)  # from a spreadsheet
    assert run(*args, "-", stdin=text.replace(b"\n", b"\r\n")) == run(*args, SALES)


# --change

TYPES = (
    "b: boolean, i: int, l: long, f: float, d: double, m: decimal(10, 2), s: string, "
    "day: date, t: timestamp"
)
TYPED = parse(
    f".decl r({TYPES}) .decl u(a, b) "
    "v(B, I, L, F, D, M, S, Day, T) :- r(B, I, L, F, D, M, S, Day, T). w(A, B) :- u(A, B)."
)
ROW = (
    True,
    -5,
    2**40,
    0.5,
    1e300,
    Decimal("12.50"),
    "it's",
    date(2024, 2, 29),
    datetime(2024, 2, 29, 23, 59, 59, 500000, tzinfo=UTC),
)


def test_change_of_every_type() -> None:
    text = (
        "r(true, -5, 1099511627776, 0.5, 1e300, 12.5, 'it\\'s', 2024-02-29, "
        "2024-02-29T23:59:59.500000+00:00)"
    )
    assert read_change(text, TYPED) == ("r", ROW)
    assert read_change(f"  {text} . ", TYPED) == ("r", ROW)


def test_change_with_nulls() -> None:
    text = f"r({', '.join(['null'] * 9)})"
    assert read_change(text, TYPED) == ("r", (None,) * 9)
    assert read_change("u(NULL, 'null')", TYPED) == ("u", (None, "null"))
    assert read_change("u('', null)", TYPED) == ("u", ("", None))


def test_change_of_an_untyped_relation() -> None:
    assert read_change("u(1.5, eu)", TYPED) == ("u", (1.5, "eu"))
    assert read_change("u(true, 1)", TYPED) == ("u", (True, 1))


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "CQ101", "ends too early"),
        ("   ", "CQ101", "ends too early"),
        (".", "CQ101", ""),
        ("u", "CQ101", "ends too early"),
        ("u(", "CQ101", "ends too early"),
        ("u(1,\n2", "CQ101", "--change:2:1"),
        ("u(1, 2", "CQ101", "expected `)` or `,`"),
        ("u(1, 2))", "CQ101", "unexpected `)`"),
        ("u(1, 2), u(3, 4)", "CQ101", "unexpected `,`"),
        ("u(1, 2). u(3, 4)", "LP228", "one row"),
        ("u(1, 2) :- r(X)", "LP228", "one row"),
        (".decl q(a)", "LP228", "one row"),
        ("u(1, X)", "LP228", "`X` is a variable"),
        ("u(1, _)", "LP228", "`_` is a variable"),
        ("u(1)", "CQ102", "`u` takes 2 arguments, but 1 is given"),
        ("U(1, 2)", "CQ101", "unexpected `U`"),
        ("x(1, 2)", "LP205", "there is no relation `x`"),
        ("v(1, 2)", "LP205", "`v` is a view"),
        ("u('a, 2)", "CQ100", "does not end on its line"),
        ("u(1, 2); drop table u", "CQ100", "means nothing here"),
        ("u('\\x', 2)", "CQ124", "is no escape"),
        ("u(2024-02-30, 2)", "CQ124", "calendar"),
        (f"u({'9' * 500}, 2)", "CQ124", "400 digits"),
        ("u(1e999, 2)", "CQ124", "beyond what any type"),
        ("u(\x1b[31m, 2)", "CQ100", "means nothing here"),
        ("u('\x1b[31m' 2)", "CQ101", "unexpected"),
        ("u(1\ud800, 2)", "CQ100", "means nothing here"),
    ],
)
def test_changes_that_are_none(text: str, code: str, says: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_change(text, TYPED)
    assert caught.value.diagnostics.errors[0].code == code
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("position", "value"),
    [(0, "1"), (1, "1.5"), (1, "2147483648"), (1, "true"), (2, "'1'"), (4, "'1'"), (5, "0.001"),
     (6, "5"), (7, "'2024-02-29'"), (7, "2024-02-29T00:00"), (8, "2024-02-29")],
)  # fmt: skip
def test_changes_that_do_not_fit_their_column(position: int, value: str) -> None:
    values = ["null"] * 9
    values[position] = value
    with pytest.raises(DiagnosticError, match="CQ116"):
        read_change(f"r({', '.join(values)})", TYPED)


def test_a_relation_may_be_called_like_our_own_rule() -> None:
    assert read_change("change(1)", parse("v(X) :- change(X).")) == ("change", (1,))


# CSV


def rows_of(text: str, view: str = "v", filename: str = "rows.csv") -> list[tuple[object, ...]]:
    found = TYPED.view(view)
    return read_rows(text, filename, found.query, found.columns)


def test_rows_of_every_type() -> None:
    line = "true,-5,1099511627776,0.5,1e300,12.5,it's,2024-02-29,2024-02-29 23:59:59.5Z"
    assert rows_of(line) == [ROW]
    quoted = ",".join(f'"{field}"' for field in line.split(","))
    assert rows_of(f"{quoted}\n") == [ROW]


def test_null_is_not_the_empty_string() -> None:
    assert rows_of(',""\n', "w") == [(None, "")]
    assert rows_of(",,,,,,,,\n") == [(None,) * 9]
    with pytest.raises(DiagnosticError, match="'' is no int"):
        rows_of(',"",,,,,,,\n')


def test_null_and_the_empty_string_decide_differently(run: Run, write: Write) -> None:
    program = write("v.dl", ".decl r(a: string, b: string) v(A) :- r(A, _).")
    for rows, change, verdict in (
        ("\n", "r(null, x)", "unaffected"),
        ("\n", "r('', x)", "self-maintained"),
        ('""\n', "r('', x)", "unaffected"),
        ('""\n', "r(null, x)", "self-maintained"),
    ):
        done = run("decide", program, "v", "--rows", "-", "--change", change, stdin=rows)
        assert f"verdict  {verdict}\n" in done.out


def test_untyped_columns_are_read_by_their_spelling() -> None:
    text = "1,-2.5\n1e3,x\ntrue,True\n2024-02-29,2024-02-29T10:00\n1 ,'a'\n"
    assert rows_of(text, "w") == [
        (1, -2.5),
        (1000.0, "x"),
        (True, "True"),
        (date(2024, 2, 29), datetime(2024, 2, 29, 10, 0)),
        ("1 ", "'a'"),
    ]


def test_a_header_is_skipped_in_any_case() -> None:
    assert rows_of("a,b\n1,2\n", "w") == [(1, 2)]
    assert rows_of("A,B\n1,2", "w") == [(1, 2)]
    assert rows_of('"a","b"\n', "w") == []
    assert rows_of("1,2\na,b\n", "w") == [(1, 2), ("a", "b")]


def test_columns_are_named_after_the_head_as_written() -> None:
    program = parse("v(Xy, 'a', Z) :- r(Xy, Z, W), Z = W.")
    assert program.view("v").columns == ("xy", "c2", "z")


def test_a_view_without_columns() -> None:
    program = parse("v() :- r(X, X).")
    query = program.view("v").query
    assert read_rows("", "rows.csv", query, ()) == []
    assert read_rows("\n", "rows.csv", query, ()) == [()]
    with pytest.raises(DiagnosticError, match="no columns, but this line has 1 field"):
        read_rows("1\n", "rows.csv", query, ())


def test_quoting() -> None:
    assert rows_of('"a ""b""","c,\nd"\n"",\n', "w") == [('a "b"', "c,\nd"), ("", None)]


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ('"a,b\n', "1:1", "is not closed"),
        ('1,"a""\n', "1:3", "is not closed"),
        ('1,2\n3,"a"b\n', "2:6", "behind the closing quote"),
        ('1,a"b"\n', "1:4", "a quote inside a field"),
        ('"x\ny"z,2\n', "2:3", "behind the closing quote"),
        ("1,2\r3,4\n", "1:4", "carriage return"),
        ("1\n", "1:1", "`w` has 2 columns, but this line has 1 field"),
        ("1,2\n\n3,4", "2:1", "has 1 field"),
        ("1,2,3\n", "1:1", "has 3 fields"),
        ("b,a\n1,2\n", "1:1", "in another order"),
        (f'1,"{"x" * MOST_CHARACTERS}"\n', "1:3", "more than 1,000,000 characters"),
        (f"1,{'x' * (MOST_CHARACTERS + 1)}\n", "1:3", "is a quote missing?"),
        (f"1,{'9' * 401}.5e3\n2\n", "2:1", "has 1 field"),
        ("1,1e999\n", "1:3", "larger than any type"),
        ("1,2024-02-30\n", "1:3", "no day of the calendar"),
        ("1,2024-02-29T25:00\n", "1:3", "no time of the calendar"),
    ],
)
def test_rows_that_are_none(text: str, place: str, says: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        rows_of(text, "w")
    message = str(caught.value)
    assert f" --> rows.csv:{place}\n" in message
    assert says in message
    assert len(message) < 2_000


@pytest.mark.parametrize(
    ("column", "value", "legal"),
    [
        (0, "yes", "true or false"),
        (1, "1.5", "a whole number"),
        (1, "2147483648", "outside the range of int"),
        (1, "٣", "a whole number"),
        (1, "1_000", "a whole number"),
        (1, "9" * 5000, "a whole number"),
        (2, "", "a whole number"),
        (3, "nan", "a number"),
        (4, "inf", "a number"),
        (4, "1e999", "larger than any type"),
        (5, "12.345", "without rounding"),
        (5, "123456789012", "without rounding"),
        (7, "29.02.2024", "a day, such as"),
        (7, "2024-02-30", "no day of the calendar"),
        (7, "20240229", "a day, such as"),
        (8, "2024-02-29", "a time, such as"),
        (8, "2024-02-29T25:00", "no time of the calendar"),
    ],
)
def test_values_that_do_not_fit_their_column(column: int, value: str, legal: str) -> None:
    fields = [""] * 9
    fields[column] = f'"{value}"'
    with pytest.raises(DiagnosticError) as caught:
        rows_of(",".join(fields))
    (error,) = caught.value.diagnostics.errors
    assert error.code == "LP226"
    assert f"column `{TYPED.view('v').columns[column]}`" in error.message
    assert legal in str(caught.value)
    assert error.span.column == column + 1


@pytest.mark.parametrize(
    ("view", "row", "says"),
    [
        ("v(X, 'a', X) :- r(X).", "1,a,2", "column `x` of `v` is 1 in such a row"),
        ("v(X, 'a', X) :- r(X).", "1,b,1", "column `c2` of `v` is 'a' in such a row"),
        ("v(X, 'a', X) :- r(X).", "1,,1", "column `c2` of `v` is never NULL"),
        ("v(X, Y) :- r(X, Y), s(Y).", "1,", "column `y` of `v` is never NULL"),
        ("v(X, Y) :- r(X, Y), X < Y.", "2,1", "no row of `v` breaks `X < Y`"),
        ("v(X) :- r(X), X < 1, X > 1.", "1", "has no row in any database"),
    ],
)
def test_rows_that_the_view_cannot_have(view: str, row: str, says: str) -> None:
    program = parse(view)
    with pytest.raises(DiagnosticError) as caught:
        read_rows(row, "rows.csv", program.view("v").query, program.view("v").columns)
    assert says in str(caught.value)
    assert caught.value.diagnostics.errors[0].code == "LP227"


def test_errors_are_collected_but_not_endlessly() -> None:
    with pytest.raises(DiagnosticError) as caught:
        rows_of("x,x\n" * 3 + "1\n" * 100, "w")
    assert len(caught.value.diagnostics.errors) == 20


def test_an_empty_file_is_no_empty_view() -> None:
    with pytest.raises(InputError, match="an empty view is written as its header: a,b"):
        rows_of("", "w")


def test_many_rows_are_read_in_good_time() -> None:
    text = "".join(f'{number},"text {number}"\n' for number in range(100_000))
    assert sum(1 for _ in records(text, "rows.csv")) == 100_000


def test_values_read_back() -> None:
    for value in ("a", "", "it's", "\n\t\\", "[red]x[/]", "DROP TABLE r; --"):
        program = parse("v(X) :- r(X).")
        assert read_change(f"r({print_value(value)})", program) == ("r", (value,))
    assert print_value(None) == "NULL"
    with pytest.raises(Misfit):
        read_value("x", Type("int"))


# Files


def test_missing_file(run: Run) -> None:
    for args in (("check", "no.dl"), ("decide", RETAIL, "sales", "--rows", "no.csv")):
        more = ("--change", MISS) if args[0] == "decide" else ()
        done = run(*args, *more)
        assert (done.code, done.out) == (1, "")
        assert re.match(r"error\[LP221\]: cannot read `no.\w+`: no such file", done.err)


def test_directory(run: Run, tmp_path: Path) -> None:
    done = run("check", str(tmp_path))
    assert done.code == 1
    assert "is a directory" in done.err


@pytest.mark.parametrize("content", [b"", b"  \n", b"% nothing\n"])
def test_a_file_that_says_nothing(run: Run, content: bytes) -> None:
    done = run("check", "-", stdin=content)
    assert done.code == 1
    assert "`<stdin>` holds no program" in done.err


def test_bytes_that_are_no_text(run: Run, write: Write) -> None:
    done = run("check", write("v.dl", b"v(X) :-\n r(\xff)."))
    assert done.code == 1
    assert "not UTF-8: byte 0xff at line 2, column 4" in done.err
    rows = write("rows.csv", b"1,\xc3(")
    done = run("decide", RETAIL, "sales", "--rows", rows, "--change", MISS)
    assert "not UTF-8: byte 0xc3 at line 1, column 3" in done.err


def test_debug_shows_the_traceback(run: Run) -> None:
    done = run("check", "no.dl", "--debug")
    assert done.code == 1
    assert "Traceback" in done.err
    assert "error[LP221]" in done.err


def test_a_bug_of_ours_is_admitted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise AssertionError("an invariant\x1b[31m")

    monkeypatch.setattr("selfmaint.cli.check.read_program", broken)
    done = run("check", RETAIL)
    assert done.code == 1
    assert "selfmaint broke: AssertionError: an invariant\\x1b[31m" in done.err
    assert_calm(done)
    assert "Traceback" in run("check", RETAIL, "--debug").err


# Hostile text

HOSTILE = (
    "\x1b[2J\x1b[31mred",
    "bell\x07\x08back",
    "new\nline\rreturn\ttab",
    "[red]markup[/red] [link=x]y[/]",
    ":smile: {braces} %s",
    "'; DROP TABLE sales; --",
    "\u202eright to left\u2066",
    "\x9b31m\x85\u2028",
    "\x00nul",
    "e\u0301 漢字 👍",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_values_are_shown_and_do_nothing(run: Run, write: Write, text: str) -> None:
    program = write("v.dl", ".decl r(a: string, b: int) v(A, B) :- r(A, B).")
    field = text.replace('"', '""')
    rows = write("rows.csv", f'"{field}",1\n')
    args = ["decide", program, "v", "--rows", rows, "--change"]
    done = run(*args, f"r({print_value(text)}, 2)")
    assert done.code == 0, done.err
    assert visible(print_value(text)) in done.out
    assert_calm(done)
    for line in done.out.splitlines():
        assert line[:9].strip() in ("", "change", "view", "lookups", "verdict", "reason", "adds")
    again = run(*args, f"r({print_value(text)}, 2)", "--json")
    assert_calm(again)
    assert json.loads(again.out)["inserts"] == [[text, 2]]
    # The same text where it is an error: as a value, as a file, as a change, as a name.
    for bad in (
        run(*args, f"r(1, {print_value(text)})"),
        run(*args, text),
        run("decide", program, text, "--rows", rows, "--change", "r('', 1)"),
        run("decide", program, "v", "--rows", "-", "--change", "r('', 1)", stdin=f'1,"{field}"'),
        run("plan", program, "--relation", text),
        run("check", "-", stdin=f"v(X) :- {text}"),
    ):
        assert bad.code in (1, 2)
        assert bad.out == ""
        assert_calm(bad)


def test_hostile_file_names(run: Run) -> None:
    done = run("check", "no\x1b[31m\nerror: fake.dl")
    assert done.code == 1
    assert "`no\\x1b[31m\\nerror: fake.dl`" in done.err
    assert_calm(done)


def test_hostile_constants_in_a_program(run: Run) -> None:
    text = "v(X) :- r(X, '\x1b[31m[red]').\n"
    for args in (
        ("plan", "-"),
        ("explain", "-"),
        ("plan", "-", "--json"),
        ("explain", "-", "--json"),
    ):
        done = run(*args, stdin=text)
        assert done.code == 0, done.err
        assert_calm(done)
        assert "[31m[red]" in done.out


def test_json_of_odd_values() -> None:
    view = parse("v(X) :- r(X).").view("v")
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    for value, expected in (
        (Decimal("1.50"), "1.50"),
        (moment, "2024-01-01T00:00:00+00:00"),
        (None, None),
        (True, True),
    ):
        plan = view.plan("r", "insert")
        verdict = Verdict(Kind.SELF_MAINTAINED, Reason(Because.UNUSED), frozenset({(value,)}))
        document = to_json(Decided(plan, ("x",), 1, (value,), verdict))
        assert document["inserts"] == [[expected]]
