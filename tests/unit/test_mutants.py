"""The list of mutations cannot rot: each still applies, to a rule that is still there."""

import ast
from collections import Counter
from pathlib import PurePosixPath

import pytest

from tests.mutants import (
    ROOT,
    Mutation,
    Result,
    describe,
    load_mutations,
    main,
    read_mutations,
    run_tests,
    stages,
    summary,
    unbroken,
)

RULES = {
    "cq": {"roles", "partition", "selfjoins", "minimize", "conditions", "dependencies"},
    "lookups": {
        *("emit", "decide", "quick", "settle", "complete", "maintain"),
        *("evaluate", "batch", "live", "foreseen", "updates"),
    },
    "lookups/spark": {
        *("columns", "screens", "parts", "bindings", "probes", "evidence", "rounds", "chances"),
        *("misses", "counts", "execute", "indexing"),
    },
}
MUTATIONS = load_mutations()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.title)
def test_applies_exactly_once(mutation: Mutation) -> None:
    source = (ROOT / mutation.file).read_text(encoding="utf-8")
    ast.parse(mutation.apply(source))
    assert mutation.old != mutation.new


def test_every_file_of_rules_is_mutated() -> None:
    files = {PurePosixPath(mutation.file) for mutation in MUTATIONS}
    expected = {PurePosixPath(f"{p}/{name}.py") for p, names in RULES.items() for name in names}
    assert files == expected
    assert len(MUTATIONS) >= 80


def test_titles_are_distinct() -> None:
    times = Counter(mutation.title for mutation in MUTATIONS)
    assert [title for title, count in times.items() if count > 1] == []


def test_the_tests_run_as_they_do_for_a_mutant() -> None:
    one = "tests/unit/test_mutants.py::test_titles_are_distinct"
    failed, said = run_tests(ROOT, [one], "")
    assert not failed, said


def test_the_format() -> None:
    text = (
        "% a comment\n\n## a.py\n"
        "# first\n-   x = 1\n- y\n+ z\n= no one looks\n> test_it\n"
        "# second\n- p\n+ q\n"
    )
    assert read_mutations(text) == (
        Mutation("a.py", "first", "  x = 1\ny", "z", "no one looks", "test_it"),
        Mutation("a.py", "second", "p", "q"),
    )
    with pytest.raises(ValueError, match="not a line of the table"):
        read_mutations("x")


def test_a_text_that_occurs_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="occurs 2 times"):
        Mutation("a.py", "rule", "x", "y").apply("x x")


def test_summary() -> None:
    hole, same = Mutation("a.py", "rule", "x", "y"), Mutation("a.py", "other", "p", "q", "reason")
    killed, alive = Result("test_a", 1.0), Result("", 2.0)
    assert summary([(hole, killed), (same, alive)])[1]
    assert not summary([(hole, alive)])[1]
    assert not summary([(same, killed)])[1], "a killed mutant is not equivalent"
    assert "because reason" in summary([(same, alive)])[0]
    assert describe(hole, alive).endswith("SURVIVED")


def test_a_mutant_that_another_test_kills_is_listed() -> None:
    mutation = Mutation("lookups/spark/parts.py", "rule", "x", "y", likely="test_it")
    as_named, otherwise = Result("a.py::test_it", 1.0), Result("a.py::test_that", 1.0)
    assert describe(mutation, as_named).endswith("killed by a.py::test_it")
    assert describe(mutation, otherwise).endswith("killed by a.py::test_that, not by test_it")
    assert "not by the test" not in summary([(mutation, as_named)])[0]
    assert "not by the test" in summary([(mutation, otherwise)])[0]


def test_batches_come_first_where_they_notice_more() -> None:
    settle, emit, roles, batch = (
        stages(Mutation(file, "rule", "x", "y"))
        for file in ("lookups/settle.py", "lookups/emit.py", "cq/roles.py", "lookups/batch.py")
    )
    assert settle != emit
    assert {test for stage in roles for test in stage} == {
        test for stage in batch for test in stage
    }


def test_what_is_known_to_notice_comes_first_on_spark() -> None:
    mutation = Mutation("lookups/spark/parts.py", "rule", "x", "y", likely="test_it[7]")
    named, everything = stages(mutation)
    assert named == (f"{everything[0]}::test_it[7]",)
    assert unbroken([mutation]) == (named,), "what is not chosen does not run"


def test_what_changes_nothing_on_spark_runs_what_others_of_its_file_name() -> None:
    file = "lookups/spark/parts.py"
    (named,) = stages(Mutation(file, "rule", "x", "y", equivalent="reason"))
    others = {stages(m)[0] for m in MUTATIONS if m.file == file and m.likely}
    assert {(test,) for test in named} == others


def test_list_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--only", "cq/roles.py"]) == 0
    shown = capsys.readouterr().out
    assert "comparison" in shown
    assert "lookups/" not in shown
    assert main(["--list", "--only", "no such text"]) == 2
    assert main(["--list", "--spark"]) == 0
    assert "lookups/emit.py" not in capsys.readouterr().out
