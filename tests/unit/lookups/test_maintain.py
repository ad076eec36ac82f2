"""The batch rule, one paragraph at a time, on batches worked out by hand."""

from __future__ import annotations

from itertools import permutations

import pytest

import selfmaint
from lookups.batch import read_batch
from lookups.index import RowIndex
from lookups.maintain import Outcome, Question, answers_of, finish
from lookups.prepared import Prepared
from lookups.settle import settle
from lookups.verdict import Because, Kind
from selfmaint import InputError, View

RETAIL = """
.decl orders(order_id: long, cust: long, prod: long, qty: int)  key(order_id)
      references customer(cust), references product(prod)
.decl customer(cust: long, name: string, region: string)        key(cust)
.decl product(prod: long, category: string)                     key(prod)

sales(O, C, N, G, P, K, Q) :- orders(O, C, P, Q), customer(C, N, G), product(P, K).
"""
ANN, TOY, ORDER = (1, "ann", "EU"), (3, "toy"), (7, 1, 3, 5)
SALE = (7, 1, "ann", "EU", 3, "toy", 5)


def view_of(text: str, name: str = "v") -> View:
    return selfmaint.parse(text).view(name)


def run(view: View, changes: list, after: dict) -> Outcome:
    """Maintain the view from the database before the batch, and hold it against recomputation."""
    before = {name: set(rows) for name, rows in after.items()}
    for relation, action, row in changes:
        if action == "insert":
            before[relation].remove(row)
        else:
            before[relation].add(row)
    outcome = view.maintain(view.evaluate(before), changes, after)
    assert outcome.rows == view.evaluate(after)
    return outcome


def kinds(outcome: Outcome) -> list[str]:
    return [str(decision.kind) for decision in outcome.decisions]


def rules(outcome: Outcome) -> list[str]:
    return [str(decision.reason.rule) for decision in outcome.decisions]


# 5.1: relation by relation, deletions before insertions, evidence from before the deletions


def test_update_of_a_customer_asks_nobody() -> None:
    after = {"orders": {ORDER}, "customer": {(1, "ann", "US")}, "product": {TOY}}
    changes = [("customer", "delete", ANN), ("customer", "insert", (1, "ann", "US"))]
    outcome = run(view_of(RETAIL, "sales"), changes, after)
    assert outcome.rows == {(7, 1, "ann", "US", 3, "toy", 5)}
    assert outcome.questions == ()
    assert kinds(outcome) == ["self-maintained", "self-maintained"]


def test_update_without_declared_keys_asks_nobody() -> None:
    changes = [("s", "delete", (2, "EU")), ("s", "insert", (2, "US"))]
    after = {"r": {(1, 2), (9, 2)}, "s": {(2, "US")}}
    outcome = run(view_of("v(X, Y, Z) :- r(X, Y), s(Y, Z)."), changes, after)
    assert outcome.rows == {(1, 2, "US"), (9, 2, "US")}
    assert outcome.questions == ()


def test_rows_that_a_deletion_took_are_put_back() -> None:
    text = (
        ".decl r(x: long, y: long, h: string) key(x) .decl s(y: long) v(X, Y) :- r(X, Y, H), s(Y)."
    )
    changes = [("r", "delete", (1, 2, "a")), ("r", "insert", (1, 2, "b"))]
    outcome = run(view_of(text), changes, {"r": {(1, 2, "b")}, "s": {(2,)}})
    assert outcome.rows == {(1, 2)}
    assert outcome.questions == ()
    assert kinds(outcome) == ["unaffected", "unaffected"]
    assert rules(outcome) == ["unseen", "unseen"]


def test_hidden_join_value_after_own_deletion_is_a_miss() -> None:
    text = ".decl r(a: long, y: long) key(a) .decl s(y: long, h: long) v(A) :- r(A, Y), s(Y, H)."
    changes = [("r", "delete", (1, 2)), ("r", "insert", (1, 4))]
    outcome = run(view_of(text), changes, {"r": {(1, 4)}, "s": {(2, 0)}})
    assert outcome.rows == set()
    assert kinds(outcome) == ["self-maintained", "miss"]
    assert outcome.questions == (Question((1,), ("Y",), (), frozenset({(4,)})),)


def test_parents_and_children_leave_together() -> None:
    changes = [("customer", "delete", ANN), ("orders", "delete", ORDER)]
    after = {"orders": set(), "customer": set(), "product": {TOY}}
    outcome = run(view_of(RETAIL, "sales"), changes, after)
    assert outcome.rows == set()
    assert kinds(outcome) == ["unaffected", "self-maintained"]
    assert outcome.questions == ()


def test_each_occurrence_of_a_relation_gets_the_changes() -> None:
    changes = [("r", "delete", (2, 3)), ("r", "insert", (2, 5))]
    outcome = run(view_of("v(X, Y, Z) :- r(X, Y), r(Y, Z)."), changes, {"r": {(1, 2), (2, 5)}})
    assert outcome.rows == {(1, 2, 5)}
    assert rules(outcome) == ["several", "several"]


def test_order_of_a_net_batch_does_not_matter() -> None:
    view = view_of(RETAIL, "sales")
    changes = [
        ("customer", "delete", ANN),
        ("customer", "insert", (1, "ann", "US")),
        ("customer", "insert", (2, "bob", "EU")),
        ("orders", "insert", (8, 2, 3, 1)),
    ]
    after = {
        "orders": {ORDER, (8, 2, 3, 1)},
        "customer": {(1, "ann", "US"), (2, "bob", "EU")},
        "product": {TOY},
    }
    outcomes = [view.maintain({SALE}, order, after) for order in permutations(changes)]
    assert {outcome.rows for outcome in outcomes} == {view.evaluate(after)}
    assert {outcome.questions for outcome in outcomes} == {()}


def test_a_row_that_the_batch_changes_is_not_vouched_for() -> None:
    """p(5) is gone for the first subgoal when r(5, 6) is decided, and still there for the last."""
    changes = [("p", "delete", (5,)), ("r", "insert", (5, 6))]
    after = {"p": {(1,), (6,)}, "r": {(1, 5), (1, 6), (5, 6)}}
    outcome = run(view_of("v(X, Y) :- p(X), r(X, Y), p(Y)."), changes, after)
    assert outcome.rows == {(1, 6)}


def test_a_key_that_the_batch_changes_contradicts_nothing() -> None:
    """The deletion of c(NULL, 7, 0, 0) misses; until the end c has two rows with the key a = 7."""
    text = """
    .decl c(b: long, a: long, x: long, h: long) key(b) key(a)
    .decl r(a: long, x: long) key(a)
    v(B, A, X) :- c(B, A, X, _), r(A, X).
    """
    changes = [
        ("c", "delete", (None, 7, 0, 0)),
        ("c", "insert", (3, 7, 1, 0)),
        ("r", "delete", (7, 0)),
        ("r", "insert", (7, 1)),
    ]
    outcome = run(view_of(text), changes, {"c": {(3, 7, 1, 0)}, "r": {(7, 1)}})
    assert outcome.rows == {(3, 7, 1)}
    assert outcome.questions == ()


def test_a_contradicted_insertion_does_not_mind_deletions_of_its_relation() -> None:
    """Y is hidden, but it is v(1, 5, 6) that shows c(5, 6), and so that there is no c(5, 9)."""
    text = """
    .decl r(k: long, a: long, b: long, y: long) key(k)
    .decl c(a: long, b: long) key(a)
    v(K, A, B) :- r(K, A, B, Y), c(A, B), s(Y).
    """
    changes = [("r", "delete", (1, 5, 6, 7)), ("r", "insert", (1, 5, 9, 7))]
    outcome = run(view_of(text), changes, {"r": {(1, 5, 9, 7)}, "c": {(5, 6)}, "s": {(7,)}})
    assert kinds(outcome) == ["self-maintained", "unaffected"]
    assert outcome.questions == ()


# Foreign keys: keys of parents appear first and disappear last


def test_relations_that_refer_to_each_other_do_not_both_rely_on_it() -> None:
    text = """
    .decl a(k: long, x: string) key(k) references b(k)
    .decl b(k: long, y: string) key(k) references a(k)
    v(K, X, Y) :- a(K, X), b(K, Y).
    """
    changes = [("a", "insert", (1, "x")), ("b", "insert", (1, "y"))]
    outcome = run(view_of(text), changes, {"a": {(1, "x")}, "b": {(1, "y")}})
    assert outcome.rows == {(1, "x", "y")}
    assert kinds(outcome) == ["unaffected", "self-maintained"]


PARENT = """
.decl g(k: long, z: string) key(k)
.decl c(k: long) references g(k)
.decl d(k: long) references g(k)
"""


def test_a_parent_that_nothing_refers_to_leaves_unseen() -> None:
    changes = [("g", "delete", (6, "a"))]
    after = {"g": {(5, "a")}, "c": {(5,)}}
    outcome = run(view_of(PARENT + "v(Z) :- g(K, Z), c(K)."), changes, after)
    assert kinds(outcome) == ["unaffected"]
    assert rules(outcome) == ["foreign-key"]


def test_a_parent_takes_along_the_rows_of_a_child_whose_deletion_missed() -> None:
    """Another c(-, 5) could still show v(5, 'a'), but g(5, 'a') is gone and v shows all of it."""
    text = """
    .decl g(k: long, z: string) key(k)
    .decl c(id: long, k: long) references g(k)
    v(K, Z) :- g(K, Z), c(_, K).
    """
    changes = [("c", "delete", (1, 5)), ("g", "delete", (5, "a"))]
    outcome = run(view_of(text), changes, {"g": {(6, "a")}, "c": {(2, 6)}})
    assert kinds(outcome) == ["unaffected", "self-maintained"]
    assert rules(outcome) == ["settled", "delete-exposed"]
    assert outcome.questions == ()


def test_a_grandparent_takes_along_the_rows_of_a_parent_whose_deletion_missed() -> None:
    text = """
    .decl g(k: long, z: string) key(k)
    .decl p(id: long, k: long)  key(id) references g(k)
    .decl c(id: long)           references p(id)
    v(K, Z) :- g(K, Z), p(P, K), c(P).
    """
    changes = [("g", "delete", (5, "a")), ("p", "delete", (2, 5)), ("c", "delete", (2,))]
    outcome = run(view_of(text), changes, {"g": set(), "p": set(), "c": set()})
    assert kinds(outcome) == ["self-maintained", "unaffected", "unaffected"]
    assert rules(outcome) == ["delete-exposed", "settled", "settled"]
    assert outcome.questions == ()


def test_a_missed_deletion_that_refers_to_another_parent_is_not_in_the_way() -> None:
    changes = [("c", "delete", (5,)), ("g", "delete", (6, "a"))]
    after = {"g": {(4, "a"), (5, "a")}, "c": {(4,)}}
    outcome = run(view_of(PARENT + "v(Z) :- g(K, Z), c(K)."), changes, after)
    assert kinds(outcome) == ["miss", "unaffected"]


def test_one_child_that_is_gone_is_enough_for_a_parent_to_leave() -> None:
    """The deletion of c(6) misses, but there is no d(6)."""
    changes = [("c", "delete", (6,)), ("g", "delete", (6, "a"))]
    after = {"g": {(5, "a")}, "c": {(5,)}, "d": {(5,)}}
    outcome = run(view_of(PARENT + "v(Z) :- g(K, Z), c(K), d(K)."), changes, after)
    assert kinds(outcome) == ["miss", "unaffected"]


# 5.3: who answers what missed


def test_new_customer_with_a_first_order_asks_nobody() -> None:
    changes = [("orders", "insert", (8, 2, 3, 1)), ("customer", "insert", (2, "bob", "US"))]
    after = {"orders": {ORDER, (8, 2, 3, 1)}, "customer": {ANN, (2, "bob", "US")}, "product": {TOY}}
    outcome = run(view_of(RETAIL, "sales"), changes, after)
    assert outcome.rows == {SALE, (8, 2, "bob", "US", 3, "toy", 1)}
    assert outcome.questions == ()
    assert kinds(outcome) == ["self-maintained", "unaffected"]
    assert rules(outcome) == ["settled", "foreign-key"]


LINES = """
.decl orders(o: long, c: long) key(o)
.decl line(o: long, n: long, item: string) key(o, n) references orders(o)
v(O, C, N, I) :- orders(O, C), line(O, N, I).
"""


def test_order_with_its_lines_asks_nobody() -> None:
    changes = [
        ("orders", "insert", (1, 5)),
        ("line", "insert", (1, 1, "a")),
        ("line", "insert", (1, 2, "b")),
    ]
    after = {"orders": {(1, 5)}, "line": {(1, 1, "a"), (1, 2, "b")}}
    outcome = run(view_of(LINES), changes, after)
    assert outcome.rows == {(1, 5, 1, "a"), (1, 5, 2, "b")}
    assert outcome.questions == ()
    assert kinds(outcome) == ["unaffected", "self-maintained", "self-maintained"]
    assert rules(outcome) == ["foreign-key", "batch", "batch"]


def test_without_the_foreign_key_the_source_knows_whether_there_are_more_lines() -> None:
    view = view_of(LINES.replace("references orders(o)", ""))
    changes = [("orders", "insert", (1, 5)), ("line", "insert", (1, 1, "a"))]
    outcome = run(view, changes, {"orders": {(1, 5)}, "line": {(1, 1, "a"), (1, 2, "b")}})
    assert outcome.rows == {(1, 5, 1, "a"), (1, 5, 2, "b")}
    assert kinds(outcome) == ["miss", "self-maintained"]
    assert outcome.questions == (Question((1,), ("O",), ("N", "I"), frozenset({(1,)})),)


def test_key_that_the_batch_only_deleted_answers_with_nothing() -> None:
    text = """
    .decl r(x: long, y: long) key(x)
    .decl s(y: long, z: long) key(y)
    v(X, Y, Z) :- r(X, Y), s(Y, Z).
    """
    changes = [("r", "insert", (1, 2)), ("s", "delete", (2, 3))]
    outcome = run(view_of(text), changes, {"r": {(1, 2)}, "s": set()})
    assert outcome.rows == set()
    assert outcome.questions == ()


def test_batch_knows_a_whole_row_without_a_key() -> None:
    changes = [("r", "insert", (1, 2)), ("s", "insert", (1, 2))]
    view = view_of("v(X, Y) :- r(X, Y), s(X, Y).")
    outcome = run(view, changes, {"r": {(1, 2)}, "s": {(1, 2)}})
    assert outcome.rows == {(1, 2)}
    assert outcome.questions == ()
    assert rules(outcome) == ["batch", "batch"]


def test_comparison_that_the_batch_decides() -> None:
    text = ".decl s(y: long, z: long) key(y) v(X, Y, Z) :- r(X, Y), s(Y, Z), X < Z."
    changes = [("r", "insert", (1, 2)), ("r", "insert", (9, 2)), ("s", "insert", (2, 3))]
    outcome = run(view_of(text), changes, {"r": {(1, 2), (9, 2)}, "s": {(2, 3)}})
    assert outcome.rows == {(1, 2, 3)}


def test_missed_change_blocks_what_it_could_alter() -> None:
    """The settled view still shows v(7, 2, 5, 8), whose s(2, 5, a) is gone after the batch."""
    view = view_of("v(X, Y, Z, W) :- r(X, Y), s(Y, Z, _), t(X, W).")
    changes = [("s", "delete", (2, 5, "a")), ("r", "insert", (1, 2))]
    after = {"r": {(7, 2), (1, 2)}, "s": {(2, 6, "b")}, "t": {(7, 8), (1, 9)}}
    outcome = run(view, changes, after)
    assert outcome.rows == {(7, 2, 6, 8), (1, 2, 6, 9)}
    assert kinds(outcome) == ["miss", "miss"]
    asked = {
        (question.subgoals, question.is_slice): question.keys for question in outcome.questions
    }
    assert asked == {
        ((1,), False): {(2,)},
        ((2,), False): {(1,)},
        ((0, 1, 2), True): {(2, 5)},
    }


def test_missed_change_of_another_key_blocks_nothing() -> None:
    view = view_of("v(X, Y, Z, W) :- r(X, Y), s(Y, Z, _), t(X, W).")
    changes = [("s", "delete", (3, 5, "a")), ("r", "insert", (1, 2))]
    after = {"r": {(7, 2), (7, 3), (1, 2)}, "s": {(2, 6, "b"), (3, 5, "b")}, "t": {(7, 8), (1, 9)}}
    outcome = run(view, changes, after)
    asked = {question.subgoals for question in outcome.questions if not question.is_slice}
    assert asked == {(2,)}


def test_missed_change_of_a_key_that_differs_in_part_blocks_nothing() -> None:
    view = view_of("v(X, Y, U, Z, W) :- r(X, Y, U), s(Y, U, Z, _), t(X, W).")
    changes = [("s", "delete", (2, 4, 5, "a")), ("r", "insert", (1, 2, 3))]
    after = {
        "r": {(7, 2, 3), (7, 2, 4), (1, 2, 3)},
        "s": {(2, 3, 6, "b"), (2, 4, 5, "b")},
        "t": {(7, 8), (1, 9)},
    }
    outcome = run(view, changes, after)
    asked = {question.subgoals for question in outcome.questions if not question.is_slice}
    assert asked == {(2,)}


def test_a_row_that_another_subgoal_shows_is_not_asked_for() -> None:
    """t(5, -) is missing. p(5) and p(1) are not: v(1, 5, 8) shows both, in each other's place."""
    view = view_of("v(X, Y, W) :- r(X, Y), p(X), p(Y), t(X, W).")
    after = {"r": {(1, 5), (5, 1)}, "p": {(1,), (5,)}, "t": {(1, 8), (5, 9)}}
    outcome = run(view, [("r", "insert", (5, 1))], after)
    assert outcome.rows == {(1, 5, 8), (5, 1, 9)}
    assert outcome.questions == (Question((3,), ("X",), ("W",), frozenset({(5,)})),)


def test_missed_deletion_replaces_a_slice() -> None:
    view = view_of("v(X, Z) :- r(X, Y), s(Y, Z).")
    after = {"r": {(1, 4), (3, 2)}, "s": {(2, 5), (4, 6)}}
    outcome = run(view, [("r", "delete", (1, 2))], after)
    assert outcome.rows == {(1, 6), (3, 5)}
    assert kinds(outcome) == ["miss"]
    assert outcome.questions == (Question((0, 1), ("X",), ("Z",), frozenset({(1,)}), True),)


def test_missed_deletion_whose_slice_is_empty_asks_nobody() -> None:
    """r(1, 2) goes and with it v(1, 5); then the slice of s(2, 5, a), v(-, 2, 5), has no row."""
    view = view_of("v(X, Y, Z) :- s(Y, Z, _), r(X, Y).")
    changes = [("s", "delete", (2, 5, "a")), ("r", "delete", (1, 2))]
    outcome = run(view, changes, {"r": set(), "s": set()})
    assert outcome.rows == set()
    assert outcome.questions == ()
    assert kinds(outcome) == ["unaffected", "self-maintained"]


# 5.4: one question per group, with the set of keys


def test_one_question_per_group_with_all_its_keys() -> None:
    view = view_of("v(X, Y, Z, W) :- r(X, Y), s(Y, Z), t(X, W).")
    changes = [("r", "insert", row) for row in [(1, 10), (2, 20), (3, 10)]]
    after = {
        "r": {(1, 10), (2, 20), (3, 10)},
        "s": {(10, 5), (20, 6)},
        "t": {(1, 0), (2, 0), (3, 0)},
    }
    outcome = run(view, changes, after)
    assert outcome.questions == (
        Question((1,), ("Y",), ("Z",), frozenset({(10,), (20,)})),
        Question((2,), ("X",), ("W",), frozenset({(1,), (2,), (3,)})),
    )


def test_one_question_for_all_slices() -> None:
    view = view_of("v(X, Z) :- r(X, Y), s(Y, Z).")
    changes = [("r", "delete", (1, 2)), ("r", "delete", (3, 2))]
    outcome = run(view, changes, {"r": {(1, 4)}, "s": {(2, 5), (4, 5)}})
    assert [question.keys for question in outcome.questions] == [{(1,), (3,)}]


# The report


def test_decisions_follow_the_changes() -> None:
    text = "v(X, Y, Z) :- r(X, Y, 1), s(Y, Z). other(X) :- unrelated(X)."
    changes = [
        ("r", "insert", (1, 2, 0)),
        ("r", "insert", (1, 2, 1)),
        ("r", "insert", (8, 3, 1)),
        ("s", "delete", (4, 9)),
        ("unrelated", "insert", (1,)),
    ]
    after = {
        "r": {(9, 2, 1), (1, 2, 0), (1, 2, 1), (8, 3, 1)},
        "s": {(2, 5)},
        "unrelated": {(1,)},
    }
    outcome = run(view_of(text), changes, after)
    found = [(d.relation, d.action, d.row) for d in outcome.decisions]
    assert found == changes
    assert kinds(outcome) == ["irrelevant", "self-maintained", "miss", "unaffected", "irrelevant"]
    assert rules(outcome)[0] == "screen"
    assert rules(outcome)[4] == "unused"


def test_empty_batch() -> None:
    outcome = view_of("v(X) :- r(X).").maintain({(1,)}, [], {"r": {(1,)}})
    assert outcome == Outcome(frozenset({(1,)}), (), ())


@pytest.mark.parametrize("rows", [[], [(1,)]], ids=["empty", "not empty"])
def test_index_in_place_of_rows(rows: list) -> None:
    after = {"r": {*rows, (2,)}}
    view = view_of("v(X) :- r(X).")
    outcome = view.maintain(selfmaint.index(rows), [("r", "insert", (2,))], after)
    assert outcome.rows == after["r"]


# What is not net is refused, with the row in the message

NET = ".decl r(k: long, a: string) key(k) v(K, A) :- r(K, A)."


@pytest.mark.parametrize(
    ("changes", "rows", "code", "said"),
    [
        pytest.param(
            [("r", "insert", (1, "a")), ("r", "insert", (1, "a"))],
            {(1, "a")},
            "LP207",
            "r(1, 'a') is in the batch twice",
            id="inserted twice",
        ),
        pytest.param(
            [("r", "delete", (1, "a")), ("r", "delete", (1, "a"))],
            set(),
            "LP207",
            "r(1, 'a') is in the batch twice",
            id="deleted twice",
        ),
        pytest.param(
            [("r", "delete", (1, "a")), ("r", "insert", (1, "a"))],
            {(1, "a")},
            "LP207",
            "r(1, 'a') is both inserted and deleted",
            id="inserted and deleted",
        ),
        pytest.param(
            [("r", "insert", (1, "a"))],
            set(),
            "LP207",
            "r(1, 'a') is inserted",
            id="inserted, but absent after",
        ),
        pytest.param(
            [("r", "delete", (1, "a"))],
            {(1, "a")},
            "LP207",
            "r(1, 'a') is deleted",
            id="deleted, but there after",
        ),
        pytest.param(
            [("r", "insert", (1, "a")), ("r", "insert", (1, "b"))],
            {(1, "a"), (1, "b")},
            "LP208",
            "key(k): (1, 'a') and (1, 'b')",
            id="two insertions of one key",
        ),
        pytest.param(
            [("r", "delete", (1, "a")), ("r", "delete", (1, "b"))],
            set(),
            "LP208",
            "key(k): (1, 'a') and (1, 'b')",
            id="two deletions of one key",
        ),
        pytest.param([("r", "insert", (1,))], set(), "LP202", "(1,)", id="wrong number of values"),
        pytest.param([("r", "insert", ("x", "a"))], set(), "LP203", "'x'", id="wrong type"),
        pytest.param([("q", "insert", (1,))], set(), "LP205", "`q`", id="unknown relation"),
        pytest.param([("r", "upsert", (1, "a"))], set(), "LP206", "upsert", id="unknown action"),
        pytest.param(["insert r"], set(), "LP206", "insert r", id="no change at all"),
    ],
)
def test_refused(changes: list, rows: set, code: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        view_of(NET).maintain([], changes, {"r": rows})
    assert caught.value.code == code
    assert said in caught.value.message


def test_skipped_lookups_are_not_made_in_either_half() -> None:
    """The view shows both groups of the first insertion, and one of the second."""
    view = view_of("v(X, Y, A, B) :- r(X, Y), s(X, A), t(Y, B).")
    tables = {"r": [(1, 2), (1, 1), (1, 3)], "s": [(1, 7)], "t": [(1, 8), (2, 9), (3, 9)]}
    index = RowIndex([(1, 2, 7, 9), (5, 1, 5, 8)], 4)
    batch = read_batch(view.query, [("r", "insert", (1, 1)), ("r", "insert", (1, 3))])
    prepared = Prepared(view.query)
    asked = {}
    for skipped in ((), ("s",), ("r",)):
        settled = settle(prepared, batch, index, skipped)
        effect = finish(prepared, batch, index, settled, answers_of(view.query, tables))
        assert effect.inserts == {(1, 1, 7, 8), (1, 3, 7, 9)}
        asked[skipped] = {question.bound: question.keys for question in effect.questions}
    assert asked[()] == asked[("s",)] == {("Y",): {(3,)}}
    assert asked[("r",)] == {("X",): {(1,)}, ("Y",): {(1,), (3,)}}
    decision = effect.decision(view.query, "r", "insert", (1, 1))
    assert (decision.kind, decision.reason.rule) == (Kind.MISS, Because.SKIPPED)
    assert decision.reason.answers == ()
