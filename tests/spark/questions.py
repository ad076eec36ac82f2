"""Random questions for a source, and what the reference answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from random import Random
from typing import TYPE_CHECKING

from cq.program import read
from cq.syntax import Operator, variables_of
from cq.types import Row
from lookups.evaluate import solve
from warehouse.columns import positional
from warehouse.sources import Join, MemorySource, joined

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DECLARATIONS = """
.decl r(a: int, b: long, c: string)
.decl s(b: long, d: double, c: string)
.decl t(a: int, e: decimal(10,2), f: date, g: timestamp)
.decl u(c: string, h: boolean)
"""
RELATIONS = {
    relation.name: relation
    for relation in read(DECLARATIONS + "v(A) :- r(A, _, _).").checked.relations.values()
}
VALUES: Mapping[str, Sequence[object]] = {
    "int": (1, 2, 3, None),
    "long": (1, 2, 2**53 + 1, None),
    "double": (1.0, 2.5, 2.0**53, None),
    "decimal": (Decimal("1.00"), Decimal("2.50"), None),
    "string": ("x", "it's `x`", "", None),
    "date": (date(2024, 1, 31), date(2024, 2, 1), None),
    "timestamp": (datetime(2024, 1, 31, 1, 2, 3, 400_000), datetime(1969, 7, 20), None),
    "boolean": (True, False, None),
}
CONSTANTS = {
    "int": ("1", "2"),
    "long": ("2", str(2**53 + 1)),
    "double": ("1", "2.5"),
    "decimal": ("2.5",),
    "string": ("'x'", "'it\\'s `x`'"),
    "date": ("2024-01-31",),
    "timestamp": ("2024-01-31T01:02:03.4",),
    "boolean": ("true",),
}
OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Case:
    text: str
    join: Join
    keys: tuple[Row, ...]

    def expected(self, database: Mapping[str, Sequence[Row]]) -> set[Row]:
        join = self.join
        starts = [dict(zip(join.bound, key, strict=True)) for key in self.keys]
        found = solve(
            join.query, join.subgoals, join.comparisons, starts if join.bound else [{}], database
        )
        wanted = (*join.bound, *join.wanted)
        return {tuple(binding[var] for var in wanted) for binding in found}


def random_database(random: Random) -> dict[str, list[Row]]:
    return {
        name: list(
            {
                tuple(random.choice(VALUES[column.type.name]) for column in relation.columns): None
                for _ in range(12)
            }
        )
        for name, relation in RELATIONS.items()
    }


def random_case(seed: int) -> Case:
    random = Random(seed)
    atoms, types = [], {}
    for _ in range(random.choice((1, 2, 2, 3, 3))):
        relation = RELATIONS[random.choice("rrsstu")]
        terms = []
        for column in relation.columns:
            kind = column.type.name
            if random.random() < 0.1:
                terms.append(random.choice(CONSTANTS[kind]))
            else:
                # Two variables that differ only by case.
                name = f"V{kind}" + random.choice("xX")
                types[name] = column.type
                terms.append(name)
        atoms.append(f"{relation.name}({', '.join(terms)})")
    numbers = [n for n, kind in types.items() if kind.name in ("int", "long", "double")]
    body = list(atoms)
    for _ in range(random.choice((0, 0, 1, 2)) if types else 0):
        if len(numbers) > 1 and random.random() < 0.6:
            left, right = random.sample(numbers, 2)
        else:
            left = random.choice(sorted(types))
            right = random.choice(CONSTANTS[types[left].name])
        body.append(f"{left} {random.choice(OPERATORS[1:])} {right}")
    text = f"{DECLARATIONS}v({', '.join(sorted(types))}) :- {', '.join(body)}."
    query = read(text).normal("v")
    if not types:
        return random_case(seed + 1_000_000)
    subgoals = tuple(sorted(random.sample(range(len(atoms)), random.randint(1, len(atoms)))))
    variables = variables_of(*(v for i in subgoals for v in query.variables[i]))
    everywhere = variables_of(*(v for own in query.variables for v in own))
    bound = tuple(v for v in everywhere if random.random() < 0.3)
    wanted = tuple(v for v in variables if random.random() < 0.5)
    known = {*variables, *bound}
    comparisons = tuple(c for c in query.comparisons if known >= {*variables_of(c.left, c.right)})
    join = Join(query, subgoals, comparisons, bound, wanted)
    keys = {
        tuple(random.choice(VALUES[join.query.type_of[v].name]) for v in bound): None
        for _ in range(6 if bound else 0)
    }
    return Case(f"{text} asked: {subgoals} {bound} {wanted}", join, tuple(keys))


def rows_of(frame: DataFrame) -> set[Row]:
    found = [tuple(row) for row in frame.collect()]
    assert len(found) == len(set(found)), "an answer is a set"
    return set(found)


def texts(rows: Iterable[Row]) -> list[tuple[str | None, ...]]:
    """Rows as Spark writes them, to compare rows of many schemas in one frame."""

    def text(value: object) -> str | None:
        match value:
            case None:
                return None
            case bool():
                return str(value).lower()
            case float():
                return {2.0**53: "9.007199254740992E15"}.get(value, str(value))
            case datetime():
                return value.isoformat(sep=" ").removesuffix("00000")
            case _:
                return str(value)

    return sorted((tuple(map(text, row)) for row in rows), key=repr)


def tables_of(spark: SparkSession, database: Mapping[str, Sequence[Row]]) -> dict[str, DataFrame]:
    source = MemorySource.of_rows(spark, RELATIONS.values(), database)
    return {name: source.read(name, 0).coalesce(1).localCheckpoint() for name in RELATIONS}


def keys_of(spark: SparkSession, case: Case) -> DataFrame | None:
    return spark.createDataFrame(list(case.keys), case.join.key_schema) if case.join.bound else None


def check_answers(
    spark: SparkSession,
    tables: Mapping[str, DataFrame],
    database: Mapping[str, Sequence[Row]],
    cases: Sequence[Case],
) -> int:
    """All answers, in one job, are those of the reference; how many have a row."""
    from pyspark.sql import functions

    placed = {name: positional(tables[name], tables[name].columns) for name in tables}
    packed = []
    for number, case in enumerate(cases):
        frame = joined(case.join, placed, keys_of(spark, case), few_keys=number % 2 == 0)
        assert frame.schema.simpleString() == case.join.schema.simpleString()
        values = (functions.col(name).cast("string") for name in frame.columns)
        packed.append(
            frame.select(
                functions.lit(number).alias("n"),
                functions.array(functions.lit(""), *values).alias("row"),
            )
        )
    found: dict[int, list[Row]] = {}
    for number, row in reduce(lambda a, b: a.unionAll(b), packed).collect():
        found.setdefault(number, []).append(tuple(row[1:]))
    full = 0
    for number, case in enumerate(cases):
        expected = case.expected(database)
        full += bool(expected)
        assert sorted(found.get(number, []), key=repr) == texts(expected), case.text
    return full
