"""What missed: asked of the batch, the settled view and the source, and put together with the rest.

As `lookups.complete` and the end of `lookups.maintain`: a missed insertion needs pieces, which are
asked for where nobody here knows them; a missed deletion has its slice of the view replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from cq.partition import Group
from cq.syntax import Comparison, Const, Var
from lookups.complete import variables_at
from lookups.spark.bindings import Case
from lookups.spark.chances import Piece, completed_rows, needed, settled_answers, with_open
from lookups.spark.columns import (
    Names,
    Sql,
    all_of,
    any_of,
    certain,
    if_,
    literal,
    numbered,
    with_changed,
    with_columns,
)
from lookups.spark.evidence import MOST_BROADCAST, at, nothing
from lookups.spark.parts import Changed
from lookups.spark.probes import Families, Probes
from lookups.spark.rounds import MISS, SELF_MAINTAINED, UNAFFECTED
from lookups.verdict import Because


@dataclass(frozen=True, slots=True)
class Ask:
    """What a source is asked: the rows of a small join for some keys.

    Args:
        subgoals: the join, by position in the body; the whole body for a slice of the view.
        bound: the variables that the keys are values of: columns `b0`, `b1`, ...
        wanted: the variables whose values the answer brings: columns `w0`, `w1`, ...
        is_slice: asked for a slice of the view, on behalf of missed deletions (and, `by_slices`, of
            missed insertions). Of the variables that may hold NULL, NULL then equals NULL.
        keys: how many keys are asked for.
    """

    subgoals: tuple[int, ...]
    comparisons: tuple[Comparison, ...]
    bound: tuple[Var, ...]
    wanted: tuple[Var, ...]
    is_slice: bool
    keys: int


class Reading(Protocol):
    """Who is told what a batch reads of the view."""

    def is_likely(self) -> None:
        """The batch will probably read the view: now is the time to prepare for it."""

    def begins(self, scanned: DataFrame) -> bool:
        """This is about to be read; False if no file is read for it.

        Its plan is about to run: to ask it for its files costs next to nothing, where another frame
        would have Delta choose the files once more.
        """


class Unheeded:
    """Nobody is told."""

    def is_likely(self) -> None:
        pass

    def begins(self, scanned: DataFrame) -> bool:
        return True


class Answers(NamedTuple):
    """What a source sends.

    Args:
        frame: columns `b0.., w0..`, as of the version that ends the batch.
        rows: how many.
    """

    frame: DataFrame
    rows: int


Answering: TypeAlias = Callable[[Ask, DataFrame | None], Answers]
"""A source: an `Ask` and its distinct keys (None: no variable is bound) to the answers."""


@dataclass
class Misses:
    """The missed changes of a batch, when every other change is settled.

    Args:
        pieces: what missed insertions may need.
        left: subgoal to what a missed insertion of it needs, and when.
        parts: subgoal to its changes, in the order of the rounds.
        evidence, deltas: the view before the batch, if it shows anything, and what the rounds did.
        verdicts: subgoal to its decided parts. A second chance that helps is noted here.
        view, answer, by_slices, reading: as for `maintain`.
    """

    names: Names
    families: Families
    pieces: Sequence[Piece]
    left: Mapping[int, Sequence[tuple[Case, Piece]]]
    parts: Mapping[int, Changed]
    evidence: DataFrame | None
    deltas: Sequence[DataFrame]
    verdicts: dict[int, DataFrame]
    view: DataFrame
    answer: Answering
    by_slices: bool
    reading: Reading
    asks: list[Ask] = field(default_factory=list)

    def complete(self, missed: Collection[tuple[int, bool]]) -> DataFrame:
        """The view's change with the missed changes in it, as rows with `n`.

        Args:
            missed: subgoal and whether it is an insertion, of which there are missed changes.
        """
        inserting = [i for i in self.parts if (i, True) in missed]
        deleting = [i for i in self.parts if (i, False) in missed]
        changes = {i: self.verdicts[i].where(f"kind = {MISS}") for i in {*inserting, *deleting}}
        wanted = {way.family for piece in self.pieces for way in piece.ways}
        sliced = inserting if self.by_slices else []
        whole = [self.parts[i].insert for i in sliced] + [self.parts[i].delete for i in deleting]
        wanted |= {n for probes in whole if (n := probes.all_rows) is not None}
        settled = at(self.names, self.families, self.evidence, self.deltas, wanted)
        if settled is None:
            evidence = nothing(self.names, next(iter(changes.values())))
        else:
            evidence = self.names.kept(settled)
        new = self.complete_insertions(inserting, changes, evidence)
        replaced, slices = self.replace_slices(sliced, deleting, evidence)
        there: list[DataFrame] = []
        if not self.by_slices and any(self.parts[i].insert.is_hidden for i in inserting):
            new = [self.names.finished(self.names.together(new).distinct())]
            there = self.there(*new)
        return self.put_together([*new, *slices], replaced, there)

    def there(self, new: DataFrame) -> list[DataFrame]:
        """Those of the rows that missed insertions add, each given once, that are in the view.

        The evidence tells it of insertions that show something. For one that shows nothing it would
        be the whole view, so the rows themselves are looked for, when they are known.
        """
        names = self.names
        count = new.count()
        if not count:
            return []
        wanted = new.toDF(*(f"k{i}" for i in range(len(names.head))))
        wanted = sf.broadcast(wanted) if count <= MOST_BROADCAST else wanted.hint("merge")
        same = all_of(f"h{i} <=> k{i}" for i in range(len(names.head)))
        found = numbered(self.view, "h").join(wanted, sf.expr(same), "left_semi")
        self.reading.begins(found)
        return [names.kept(found)]

    def complete_insertions(
        self, inserting: Sequence[int], missed: Mapping[int, DataFrame], evidence: DataFrame
    ) -> list[DataFrame]:
        """The rows that missed insertions add, asked for where nobody here knows."""
        names = self.names
        inserts = {i: missed[i].where("insert") for i in inserting}
        needs = [needed(names, inserts[i], self.left[i]) for i in inserting if self.left[i]]
        open_pieces = answers = None
        if needs:
            pieces = names.kept(names.together(needs).distinct())
            known = names.finished(settled_answers(names, self.pieces, pieces, missed, evidence))
            told = known.selectExpr("piece", "key").distinct()
            open_pieces = names.kept(names.filtered(pieces, told, ("piece", "key"), "left_anti"))
            asked = [] if self.by_slices else self.ask_for_pieces(open_pieces)
            answers = names.together([known, *asked])
        helped = f"insert AND kind = {MISS} AND NOT open"
        helper = if_("pieces > 0", f"'{Because.SETTLED}'", f"'{Because.BATCH}'")
        for i in inserting:
            self.verdicts[i] = with_changed(
                with_open(names, self.verdicts[i], self.left[i], open_pieces),
                {
                    "first": "rule",
                    "rule": if_(helped, helper, "rule"),
                    "kind": if_(helped, str(SELF_MAINTAINED), "kind"),
                },
            ).drop("open", "pieces")
        return [completed_rows(names, inserts[i], self.left[i], answers) for i in inserting]

    def ask_for_pieces(self, open_pieces: DataFrame) -> list[DataFrame]:
        """One question per group, with all its keys."""
        names, answers = self.names, []
        counts = {
            row["piece"]: row["count"] for row in open_pieces.groupBy("piece").count().collect()
        }
        of_group: dict[Group, list[Piece]] = {}
        for number in sorted(counts):
            of_group.setdefault(self.pieces[number].group, []).append(self.pieces[number])
        for group, pieces in of_group.items():
            wanted = pieces[0].wanted
            bound = {var: f"b{i}" for i, var in enumerate(group.bound)}
            keys = open_pieces.where(any_of(f"piece = {p.number}" for p in pieces)).selectExpr(
                *(f"key.{names.variable(var)} AS {name}" for var, name in bound.items())
            )
            count = counts[pieces[0].number]
            if len(pieces) > 1:  # some are looked up and some are skipped, maybe for the same key
                keys = names.kept(keys.distinct())
                count = keys.count()
            found = self.ask(
                Ask(group.subgoals, group.comparisons, group.bound, wanted, False, count), keys
            )
            given = {names.query.columns[var]: f"w{i}" for i, var in enumerate(wanted)}
            answers += [
                found.selectExpr(
                    f"{piece.number} AS piece",
                    f"{names.binding(bound, bound.__getitem__)} AS key",
                    f"{names.mask(given)} AS g",
                ).distinct()
                for piece in pieces
            ]
        return answers

    def ask(self, ask: Ask, keys: DataFrame) -> DataFrame:
        self.asks.append(ask)
        found = self.answer(ask, keys if ask.bound else None)
        self.names.meet(found.rows)
        return self.names.finished(found.frame)

    def replace_slices(
        self, inserting: Sequence[int], deleting: Sequence[int], evidence: DataFrame
    ) -> tuple[list[DataFrame], list[DataFrame]]:
        """The settled rows in the slices of missed changes, and the rows that replace them.

        Args:
            inserting: where insertions that are still open are slices, too.
        """
        names = self.names
        replaced: list[DataFrame] = []
        keys: dict[tuple[int, ...], list[DataFrame]] = {}

        def replace(probes: Probes, slices: DataFrame) -> None:
            rows = evidence.where(f"f = {probes.all_rows}").selectExpr("k", "g")
            there = names.filtered(rows, slices, ("k",), "left_semi")
            replaced.append(there.selectExpr(*names.unmasked("g")))
            keys.setdefault(probes.shown.columns, []).append(slices)

        for i in inserting:
            probes = self.parts[i].insert
            missed = self.verdicts[i].where(f"insert AND kind = {MISS}")
            replace(probes, missed.selectExpr(f"{names.key(probes.shown)} AS k").distinct())
        for i in deleting:
            probes = self.parts[i].delete
            rows = evidence.where(f"f = {probes.all_rows}")
            shown = rows.selectExpr("k", "true AS there").distinct()
            frame = with_columns(self.verdicts[i], {"k": names.key(probes.shown)})
            frame = names.finished(names.joined_on(frame, shown, ("k",), "left", is_last=True))
            is_missed = f"NOT insert AND kind = {MISS}"
            replace(probes, frame.where(f"{is_missed} AND there").selectExpr("k").distinct())
            helped = f"{is_missed} AND NOT {certain('there')}"
            first = {} if "first" in frame.columns else {"first": "rule"}
            self.verdicts[i] = with_changed(
                frame,
                {
                    **first,
                    "rule": if_(helped, f"'{Because.SETTLED}'", "rule"),
                    "kind": if_(helped, str(UNAFFECTED), "kind"),
                },
            ).drop("k", "there")
        new = [self.ask_for_slices(columns, names.together(k)) for columns, k in keys.items()]
        return replaced, [frame for frame in new if frame is not None]

    def ask_for_slices(self, columns: tuple[int, ...], slices: DataFrame) -> DataFrame | None:
        query = self.names.query
        keys = self.names.kept(slices.distinct())
        count = keys.count()
        if not count:
            return None
        bound = variables_at(query, columns)
        wanted = tuple(var for var in query.columns if var not in bound)
        subgoals = tuple(range(len(query.atoms)))
        found = self.ask(
            Ask(subgoals, query.comparisons, bound, wanted, True, count),
            keys.selectExpr(*(f"k.h{i} AS b{n}" for n, i in enumerate(columns))),
        )
        if bound:  # a source may send more than it was asked for
            asked = keys.selectExpr(*(f"k.h{i} AS k{n}" for n, i in enumerate(columns)))
            same = all_of(f"b{n} <=> k{n}" for n in range(len(bound)))
            found = found.join(self.names.hinted(asked), sf.expr(same), "left_semi")
        place = {var: f"b{n}" for n, var in enumerate(bound)}
        place |= {var: f"w{n}" for n, var in enumerate(wanted)}
        cells = [
            (literal(term.value) if isinstance(term, Const) else sf.col(place[term]))
            .cast(kind)
            .alias(f"h{i}")
            for i, (term, kind) in enumerate(zip(query.head, self.names.kinds, strict=True))
        ]
        return found.select(*cells).distinct()

    def put_together(
        self,
        new: Sequence[DataFrame],
        replaced: Sequence[DataFrame],
        looked_for: Sequence[DataFrame],
    ) -> DataFrame:
        """What becomes of each row that anything is known about, as rows with `n`.

        The view after the batch is the settled rows outside the slices, the new slices, and the
        rows of the missed insertions. Whether a row was in the view before is known from the
        evidence, from having been looked for, from having been removed, or from having been in a
        slice that is replaced.
        """
        names = self.names
        whole = [n for f, n in self.families.numbers.items() if len(f.gives) == len(names.head)]
        marked = [
            *(self.mark(frame, "moved", "n") for frame in self.deltas),
            *(self.mark(frame, "replaced", "1") for frame in replaced),
            *(self.mark(frame, "new", "1") for frame in new),
            *(self.mark(frame, "there", "1") for frame in looked_for),
        ]
        if self.evidence is not None:
            shown = self.evidence.where(any_of(f"f = {n}" for n in whole))
            marked.append(self.mark(shown.selectExpr(*names.unmasked("g")), "there", "1"))
        figures = ["sum(moved) AS moved"]
        figures += [f"max({mark}) > 0 AS {mark}" for mark in ("replaced", "new", "there")]
        known = self.names.together(marked).groupBy(*names.row).agg(*map(sf.expr, figures))
        before = "there OR moved < 0 OR (replaced AND moved = 0)"
        settled = "(before AND moved = 0) OR moved > 0"
        known = with_columns(known, {"before": before})
        known = with_columns(known, {"after": f"new OR ({settled}) AND NOT replaced"})
        change = "CAST(after AS bigint) - CAST(before AS bigint) AS n"
        return known.selectExpr(*names.row, change)

    def mark(self, frame: DataFrame, name: str, value: Sql) -> DataFrame:
        marks = ("moved", "replaced", "new", "there")
        return frame.selectExpr(
            *self.names.row,
            *(f"CAST({value if mark == name else 0} AS bigint) AS {mark}" for mark in marks),
        )
