"""Laws of the language and of plans as data: printing, round trips, minimization, size."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta, timezone
from decimal import Decimal
from random import Random

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import selfmaint
from cq.parser import parse_syntax
from cq.printer import print_relation, print_rule
from cq.program import read
from cq.schema import Column, Reference, Relation
from cq.syntax import Atom, Comparison, Const, Operator, Rule, Term, Var
from cq.types import ANY, TYPE_NAMES, Type
from lookups import evaluate as evaluator
from lookups.plan import Plan, Step
from property_tests import worlds
from property_tests.strategies import FLAVOURS, OPERATORS, SIZES, Case, Flavour, case, cases
from selfmaint import View

ANY_CASE = st.sampled_from(FLAVOURS).flatmap(cases)


def more(multiple: int) -> settings:
    """A multiple of what the profile asks for."""
    return settings(max_examples=multiple * settings().max_examples)


# Printing parses back

WORD = st.text(st.characters(categories=["L", "N"], include_characters="_"), max_size=6)


def word(first: str) -> st.SearchStrategy[str]:
    made = st.builds(str.__add__, st.sampled_from(first), WORD)
    return made.filter(re.compile(r"\w+").fullmatch)


NAMES = st.sampled_from(["r", "s", "key", "references", "decl", "true", "null"]) | word("abz")
VARIABLES = (st.sampled_from(["X", "Y", "_X", "TRUE"]) | word("ABZ")).map(Var)
TIME_ZONES = st.none() | st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m)))
CONSTANTS = st.one_of(
    st.text(),
    st.integers(-(10**30), 10**30),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=Decimal("-1e99"), places=5),
    st.sampled_from([Decimal("1E+300"), Decimal("1E-300"), Decimal("-0.0"), Decimal(7)]),
    st.booleans(),
    st.dates(),
    st.datetimes(timezones=TIME_ZONES),
    NAMES,
).map(Const)
TERMS: st.SearchStrategy[Term] = VARIABLES | CONSTANTS | st.just(Var("_#0"))


def atoms(terms: st.SearchStrategy[Term] = TERMS) -> st.SearchStrategy[Atom]:
    return st.builds(Atom, NAMES, st.lists(terms, max_size=4).map(tuple))


RULES = st.builds(
    Rule,
    atoms(),
    st.lists(atoms(), min_size=1, max_size=4).map(tuple),
    st.lists(
        st.builds(Comparison, TERMS, st.sampled_from(OPERATORS), TERMS), max_size=3
    ).map(tuple),
)  # fmt: skip


def numbered(rule: Rule) -> Rule:
    """The rule with each `_` as a variable of its own, numbered in the order of the text."""
    count = 0

    def term(old: Term) -> Term:
        nonlocal count
        if not (isinstance(old, Var) and "#" in old.name):
            return old
        count += 1
        return Var(f"_#{count}")

    def atom(old: Atom) -> Atom:
        return replace(old, terms=tuple(map(term, old.terms)))

    return Rule(
        atom(rule.head),
        tuple(map(atom, rule.atoms)),
        tuple(replace(c, left=term(c.left), right=term(c.right)) for c in rule.comparisons),
    )


@given(RULES.map(numbered))
@more(1)
def test_a_printed_rule_parses_back(rule: Rule) -> None:
    syntax, errors = parse_syntax(print_rule(rule))
    assert errors == []
    assert list(map(numbered, syntax.rules)) == [rule]


TYPES = st.one_of(
    st.just(ANY),
    st.sampled_from([Type(name) for name in TYPE_NAMES if name != "decimal"]),
    st.integers(1, 38).flatmap(
        lambda precision: st.builds(
            Type, st.just("decimal"), st.just(precision), st.integers(0, precision)
        )
    ),
)


@st.composite
def relations(draw: st.DrawFn, name: str, parent: Relation | None = None) -> Relation:
    names = draw(st.lists(NAMES | VARIABLES.map(lambda v: v.name), max_size=5, unique=True))
    columns = [Column(column, draw(TYPES)) for column in names]
    positions = st.lists(
        st.sampled_from(range(len(columns))), min_size=1, max_size=3, unique=True
    ) if columns else st.nothing()  # fmt: skip
    keys = draw(st.lists(positions.map(tuple), max_size=2, unique=True)) if columns else []
    references = []
    for key in parent.keys if parent is not None else ():
        kinds = [parent.columns[i].type for i in key]
        fitting = [[i for i, c in enumerate(columns) if c.type == kind] for kind in kinds]
        if all(fitting):
            chosen = tuple(draw(st.sampled_from(choices)) for choices in fitting)
            if len(set(chosen)) == len(chosen):
                references.append(Reference(chosen, parent.name, key))
    return Relation(name, tuple(columns), tuple(keys), tuple(references))


@given(st.data())
@more(1)
def test_a_printed_declaration_parses_back(data: st.DataObject) -> None:
    parent = data.draw(relations("parent").filter(lambda relation: len(relation.keys) < 2))
    child = data.draw(relations("child", parent))
    text = "\n".join(map(print_relation, (child, parent)))
    assert read(text).checked.relations == {"child": child, "parent": parent}


# Plans as data


def views_of(case: Case) -> View:
    return selfmaint.parse(case.world.text()).view("v")


def plans_of(view: View) -> list[Plan]:
    return [
        view.plan(relation, action)
        for relation in view.relations
        for action in ("insert", "delete")
    ]


@given(ANY_CASE)
@more(1)
def test_plans_survive_json(case: Case) -> None:
    for plan in plans_of(views_of(case)):
        again = Plan.from_json(plan.to_json())
        assert again == plan
        assert str(again) == str(plan)
        assert again.to_json() == plan.to_json()


@given(st.sampled_from([flavour for flavour in FLAVOURS if not flavour.nulls]).flatmap(cases))
@more(1)
def test_the_rule_in_a_plan_parses_back_to_the_same_view(case: Case) -> None:
    """Without NULLs, which a variable refuses that has lost its second occurrence."""
    view = views_of(case)
    assume(not view.query.is_empty)  # which the printed rule says only where comparisons are left
    declared = [print_relation(r) for r in view.query.relations if r.declared]
    text = "\n".join([*declared, print_rule(view.query.rule())])
    again = selfmaint.parse(text).view("v")
    assert again.evaluate(case.database) == view.evaluate(case.database)


@given(ANY_CASE)
@more(1)
def test_emission_is_deterministic(case: Case) -> None:
    first, second = (plans_of(views_of(case)) for _ in range(2))
    assert [plan.to_json() for plan in first] == [plan.to_json() for plan in second]
    assert list(map(str, first)) == list(map(str, second))


# Evaluation and minimization


def assert_same_answers(view: View, definition: worlds.View, database: worlds.Database) -> None:
    expected = worlds.evaluate(definition, database)
    assert view.evaluate(database) == expected
    assert evaluator.evaluate(view.query, database) == expected, [*view.query.dropped]


@given(ANY_CASE)
@more(2)
def test_minimization_keeps_answers(case: Case) -> None:
    """On databases that satisfy the declared keys and foreign keys."""
    assert_same_answers(views_of(case), case.world.view, case.database)


SMALL = tuple(worlds.Var(name) for name in "ABCD")
SMALL_TERMS = st.sampled_from([*SMALL, 1, 2])
SMALL_OPERATORS: st.SearchStrategy[Operator] = st.sampled_from(OPERATORS)


@st.composite
def redundant_views(draw: st.DrawFn) -> worlds.View:
    """Few relations, many subgoals and comparisons: most of these have something to drop."""
    arity = draw(st.sampled_from([1, 1, 2]))
    terms = st.tuples(*[st.sampled_from(SMALL)] * arity)
    body = [worlds.Atom("p", draw(terms)) for _ in range(draw(st.integers(2, 4)))]
    body += [worlds.Atom("s", (draw(st.sampled_from(SMALL)),))]
    used = sorted({v for atom in body for v in atom.variables()}, key=lambda v: v.name)
    sides = st.sampled_from([*used, 1, 2])
    comparisons = draw(
        st.lists(
            st.builds(worlds.Comparison, st.sampled_from(used), SMALL_OPERATORS, sides), max_size=6
        )
    )
    head = draw(st.lists(st.sampled_from(used), max_size=2))
    return worlds.View(tuple(head), tuple(body), tuple(comparisons))


def small_databases(view: worlds.View) -> st.SearchStrategy[dict]:
    values = st.sampled_from([None, 0, 1, 2, 3])
    arities = {atom.relation: len(atom.terms) for atom in view.atoms}
    return st.fixed_dictionaries(
        {
            name: st.frozensets(st.tuples(*[values] * arity), max_size=5)
            for name, arity in arities.items()
        }
    )


A, B, C, D = SMALL
LOST_BOUND = worlds.View(
    (B,),
    (worlds.Atom("s", (B,)), worlds.Atom("p", (C,)), worlds.Atom("p", (A,))),
    (
        worlds.Comparison(B, "<=", A),
        worlds.Comparison(A, "<=", 1),
        worlds.Comparison(C, ">=", 1),
        worlds.Comparison(C, "<=", 1),
    ),
)


@given(
    redundant_views().flatmap(lambda view: st.tuples(st.just(view), small_databases(view))),
)
@example((LOST_BOUND, {"s": {(2,)}, "p": {(1,)}}))
@more(2)
def test_minimization_keeps_answers_of_redundant_views(pair: tuple) -> None:
    definition, database = pair
    assert_same_answers(selfmaint.parse(definition.text()).view("v"), definition, database)


NUMBERS = st.sampled_from([1, 2, 3])
TYPED = """
.decl r(a: int, b: double, c)
.decl s(d: decimal(5, 2), e: string, f)
"""
TYPED_COLUMNS = "ABCDEF"
TYPED_VALUES = {
    "A": NUMBERS,
    "B": NUMBERS.map(float),
    "C": NUMBERS | NUMBERS.map(float) | st.sampled_from(["x", "y"]),
    "D": NUMBERS.map(Decimal),
    "E": st.sampled_from(["x", "y"]),
    "F": NUMBERS | st.sampled_from(["x", "y"]),
}
COMPARABLE = [
    (left, right)
    for left in TYPED_COLUMNS
    for right in TYPED_COLUMNS
    if left != right and (left in "CF" or right in "CF" or (left == "E") == (right == "E"))
]


def is_true(operator: str, left: object, right: object, is_declared: bool) -> bool:
    """Declared numbers by value; otherwise order holds only between values of one type."""
    if operator == "!=":
        return left != right
    if not is_declared and type(left) is not type(right):
        return False
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[
        operator
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(COMPARABLE), st.sampled_from(["!=", "<", "<=", ">", ">="])),
        min_size=1,
        max_size=4,
    ),
    st.frozensets(st.tuples(*(TYPED_VALUES[name] for name in "ABC")), max_size=4),
    st.frozensets(st.tuples(*(TYPED_VALUES[name] for name in "DEF")), max_size=3),
)
@example(
    [(("A", "D"), "<"), (("D", "B"), "<"), (("E", "F"), "<")],
    {(1, 3.0, 1)},
    {(Decimal(2), "x", "y")},
)
@example([(("A", "D"), "<"), (("D", "C"), "<")], {(1, 3.0, Decimal(3))}, {(Decimal(2), "x", 1)})
@more(2)
def test_comparisons_of_declared_and_undeclared_columns(
    comparisons: list, r: frozenset, s: frozenset
) -> None:
    text = ", ".join(f"{left} {operator} {right}" for (left, right), operator in comparisons)
    program = f"{TYPED} v(A, B, C, D, E, F) :- r(A, B, C), s(D, E, F), {text}."
    expected = {
        (*first, *second)
        for first in r
        for second in s
        if all(
            is_true(
                operator,
                (*first, *second)[TYPED_COLUMNS.index(left)],
                (*first, *second)[TYPED_COLUMNS.index(right)],
                not {left, right} & {"C", "F"},
            )
            for (left, right), operator in comparisons
        )
    }
    view = selfmaint.parse(program).view("v")
    assert view.evaluate({"r": r, "s": s}) == expected
    assert evaluator.evaluate(view.query, {"r": r, "s": s}) == expected


BOUNDS = (B, C), (B, A), (A, C), (A, 1), (B, 1), (C, 1)


def test_minimization_keeps_what_comparisons_say_together() -> None:
    """Two subgoals of `p` and a chain of bounds, on all databases over three values."""
    subsets = [
        frozenset({(value,) for value in range(3) if bits >> value & 1}) for bits in range(8)
    ]
    databases = [{"p": p, "s": s} for p in subsets for s in subsets]
    body = LOST_BOUND.atoms
    dropped = 0
    for seed in range(600):
        random = Random(seed)
        pairs = random.sample([(*sides, op) for sides in BOUNDS for op in ("<=", ">=", "<")], 5)
        comparisons = tuple(worlds.Comparison(left, op, right) for left, right, op in pairs)
        definition = worlds.View((B,), body, comparisons)
        view = selfmaint.parse(definition.text()).view("v")
        if view.query.dropped:
            dropped += 1
            for database in databases:
                assert_same_answers(view, definition, database)
    assert dropped > 20


@given(st.data())
@more(2)
def test_a_view_over_a_view_has_the_answers_of_its_definition(data: st.DataObject) -> None:
    """Heads and uses with repeated variables and constants, on rows with NULLs."""
    columns = st.tuples(*[st.sampled_from([A, A, B, 1])] * 3)
    values = st.sampled_from([None, 1, 2])
    inner = worlds.View(data.draw(columns), (worlds.Atom("r", (A, B)),))
    body = [worlds.Atom("w", data.draw(columns)), worlds.Atom("s", (C,))]
    if data.draw(st.booleans()):
        body.append(worlds.Atom("s", (A,)))
    head = sorted({v for atom in body for v in atom.variables()}, key=lambda v: v.name)
    outer = worlds.View(tuple(head), tuple(body))
    text = f"{inner.text().replace('v(', 'w(', 1)}\n{outer.text()}"
    database = {
        "r": data.draw(st.frozensets(st.tuples(values, values), max_size=4)),
        "s": data.draw(st.frozensets(st.tuples(values), max_size=2)),
    }
    expected = worlds.evaluate(outer, {**database, "w": worlds.evaluate(inner, database)})
    assert selfmaint.parse(text).view("v").evaluate(database) == expected


# The same view in other words


def shuffled(view: worlds.View, random: Random) -> worlds.View:
    """Other variable names, another order of the body, comparisons the other way round."""
    names = random.sample([f"V{i}" for i in range(12)], len(worlds.body_variables(view)))
    renamed = dict(zip(worlds.body_variables(view), map(worlds.Var, names), strict=True))
    flip = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}

    def terms(old: tuple) -> tuple:
        return tuple(renamed.get(term, term) for term in old)

    comparisons = []
    for comparison in view.comparisons:
        left, right = terms((comparison.left, comparison.right))
        if random.random() < 0.5:
            comparisons.append(worlds.Comparison(right, flip[comparison.operator], left))
        else:
            comparisons.append(worlds.Comparison(left, comparison.operator, right))
    atoms = [worlds.Atom(atom.relation, terms(atom.terms)) for atom in view.atoms]
    random.shuffle(atoms)
    random.shuffle(comparisons)
    return worlds.View(terms(view.head), tuple(atoms), tuple(comparisons))


def effect(program: str, case: Case) -> tuple:
    """What the change of the case does to the view `v` of the program."""
    plan = selfmaint.parse(program).view("v").plan(case.change.relation, case.change.kind)
    verdict = plan.decide(case.rows, case.change.row)
    return str(verdict.kind), verdict.inserts, verdict.deletes


@given(ANY_CASE, st.randoms(use_true_random=False))
@more(2)
def test_names_and_order_do_not_matter(case: Case, random: Random) -> None:
    other = replace(case.world, view=shuffled(case.world.view, random)).text()
    assert effect(other, case) == effect(case.world.text(), case), other


@given(ANY_CASE, st.randoms(use_true_random=False))
@more(2)
def test_a_view_in_between_does_not_matter(case: Case, random: Random) -> None:
    """Some subgoals move to a view of their own, which shows what the others and the head use."""
    view = case.world.view
    inside = [random.random() < 0.5 for _ in view.atoms]
    moved = [atom for atom, is_inside in zip(view.atoms, inside, strict=True) if is_inside]
    rest = [atom for atom, is_inside in zip(view.atoms, inside, strict=True) if not is_inside]
    assume(moved)
    used = {v for part in (*rest, *view.comparisons) for v in part.variables()}
    used |= {term for term in view.head if isinstance(term, worlds.Var)}
    shown = tuple(dict.fromkeys(v for atom in moved for v in atom.variables() if v in used))
    inner = worlds.View(shown, tuple(moved)).text().replace("v(", "w(", 1)
    outer = replace(view, atoms=(*rest, worlds.Atom("w", shown))).text()
    declared = [relation.text() for relation in case.world.relations] * case.world.is_typed
    other = "\n".join([*declared, outer, inner])
    assert effect(other, case) == effect(case.world.text(), case), other


# How many lookups

VIEWS = 2_400


def vsm_lookups(step: Step) -> int:
    needs = step.vsm.needs if step.vsm is not None else ()
    return len({a.lookup for need in needs for a in need.alternatives})


@pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda flavour: flavour.name)
def test_lookups_stay_within_the_bounds(flavour: Flavour) -> None:
    """Huyn, Table 1: deletion 1; insertion k - 1, with exposed self-joins (k - 1)².

    Where the updated relation repeats, which the paper leaves out, the updated subgoal may vouch
    too: k - 1 instances with k vouchers each.
    """
    most = 0
    for seed in range(VIEWS // len(FLAVOURS)):
        found = case(flavour, seed, SIZES[seed % len(SIZES)])
        view = views_of(found)
        others = len(view.query.atoms) - 1
        repeats = len({atom.predicate for atom in view.query.atoms}) <= others
        for plan in plans_of(view):
            for step in plan.steps:
                if plan.action == "delete":
                    assert len(step.lookups()) == 1, found.text()
                    continue
                vouchers = others + (len(plan.steps) > 1)
                bound = others * vouchers if repeats else others
                assert vsm_lookups(step) <= bound, found.text()
                most = max(most, vsm_lookups(step))
                if flavour.repeats == "none" and not flavour.keys:
                    assert len(step.lookups()) <= 1 + others, found.text()
    assert most >= 1
