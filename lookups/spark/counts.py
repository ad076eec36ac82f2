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
        relevant: per subgoal the changes that match it, which somebody has to decide.
        missed: subgoal and whether it is an insertion to the changes that are left open.
        inserted, deleted: rows of the view.
    """

    tallies: tuple[Tally, ...]
    relevant: Mapping[int, int]
    missed: Mapping[tuple[int, bool], int]
    inserted: int
    deleted: int


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
    return _counts(relations, names.together(lines).collect())


def _lookups(frame: DataFrame) -> Sql:
    words = [f"bit_count({name})" for name in frame.columns if name.startswith("asked")]
    return f"CAST({' + '.join(words)} AS bigint)"


def _counts(relations: Sequence[str], lines: Sequence[Row]) -> Counts:
    tallies: list[Tally] = []
    relevant: dict[int, int] = {}
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
        elif line["kind"] != IRRELEVANT:
            relevant[place] = relevant.get(place, 0) + changes
            if line["kind"] == MISS:
                missed[place, line["insert"]] = changes
    tallies.sort(key=lambda t: (t.relation, t.insert, t.kind, t.rule))
    return Counts(tuple(tallies), relevant, missed, rows.get(1, 0), rows.get(-1, 0))
