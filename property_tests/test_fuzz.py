"""Any text at all is a program or a diagnostic, never another exception, and never slow.

A text that is a program goes on: its views, their plans, what these print. A clock stops what takes
more than `SECONDS` of the processor, which is a failure like any other.
"""

from __future__ import annotations

import random
import signal
import sys
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import selfmaint
from cq.check import MAX_SUBGOALS
from cq.diagnostics import Diagnostics
from selfmaint import DiagnosticError, InputError, Program, View

SECONDS = 8.0  # most texts take milliseconds
MOST_VIEWS, MOST_RELATIONS = 8, 3  # of a large program

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
VALID = [path.read_text(encoding="utf-8") for path in sorted(GOLDEN.glob("plans/*.dl"))]
FAULTY = [path.read_text(encoding="utf-8") for path in sorted(GOLDEN.glob("errors/*.dl"))]


class _TooSlow(Exception):
    pass


def _ring(*_: object) -> None:
    raise _TooSlow


@contextmanager
def clock(seconds: float) -> Iterator[None]:
    """Fail after that much time of the processor: other processes are not counted."""
    is_late = False
    start = time.process_time()
    if hasattr(signal, "setitimer"):  # else the failure comes when the work is done
        signal.signal(signal.SIGVTALRM, _ring)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    except _TooSlow:
        is_late = True
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if is_late or time.process_time() - start > 2 * seconds:
        # Without the trace, which would print the text.
        pytest.fail(f"takes more than {seconds} seconds", pytrace=False)


def digest(text: str) -> Program | Diagnostics:
    """Everything that can be done with a text, against the clock."""
    with clock(SECONDS):
        try:
            program = selfmaint.parse(text)
        except DiagnosticError as error:
            return error.diagnostics
        for name in program.views[:MOST_VIEWS]:
            with suppress(InputError):
                compile_view(program.view(name))
        return program
    raise AssertionError("the clock fails by itself")


def compile_view(view: View) -> None:
    for relation in view.relations[:MOST_RELATIONS]:
        for action in ("insert", "delete"):
            plan = view.plan(relation, action)
            assert str(plan)
            assert plan.from_json(plan.to_json()) == plan


# Noise


@given(st.binary(max_size=400))
def test_bytes(data: bytes) -> None:
    digest(data.decode("utf-8", errors="replace"))
    digest(data.decode("latin-1"))


@given(st.text(max_size=200))
@example("\ud800")
@example("v(X) :- r(X, '\ud800').")
@example("\ufeffv(X) :- r(X).")
@example("\x00")
def test_any_text(text: str) -> None:
    digest(text)
    digest(f"v(X) :- r(X, '{text}').")
    digest(f"v(X) :- r(X). % {text}")
    digest(f"{text}(X) :- r(X).")


SIGNS = """( ) , & . : :- % = != < <= > >= ' " \\ _ - + é"""
WORDS = """
.decl key references X Y _A r s v r(X) r(X,Y) s() 'a' "b" 1 -2 1.5 1e9 1e-9 null true 2024-01-31
2024-13-01 2024-01-31T12:00 long string decimal decimal(5,2) any v(X):-r(X).
"""
PIECES = [*SIGNS.split(), *WORDS.split(), " ", "\t", "\n", "%\n", "\x00"]


@given(st.lists(st.sampled_from(PIECES), max_size=60), st.sampled_from(["", " "]))
@settings(max_examples=4 * settings().max_examples)
@example([".decl", "r", "(", "X", ")", "key", "(", "X", ")", "key", "(", "X", ")"], "")
@example(["v", "(", "X", ")", ":-", "r", "(", "X", ",", "1e9", "9" * 30, ")", "."], "")
def test_token_soup(pieces: list[str], glue: str) -> None:
    digest(glue.join(pieces))


@given(st.sampled_from(VALID + FAULTY), st.randoms(use_true_random=False))
@settings(max_examples=4 * settings().max_examples)
def test_mutated_programs(text: str, random: random.Random) -> None:
    """Characters and words deleted, doubled, swapped or replaced."""
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(text) + 1)
        end = min(len(text), at + random.choice([0, 1, 1, 2, 5, 20]))
        elsewhere = random.randrange(len(text) + 1)
        piece = random.choice(
            ["", text[at:end] * 2, random.choice(PIECES), text[elsewhere : elsewhere + 10]]
        )
        text = text[:at] + piece + text[end:]
    digest(text)


def test_every_unicode_category() -> None:
    by_category: dict[str, list[str]] = {}
    for code in range(sys.maxunicode + 1):
        by_category.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    assert len(by_category) == 30
    for characters in by_category.values():
        some = characters[:40] + random.Random(0).sample(characters, min(40, len(characters)))
        text = "".join(some)
        for quoted in ("'", '"'):
            digest(f"v(X) :- r(X, {quoted}{text}{quoted}).")
        digest(f"v(X) :- r{text}(X).")
        digest(f"v(X{text}) :- r(X{text}).")
        digest(f".decl r{text}(c{text}: long) key(c{text})")
        digest(f"v(X) :- r(X), {text} s(X).")
        for character in some[::8]:
            digest(f"{character}v(X) :- r(X{character}).{character}")


# Size


def body(count: int, atom: str = "r(X{0}, X{1})", glue: str = ", ") -> str:
    return glue.join(atom.format(i, i + 1) for i in range(count))


def columns(count: int, name: str = "c") -> str:
    return ", ".join(f"{name}{i}" for i in range(count))


MANY, SOME = 10_000, 3_000
HUGE = 1_000_000
SIZES = {
    "subgoals": f"v(X0) :- {body(MANY)}.",
    "subgoals of many relations": f"v(X0) :- {body(MANY, 'r{0}(X{0}, X{1})')}.",
    "subgoals, the most there may be": f"v(X0) :- {body(MAX_SUBGOALS)}.",
    "subgoals of many relations, the most": f"v(X) :- {body(MAX_SUBGOALS, 'r{0}(X)')}.",
    "equal subgoals, the most": f"v(X) :- {body(MAX_SUBGOALS, 'r(X, _)')}.",
    "subgoals of one key, the most": (
        f".decl r(k: long, a: long) key(k) v(K) :- {body(MAX_SUBGOALS, 'r(K, _)')}."
    ),
    "subgoals of two keys each": (
        ".decl r(k: long, a: long) key(k) "
        f"v(X0) :- {body(MAX_SUBGOALS // 2, 'r(X{0}, _), r(X{0}, X{1})')}."
    ),
    "guaranteed subgoals": (
        ".decl p(k: long) key(k) .decl c(k: long, a: long) references p(k) "
        f"v(X0) :- {body(MAX_SUBGOALS // 2, 'c(X{0}, X{1}), p(X{0})')}."
    ),
    "exposed self-joins": (
        "v(A, B, C) :- r(A, B, C), A < B, " + body(30, "p({0}, A, B), p(B, {0}, C)") + "."
    ),
    "redundant subgoals with comparisons": (
        "v(A) :- " + body(30, "r(A, X{0})") + ", " + body(30, "X{0} < {0}") + "."
    ),
    "redundant subgoals with chains of comparisons": (
        "v() :- " + body(30) + ", " + body(30, "X{0} < X{1}") + "."
    ),
    "two subgoals with many comparisons": (
        "v() :- r(X), r(Y), " + body(2_000, "X > {0}, Y > {0}") + "."
    ),
    "comparisons": f"v(X) :- r(X, Y), {body(MANY, 'X > {0}')}.",
    "comparisons of many variables": (
        f"v() :- r({columns(SOME + 1, 'X')}), {body(SOME, 'X{0} < X{1}')}."
    ),
    "equalities": f"v() :- r({columns(SOME + 1, 'X')}), {body(SOME, 'X{0} = X{1}')}.",
    "equalities from the end": (
        f"v() :- r({columns(MANY + 1, 'X')}), "
        + ", ".join(f"X{i} = X{i + 1}" for i in reversed(range(MANY)))
        + "."
    ),
    "declarations": body(MANY, ".decl r{0}(a: long, b: string) key(a)", "\n"),
    "declarations and views that nearly name them": (
        body(1_500, ".decl relation{0}(a: long)", "\n")
        + "\n"
        + body(1_500, "v{0}(X) :- relatoin{0}(X).", "\n")
    ),
    "references": body(SOME, ".decl r{0}(a: long) key(a) references r{1}(a)", "\n"),
    "views": body(MANY, "v{0}(X) :- r(X, _).", "\n"),
    "views over views": body(MANY, "v{0}(X) :- v{1}(X).", "\n"),
    "views that use each other": body(5_000, "v{0}(X) :- v{1}(X), v0(X).", "\n"),
    "columns": f".decl r({columns(SOME)}) v() :- r({', '.join('_' * SOME)}).",
    "a key of many columns": f".decl r({columns(SOME)}) key({columns(SOME)})",
    "a key of many unknown columns": f".decl r({columns(1_500)}) key({columns(1_500, 'd')})",
    "head variables": f"v({columns(SOME, 'X')}) :- r({columns(SOME, 'X')}).",
    "unbound head variables": f"v({columns(1_500, 'Xa')}) :- r({columns(1_500, 'Xb')}).",
    "unbound compared variables": f"v() :- r(X, X), {body(MANY, 'X < Xa{0}')}.",
    "errors": body(MANY, "v(X) :- .", "\n"),
    "errors in one line": body(MANY, "v(X) :- .", " "),
    "warnings": body(MANY, "v{0}(X) :- r(X, Cust).", "\n"),
    "wrong characters": "? " * MANY,
    "quotes": "'\n" * MANY,
    "full stops": "." * MANY,
    "open brackets": "v(X) :- r" + "(" * (10 * MANY),
    "brackets": "v(X) :- r" + "(" * MANY + ")" * MANY + ".",
    "declared brackets": ".decl r" + "(" * MANY + ")" * MANY,
    "open declarations": ".decl r(a " * MANY,
    "clauses": ".decl r(a) " + "key(a) " * MANY,
    "open clauses": ".decl r(a) " + "key(" * MANY,
    "a name": f"v(X) :- {'r' * HUGE}(X).",
    "a view's name": f"{'v' * HUGE}(X) :- r(X). w(X) :- {'v' * HUGE}(X, X).",
    "a variable": f"v(X{'x' * HUGE}) :- r(X{'x' * HUGE}), s(Y{'y' * HUGE}).",
    "a string": f"v(X) :- r(X, '{'a' * HUGE}').",
    "a string of escapes": f"v(X) :- r(X, '{chr(92) * HUGE}').",
    "an open string": f"v(X) :- r(X, '{'a' * HUGE}",
    "a comment": f"% {'(' * HUGE}\nv(X) :- r(X).",
    "an integer": f"v(X) :- r(X, {'1' * HUGE}).",
    "a fraction": f"v(X) :- r(X, 1.{'1' * HUGE}).",
    "an exponent": f"v(X) :- r(X, 1e{'1' * HUGE}).",
    "a long exponent": f"v(X) :- r(X, 1e{'9' * 30}).",
    "spaces": f"v(X) :- r(X).{' ' * HUGE}",
    "lines": f"v(X) :- r(X).{chr(10) * HUGE} v(X) :- .",
    "no space": "\u00a0\u2003" * (HUGE // 2),
    "a foreign alphabet": "\u65e5\u672c" * (HUGE // 2),
    "doubling views": (
        "v0(X) :- r(X, Y), r(Y, X).\n" + body(60, "v{1}(X) :- v{0}(X), v{0}(Y), s(X, Y).", "\n")
    ),
    "doubling boolean views of a wide relation": (
        f"v0() :- r({columns(1_000, 'X')}).\n" + body(8, "v{1}() :- v{0}(), v{0}().", "\n")
    ),
    "doubling views of many comparisons": (
        f"v0(X) :- r(X), {body(1_000, 'X != {0}')}.\n"
        + body(8, "v{1}(X) :- v{0}(X), v{0}(X).", "\n")
    ),
    "many long views": "\n".join(
        f"v{n}(X0) :- {body(20, 'r{0}(X{0}, X{1})')}." for n in range(300)
    ),
}


# Size alone is no error, except where a limit says so.
PROGRAMS = {
    "subgoals, the most there may be",
    "subgoals of many relations, the most",
    "declarations",
    "views",
    "columns",
    "comparisons",
    "a name",
    "a variable",
    "a string",
    "a comment",
    "spaces",
}
TOO_LARGE = {"subgoals", "subgoals of many relations", "doubling views"}


@pytest.mark.parametrize("name", SIZES)
def test_size(name: str) -> None:
    try:
        found = digest(SIZES[name])
    except RecursionError as problem:
        pytest.fail(f"RecursionError: {problem}", pytrace=False)
    diagnostics = found.diagnostics if isinstance(found, Program) else found
    assert isinstance(found, Program) or name not in PROGRAMS
    if name in TOO_LARGE:
        assert {error.code for error in diagnostics.errors} == {"CQ125"}
    with clock(SECONDS):
        longest = max(map(len, str(diagnostics).splitlines()), default=0)
    assert longest < 1_000, "a message repeats what is too long to read"


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "views.dl"
    path.write_bytes(b"v(X) :- r(X, '\xff').")
    with pytest.raises(selfmaint.InputError):
        selfmaint.load(path)


def test_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "views.dl"
    path.write_bytes(b"\xef\xbb\xbfv(X) :- r(X).\r\n")
    assert selfmaint.load(path).views == ("v",)
