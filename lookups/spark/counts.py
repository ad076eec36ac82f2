"""What a batch came to, counted in one job: verdicts, what is left open, and rows of the view.

what      `verdict`, `part` or `row`
place     of a verdict the relation, of a part the subgoal
insert    the action of the change
kind      its verdict, as in `KINDS`
rule      what decided
n         of a row 1 or -1: it comes or goes
changes   how many there are
lookups   how many they made together
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

from cq.query import Query
from cq.syntax import variables_of
from lookups.spark.columns import Names, Sql
from lookups.spark.rounds import IRRELEVANT, KINDS, MISS
from lookups.verdict import Kind


@dataclass(frozen=True, slots=True)
class Tally:
    """How many changes of a relation got which verdict by which rule, and their lookups."""

    relation: str
    insert: bool
    kind: Kind
    rule: str
    changes: int
    lookups: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What a batch came to.

    Args:
        tallies: the verdicts on changes, each counted once.
        asking: what the traditional plan would ask, a question for each subgoal that a change
            matches: the subgoal to the number of distinct keys.
        missed: subgoal and whether it is an insertion to the changes that are left open.
        inserted, deleted: rows of the view.
    """

    tallies: tuple[Tally, ...]
    asking: Mapping[int, int]
    missed: Mapping[tuple[int, bool], int]
    inserted: int
    deleted: int

    @property
    def lookups(self) -> int:
        return sum(tally.lookups for tally in self.tallies)


_COLUMNS: Mapping[str, Sql] = {
    "what": "''",
    "place": "CAST(NULL AS int)",
    "insert": "CAST(NULL AS boolean)",
    "kind": "CAST(NULL AS int)",
    "rule": "CAST(NULL AS string)",
    "n": "CAST(NULL AS bigint)",
    "changes": "0L",
    "lookups": "0L",
}


def _line(frame: DataFrame, columns: Mapping[str, Sql]) -> DataFrame:
    chosen = {**_COLUMNS, **columns}
    return frame.selectExpr(*(f"{value} AS {name}" for name, value in chosen.items()))


def count(names: Names, verdicts: Mapping[int, DataFrame], rows: DataFrame) -> Counts:
    """Count verdicts and rows; one job.

    Args:
        verdicts: subgoal to its decided parts.
        rows: the view's rows that change, each once, with `n`.
    """
    relations = list(dict.fromkeys(names.query.atoms[i].predicate for i in verdicts))
    parts = names.together(
        [
            frame.selectExpr(
                f"{relations.index(names.query.atoms[subgoal].predicate)} AS relation",
                f"{subgoal} AS subgoal",
                *("id", "insert", "kind", "rule"),
                f"{_lookups(frame)} AS lookups",
            )
            for subgoal, frame in verdicts.items()
        ]
    )
    by_change = parts.groupBy("relation", "insert", "id").agg(
        sf.expr("max(struct(kind, rule)) AS verdict"), sf.expr("sum(lookups) AS lookups")
    )
    by_verdict = by_change.groupBy("relation", "insert", "verdict").agg(
        sf.expr("count(1) AS changes"), sf.expr("sum(lookups) AS lookups")
    )
    by_part = parts.groupBy("subgoal", "insert", "kind").agg(sf.expr("count(1) AS changes"))
    by_row = rows.groupBy("n").agg(sf.expr("count(1) AS changes"))
    verdict = {"what": "'verdict'", "place": "relation", "kind": "verdict.kind"}
    verdict |= {"rule": "verdict.rule", "lookups": "lookups"}
    same = {"insert": "insert", "changes": "changes"}
    lines = [
        _line(by_verdict, {**verdict, **same}),
        _line(by_part, {"what": "'part'", "place": "subgoal", "kind": "kind", **same}),
        _line(by_row, {"what": "'row'", "n": "n", "changes": "changes"}),
    ]
    if len(names.query.atoms) > 1:
        lines += [_keys(names.query, subgoal, frame) for subgoal, frame in verdicts.items()]
    return _counts(names.query, relations, names.together(lines).collect())


def _keys(query: Query, subgoal: int, frame: DataFrame) -> DataFrame:
    """The distinct values with which changes that match a subgoal are joined to the others."""
    columns = [f"c{place}" for place in join_columns(query, subgoal)] or ["true"]
    keys = frame.where(f"kind != {IRRELEVANT}").selectExpr(*columns).distinct()
    counted = keys.agg(sf.expr("count(1) AS changes"))
    return _line(counted, {"what": "'keys'", "place": str(subgoal), "changes": "changes"})


def join_columns(query: Query, subgoal: int) -> tuple[int, ...]:
    """Where a subgoal has the variables that connect it to others; each variable once.

    Example:
        >>> from cq.program import read
        >>> query = read("v(X) :- r(X, Y, Z), s(Y, Y), t(U), U < Z.").query("v")
        >>> join_columns(query, 0), join_columns(query, 1)
        ((1, 2), (0,))
    """
    own = query.variables[subgoal]
    linked = {var for place, vars in enumerate(query.variables) if place != subgoal for var in vars}
    for comparison in query.comparisons:
        compared = set(variables_of(comparison.left, comparison.right))
        if not compared <= set(own):
            linked |= compared
    terms = query.atoms[subgoal].terms
    return tuple(terms.index(var) for var in own if var in linked)


def _lookups(frame: DataFrame) -> Sql:
    words = [f"bit_count({name})" for name in frame.columns if name.startswith("asked")]
    return f"CAST({' + '.join(words)} AS bigint)"


def _counts(query: Query, relations: Sequence[str], lines: Sequence[Row]) -> Counts:
    tallies: list[Tally] = []
    asking: dict[int, int] = {}
    missed: dict[tuple[int, bool], int] = {}
    rows: dict[int, int] = {}
    for line in lines:
        place, changes = line["place"], line["changes"]
        if line["what"] == "row":
            rows[line["n"]] = changes
        elif line["what"] == "verdict":
            kind = KINDS[line["kind"]]
            tallies.append(
                Tally(
                    relations[place], line["insert"], kind, line["rule"], changes, line["lookups"]
                )
            )
        elif line["what"] == "keys" and changes:
            # Where nothing connects the subgoal to the others, the question has no keys.
            asking[place] = changes if join_columns(query, place) else 0
        elif line["kind"] == MISS:
            missed[place, line["insert"]] = changes
    tallies.sort(key=lambda t: (t.relation, t.insert, t.kind, t.rule))
    return Counts(tuple(tallies), asking, missed, rows.get(1, 0), rows.get(-1, 0))
