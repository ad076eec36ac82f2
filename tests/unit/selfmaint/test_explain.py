"""Explanations: the grades, the proposals, and the words."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from cq.diagnostics import InputError
from cq.printer import print_relation, print_rule
from lookups.plan import ACTIONS, Action
from property_tests.strategies import FLAVOURS, Flavour, case
from selfmaint import Program, parse
from selfmaint.edits import DeclareKey, DeclareReference, Expose
from selfmaint.explain import Explanation, explain
from selfmaint.grade import Grade, Maintainable, grade
from selfmaint.proposals import MOST_ALIKE, Proposal

Golden = Callable[[str, str], None]

RETAIL = """
.decl orders(order_id: long, cust: long, prod: long, qty: int)  key(order_id)
      references customer(cust), references product(prod)
.decl customer(cust: long, name: string, region: string)        key(cust)
.decl product(prod: long, category: string)                     key(prod)

sales(O, C, N, G, P, K, Q) :- orders(O, C, P, Q), customer(C, N, G), product(P, K).
eu_sales(O, N)             :- orders(O, C, _, Q) & customer(C, N, 'EU') & Q >= 10.
"""
LOOSE_RETAIL = RETAIL.replace("references customer(cust), references product(prod)", "")
PAPER = "v(X, Y, Z) :- r(U, X, Y), s(X, Z)."


def explained(text: str, view: str = "v") -> Explanation:
    return explain(parse(text), view)


def texts(text: str, relation: str, action: Action, view: str = "v") -> list[str]:
    return [proposal.text for proposal in explained(text, view).cell(relation, action).proposals]


def followed(program: Program, proposal: Proposal) -> Program:
    """The program, read again from its text with the proposal's fragment put in.

    Views over a view that exposes more would have to name one more argument; they are left out.
    """
    relations = {n: print_relation(r) for n, r in program.relations.items() if r.declared}
    rules = {rule.head.predicate: print_rule(rule) for rule in program.source.syntax.rules}
    for line in proposal.fragment:
        name = line.removeprefix(".decl ").partition("(")[0]
        if line.startswith(".decl "):
            relations[name] = line
        else:
            rules = {n: rule for n, rule in rules.items() if f" {name}(" not in rule}
            rules[name] = line
    return parse("\n".join([*relations.values(), *rules.values()]))


# The words


@pytest.mark.parametrize("view", ["sales", "eu_sales"])
def test_retail_text(golden: Golden, view: str) -> None:
    golden(f"explain/{view}.txt", explained(RETAIL, view).to_text())


def test_loose_retail_text(golden: Golden) -> None:
    golden("explain/sales_without_foreign_keys.txt", explained(LOOSE_RETAIL, "sales").to_text())


def test_paper_text(golden: Golden) -> None:
    golden("explain/paper.txt", explained(PAPER).to_text())


def test_all_kinds_of_remarks_text(golden: Golden) -> None:
    text = """
    .decl child(id, parent) key(id) references parent(parent)
    .decl parent(parent, name) key(parent)
    inner(X, Y) :- child(X, Y), parent(Y, _), note(X, _), note(X, Z), Z > 1.
    v(X)        :- inner(X, Y), inner(X, W), tag(W, 'a').
    """
    golden("explain/remarks.txt", explained(text).to_text())


def test_text_stays_within_100_columns() -> None:
    name = "a" * 300
    columns = ", ".join(f"Column{i}" for i in range(30))
    text = f"{name}({columns}) :- {name}_r({columns}, H), {name}_s(H, Z), Z != 1."
    assert max(map(len, explained(text, name).to_text().splitlines())) <= 100


def test_json_is_versioned_and_complete() -> None:
    document = json.loads(explained(RETAIL, "eu_sales").to_json())
    assert (document["format"], document["version"]) == ("selfmaint-explanation", 1)
    assert [(cell["relation"], cell["action"]) for cell in document["cells"]] == [
        ("orders", "insert"),
        ("orders", "delete"),
        ("customer", "insert"),
        ("customer", "delete"),
    ]
    proposal = document["cells"][0]["proposals"][0]
    assert proposal["edits"] == [{"kind": "expose", "variables": ["C"], "columns": [""]}]
    assert (proposal["maintainable"], proposal["in_update"]) == ("sometimes", "sometimes")


def test_the_same_program_gives_the_same_bytes() -> None:
    code = (
        "import sys; from selfmaint import parse; from selfmaint.explain import explain\n"
        "from selfmaint.picture import picture\n"
        "program = parse(sys.argv[1])\n"
        "print([explain(program, v).to_json() + picture(program.view(v)) for v in program.views])"
    )
    text = f"{RETAIL}{PAPER}w(X) :- r(X, Y, Y), q(Y, Z), q(X, Z), q(Z, X), t(Z)."

    def run(seed: str) -> bytes:
        return subprocess.run(
            [sys.executable, "-c", code, text],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout

    assert run("1") == run("2")


# Grades


@pytest.mark.parametrize(
    ("text", "relation", "action", "alone", "in_update"),
    [
        pytest.param("v(X) :- r(X).", "r", "insert", "always", "always", id="no other subgoal"),
        pytest.param(PAPER, "s", "delete", "always", "always", id="all exposed"),
        pytest.param(PAPER, "r", "delete", "sometimes", "sometimes", id="own hidden"),
        pytest.param(PAPER, "r", "insert", "sometimes", "sometimes", id="join exposed"),
        pytest.param(
            f".decl r(a, b, c) key(b) {PAPER}", "r", "delete", "always", "always", id="key exposed"
        ),
        pytest.param(
            f".decl s(a, b) key(a) {PAPER}",
            "s",
            "insert",
            "never",
            "sometimes",
            id="the view cannot show a new key, but the old row of an UPDATE",
        ),
        pytest.param(
            f".decl r(a, b, c) references s(b) .decl s(a, b) key(a) {PAPER}",
            "s",
            "insert",
            "always",
            "sometimes",
            id="referenced",
        ),
        pytest.param(
            "v(X) :- r(X, Y), s(Y).", "r", "insert", "sometimes", "sometimes", id="join hidden"
        ),
        pytest.param(
            ".decl r(a, b) key(a) v(X) :- r(X, Y), s(Y).",
            "r",
            "insert",
            "never",
            "never",
            id="join hidden and key exposed: no lookup is left",
        ),
        pytest.param(
            ".decl r(a, b, c) key(a) .decl s(b, d) key(b)"
            "v(X, Y, D) :- r(X, Y, D), s(Y, D), t(H), q(X, H).",
            "r",
            "insert",
            "sometimes",
            "sometimes",
            id="a contradiction is left",
        ),
        pytest.param(
            "v(X, Z) :- r(X, Y), s(Y, Z).", "r", "insert", "never", "never", id="insert never"
        ),
        pytest.param(
            ".decl r(a, b, c) key(a) v(X, C, Z) :- r(X, Y, C), s(Y, Z).",
            "r",
            "insert",
            "never",
            "sometimes",
            id="insert never, but an UPDATE may keep what is hidden",
        ),
        pytest.param(
            ".decl r(a, b, c) key(a) v(X, Z) :- r(X, Y, C), s(Y, Z).",
            "r",
            "insert",
            "never",
            "never",
            id="an UPDATE that keeps what is hidden changes nothing that is shown",
        ),
        pytest.param(
            ".decl r(a, b, c, d) key(a, d) v(X, C, Z) :- r(X, Y, C, C), s(Y, Z).",
            "r",
            "insert",
            "never",
            "never",
            id="an UPDATE that keeps what is hidden can change nothing",
        ),
        pytest.param(
            ".decl r(a, b) references s(b) .decl s(b) key(b) v(X) :- r(X, Y), s(Y).",
            "s",
            "insert",
            "unused",
            "unused",
            id="dropped",
        ),
        pytest.param("v(X) :- r(X), X < 1, X > 2.", "r", "insert", "unused", "unused", id="empty"),
        pytest.param(
            "v(X, Y) :- r(X, Y), r(Y, Z).", "r", "delete", "sometimes", "sometimes", id="the worst"
        ),
    ],
)
def test_grades(text: str, relation: str, action: Action, alone: str, in_update: str) -> None:
    cell = explained(text).cell(relation, action)
    assert (cell.maintainable, cell.in_update) == (alone, in_update)


@pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda flavour: flavour.name)
def test_grades_hold_on_random_databases(flavour: Flavour) -> None:
    for seed in range(40):
        found = case(flavour, seed, 1 + seed % 4)
        plan = parse(found.world.text()).view("v").plan(found.change.relation, found.change.kind)
        kind = plan.decide(found.rows, found.change.row).kind
        match grade(plan).alone:
            case Maintainable.ALWAYS:
                assert kind != "miss", found.text()
            case Maintainable.UNUSED:
                assert kind == "irrelevant", found.text()
            case Maintainable.NEVER if len(plan.steps) == 1:
                assert kind in ("miss", "irrelevant"), found.text()
            case _:
                pass


def test_grades_are_ordered_by_what_a_change_on_its_own_gets() -> None:
    values = list(Maintainable)
    assert values == ["never", "sometimes", "always", "unused"]
    ordered = [Grade(alone, in_update) for alone in values for in_update in values]
    assert all(low < high and not high < low for low, high in pairwise(ordered))


def test_what_an_update_tells_is_noted() -> None:
    text = ".decl r(a, b, c) key(a) v(X, C, Z) :- r(X, Y, C), s(Y, Z)."
    note = "in an update that keeps b, the old row shows what it joins with"
    assert explained(text).cell("r", "insert").notes == (f"{note}, unless a is NULL",)
    assert explained(text.replace("(X, C, Z)", "(X, Z)")).cell("r", "insert").notes == ()


def test_what_the_view_may_show_in_an_update_is_noted() -> None:
    text = """
        .decl r(k, v, y) key(k)  .decl s(k, v) key(k)
        v(K, V, Z) :- r(K, V, Y), s(K, V), t(Y, Z).
    """
    assert explained(text).cell("r", "insert").notes == (
        "the view cannot show a new key yet; in an update it may show the old row",
    )


def test_a_nullable_key_is_noted() -> None:
    assert explained(".decl r(a, b, c) key(b, c) v(B, C) :- r(A, B, C).").cell(
        "r", "delete"
    ).notes == ("except for a row with NULL in b or c",)
    text = ".decl r(a, b) key(b) v(B) :- r(A, B), s(B)."
    assert explained(text).cell("r", "delete").notes == ()  # a join variable is never NULL


def test_lookups_are_those_of_the_plan() -> None:
    program = parse("v(X, Y, Z, T) :- r(X, Y, Z), p(b, X, Y), p(Z, Y, Z), p(X, Z, T).")
    for cell in explain(program, "v").cells:
        plan = program.view("v").plan(cell.relation, cell.action)
        assert len(cell.lookups) == len(set(plan.lookups()))
        assert cell.rules == tuple(step.rule for step in plan.steps)
    assert explained(PAPER).cell("r", "insert").lookups == ("v(x, y, -)", "v(x, -, -)")


def test_unknown_names_are_errors() -> None:
    with pytest.raises(InputError, match="there is no view `sale`"):
        explained(RETAIL, "sale")
    with pytest.raises(InputError, match="does not use a relation `order`"):
        explained(RETAIL, "sales").cell("order", "insert")


# Proposals


def test_proposals_in_the_words_of_the_view() -> None:
    assert texts(RETAIL, "orders", "insert", "eu_sales") == ["expose `C`"]
    assert texts(LOOSE_RETAIL, "customer", "insert", "sales") == [
        "declare that orders.cust references customer"
    ]
    text = ".decl customer(cust, name, region) v(O, N) :- orders(O, C), customer(C, N, _)."
    assert texts(text, "customer", "delete") == [
        "expose `C` and `Region` (column region)",
        "declare `key(name)` on customer",
        "declare `key(cust)` on customer and expose `C`",
        "declare `key(region)` on customer and expose `Region` (column region)",
        "declare `key(cust)` on customer and that orders.c2 references customer",
    ]


def test_fragments_are_what_to_write() -> None:
    cell = explained(PAPER).cell("r", "insert")
    (proposal,) = cell.proposals
    assert proposal.edits == (
        DeclareKey("r", ("c2",)),
        DeclareReference("s", ("c1",), "r", ("c2",)),
    )
    assert proposal.fragment == (
        ".decl r(c1, c2, c3) key(c2)",
        ".decl s(c1, c2) references r(c1)",
    )
    assert explained(PAPER).cell("r", "delete").proposals[0].fragment == (
        "v(X, Y, Z, U) :- r(U, X, Y), s(X, Z).",
    )


def test_a_foreign_key_that_makes_a_subgoal_needless() -> None:
    text = ".decl s(b, c) key(b) v(X) :- r(X, Y), s(Y, _)."
    (proposal,) = (
        explained(text.replace(".decl", ".decl r(a, b) .decl")).cell("r", "insert").proposals
    )
    assert proposal.text == "declare that r.b references s"
    assert proposal.grade == Grade(Maintainable.ALWAYS, Maintainable.ALWAYS)


def test_two_foreign_keys_together() -> None:
    text = "v(O) :- orders(O, C, P), customer(C, _), product(P, _)."
    text = (
        ".decl customer(c, n) key(c) .decl product(p, k) key(p) .decl orders(o, c, p) key(o) "
        + text
    )
    exposing, proposal = explained(text).cell("orders", "insert").proposals
    assert exposing.text == "expose `C` and `P`"
    assert proposal.text == (
        "declare that orders.c references customer and that orders.p references product"
    )
    assert proposal.fragment == (
        ".decl orders(o, c, p) key(o) references customer(c) references product(p)",
    )


def test_a_foreign_key_needs_equal_types() -> None:
    text = ".decl r(a: int, b: {}) .decl s(b: long, c: int) v(B, C) :- r(A, B), s(B, C)."
    cell = explained(text.format("long")).cell("s", "insert")
    assert "declare `key(b)` on s and that r.b references s" in [p.text for p in cell.proposals]
    assert texts(".decl s(b: long, c: int) v(B, C) :- r(A, B), s(B, C).", "s", "insert") == []


def test_no_second_key_and_no_row_that_refers_to_itself() -> None:
    text = ".decl e(id, boss, name) key(id) v(N, M) :- e(I, B, N), e(B, _, M)."
    for action in ACTIONS:
        for proposal in explained(text).cell("e", action).proposals:
            for edit in proposal.edits:
                assert not isinstance(edit, DeclareKey)
                assert not isinstance(edit, DeclareReference) or edit.columns == ("boss",)


def test_what_exposing_lowers_is_said() -> None:
    text = "v(L) :- line(O, L), item(O, X), ord(O, X)."
    (exposing, *_) = explained(text).cell("line", "delete").proposals
    assert exposing.text == "expose `O`"
    assert exposing.lowers == ()
    text = "v(A) :- r(A, Y), s(Y, Z)."
    (exposing, *_) = explained(text).cell("s", "delete").proposals
    assert exposing.text == "expose `Y` and `Z`"
    text = "v(A) :- r(A, Y), s(Y, Z), t(Z, W)."
    (exposing, *_) = explained(text).cell("t", "delete").proposals
    assert exposing.text == "expose `Z` and `W`"
    assert [change for change, _ in exposing.lowers] == [("r", "insert")]


def test_an_unnamed_column_gets_a_free_name() -> None:
    text = ".decl r(qty, b) .decl s(qty) v(B) :- r(_, B), s(Qty), t(Qty, B)."
    assert texts(text, "r", "delete")[0] == "expose `Qty2` (column qty)"


def test_views_over_views_are_edited_as_analysed() -> None:
    text = "inner(X, Y) :- r(X, Y), r(X, _), Y != 3.  v(X) :- inner(X, Y), s(Y)."
    (exposing, *_) = explained(text).cell("r", "delete").proposals
    assert exposing.fragment == ("v(X, Y) :- r(X, Y), s(Y), Y != 3, X = X.",)


def test_what_is_always_decided_needs_no_proposal() -> None:
    for cell in explained(RETAIL, "sales").cells:
        if cell.maintainable == cell.in_update == Maintainable.ALWAYS:
            assert cell.proposals == ()


def random_program(rng: Random) -> str:
    """Two views over a few relations, some of them declared; the second may use the first."""
    arity = {name: rng.randint(1, 4) for name in ("r", "s", "t")}
    kind = rng.choice(("", ": long"))
    lines = []
    for name in arity:
        columns = [f"{name}{i}" for i in range(arity[name])]
        if kind or rng.random() < 0.6:
            key = f" key({rng.choice(columns)})" if rng.random() < 0.5 else ""
            lines.append(f".decl {name}({', '.join(c + kind for c in columns)}){key}")
    views: dict[str, int] = {}
    for view in ("u", "v"):
        known = arity | views
        subgoals = []
        for name in rng.choices(sorted(known), k=rng.randint(1, 4)):
            terms = rng.choices(["A", "B", "C", "D", "E", "_"], k=known[name])
            subgoals.append(f"{name}({', '.join(terms)})")
        used = [term for term in "ABCDE" if any(term in subgoal for subgoal in subgoals)]
        head = [term for term in used if rng.random() < 0.5]
        if used and rng.random() < 0.3:
            subgoals.append(f"{rng.choice(used)} {rng.choice(('<', '!='))} 7")
        views[view] = len(head)
        lines.append(f"{view}({', '.join(head)}) :- {', '.join(subgoals)}.")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(80))
def test_every_proposal_lifts_its_cell_when_followed(seed: int) -> None:
    program = parse(random_program(Random(seed)))
    for view in program.views:
        found = explain(program, view)
        for cell in found.cells:
            now = Grade(cell.maintainable, cell.in_update)
            for proposal in cell.proposals:
                after = explain(followed(program, proposal), view).cell(cell.relation, cell.action)
                assert Grade(after.maintainable, after.in_update) == proposal.grade
                assert proposal.grade > now
            kinds = [(p.grade, p.edits[0].kind, p.edits[-1].kind) for p in cell.proposals]
            assert all(kinds.count(kind) <= MOST_ALIKE for kind in kinds)


@pytest.mark.parametrize("seed", range(20))
def test_what_exposing_lowers_is_complete(seed: int) -> None:
    program = parse(random_program(Random(seed)))
    found = explain(program, "v")
    for proposal in (p for cell in found.cells for p in cell.proposals):
        if not any(isinstance(edit, Expose) for edit in proposal.edits):
            assert proposal.lowers == ()
            continue
        after = explain(followed(program, proposal), "v")
        used = {cell.relation for cell in after.cells}
        fallen = []
        for cell in (cell for cell in found.cells if cell.relation in used):
            now = after.cell(cell.relation, cell.action)
            reached = Grade(now.maintainable, now.in_update)
            if reached < Grade(cell.maintainable, cell.in_update):
                fallen.append(((cell.relation, cell.action), reached))
        assert proposal.lowers == tuple(fallen)


# Bounds


def chain(size: int, relation: str = "r{}") -> str:
    subgoals = (f"{relation.format(i)}(X{i}, X{i + 1}, Y{i}, _)" for i in range(size))
    return f"v(X0, X5) :- {', '.join(subgoals)}."


@pytest.mark.parametrize("text", [chain(10), chain(10, "r")], ids=["ten relations", "one relation"])
def test_ten_subgoals_take_less_than_a_second(text: str) -> None:
    """Of this process: others on the machine take theirs."""

    def seconds() -> float:
        program = parse(text)
        start = time.process_time()
        assert explain(program, "v").is_complete
        return time.process_time() - start

    assert min(seconds() for _ in range(3)) < 1


def test_a_search_that_stops_early_says_so() -> None:
    found = explained(chain(100))
    assert not found.is_complete
    assert found.to_text().endswith("The search for proposals stopped early; there may be more.")


def test_minimization_that_stops_early_is_said() -> None:
    found = explained(chain(60, "r"))
    assert not found.is_minimal
    assert "minimization stopped early" in found.to_text()
