"""Random worlds as typed programs and Spark frames, and what both executors say about a batch.

Every executor test costs Spark jobs, whatever the size of its data. So many batches are *packed*
into one: each gets a world number, a column `W` that every subgoal and the head carry, and all of
them are one batch on one database.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

import selfmaint
from cq.printer import print_value
from cq.query import Query
from cq.roles import roles
from cq.syntax import Const
from cq.types import ANY, Row, constant_type
from cq.types import Type as ColumnType
from lookups.evaluate import evaluate, solve, tabulate
from lookups.index import RowIndex
from lookups.maintain import Outcome, maintain
from lookups.plan import Action, Given, Lookup, Screen
from lookups.spark import Answers, Ask, Counts, Decided, Index, Maintained, Tally
from lookups.spark import maintain as maintain_on_spark
from lookups.spark import probes as limits
from lookups.spark.rounds import KINDS
from lookups.verdict import Because, Kind, Reason, Screened
from property_tests.strategies import BatchCase, Flavour, batch_case, batches_of_one_world
from property_tests.worlds import Atom, Comparison, ForeignKey, Relation, Term, Var, View, World
from warehouse.batches import Changes
from warehouse.columns import spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Database: TypeAlias = dict[str, set[Row]]
Change: TypeAlias = tuple[str, Action, Row]

START = datetime(2024, 2, 28, 23, 59, 58, 999_999)

VALUES: Mapping[str, Sequence[object]] = {
    "long": [-(2**63), -1, 0, 1, 7, 100, 2**31, 2**53 + 1, 2**63 - 2, 2**63 - 1],
    "int": [-(2**31), -1, 0, 1, 7, 100, 200, 300, 2**31 - 2, 2**31 - 1],
    "string": ["", " ", "'", "A", "\\", "a", "a'b", "ä", "日本", "\U0001f600"],
    "decimal(12,2)": [Decimal(n) / 100 for n in (-999, -1, 0, 1, 10, 99, 100, 101, 5000, 10**11)],
    "double": [-1e300, -0.5, 0.0, 0.1, 0.30000000000000004, 1.0, 1.5, 2.0, 1e15, 1e300],
    # Of 32 bits, and some next to their neighbours.
    "float": [
        ColumnType("float").admit(number)
        for number in (-1e30, -0.5, 0.0, 0.1, 0.7, 1.0, 1.0000001, 1.5, 2.0**24, 1e30)
    ],
    "date": [
        date(1, 1, 1),
        date(1582, 10, 10),  # a day that the calendars disagree on
        date(1969, 12, 31),
        *(date(2024, 2, 25 + n) for n in range(5)),
        date(2024, 3, 31),
        date(9999, 12, 31),
    ],
    "timestamp": [
        *(START + timedelta(microseconds=1) * 60**n for n in range(7)),
        datetime(2024, 3, 31, 2, 30),
        datetime(2024, 10, 27, 2, 30),
        datetime(9999, 12, 31, 23, 59, 59, 999_999),
    ],
}
"""Ten values of each type in ascending order, among them the awkward ones."""


@dataclass(frozen=True)
class Scenario:
    """A program, a database before and after a batch, and the batch."""

    text: str
    before: Database
    after: Database
    changes: tuple[Change, ...]

    @property
    def query(self) -> Query:
        query = selfmaint.parse(self.text).view("v").query
        # A table has at least one column: that of a view without columns holds `true`.
        return query if query.head else replace(query, head=(Const(True),))


def halves(scenario: Scenario) -> tuple[Scenario, Scenario]:
    """Its deletions alone, then its insertions alone; not where foreign keys tie them together."""
    deletes = tuple(change for change in scenario.changes if change[1] == "delete")
    inserts = tuple(change for change in scenario.changes if change[1] == "insert")
    gone = {(relation, row) for relation, _, row in deletes}
    between = {
        name: frozenset(row for row in rows if (name, row) not in gone)
        for name, rows in scenario.before.items()
    }
    return (
        Scenario(scenario.text, scenario.before, between, deletes),
        Scenario(scenario.text, between, scenario.after, inserts),
    )


def back(scenario: Scenario) -> Scenario:
    """The batch that undoes this one."""
    flip: Mapping[Action, Action] = {"insert": "delete", "delete": "insert"}
    changes = tuple((relation, flip[action], row) for relation, action, row in scenario.changes)
    return Scenario(scenario.text, scenario.after, scenario.before, changes)


def packed(flavour: Flavour, seed: int, size: int, count: int, kind: str) -> Scenario:
    """Several batches for one random view, as one batch."""
    cases = batches_of_one_world(flavour, seed, size, count)
    return typed([_in_world(case, number) for number, case in enumerate(cases)], kind)


def single(flavour: Flavour, seed: int, size: int, kind: str) -> Scenario:
    return typed([batch_case(flavour, seed, size)], kind)


def _in_world(case: BatchCase, number: int) -> BatchCase:
    """The case with the world number as the first column of everything."""
    return replace(
        case,
        world=_with_world(case.world),
        before={name: {(number, *row) for row in rows} for name, rows in case.before.items()},
        after={name: {(number, *row) for row in rows} for name, rows in case.after.items()},
        changes=tuple(replace(c, row=(number, *c.row)) for c in case.changes),
    )


def _with_world(world: World) -> World:
    number = Var("W")

    def shifted(columns: Iterable[int]) -> tuple[int, ...]:
        return (0, *(column + 1 for column in columns))

    relations = (
        Relation(
            relation.name,
            relation.arity + 1,
            tuple(map(shifted, relation.keys)),
            tuple(ForeignKey(shifted(f.columns), f.parent) for f in relation.foreign_keys),
        )
        for relation in world.relations
    )
    view = world.view
    atoms = tuple(Atom(atom.relation, (number, *atom.terms)) for atom in view.atoms)
    return World(tuple(relations), View((number, *view.head), atoms, view.comparisons))


def typed(cases: Sequence[BatchCase], kind: str) -> Scenario:
    """The cases as one, with their values replaced by values of a type, in the same order."""
    world = cases[0].world
    constants = {value for atom in world.view.atoms for value in atom.constants()}
    constants |= {v for c in world.view.comparisons for v in c.constants()}
    constants |= {term for term in world.view.head if not isinstance(term, Var)}
    databases = [database for case in cases for database in (case.before, case.after)]
    rows = (row for database in databases for content in database.values() for row in content)
    used = {value for row in rows for value in row if value is not None} | constants
    ordered = sorted(used, key=lambda value: (isinstance(value, str), value))
    if kind == "long" and len(ordered) > len(VALUES[kind]):
        values: Mapping[object, object] = {value: n for n, value in enumerate(ordered)}
    else:
        values = dict(zip(ordered, VALUES[kind], strict=False))
        assert len(values) == len(ordered), "too many values for this type"
    values = {**values, None: None}

    def convert(row: Iterable[object]) -> Row:
        return tuple(values[value] for value in row)

    def merged(databases: Iterable[Mapping[str, Iterable[Row]]]) -> Database:
        found: Database = {relation.name: set() for relation in world.relations}
        for database in databases:
            for name, content in database.items():
                found[name] |= set(map(convert, content))
        return found

    return Scenario(
        _text(world, kind, values),
        merged(case.before for case in cases),
        merged(case.after for case in cases),
        tuple((c.relation, c.kind, convert(c.row)) for case in cases for c in case.changes),
    )


def _text(world: World, kind: str, values: Mapping[object, object]) -> str:
    def term(term: Term) -> str:
        return term.name if isinstance(term, Var) else print_value(values[term])

    def atom(name: str, terms: Iterable[Term]) -> str:
        return f"{name}({', '.join(map(term, terms))})"

    def compared(comparison: Comparison) -> str:
        return f"{term(comparison.left)} {comparison.operator} {term(comparison.right)}"

    declared = [relation.text().replace(": long", f": {kind}") for relation in world.relations]
    body = [atom(a.relation, a.terms) for a in world.view.atoms]
    body += [compared(c) for c in world.view.comparisons]
    return "\n".join([*declared, f"{atom('v', world.view.head)} :- {', '.join(body)}."])


# On Spark


def frame_of(
    spark: SparkSession, rows: Iterable[Row], types: Sequence[ColumnType], prefix: str
) -> DataFrame:
    from pyspark.sql.types import StructField, StructType

    fields = [StructField(f"{prefix}{i}", spark_type(kind)) for i, kind in enumerate(types)]
    return spark.createDataFrame(sorted(rows, key=repr), StructType(fields))


class PlainSource:
    """Answers from Python sets, and remembers what it was asked."""

    def __init__(self, spark: SparkSession, scenario: Scenario) -> None:
        self.spark = spark
        self.query = scenario.query
        self.tables = tabulate(self.query, scenario.after)
        self.asked: list[tuple[object, ...]] = []

    def __call__(self, ask: Ask, keys: DataFrame | None) -> Answers:
        values = [tuple(row) for row in keys.collect()] if keys is not None else [()]
        assert len(set(values)) == len(values) == ask.keys
        bound, wanted = (tuple(var.name for var in side) for side in (ask.bound, ask.wanted))
        self.asked.append((ask.subgoals, bound, wanted, frozenset(values), ask.is_slice))
        rows = self.slices(ask, values) if ask.is_slice else self.groups(ask, values)
        types = [self.type_of(var.name) for var in (*ask.bound, *ask.wanted)]
        names = [f"b{i}" for i in range(len(bound))] + [f"w{i}" for i in range(len(wanted))]
        if not names:
            return Answers(self.spark.range(1).where("true" if rows else "false"), len(rows))
        return Answers(frame_of(self.spark, rows, types, "a").toDF(*names), len(rows))

    def groups(self, ask: Ask, keys: list[Row]) -> set[Row]:
        starts = [dict(zip(ask.bound, key, strict=True)) for key in keys]
        found = solve(self.query, ask.subgoals, ask.comparisons, starts, self.tables)
        return {tuple(binding[var] for var in (*ask.bound, *ask.wanted)) for binding in found}

    def slices(self, ask: Ask, keys: list[Row]) -> set[Row]:
        view = RowIndex(evaluate(self.query, self.tables), len(self.query.head))
        columns = tuple(self.query.columns[var] for var in ask.bound)
        assert list(columns) == sorted(columns)
        picked = [self.query.columns[var] for var in ask.wanted]
        return {
            (*key, *(row[i] for i in picked)) for key in keys for row in view.matching(columns, key)
        }

    def type_of(self, name: str) -> ColumnType:
        for atom in self.query.atoms:
            relation = self.query.by_name[atom.predicate]
            for term, column in zip(atom.terms, relation.columns, strict=True):
                if getattr(term, "name", None) == name:
                    return column.type
        raise AssertionError(name)


def changes_of(spark: SparkSession, query: Query, changes: Sequence[Change]) -> dict[str, Changes]:
    """Changes as the executor takes them."""
    found = {}
    for name in dict.fromkeys(relation for relation, _, _ in changes):
        columns = [column.type for column in query.by_name[name].columns]
        rows = [
            (number, action == "insert", *row)
            for number, (relation, action, row) in enumerate(changes)
            if relation == name
        ]
        frame = frame_of(spark, rows, [ColumnType("long"), ColumnType("boolean"), *columns], "c")
        inserts = sum(is_insert for _, is_insert, *_ in rows)
        keys = {2 + i for key in query.by_name[name].keys for i in key}
        is_named = not any(row[i] is None for row in rows for i in keys)
        found[name] = Changes(name, frame, inserts, len(rows) - inserts, is_named)
    return found


def run(
    spark: SparkSession,
    scenario: Scenario,
    *,
    by_slices: bool = False,
    skipped: Collection[str] = (),
    index: Index | None = None,
) -> tuple[Maintained, PlainSource]:
    """The batch on Spark."""
    query = scenario.query
    source = PlainSource(spark, scenario)
    done = maintain_on_spark(
        query,
        view_of(spark, query, scenario.before),
        changes_of(spark, query, scenario.changes),
        source,
        by_slices=by_slices,
        skipped=skipped,
        index=index or Index(),
    )
    return done, source


def view_of(spark: SparkSession, query: Query, database: Database) -> DataFrame:
    types = [
        constant_type(term.value) if isinstance(term, Const) else kind
        for term, kind in zip(query.head, query.types or (ANY,), strict=True)
    ]
    return frame_of(spark, evaluate(query, database), types, "column")


# What was decided, in a form that both executors can be brought to

Place: TypeAlias = tuple[int, Action, Row]
"""A change as it meets a subgoal."""


@dataclass(frozen=True)
class Said:
    """What was said about one part of a change.

    Args:
        failed: the test of the screen that it fails, and the columns that the test is about.
        rule: what decided.
        first: what had decided before the second chance.
        answers: the lookups made, and whether they found a row.
    """

    failed: tuple[str, tuple[int, ...]] | None
    rule: str
    first: str
    answers: tuple[tuple[str, Lookup, bool], ...]


def said_by_reference(query: Query, outcome: Outcome) -> dict[Place, Said]:
    found = {}
    for decision in outcome.decisions:
        subgoals = query.occurrences(decision.relation)
        several = decision.reason.rule == Because.SEVERAL
        reasons = decision.reason.parts if several else (decision.reason,) * len(subgoals)
        for subgoal, reason in zip(subgoals, reasons, strict=True):
            found[subgoal, decision.action, decision.row] = _said(reason)
    return found


def _said(reason: Reason) -> Said:
    first = reason.parts[0] if reason.rule in (Because.SETTLED, Because.BATCH) else reason
    answers = tuple((str(a.test), a.lookup, a.found) for a in first.answers)
    mismatch = reason.mismatch
    failed = (str(mismatch.test), mismatch.positions) if mismatch is not None else None
    return Said(failed, str(reason.rule), str(first.rule), answers)


def said_on_spark(decided: Iterable[Decided]) -> dict[Place, tuple[Kind, Said]]:
    """What was said about each part, and its verdict."""
    found = {}
    for part in decided:
        tests = _tests(part.insert.step.screen)
        for row in part.frame.collect():
            probes = part.insert if row["insert"] else part.delete
            answers = []
            for number, question in enumerate(probes.questions):
                word, bit = divmod(number, limits.BITS)
                if row[f"asked{word}"] >> bit & 1:
                    hit = bool(row[f"found{word}"] >> bit & 1)
                    answers.append((str(question.test), question.lookup, hit))
            action: Action = "insert" if row["insert"] else "delete"
            values = tuple(row[name] for name in row.asDict() if re.fullmatch(r"c\d+", name))
            failed = tests[row["failed"]] if row["failed"] is not None else None
            said = Said(failed, row["rule"], row["first"], tuple(answers))
            found[part.subgoal, action, values] = (KINDS[row["kind"]], said)
    return found


def _tests(screen: Screen) -> list[tuple[str, tuple[int, ...]]]:
    """The tests of a screen in their order."""
    tests: list[tuple[str, tuple[int, ...]]] = []
    tests += [(str(Screened.EMPTY), ())] * screen.is_closed
    tests += [(str(Screened.CONSTANT), (position,)) for position, _ in screen.constants]
    tests += [(str(Screened.NULL), (position,)) for position in screen.non_null]
    tests += [(str(Screened.REPEATED), pair) for pair in screen.equal]
    for test in screen.tests:
        sides = (side for side in (test.left, test.right) if isinstance(side, Given))
        tests.append((str(Screened.COMPARISON), tuple(side.position for side in sides)))
    return tests


def verdicts(query: Query, parts: Mapping[Place, tuple[Kind, Said]]) -> dict[Change, Tally]:
    """The verdict on each change: that of the part that does the most."""
    found: dict[Change, Tally] = {}
    for (subgoal, action, row), (kind, said) in parts.items():
        relation = query.atoms[subgoal].predicate
        tally = Tally(relation, action == "insert", kind, said.rule, 1)
        known = found.setdefault((relation, action, row), tally)
        found[relation, action, row] = max(
            known, tally, key=lambda t: (KINDS.index(t.kind), t.rule)
        )
    return found


def counted(
    query: Query, parts: Mapping[Place, tuple[Kind, Said]], rows: tuple[int, int]
) -> Counts:
    """These verdicts, counted in Python."""
    times = Counter(verdicts(query, parts).values())
    tallies = [replace(tally, changes=number) for tally, number in times.items()]
    missed: Counter[tuple[int, bool]] = Counter()
    joined: dict[int, set[Row]] = {}
    for (subgoal, action, row), (kind, _) in parts.items():
        if kind is Kind.MISS:
            missed[subgoal, action == "insert"] += 1
        if kind is not Kind.IRRELEVANT and len(query.atoms) > 1:
            terms = query.atoms[subgoal].terms
            key = tuple(row[terms.index(var)] for var in roles(query, subgoal).join)
            joined.setdefault(subgoal, set()).add(key)
    return Counts(
        tuple(sorted(tallies, key=lambda t: (t.relation, t.insert, t.kind, t.rule))),
        sum(len(said.answers) for _, said in parts.values()),
        {subgoal: len(keys - {()}) for subgoal, keys in joined.items()},
        dict(missed),
        *rows,
    )


def reference(scenario: Scenario, skipped: Collection[str] = ()) -> Outcome:
    query = scenario.query
    before = evaluate(query, scenario.before)
    return maintain(
        query, before, scenario.changes, scenario.after, scenario.before, skipped=skipped
    )
