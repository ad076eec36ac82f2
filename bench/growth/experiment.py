"""A star that can grow in four directions, and the points at which it is measured.

    v(Key, Dim1, Name1, ..., Measure) :- fact(Key, Dim1, ..., Measure), dim1(Dim1, Name1), ...

A batch inserts facts whose dimensions the view shows, so that it is decided here and every change
adds a row to every view: deciding and writing are measured, and no source.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import selfmaint
from bench.growth.results import Point
from selfmaint import Report, Warehouse
from warehouse.sources import Answer, Join

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BASE: Final = Point("", rows=100_000, changes=1_000, subgoals=3, views=1)

AXES: Final = {
    "rows": tuple(replace(BASE, axis="rows", rows=10**n) for n in (4, 5, 6, 7)),
    "changes": tuple(replace(BASE, axis="changes", changes=10**n) for n in range(6)),
    "subgoals": tuple(replace(BASE, axis="subgoals", subgoals=n) for n in (2, 3, 4, 6, 8)),
    "views": tuple(
        replace(BASE, axis="views", rows=10_000, changes=100, views=n)
        for n in (1, 2, 5, 10, 20, 50)
    ),
    "spared": tuple(
        replace(BASE, axis="spared", rows=10_000, changes=100, spared=n)
        for n in (1, 2, 5, 10, 20, 50)
    ),
}
"""By what grows; the rest stays as it is."""

QUICK: Final = {axis: points[:2] for axis, points in AXES.items()}

STEPS: Final = (7919, 104_729, 1_299_709, 15_485_863, 32_452_843, 49_979_687, 67_867_967)
"""Primes by which facts stride through their dimensions."""

MEASURES: Final = 10
"""Values of the measure that changes have."""


class WrongRows(AssertionError):
    """A view is not what recomputation says."""


def program(point: Point) -> selfmaint.Program:
    """The star, as often as there are views; each leaves out another value of the measure.

    A view that is spared shows one value of the measure alone, which no change has.
    """
    dims = range(1, point.subgoals)
    keys = "".join(f"d{i}: long, " for i in dims)
    lines = [f".decl fact(k: long, {keys}m: long) key(k)"]
    lines += [f".decl dim{i}(d: long, name: string) key(d)" for i in dims]
    head = ", ".join(f"D{i}, N{i}" for i in dims)
    body = ", ".join(
        [f"fact(K, {''.join(f'D{i}, ' for i in dims)}M)", *(f"dim{i}(D{i}, N{i})" for i in dims)]
    )
    lines += [f"v{n}(K, {head}, M) :- {body}, M != {-n}." for n in range(1, point.views + 1)]
    others = range(MEASURES, MEASURES + point.spared)
    lines += [f"only{n}(K, {head}, M) :- {body}, M = {n}." for n in others]
    return selfmaint.parse("\n".join(lines))


class Facts:
    """A source whose rows follow from their keys: a later version has more of them.

    It keeps none: they would fill the heap of the JVM that is measured.
    """

    name: Final = "facts"

    def __init__(self, spark: SparkSession, point: Point) -> None:
        self._spark = spark
        self._point = point
        self._version = 0
        self._dims = range(1, point.subgoals)
        self._members = max(point.rows // 100, 10)

    @property
    def relations(self) -> frozenset[str]:
        return frozenset({"fact", *(f"dim{i}" for i in self._dims)})

    def version(self) -> int:
        return self._version

    def read(self, relation: str, version: int) -> DataFrame:
        if relation == "fact":
            return self._facts(0, self._end(version))
        name = f"concat('member {relation.removeprefix('dim')} of ', id) AS name"
        return self._spark.range(self._members).selectExpr("id AS d", name)

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        raise WrongRows(f"{self._point}: a question, where every change is decided here")

    def advance(self) -> DataFrame:
        """The changes that lead to the next version, which it has from now on."""
        first, end = self._end(self._version), self._end(self._version + 1)
        self._version += 1
        rows = self._facts(first, end).selectExpr("*", "'insert' AS change")
        return rows.localCheckpoint()

    def _end(self, version: int) -> int:
        return self._point.rows + version * self._point.changes

    def _facts(self, first: int, end: int) -> DataFrame:
        dims = (f"id * {STEPS[i - 1]} % {self._members} AS d{i}" for i in self._dims)
        loaded, changed = MEASURES + self._point.spared, MEASURES
        measure = f"id % if(id < {self._point.rows}, {loaded}, {changed}) AS m"
        return self._spark.range(first, end).selectExpr("id AS k", *dims, measure)


class Star:
    """A warehouse of one point, loaded, and its source."""

    def __init__(self, spark: SparkSession, folder: str, point: Point) -> None:
        self._point = point
        self._facts = Facts(spark, point)
        self._warehouse = Warehouse.open(spark, folder, program(point), source=self._facts)
        self._warehouse.load()

    def batch(self) -> Report:
        """Apply the next changes; all of them are decided here."""
        report = self._warehouse.apply({"fact": self._facts.advance()})
        for number, view in enumerate(report.views):
            expected = self._point.changes if number < self._point.views else 0
            if (view.inserted, view.cost.questions) != (expected, 0):
                raise WrongRows(f"{self._point}: {view}")
        return report

    def check(self) -> None:
        """Compare the first and the last view with recomputation.

        The last one may be spared: then no batch has touched it.
        """
        for name in sorted({self._warehouse.views[0], self._warehouse.views[-1]}):
            if not self._warehouse.verify(name).is_right:
                raise WrongRows(f"{self._point}: {name}")
