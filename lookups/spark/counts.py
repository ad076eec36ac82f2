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
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as sf

from cq.query import Query
from cq.roles import join_columns
from lookups.spark.columns import Names, Sql, if_
from lookups.spark.rounds import IRRELEVANT, KINDS, MISS
from lookups.verdict import Kind


@dataclass(frozen=True, slots=True)
class Tally:
    """How many changes of a relation got which verdict by which rule."""

    relation: str
    insert: bool
    kind: Kind
    rule: str
    changes: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What a batch came to.

    Args:
        tallies: the verdicts on changes, each counted once.
        lookups: how many were made.
        asking: what the traditional plan would ask, a question for each subgoal that a change
            matches: the subgoal to the number of distinct keys.
        missed: subgoal and whether it is an insertion to the changes that are left open.
        inserted, deleted: rows of the view.
    """

    tallies: tuple[Tally, ...]
    lookups: int
    asking: Mapping[int, int]
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


def _line(counted: DataFrame, columns: Mapping[str, Sql]) -> DataFrame:
    chosen = {**_COLUMNS, "changes": "changes", **columns}
    return counted.selectExpr(*(f"{value} AS {name}" for name, value in chosen.items()))


def count(
    names: Names,
    verdicts: Mapping[int, DataFrame],
    rows: DataFrame,
    before: Counts | None = None,
) -> Counts:
    """Count verdicts and rows; one job.

    Args:
        verdicts: subgoal to its decided parts.
        rows: the view's rows that change, each once, with `n`.
        before: what was counted before a second chance; what would be asked is the same.
    """
    query = names.query
    by_part = names.together([_parts(subgoal, frame) for subgoal, frame in verdicts.items()])
    lines = [by_part, _line(rows.groupBy("n").agg(_number()), {"what": "'row'", "n": "n"})]
    for relation in dict.fromkeys(query.atoms[i].predicate for i in verdicts):
        subgoals = query.occurrences(relation)
        if len(subgoals) > 1:
            lines.append(_whole(names, subgoals[0], [verdicts[i] for i in subgoals]))
    if len(query.atoms) > 1 and before is None:
        lines += [_keys(query, subgoal, frame) for subgoal, frame in verdicts.items()]
    found = _counts(query, names.together(lines).collect())
    return found if before is None else replace(found, asking=before.asking)


def _number() -> Column:
    return sf.expr("count(1) AS changes")


def _parts(subgoal: int, frame: DataFrame) -> DataFrame:
    """The verdicts on the parts of changes that meet one subgoal."""
    lookups = sf.expr(f"sum({_lookups(frame)}) AS lookups")
    counted = frame.groupBy("insert", "kind", "rule").agg(_number(), lookups)
    columns = {"what": "'part'", "place": str(subgoal), "lookups": "lookups"}
    return _line(counted, columns | {name: name for name in ("insert", "kind", "rule")})


def _whole(names: Names, place: int, parts: Sequence[DataFrame]) -> DataFrame:
    """The verdicts on changes of a relation that occurs several times: the greatest of a part's."""
    together = names.together([frame.selectExpr("id", "insert", "kind", "rule") for frame in parts])
    verdict = sf.expr("max(struct(kind, rule)) AS verdict")
    counted = together.groupBy("id", "insert").agg(verdict)
    counted = counted.groupBy("insert", "verdict").agg(_number())
    columns = {"what": "'change'", "place": str(place), "insert": "insert"}
    return _line(counted, columns | {name: f"verdict.{name}" for name in ("kind", "rule")})


def _keys(query: Query, subgoal: int, frame: DataFrame) -> DataFrame:
    """The distinct values with which changes that match a subgoal are joined to the others."""
    columns = ", ".join(f"c{place}" for place in join_columns(query, subgoal)) or "true"
    key = if_(f"kind != {IRRELEVANT}", f"struct({columns})")
    counted = frame.agg(sf.expr(f"count(DISTINCT {key}) AS changes"))
    return _line(counted, {"what": "'keys'", "place": str(subgoal)})


def _lookups(frame: DataFrame) -> Sql:
    words = [f"bit_count({name})" for name in frame.columns if name.startswith("asked")]
    return f"CAST({' + '.join(words)} AS bigint)"


def _counts(query: Query, lines: Sequence[Row]) -> Counts:
    tallies: list[Tally] = []
    asking: dict[int, int] = {}
    missed: dict[tuple[int, bool], int] = {}
    rows: dict[int, int] = {}
    for line in lines:
        what, place, changes = line["what"], line["place"], line["changes"]
        if what == "row":
            rows[line["n"]] = changes
        elif what == "keys" and changes:
            # Where nothing connects the subgoal to the others, the question has no keys.
            asking[place] = changes if join_columns(query, place) else 0
        elif what == "part" and line["kind"] == MISS:
            missed[place, line["insert"]] = missed.get((place, line["insert"]), 0) + changes
        if what == "change" or (what == "part" and _occurs_once(query, place)):
            relation = query.atoms[place].predicate
            kind, rule = KINDS[line["kind"]], line["rule"]
            tallies.append(Tally(relation, line["insert"], kind, rule, changes))
    lookups = sum(line["lookups"] for line in lines)
    tallies.sort(key=lambda t: (t.relation, t.insert, t.kind, t.rule))
    return Counts(tuple(tallies), lookups, asking, missed, rows.get(1, 0), rows.get(-1, 0))


def _occurs_once(query: Query, subgoal: int) -> bool:
    return len(query.occurrences(query.atoms[subgoal].predicate)) == 1
