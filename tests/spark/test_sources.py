"""Sources: the answers of the reference, as of the version asked for, and every lie noticed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from cq.program import read
from cq.schema import Column, Relation
from cq.syntax import Comparison, Const, Var
from cq.types import Row, Type, holds
from tests.spark.questions import (
    DECLARATIONS,
    OPERATORS,
    RELATIONS,
    Case,
    check_answers,
    keys_of,
    random_case,
    random_database,
    rows_of,
    tables_of,
)
from warehouse.batches import BatchError
from warehouse.columns import (
    ColumnError,
    Misfit,
    check_columns,
    spark_type,
    struct_type,
)
from warehouse.sources import (
    Cost,
    DeltaSource,
    Fault,
    FederatedSource,
    Join,
    MemorySource,
    RealClock,
    SimulatedSource,
    Source,
    SourceError,
    VirtualClock,
    ask,
    whole,
)
from warehouse.sources.compare import comparison_holds
from warehouse.sources.protocol import measured

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def database() -> dict[str, list[Row]]:
    return random_database(Random(7))


@pytest.fixture(scope="module")
def tables(spark: SparkSession, database: dict[str, list[Row]]) -> dict[str, DataFrame]:
    return tables_of(spark, database)


def test_answers_are_those_of_the_reference(
    spark: SparkSession, tables: dict[str, DataFrame], database: dict[str, list[Row]]
) -> None:
    """For a few questions; `property_tests/spark` has more."""
    assert check_answers(spark, tables, database, [random_case(seed) for seed in range(15)]) > 6


def test_whole_view(tables: dict[str, DataFrame], database: dict[str, list[Row]]) -> None:
    text = DECLARATIONS + "v(A, C, 'k', A) :- r(A, B, C), s(B, D, _), D < 3."
    query = read(text).query("v")
    source = MemorySource(tables)
    answer = ask(source, whole(query), None, 0)
    expected = Case("", whole(query), ()).expected(database)
    assert rows_of(answer.frame) == expected
    assert expected
    assert answer.rows == len(expected)

    nobody = read(DECLARATIONS + "v(A) :- r(A, B, _), B < 1, B > 1.").query("v")
    assert nobody.is_empty
    assert ask(source, whole(nobody), None, 0).rows == 0
    assert ask(FederatedSource([source]), whole(nobody), None, 0).rows == 0

    # A set of rows without columns: is there any?
    some = read(DECLARATIONS + "v() :- r(A, B, _), s(B, _, _).").query("v")
    none = read(DECLARATIONS + "v() :- r(A, B, _), B > 9223372036854775806.").query("v")
    assert [ask(source, whole(query), None, 0).rows for query in (some, none)] == [1, 0]


def test_comparisons_are_exact(spark: SparkSession) -> None:
    kinds = [
        Type("int"),
        Type("long"),
        Type("double"),
        Type("decimal", 10, 2),
        Type("decimal", 38, 20),
        Type("decimal", 38, 38),
        Type("decimal", 38, 0),
    ]
    numbers: list[Sequence[object]] = [
        (0, -1, 2**31 - 1, None),
        (0, -1, 2**53 + 1, 2**63 - 1, -(2**63), None),
        (0.0, -0.5, 2.0**53, 2.0**63, -(2.0**63), 1e300, float("-inf"), None),
        (Decimal("-0.50"), Decimal("0.50"), Decimal(0), None),
        (Decimal("-0.5"), Decimal("0.00000000000000000001"), Decimal(2**53 + 1), None),
        (Decimal("-0.5"), Decimal("0.00000000000000000001"), Decimal("1e-38"), None),
        (Decimal(0), Decimal(1), Decimal(-1), Decimal(2**63 - 1), None),
    ]
    constants = [0, -1, 2**63, 10**40, -(10**40), Decimal("-0.5"), Decimal("1e-50"), 2**53 + 1]
    variables = [Var(f"v{i}") for i in range(len(kinds))]
    types = dict(zip(variables, kinds, strict=True))
    schema = struct_type(Relation("n", tuple(Column(v.name, kind) for v, kind in types.items())))
    rows: list[Row] = []
    for i, j in itertools.combinations(range(len(kinds)), 2):
        for left, right in itertools.product(numbers[i], numbers[j]):
            row: list[object] = [None] * len(kinds)
            row[i], row[j] = left, right
            rows.append(tuple(row))
    tests: list[Comparison] = []
    for left, right in itertools.permutations(variables, 2):
        names = {types[left].name, types[right].name}
        if names != {"double", "decimal"}:  # compared as doubles, as Spark does it
            tests += [Comparison(left, op, right, numeric=True) for op in OPERATORS]
    for var, constant in itertools.product(variables, constants):
        if types[var].name != "double":
            tests += [Comparison(var, op, Const(constant), numeric=True) for op in OPERATORS]
            tests.append(Comparison(Const(constant), "<", var, numeric=True))
    frame = spark.createDataFrame(rows, schema).coalesce(1)
    columns = [comparison_holds(test, lambda var: var.name, types) for test in tests]
    for row_ in frame.select("*", *columns).collect():
        binding = dict(zip(variables, row_[: len(kinds)], strict=True))
        for test, is_true in zip(tests, row_[len(kinds) :], strict=True):
            sides = [
                side.value if isinstance(side, Const) else binding[side]
                for side in (test.left, test.right)
            ]
            assert is_true == holds(test.operator, *sides, numeric=True), (test, sides)


# Columns


def test_columns_that_do_not_fit(spark: SparkSession) -> None:
    relation = RELATIONS["r"]
    good = spark.createDataFrame([], "c string, b bigint not null, a int")
    check_columns(good, struct_type(relation), "the rows of `r`")
    bad = spark.createDataFrame([], "A int, b int, c string, d date")
    with pytest.raises(ColumnError) as caught:
        check_columns(bad, struct_type(relation), "the rows of `r`")
    assert caught.value.code == "WH321"
    assert caught.value.misfits == (
        Misfit("a", None, "int"),
        Misfit("b", "int", "bigint"),
        Misfit("A", "int", None),
        Misfit("d", "date", None),
    )
    assert str(caught.value) == (
        "error[WH321]: the columns of the rows of `r` do not fit: `a` is missing; it must be "
        "int; `b` is int; it must be bigint; `A` is one too many; `d` is one too many\n"
        " = help: did you mean `a`? Upper and lower case differ\n"
        " = help: needed: a int, b bigint, c string"
    )
    doubled = spark.sql("SELECT 1 AS a, 2L AS b, 'x' AS c, 3 AS a")
    with pytest.raises(ColumnError):
        check_columns(doubled, struct_type(relation), "the rows of `r`")
    with pytest.raises(ColumnError) as caught:
        struct_type(Relation.untyped("p", 2))
    assert caught.value.code == "WH320"
    assert spark_type(Type("decimal", 5, 2)).simpleString() == "decimal(5,2)"


# Versions

TEXT = DECLARATIONS + "v(A, D) :- r(A, B, C), s(B, D, C), D >= 1.5."
QUERY = read(TEXT).query("v")
A, B, C, D, F = (Var(name) for name in "ABCDF")
JOIN = Join(QUERY, (0, 1), QUERY.comparisons, bound=(A,), wanted=(D, C))
START: Mapping[str, list[Row]] = {
    "r": [(1, 10, "x"), (2, 20, None), (3, 30, "")],
    "s": [(10, 1.5, "x"), (20, 2.5, "y"), (30, 1.0, "")],
}
CHANGES: Sequence[Mapping[str, list[Row]]] = (
    {"s": [(10, 7.0, "x", "insert")]},
    {
        "r": [(2, 20, None, "delete"), (2, 20, "y", "insert")],
        "s": [(10, 1.5, "x", "delete"), (30, None, None, "insert")],
    },
)
ANSWERS: Sequence[set[Row]] = (
    {(1, 1.5, "x")},
    {(1, 1.5, "x"), (1, 7.0, "x")},
    {(1, 7.0, "x"), (2, 2.5, "y")},
)


def start(spark: SparkSession, *names: str) -> dict[str, DataFrame]:
    return {
        name: spark.createDataFrame(START[name], struct_type(RELATIONS[name])) for name in names
    }


def changes(spark: SparkSession, number: int, *names: str) -> dict[str, DataFrame]:
    return {
        name: spark.createDataFrame(rows, struct_type(RELATIONS[name]).add("change", "string"))
        for name, rows in CHANGES[number].items()
        if name in names
    }


def keys(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1,), (2,), (2,), (3,), (None,)], JOIN.key_schema)


def code_of(error: pytest.ExceptionInfo[SourceError]) -> tuple[str, bool]:
    return error.value.code, error.value.retryable


def test_memory_answers_as_of_every_version(spark: SparkSession) -> None:
    source = MemorySource(start(spark, "r", "s"))
    for number in range(2):
        assert source.advance(changes(spark, number, "r", "s")) == number + 1
    check_versions(spark, source)
    with pytest.raises(SourceError) as caught:
        source.answer(JOIN, keys(spark), 3)
    assert code_of(caught) == ("WH332", True)
    other = Join(read(DECLARATIONS + "v(X) :- u(X, _).").query("v"), (0,), (), (), (Var("X"),))
    with pytest.raises(SourceError) as caught:
        source.answer(other, None, 0)
    assert code_of(caught) == ("WH330", False)
    wrong = spark.createDataFrame(
        [(1, 2, "x", "insert"), (1, 2, "x", "upsert")],
        struct_type(RELATIONS["r"]).add("change", "string"),
    )
    with pytest.raises(ColumnError, match="1 changes of `r` are neither") as refused:
        source.advance({"r": wrong})
    assert refused.value.code == "WH322"
    for words in (("insert", "insert"), ("delete", "insert")):
        twice = spark.createDataFrame([(1, 2, "x", word) for word in words], wrong.schema)
        with pytest.raises(BatchError, match="2 changes of `r` are of a row") as not_net:
            source.advance({"r": twice})
        assert not_net.value.code == "WH352"
    assert source.version() == 2


def check_versions(spark: SparkSession, source: Source) -> None:
    assert source.version() == 2
    for version in (2, 0, 1):
        answer = ask(source, JOIN, keys(spark), version)
        assert rows_of(answer.frame) == ANSWERS[version]
        assert answer.version == version
        assert (answer.cost.questions, answer.cost.keys_sent) == (1, 4)
        assert answer.cost.rows_sent == answer.rows == len(ANSWERS[version])
        assert answer.cost.rows_scanned == 3 + (3, 4, 4)[version]


def test_times_with_a_zone_are_kept_in_utc(spark: SparkSession) -> None:
    relation = read(".decl r(at: timestamp) v(X) :- r(X).").checked.relations["r"]
    times = [datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=n))) for n in (0, 2)]
    source = MemorySource.of_rows(spark, [relation], {"r": [(at,) for at in (*times, *times)]})
    assert rows_of(source.read("r", 0)) == {(datetime(2024, 1, 1, n),) for n in (10, 12)}


def test_delta_versions_that_are_gone(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "source")
    source = DeltaSource.create(spark, path, start(spark, "r", "s"))
    source.advance(changes(spark, 0, "s"))
    with pytest.raises(SourceError) as caught:
        DeltaSource.open(spark, str(tmp_path / "elsewhere"))
    assert caught.value.code == "WH331"
    # What VACUUM leaves of version 0: a log that names files which are not there.
    for file in Path(path, "r").glob("*.parquet"):
        file.unlink()
    with pytest.raises(SourceError, match="as of version 0") as caught:
        ask(source, JOIN, keys(spark), 0)
    assert code_of(caught) == ("WH331", False)


def test_a_day_that_calendars_disagree_on_is_found(spark: SparkSession, tmp_path: Path) -> None:
    """Where a file holds no later day, Parquet's reader skips it if it is told another day."""
    day = date(1582, 10, 10)
    rows = spark.createDataFrame([(1, None, day, None)], struct_type(RELATIONS["t"]))
    rows.write.format("delta").save(str(tmp_path))
    source = DeltaSource.of_tables(spark, {"t": str(tmp_path)})
    that_day = read(DECLARATIONS + f"v(A) :- t(A, _, {day.isoformat()}, _).").query("v")
    assert rows_of(ask(source, whole(that_day), None, 0).frame) == {(1,)}
    asked = Join(read(DECLARATIONS + "v(A, F) :- t(A, _, F, _).").query("v"), (0,), (), (F,), (A,))
    known = spark.createDataFrame([(day,)], asked.key_schema)
    assert rows_of(ask(source, asked, known, 0).frame) == {(day, 1)}


# Asking

LATENCY, SENT, SCANNED = 0.25, 0.5, 0.125


@pytest.fixture(scope="module")
def memory(spark: SparkSession) -> MemorySource:
    source = MemorySource(start(spark, "r", "s"), name="erp")
    source.advance(changes(spark, 0, "r", "s"))
    return source


def simulated(source: Source, faults: Mapping[int, Fault] = {}, **more: bool) -> SimulatedSource:
    return SimulatedSource(
        source,
        latency=LATENCY,
        per_row_sent=SENT,
        per_row_scanned=SCANNED,
        clock=VirtualClock(),
        faults=faults,
        **more,
    )


SECONDS = LATENCY + SENT * (4 + 2) + SCANNED * (3 + 4)
"""What the question below costs: four keys, two rows, and two relations of three and four."""


def test_sizes_are_those_of_the_values(spark: SparkSession) -> None:
    columns = (
        "a boolean, b int, c long, d float, e double, f string, g date, h timestamp_ntz, "
        "i decimal(18, 2), j decimal(19, 2)"
    )
    day = date(2024, 2, 29)
    value = (True, 1, 1, 1.0, 1.0, "ä", day, datetime(2024, 2, 29), Decimal(1), Decimal(1))
    frame = spark.createDataFrame([value, (None,) * 10], columns)
    assert measured(frame) == (2, 1 + 4 + 8 + 4 + 8 + 2 + 4 + 8 + 8 + 16)
    assert measured(frame.select()) == (2, 0)
    assert measured(frame.limit(0)) == (0, 0)


def test_costs_are_exact(spark: SparkSession, memory: MemorySource) -> None:
    source = simulated(memory)
    answer = ask(source, JOIN, keys(spark), 1, clock=source.clock)
    # Each row: an int, a double, and a string of one letter.
    assert answer.cost == Cost(1, 4, 2, 7, SECONDS, 2 * (4 + 8 + 1))
    assert source.clock.now() == SECONDS
    assert rows_of(answer.frame) == ANSWERS[1]


@pytest.mark.parametrize(
    ("fault", "code", "seconds"),
    [
        (Fault.ERROR, "WH333", LATENCY),
        (Fault.HANG, "WH334", 60.0),
        (Fault.CUT, "WH335", SECONDS),
        (Fault.OLDER, "WH337", SECONDS - SENT - SCANNED),
    ],
)
def test_faults_are_noticed_and_pass(
    spark: SparkSession, memory: MemorySource, fault: Fault, code: str, seconds: float
) -> None:
    once = simulated(memory, {1: fault})
    answer = ask(once, JOIN, keys(spark), 1, limit_seconds=60, clock=once.clock)
    assert rows_of(answer.frame) == ANSWERS[1]
    assert (once.questions, once.clock.now()) == (2, seconds + 0.5 + SECONDS)
    assert (answer.cost.questions, answer.cost.seconds) == (2, seconds + SECONDS)

    always = simulated(memory, {1: Fault.ERROR, 2: Fault.ERROR, 3: fault})
    with pytest.raises(SourceError) as caught:
        ask(always, JOIN, keys(spark), 1, limit_seconds=60, clock=always.clock)
    assert code_of(caught) == (code, True)
    assert (always.questions, always.clock.now()) == (3, 2 * LATENCY + seconds + 0.5 + 1.0)
    text = str(caught.value)
    assert text.startswith(
        f"error[{code}]: source `erp` was asked for the join of `r`, `s`, "
        "for given values of 1 variable, as of version 1, "
    )
    assert " = help: " in text
    assert "simulated" not in text  # what another program wrote may hold secrets
    if code in ("WH333", "WH334"):  # but a debugger finds it
        assert caught.value.__context__ is not None


def test_wrong_columns_are_refused_at_once(spark: SparkSession, memory: MemorySource) -> None:
    source = simulated(memory, {1: Fault.COLUMNS})
    with pytest.raises(SourceError, match="`w1` is missing") as caught:
        ask(source, JOIN, keys(spark), 1, clock=source.clock)
    assert code_of(caught) == ("WH336", False)
    assert source.questions == 1


def test_a_newer_version_is_named(spark: SparkSession, memory: MemorySource) -> None:
    source = simulated(memory, newest_only=True)
    answer = ask(source, JOIN, keys(spark), 0, clock=source.clock)
    assert (answer.version, rows_of(answer.frame)) == (1, ANSWERS[1])


def test_the_real_clock_gives_up(spark: SparkSession, memory: MemorySource) -> None:
    source = SimulatedSource(memory, latency=0.0, clock=RealClock(), faults={1: Fault.HANG})
    with pytest.raises(SourceError) as caught:
        ask(source, JOIN, keys(spark), 1, limit_seconds=0.2, retries=0)
    assert caught.value.code == "WH334"
    assert rows_of(ask(source, JOIN, keys(spark), 1, limit_seconds=60).frame) == ANSWERS[1]


def test_jobs_are_stopped_when_time_is_up(spark: SparkSession) -> None:
    def endless() -> int:
        return spark.range(10**12).selectExpr("id % 3 AS a").distinct().count()

    with pytest.raises(TimeoutError):
        RealClock().within(1.0, endless, spark)
    assert not spark.getTags()
    # It was stopped: it would hold all cores.
    assert RealClock().within(60.0, lambda: spark.range(1).count(), spark) == 1


# Several sources


def test_federated_answers_are_those_of_one_source(
    spark: SparkSession, tables: dict[str, DataFrame], database: dict[str, list[Row]]
) -> None:
    federated = FederatedSource(
        [
            MemorySource({name: tables[name] for name in "ru"}, name="first"),
            MemorySource({name: tables[name] for name in "st"}, name="second"),
        ]
    )
    cases = [random_case(seed) for seed in range(100, 300)]
    split = [
        c for c in cases if set(c.join.relations) & set("ru") and set(c.join.relations) & set("st")
    ]
    full = [case for case in split if case.expected(database)]
    assert len(full) > 5
    for case in [*full[:5], split[0]]:
        answer = ask(federated, case.join, keys_of(spark, case), 0)
        assert rows_of(answer.frame) == case.expected(database), case.text
        assert {part.source for part in answer.parts} == {"first", "second"}
        assert answer.cost == sum((part.cost for part in answer.parts), Cost())


def test_federated_sends_keys_and_needed_columns(spark: SparkSession) -> None:
    behind_first = MemorySource(start(spark, "r"), name="first")
    behind_second = MemorySource(start(spark, "s"), name="second")
    behind_first.advance(changes(spark, 0, "r"))
    behind_second.advance(changes(spark, 0, "s"))
    first, second = simulated(behind_first), simulated(behind_second)
    federated = FederatedSource([second, first])
    answer = ask(federated, JOIN, keys(spark), 1)
    assert rows_of(answer.frame) == ANSWERS[1]
    asked = [(part.source, part.join.bound, part.join.wanted) for part in answer.parts]
    assert asked == [("first", (A,), (B, C)), ("second", (B, C), (D,))]
    # Of r, the row with NULL in a join variable stays where it is.
    assert [(part.cost.keys_sent, part.cost.rows_sent) for part in answer.parts] == [(4, 2), (2, 2)]
    assert answer.cost.questions == 2

    # Where one has nothing, the others are not asked.
    nobody = ask(federated, JOIN, spark.createDataFrame([(77,)], JOIN.key_schema), 1)
    assert (nobody.rows, rows_of(nobody.frame), nobody.frame.schema) == (0, set(), JOIN.schema)
    assert [part.source for part in nobody.parts] == ["first"]

    # A part that arrives incomplete is noticed, though the whole looks sound.
    second.faults = {2: Fault.CUT}
    with pytest.raises(SourceError) as caught:
        ask(federated, JOIN, keys(spark), 1, retries=0)
    assert code_of(caught) == ("WH335", True)

    # One source has moved on: all are asked again as of its version.
    second.newest_only = True
    again = ask(federated, JOIN, keys(spark), 0)
    assert (again.version, rows_of(again.frame)) == (1, ANSWERS[1])
    assert [(part.source, part.version) for part in again.parts] == [
        ("first", 0),
        ("second", 1),
        ("first", 1),
        ("second", 1),
    ]
    with pytest.raises(SourceError, match="both `first` and `first` hold"):
        FederatedSource([first, first])
