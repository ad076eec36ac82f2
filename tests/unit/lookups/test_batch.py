"""Net changes as a structure; what is refused is in test_maintain."""

from __future__ import annotations

import selfmaint
from lookups.batch import Batch, read_batch

TEXT = ".decl r(k: long, a: string) key(k) v(K, A) :- r(K, A), s(A)."


def batch(*changes: tuple) -> Batch:
    return read_batch(selfmaint.parse(TEXT).view("v").query, changes, known=["other"])


UPDATE = batch(
    ("r", "delete", (1, "a")),
    ("r", "insert", (1, "b")),
    ("r", "insert", (2, "c")),
    ("s", "delete", ("z",)),
    ("other", "insert", (7, 7, 7)),
)


def test_changes_by_relation() -> None:
    assert UPDATE.of("r", "insert") == ((1, "b"), (2, "c"))
    assert UPDATE.of("r", "delete") == ((1, "a"),)
    assert UPDATE.of("s", "insert") == ()
    assert UPDATE.of("other", "insert") == ()


def test_changed_values() -> None:
    assert UPDATE.is_changed("r", (0,), (1,))
    assert UPDATE.is_changed("r", (0, 1), (1, "a"))
    assert UPDATE.is_changed("r", (0, 1), (1, "b"))
    assert not UPDATE.is_changed("r", (0, 1), (1, "c"))
    assert not UPDATE.is_changed("s", (0,), ("y",))


def test_the_inserted_row_of_a_key() -> None:
    assert UPDATE.inserted("r", (0,), (1,)) == (1, "b")
    assert UPDATE.inserted("s", (0,), ("z",)) is None
    assert UPDATE.inserted("r", (0,), (9,)) is None


def test_an_update_keeps_its_key() -> None:
    assert UPDATE.keeps_key("r", (0,), (1, "b"))
    assert not UPDATE.keeps_key("r", (0,), (2, "c"))


def test_rows_are_admitted() -> None:
    assert batch(("r", "insert", [1, "a"])).of("r", "insert") == ((1, "a"),)


def test_null_is_no_key_that_two_rows_share() -> None:
    rows = ((None, "a"), (None, "b"))
    assert batch(*(("r", "insert", row) for row in rows)).of("r", "insert") == rows
