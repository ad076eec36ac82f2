"""Break the rules one at a time and show that the tests notice.

    python -m tests.mutants [--only SUBSTRING] [--laws | --spark] [--list]

The mutations are listed in `tests/mutants.txt`. Each is applied to a copy of the project, and the
tests run on the copy, the quickest first, until one fails. A mutant that survives is a hole in the
tests, or changes nothing; then the list says why, and a test that kills it proves the reason wrong.

With `--laws` only the laws of `property_tests` run: what they notice without the help of golden
texts and worked examples.

With `--spark` the mutants of the Spark executor take their turn, and only they: the tests that hold
it to the reference need a JVM. One serves them all. Each mutant is a process of its own, a client
of that server, and runs the test that its entry names; only if that one passes do all the others
run, which takes minutes. A mutant that has a reason to survive runs what the others of its file
name.

Exit code 0 means that exactly the mutants survive that have a reason to.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import TypeAlias

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "mutants.txt"
COPIED = ("cq", "lookups", "warehouse", "selfmaint", "tests", "property_tests", "conftest.py")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "bench")

WORKERS = min(2, os.cpu_count() or 1)
CPU_LIMIT = 240
"""Seconds of processor time for one stage: a mutant that takes longer hangs, which is noticed too.
A busy machine does not make it take longer."""

UNIT = ("tests/unit/lookups", "tests/unit/cq", "cq", "lookups")
LANGUAGE = ("property_tests/test_language.py",)
VERDICTS = ("property_tests/test_verdicts.py",)
BATCHES = ("property_tests/test_batches.py",)
EXECUTOR = "tests/spark/test_executor.py"
LONG = "tests/long/test_executor.py"
BATCH_RULE = ("settle.py", "updates.py", "complete.py", "maintain.py", "batch.py", "evaluate.py")
"""Where the batches notice more than single changes do."""

Stages: TypeAlias = tuple[tuple[str, ...], ...]
"""Tests that run in one process, then those that run if they all pass, and so on."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One broken rule.

    Args:
        file: relative to the project.
        rule: what is broken, in words.
        old: occurs exactly once in the file ...
        new: ... and is replaced by this.
        equivalent: why it changes nothing; empty if it does change something.
        likely: the test that is known to notice, in `EXECUTOR`.
    """

    file: str
    rule: str
    old: str
    new: str
    equivalent: str = ""
    likely: str = ""

    @property
    def is_on_spark(self) -> bool:
        return self.file.startswith("lookups/spark/")

    @property
    def title(self) -> str:
        return f"{self.file}: {self.rule}"

    def apply(self, source: str) -> str:
        """The broken source.

        Raises:
            ValueError: the text to replace does not occur exactly once.
        """
        times = source.count(self.old)
        if times != 1:
            raise ValueError(f"{self.title}: occurs {times} times, not once:\n{self.old}")
        return source.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a mutant: `killer` is the test that noticed, empty if none did."""

    killer: str
    seconds: float
    output: str = ""


def read_mutations(text: str) -> tuple[Mutation, ...]:
    """The entries of the table; its own first lines describe the format."""
    found: list[Mutation] = []
    file = ""
    entry: dict[str, list[str]] = {}

    def close() -> None:
        if entry:
            rule, old, new, why, test = ("\n".join(entry.get(mark, [])) for mark in "#-+=>")
            found.append(Mutation(file, rule, old, new, why, test))
            entry.clear()

    for line in text.splitlines():
        mark, content = line[:1], line[2:]
        if line.startswith("## "):
            close()
            file = line[3:]
        elif mark == "#":
            close()
            entry["#"] = [content]
        elif mark in ("-", "+", "=", ">"):
            entry[mark] = [*entry.get(mark, ()), content]
        elif mark not in ("", "%"):
            raise ValueError(f"not a line of the table: {line}")
    close()
    return tuple(found)


@cache
def load_mutations() -> tuple[Mutation, ...]:
    return read_mutations(TABLE.read_text(encoding="utf-8"))


# The tests on a copy


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """As a plugin of the runs on a copy: few examples, the same ones each time, and a time limit.

    A run that imports the project itself instead of the copy would find every mutant alive.
    """
    import cq

    assert Path(cq.__file__ or "").is_relative_to(config.rootpath), "the copy is not what is tested"
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT))
    settings.register_profile("mutants", settings.get_profile("dev"), derandomize=True)
    settings.load_profile("mutants")


def named_tests(mutation: Mutation) -> tuple[str, ...]:
    """The executor's test that a mutant names; without one all that mutants of its file name."""
    of_file = (other.likely for other in load_mutations() if other.file == mutation.file)
    names = dict.fromkeys([mutation.likely] if mutation.likely else filter(None, of_file))
    return tuple(f"{EXECUTOR}::{name}" for name in names) or (EXECUTOR,)


def stages(mutation: Mutation, *, laws: bool = False) -> Stages:
    """What to run for a mutant, the quickest to notice first."""
    file = mutation.file
    if mutation.is_on_spark:
        named = named_tests(mutation)
        return (named,) if mutation.equivalent else (named, (EXECUTOR, LONG))
    first = () if laws else (UNIT,)
    if file.endswith(BATCH_RULE):
        return *first, BATCHES, VERDICTS, LANGUAGE
    return *first, LANGUAGE, VERDICTS, BATCHES


def unbroken(chosen: Sequence[Mutation], *, laws: bool = False) -> Stages:
    """What has to pass without a mutation; on Spark only what the chosen mutants run first."""
    if not chosen[0].is_on_spark:
        return stages(chosen[0], laws=laws)
    return (tuple(dict.fromkeys(test for mutation in chosen for test in stages(mutation)[0])),)


def copy_project(folder: Path) -> None:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, folder / name)
    shutil.copy(ROOT / "pyproject.toml", folder)


def run_tests(folder: Path, tests: Sequence[str], server: str) -> tuple[str, str]:
    """The first test that fails on the copy, empty if none does, and what was printed.

    Raises:
        ValueError: there is no such test.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "spark"] if server else []
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",  # a stale cache would hide a mutation
        "PYTHONHASHSEED": "0",
        "HYPOTHESIS_PROFILE": "dev",
        **({"SPARK_TESTS_ON": server} if server else {}),
    }
    done = subprocess.run(
        [*command, "-p", "tests.mutants", *tests],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return "", done.stdout
    if done.returncode == pytest.ExitCode.USAGE_ERROR:
        raise ValueError(f"cannot run {tests[0]}:\n{done.stderr}")
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"the time limit, in {tests[0]}", done.stdout
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, flags=re.MULTILINE)
    return failed[1] if failed else f"exit code {done.returncode}", done.stdout + done.stderr


def try_mutant(folder: Path, mutation: Mutation, todo: Stages, server: str) -> Result:
    """Run the stages on `folder`, a copy, with the mutation applied; and take it back."""
    started = time.perf_counter()
    path = folder / mutation.file
    source = path.read_text(encoding="utf-8")
    path.write_text(mutation.apply(source), encoding="utf-8")
    killer = output = ""
    try:
        for tests in todo:
            killer, output = run_tests(folder, tests, server)
            if killer:
                break
    finally:
        path.write_text(source, encoding="utf-8")
    return Result(killer, time.perf_counter() - started, output)


def untouched(file: str) -> Mutation:
    """No mutation: the tests must pass."""
    source = (ROOT / file).read_text(encoding="utf-8")
    return Mutation(file, "nothing is broken", source, source)


def run_all(
    work: Sequence[tuple[Mutation, Stages]], server: str
) -> Iterator[tuple[Mutation, Result]]:
    """Every mutant's result, as it comes in; a few copies of the project take turns.

    Args:
        work: mutants, and what to run for each.
        server: the address of a Spark Connect server, for mutants of the Spark executor.
    """
    with tempfile.TemporaryDirectory(prefix="selfmaint-mutants-") as name:
        folders: SimpleQueue[Path] = SimpleQueue()
        for number in range(WORKERS):
            folder = Path(name) / str(number)
            folder.mkdir()
            copy_project(folder)
            folders.put(folder)

        def run(mutation: Mutation, todo: Stages) -> Result:
            folder = folders.get()
            try:
                return try_mutant(folder, mutation, todo, server)
            finally:
                folders.put(folder)

        with ThreadPoolExecutor(WORKERS) as pool:
            jobs = {pool.submit(run, mutation, todo): mutation for mutation, todo in work}
            try:
                for job in as_completed(jobs):
                    yield jobs[job], job.result()
            finally:
                pool.shutdown(cancel_futures=True)


# Reports


def describe(mutation: Mutation, result: Result) -> str:
    state = f"killed by {result.killer}" if result.killer else "SURVIVED"
    if not result.killer and mutation.equivalent:
        state = "survived, as expected"
    elif result.killer and mutation.likely not in result.killer:
        state += f", not by {mutation.likely}"
    return f"{result.seconds:5.0f} s  {mutation.title}\n         {state}"


def summary(results: Sequence[tuple[Mutation, Result]]) -> tuple[str, bool]:
    """The closing text, and whether exactly the mutants survived that have a reason to."""
    alive = [m for m, result in results if not result.killer]
    holes = [m for m in alive if not m.equivalent]
    wrong = [(m, result) for m, result in results if m.equivalent and result.killer]
    lines = [f"{len(results)} mutants, {len(results) - len(alive)} killed, {len(alive)} survived"]
    if expected := [m for m in alive if m.equivalent]:
        lines += ["", "Survivors that change nothing:"]
        lines += [f"  {m.title}\n    because {m.equivalent}" for m in expected]
    if holes:
        lines += ["", "Survivors that the tests should notice:"]
        lines += [f"  {m.title}\n{_difference(m)}" for m in holes]
    if wrong:
        lines += ["", "Killed, although the list says that they change nothing:"]
        lines += [f"  {m.title}\n    killed by {result.killer}" for m, result in wrong]
    if others := [(m, r) for m, r in results if r.killer and m.likely not in r.killer]:
        lines += ["", "Killed, but not by the test that the list names:"]
        lines += [f"  {m.title}\n    killed by {result.killer}" for m, result in others]
    return "\n".join(lines), not holes and not wrong


def _difference(mutation: Mutation) -> str:
    sides = (("-", mutation.old), ("+", mutation.new))
    return "\n".join(f"    {mark} {line}" for mark, text in sides for line in text.splitlines())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of file, rule or text")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--laws", action="store_true", help="run the laws only")
    which.add_argument("--spark", action="store_true", help="break the Spark executor instead")
    parser.add_argument("--list", action="store_true", help="show the mutations and run nothing")
    options = parser.parse_args(arguments)
    chosen = [
        mutation
        for mutation in load_mutations()
        if mutation.is_on_spark == options.spark
        and options.only in "\n".join((mutation.title, mutation.old, mutation.new))
    ]
    if not chosen:
        print(f"no mutation has {options.only!r} in it", file=sys.stderr)
        return 2
    if options.list:
        print(*(f"{m.title}\n{_difference(m)}" for m in chosen), sep="\n")
        return 0

    if options.spark:
        print("Spark starts", flush=True)
    # Not above: this module is a plugin of the tests, and that one is to be loaded as one.
    from tests.spark.sessions import serving

    with serving() if options.spark else nullcontext("") as server:
        return report(chosen, laws=options.laws, server=server)


def report(chosen: Sequence[Mutation], *, laws: bool, server: str) -> int:
    """Try the mutants, say what becomes of each, and return the exit code."""
    baseline = untouched(chosen[0].file)
    work = [(baseline, unbroken(chosen, laws=laws))]
    work += [(mutation, stages(mutation, laws=laws)) for mutation in chosen]
    started = time.perf_counter()
    results: list[tuple[Mutation, Result]] = []
    for mutation, result in run_all(work, server):
        if mutation is not baseline:
            results.append((mutation, result))
            print(f"{len(results):3}/{len(chosen)} {describe(mutation, result)}", flush=True)
        elif result.killer:
            print(result.output[-5_000:])
            print(f"the tests fail without any mutation: {result.killer}", file=sys.stderr)
            return 2
        else:
            print(f"{result.seconds:.0f} s  the tests pass without any mutation", flush=True)
    text, fine = summary(sorted(results, key=lambda pair: chosen.index(pair[0])))
    print(f"\n{text}\n\n{(time.perf_counter() - started) / 60:.0f} minutes")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
