from __future__ import annotations

import doctest

import pytest

import warehouse.tables.log
import warehouse.tables.marks
import warehouse.tables.order
import warehouse.tables.store
from warehouse.tables import (
    BatchOrderError,
    ConflictError,
    CorruptLogError,
    Extent,
    MissingTableError,
    Place,
    ProgramChangedError,
    State,
    StorageError,
    last_batch,
    place_of,
)
from warehouse.tables.errors import kind_of, reason_of
from warehouse.tables.guarded import Entry, GuardedTable
from warehouse.tables.marks import Kind, Mark
from warehouse.tables.store import view_path


@pytest.mark.parametrize(
    "module",
    [
        warehouse.tables.log,
        warehouse.tables.marks,
        warehouse.tables.order,
        warehouse.tables.store,
    ],
)
def test_the_examples_in_the_docstrings_run(module):
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0


@pytest.mark.parametrize(
    ("number", "last", "place"),
    [(0, None, Place.NEXT), (7, None, Place.NEXT), (18, 17, Place.NEXT), (17, 17, Place.REPLAY)],
)
def test_a_batch_in_order_has_a_place(number, last, place):
    assert place_of(number, last, "view `v`") == place


@pytest.mark.parametrize(
    ("number", "place"),
    [(15, Place.REPLAY), (16, Place.REPLAY), (17, Place.REPLAY), (18, Place.NEXT)],
)
def test_the_numbers_of_an_extended_batch_are_replays(number, place):
    assert place_of(number, 17, "view `v`", extended_from=15) == place


@pytest.mark.parametrize("number", [14, 19])
def test_beyond_an_extended_batch_numbers_are_out_of_order(number):
    with pytest.raises(BatchOrderError, match="expected is batch 18"):
        place_of(number, 17, "view `v`", extended_from=15)


@pytest.mark.parametrize(
    ("states", "last"),
    [
        ([], None),
        ([State(0, None)], None),
        ([State(0, None), State(1, 7)], Extent(7, 7)),
        ([State(3, 6), State(4, 7)], Extent(7, 7)),
        ([State(3, 6), State(4, 9, 7)], Extent(7, 9)),
        # One was repaired as of the batch's end; one has less of it than the others.
        ([State(3, 9), State(4, 9, 7), State(2, 8, 5)], Extent(7, 9)),
        ([State(4, 9, 7), State(3, 10)], Extent(10, 10)),
    ],
)
def test_the_last_batch_has_all_its_numbers(states, last):
    assert last_batch({f"v{place}": state for place, state in enumerate(states)}) == last


@pytest.mark.parametrize(("number", "what"), [(16, "older"), (19, "gap"), (-1, "older")])
def test_a_batch_out_of_order_is_told_what_is_expected(number, what):
    with pytest.raises(BatchOrderError) as caught:
        place_of(number, 17, "view `v`")
    assert (caught.value.code, caught.value.expected, caught.value.batch) == ("WH342", 18, number)
    assert what in str(caught.value)
    assert "expected is batch 18" in str(caught.value)


def test_a_mark_comes_back():
    mark = Mark(Kind.BATCH, 18, {"miss": 2, "ü": "`'\""})
    assert Mark.parse(mark.dump()) == mark
    assert mark.id != Mark(Kind.BATCH, 18).id
    extended = Mark(Kind.BATCH, 18, extended_from=16)
    assert Mark.parse(extended.dump()) == extended


@pytest.mark.parametrize(
    "text", [None, "", "{}", "[]", "3", "null", "by hand", '{"selfmaint": 2}', '{"selfmaint": 1}']
)
def test_what_is_no_mark_is_somebody_elses(text):
    assert Mark.parse(text) is None


@pytest.mark.parametrize("kind", [Kind.BATCH, Kind.RECORD])
def test_a_batch_that_was_extended_is_applied_again_under_its_own_number(kind):
    """Whoever has the changes of batch 7 would otherwise give them as batch 8."""
    mark = Mark(kind, 8, extended_from=7)
    error = GuardedTable(None, "somewhere", "view `sales`")._conflict(41, mark)
    assert error.batch == 7
    assert "batch 7" in str(error).lower()
    assert "number=7`" in str(error)
    assert "8" not in str(error)


@pytest.mark.parametrize(
    ("operation", "mark", "changes_rows", "is_foreign"),
    [
        ("WRITE", None, True, True),
        ("RESTORE", None, True, True),
        ("an operation of tomorrow", None, True, True),
        ("OPTIMIZE", None, False, False),
        ("VACUUM END", None, False, False),
        ("WRITE", Mark(Kind.BATCH, 1), True, False),
        ("OPTIMIZE", Mark(Kind.OPTIMIZE), False, False),
    ],
)
def test_which_commits_count_as_writes(operation, mark, changes_rows, is_foreign):
    entry = Entry(3, operation, mark, {})
    assert (entry.changes_rows, entry.is_foreign) == (changes_rows, is_foreign)


NAMES = ["sales", "Sales", "_sales", "-", "-2d-", "2d", ".", "..", "a/b", "a b", "a`b", "ä", "a%b"]


def test_folders_of_views_are_distinct_and_stay_inside():
    paths = [view_path("/data", name) for name in NAMES]
    assert len({path.lower() for path in paths}) == len(NAMES)
    for path in paths:
        folder = path.removeprefix("/data/views/")
        assert folder != path
        assert not folder.startswith(("_", "."))
        assert "/" not in folder


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        (
            "o1: [DELTA_MAX_COMMIT_RETRIES_EXCEEDED] This commit",
            ConflictError,
            "DELTA_MAX_COMMIT_RETRIES_EXCEEDED",
        ),
        (
            "[DELTA_CONCURRENT_APPEND.WITHOUT_HINT] x",
            ConflictError,
            "DELTA_CONCURRENT_APPEND.WITHOUT_HINT",
        ),
        (
            "[DELTA_MISSING_DELTA_TABLE] `x` is no",
            MissingTableError,
            "DELTA_MISSING_DELTA_TABLE",
        ),
        ("[DELTA_MISSING_PART_FILES] x", CorruptLogError, "DELTA_MISSING_PART_FILES"),
        (
            "[FAILED_READ_FILE.NO_HINT] while reading file:///x/_delta_log/0.json",
            CorruptLogError,
            "FAILED_READ_FILE.NO_HINT",
        ),
        (
            "[FAILED_READ_FILE.NO_HINT] while reading file:///x/part-0.parquet",
            StorageError,
            "FAILED_READ_FILE.NO_HINT",
        ),
        (
            "[TASK_WRITE_FAILED] s3a://key:secret@b java.io.IOException: No space left on device",
            StorageError,
            "No space left on device",
        ),
        (
            "java.io.FileNotFoundException: File file:/x/_delta_log does not exist",
            MissingTableError,
            "RuntimeError",
        ),
        (
            "java.io.FileNotFoundException: File file:/x/_delta_log/1.json does not exist",
            CorruptLogError,
            "RuntimeError",
        ),
        ("password=hunter2", StorageError, "RuntimeError"),
    ],
)
def test_errors_of_spark_are_told_apart_and_not_repeated(text, kind, reason):
    error = RuntimeError(text)
    assert kind_of(error) is kind
    assert reason_of(error) == reason


def test_a_changed_program_is_shown_part_by_part():
    error = ProgramChangedError([("view `v`", "v(X) :- r(X).", None), ("relation `r`", None, "r")])
    assert error.code == "WH346"
    assert "2 parts differ" in str(error)
    assert "view `v`: v(X) :- r(X). -> nothing" in str(error)
