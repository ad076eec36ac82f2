"""One batch on one view, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType

from cq.query import Query
from cq.syntax import Comparison, Const, Var
from lookups.complete import variables_at
from lookups.emit import emit_step
from lookups.plan import ACTIONS, Rule, Step
from lookups.spark.bindings import Case, cases, resolutions
from lookups.spark.chances import (
    Piece,
    Pieces,
    completed_rows,
    is_left,
    needed,
    settled_answers,
    with_open,
)
from lookups.spark.columns import (
    MOST_ROWS,
    Names,
    Sql,
    any_of,
    certain,
    exploded,
    if_,
    kinds,
    literal,
    numbered,
    with_columns,
)
from lookups.spark.counts import Counts, count
from lookups.spark.evidence import at, ranges, scan
from lookups.spark.parts import LOOKED_UP, OPEN, Changed, Changes, Kinds, parts_of
from lookups.spark.probes import Families, Probes, no_probes, probes_of
from lookups.spark.rounds import (
    MISS,
    SELF_MAINTAINED,
    UNAFFECTED,
    can_be_stuck,
    decided,
    decided_at_last,
    families_of,
    looked_up,
    net,
    new_rows,
    removed_rows,
    stuck,
    taken_by_now,
)
from lookups.verdict import Because


@dataclass(frozen=True, slots=True)
class Ask:
    """What a source is asked: the rows of a small join for some keys.

    Args:
        subgoals: the join, by position in the body; the whole body for a slice of the view.
        bound: the variables that the keys are values of: columns `b0`, `b1`, ...
        wanted: the variables whose values the answer brings: columns `w0`, `w1`, ...
        is_slice: asked for a slice of the view, on behalf of missed deletions (and, `by_slices`, of
            missed insertions). Of the variables
            that may hold NULL, NULL then equals NULL.
        keys: how many keys are asked for.
    """

    subgoals: tuple[int, ...]
    comparisons: tuple[Comparison, ...]
    bound: tuple[Var, ...]
    wanted: tuple[Var, ...]
    is_slice: bool
    keys: int


Answering: TypeAlias = Callable[[Ask, DataFrame | None], DataFrame]
"""A source: an `Ask` and its distinct keys (None: no variable is bound) to the answers, with
columns `b0.., w0..`, as of the version that ends the batch."""


@dataclass(frozen=True)
class Decided:
    """The verdicts on the changes of one relation, as they met one subgoal.

    Args:
        insert, delete: the steps and the order of their lookups.
        frame: `id`, `insert`, the change's row `c0..`, `kind`, `rule`, `first` (the rule before a
            second chance), `failed`, and the lookups as bits, `asked0..` and `found0..`.
    """

    subgoal: int
    insert: Probes
    delete: Probes
    frame: DataFrame


@dataclass(frozen=True)
class Maintained:
    """What a batch does to a view.

    Args:
        inserts, deletes: disjoint sets of view rows, with the view's own column names.
        counts: of the verdicts and of these rows.
        decided: the verdicts, one frame per changed subgoal.
        asks: what the source was asked.
    """

    inserts: DataFrame
    deletes: DataFrame
    counts: Counts
    decided: tuple[Decided, ...]
    asks: tuple[Ask, ...]


MOST_SMALL = 20_000
"""Changes of a batch that one task works through faster than several share them out."""

MOST_EVIDENCE = 1_000_000
"""Values that the view may give for the keys of a small batch."""


def maintain(
    query: Query,
    view: DataFrame,
    changes: Mapping[str, Changes],
    answer: Answering,
    *,
    by_slices: bool = False,
) -> Maintained:
    """Bring a view from its state before a batch to the state after it.

    Args:
        view: the rows of the view before the batch, at a fixed version.
        changes: relation to its net changes, at least one.
        answer: asked for what neither the view nor the batch know.
        by_slices: `answer` knows only whole rows of the view. An insertion that nobody here can
            complete is then asked for as a missed deletion is: the slice of the view that shows
            its values.
    """
    used = {atom.predicate for atom in query.atoms}
    mine = {name: found for name, found in changes.items() if name in used}
    size = sum(found.inserts + found.deletes for found in mine.values())
    run = _Run(query, view, mine, answer, size <= MOST_SMALL, by_slices)
    if not run.order:
        return Maintained(view.limit(0), view.limit(0), Counts((), 0, {}, {}, 0, 0), (), ())
    run.prepare()
    run.look_up()
    for subgoal in run.order:
        run.work_through(subgoal)
    for subgoal in reversed(run.order):
        run.disappear(subgoal)
    return run.finish()


def _positions(columns: Sequence[str]) -> list[str]:
    return [f"c{i}" for i in range(len(columns))]


@dataclass
class _Run:
    query: Query
    view: DataFrame
    changes: Mapping[str, Changes]
    answer: Answering
    is_small: bool
    by_slices: bool
    families: Families = field(default_factory=Families)
    parts: dict[int, Changed] = field(default_factory=dict)
    left: dict[int, tuple[tuple[Case, Piece], ...]] = field(default_factory=dict)
    verdicts: dict[int, DataFrame] = field(default_factory=dict)
    deltas: list[DataFrame] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert self.query.head, "a view without columns has no table"
        self.rows = {
            name: found.frame.toDF("id", "insert", *_positions(found.frame.columns[2:]))
            for name, found in self.changes.items()
        }
        self.order = tuple(i for i in self.query.order if self.relation(i) in self.rows)

    def relation(self, subgoal: int) -> str:
        return self.query.atoms[subgoal].predicate

    @cached_property
    def names(self) -> Names:
        types: dict[Var, DataType] = {}
        for subgoal in self.order:
            columns = kinds(self.rows[self.relation(subgoal)].schema)[2:]  # after `id`, `insert`
            for term, kind in zip(self.query.atoms[subgoal].terms, columns, strict=True):
                if isinstance(term, Var):
                    types.setdefault(term, kind)
        return Names(self.query, kinds(self.view.schema), types, is_small=self.is_small)

    # Before the view is read

    def prepare(self) -> None:
        names = self.names
        rows = {name: names.gathered(frame) for name, frame in self.rows.items()}
        pieces = Pieces(names, self.families)
        for subgoal in self.order:
            kinds = Kinds.of(self.changes[self.relation(subgoal)])
            insert, delete = (
                self.probes(emit_step(self.query, subgoal, action), is_there)
                for action, is_there in zip(ACTIONS, (kinds.inserts, kinds.deletes), strict=True)
            )
            steps = resolutions(self.query, subgoal, rows) if kinds.inserts else ()
            frame = parts_of(names, rows, subgoal, kinds, insert, delete, steps)
            self.parts[subgoal] = Changed(subgoal, kinds, insert, delete, names.kept(frame))
            # An insertion that stands alone never misses.
            if kinds.inserts and insert.step.rule is not Rule.INSERT_ALONE:
                found = cases(self.query, subgoal, steps)
                self.left[subgoal] = tuple((case, pieces.of(case.group)) for case in found)
        self.pieces = pieces.all()

    def probes(self, step: Step, is_taken: bool) -> Probes:
        if not is_taken:
            return no_probes(self.names, step)
        return probes_of(self.names, self.families, step, by_slices=self.by_slices)

    def look_up(self) -> None:
        names = self.names
        asked = [frame for i in self.order if (frame := self.keys(i)) is not None]
        keys = names.kept(names.together(asked).distinct()) if asked else None
        spans = {} if keys is None else ranges(names, self.families, keys)
        if keys is None or not spans:
            self.evidence = self.no_evidence()
            return
        view = numbered(self.view, "h")
        found = scan(names, self.families, view, keys, spans).localCheckpoint(eager=False)
        # A small batch may still meet many rows, of a customer with very many orders.
        names.is_small = found.count() <= MOST_EVIDENCE and names.is_small
        self.evidence = names.gathered(found)

    def no_evidence(self) -> DataFrame:
        nothing = self.parts[self.order[0]].frame.where("false")
        row = self.names.mask({})
        return nothing.selectExpr("0 AS f", f"{row} AS k", f"{row} AS g", "0L AS n")

    def keys(self, subgoal: int) -> DataFrame | None:
        """Every key that a change of this subgoal may be looked up by; None without a lookup."""
        changed = self.parts[subgoal]
        inserts = f"insert AND {LOOKED_UP}"
        deletes = f"NOT insert AND {OPEN if can_be_stuck(changed, self.parts) else LOOKED_UP}"
        structs = []
        for which, probes in ((inserts, changed.insert), (deletes, changed.delete)):
            lookups = [question.lookup for question in probes.questions]
            if probes.all_rows is not None:
                lookups.append(probes.shown)
            structs += [
                if_(which, self.key_struct(lookup.columns, self.names.key(lookup)))
                for lookup in dict.fromkeys(lookups)
            ]
        for case, piece in self.left.get(subgoal, ()):
            for way in piece.ways:
                key = self.key_struct(self.families.of(way.family).pattern, way.key)
                structs.append(if_(f"{inserts} AND {is_left(case)} AND {way.condition}", key))
        return exploded(changed.frame, (), structs) if structs else None

    def key_struct(self, pattern: tuple[int, ...], key: Sql) -> Sql:
        return f"named_struct('p', {self.families.patterns.index(pattern)}, 'k', {key})"

    # Round by round

    def now(self, wanted: set[int]) -> DataFrame:
        return at(self.names, self.families, self.evidence, self.deltas, wanted)

    def work_through(self, subgoal: int) -> None:
        """One subgoal's deletions, then its insertions, both on the view before the deletions.

        No insertion has to be put back. A VDU lookup is made only without an exposed key. Then
        deletions remove rows only where all own and join variables are exposed, and rows that show
        a deleted row show no inserted one.
        """
        names, changed = self.names, self.parts[subgoal]
        evidence = self.now(families_of(changed))
        frame = looked_up(names, changed.frame, changed, evidence, LOOKED_UP)
        frame = decided(names, frame, changed, waits=can_be_stuck(changed, self.parts))
        frame = self.verdicts[subgoal] = self.names.kept(frame)
        kinds, gone, come = changed.kinds, None, None
        if kinds.deletes:
            gone = removed_rows(names, frame, changed.delete, evidence, "true")
        if kinds.inserts:
            come = new_rows(names, frame, changed.insert, evidence)
        self.change(gone, come)

    def change(self, gone: DataFrame | None, come: DataFrame | None) -> None:
        """Note what a round did to the view."""
        delta = net(self.names, gone, come)
        if delta is not None:
            self.deltas.append(self.names.kept(delta))

    def disappear(self, subgoal: int) -> None:
        """Deletions of a key that is gone for good, unless a child's missed deletion keeps it."""
        names, changed = self.names, self.parts[subgoal]
        if not can_be_stuck(changed, self.parts):
            return
        evidence = self.now(families_of(changed))
        frame = stuck(names, self.verdicts[subgoal], changed, self.verdicts)
        frame = decided_at_last(names, taken_by_now(names, frame, changed), changed, evidence)
        frame = self.verdicts[subgoal] = self.names.kept(frame)
        gone = removed_rows(names, frame, changed.delete, evidence, "late")
        self.change(gone, None)

    # What missed

    def finish(self) -> Maintained:
        names = self.names
        deltas = self.deltas or [self.no_rows()]
        moved = names.together(deltas).groupBy(*names.row).agg(sf.expr("sum(n) AS n"))
        result = names.kept(moved.where("n != 0"))
        counts = count(names, self.verdicts, result)
        if counts.missed:
            result = names.kept(self.complete(counts.missed).where("n != 0"))
            counts = count(names, self.verdicts, result)
        assert not names.is_small or counts.inserted + counts.deleted < MOST_ROWS
        own = [
            sf.col(name).alias(column)
            for name, column in zip(names.row, self.view.columns, strict=True)
        ]
        return Maintained(
            inserts=result.where("n > 0").select(*own),
            deletes=result.where("n < 0").select(*own),
            counts=counts,
            decided=tuple(self.decided(subgoal) for subgoal in self.order),
            asks=tuple(self.asks),
        )

    def no_rows(self) -> DataFrame:
        """What a batch does that does nothing."""
        none = numbered(self.view, "h").where("false")
        return none.selectExpr(*self.names.row, "0L AS n")

    def decided(self, subgoal: int) -> Decided:
        frame, changed = self.verdicts[subgoal], self.parts[subgoal]
        if "first" not in frame.columns:
            frame = with_columns(frame, {"first": "rule"})
        return Decided(subgoal, changed.insert, changed.delete, frame)

    def complete(self, counts: Mapping[tuple[int, bool], int]) -> DataFrame:
        """The view's change with the missed changes in it, as rows with `n`."""
        inserting = [i for i in self.order if (i, True) in counts]
        deleting = [i for i in self.order if (i, False) in counts]
        missed = {i: self.verdicts[i].where(f"kind = {MISS}") for i in {*inserting, *deleting}}
        wanted = {way.family for piece in self.pieces for way in piece.ways}
        sliced = inserting if self.by_slices else []
        whole = [self.parts[i].insert for i in sliced] + [self.parts[i].delete for i in deleting]
        wanted |= {n for probes in whole if (n := probes.all_rows) is not None}
        evidence = self.names.kept(self.now(wanted))
        new = self.complete_insertions(inserting, missed, evidence)
        replaced, slices = self.replace_slices(sliced, deleting, evidence)
        return self.put_together([*new, *slices], replaced)

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
            known = names.kept(settled_answers(names, self.pieces, pieces, missed, evidence))
            told = known.select("piece", "key").distinct()
            open_pieces = names.kept(names.filtered(pieces, told, ("piece", "key"), "left_anti"))
            asked = [] if self.by_slices else self.ask_for_pieces(open_pieces)
            answers = names.together([known, *asked])
        helped = f"insert AND kind = {MISS} AND NOT open"
        helper = if_("pieces > 0", f"'{Because.SETTLED}'", f"'{Because.BATCH}'")
        for i in inserting:
            self.verdicts[i] = with_columns(
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
        for number in sorted(counts):
            piece = self.pieces[number]
            bound = {var: f"b{i}" for i, var in enumerate(piece.group.bound)}
            keys = open_pieces.where(f"piece = {number}").selectExpr(
                *(f"key.{names.variable(var)} AS {name}" for var, name in bound.items())
            )
            found = self.ask(
                Ask(
                    piece.group.subgoals,
                    piece.group.comparisons,
                    piece.group.bound,
                    piece.wanted,
                    False,
                    counts[number],
                ),
                keys,
            )
            wanted = {self.query.columns[var]: f"w{i}" for i, var in enumerate(piece.wanted)}
            answers.append(
                found.selectExpr(
                    f"{number} AS piece",
                    f"{names.binding(bound, bound.__getitem__)} AS key",
                    f"{names.mask(wanted)} AS g",
                ).distinct()
            )
        return answers

    def ask(self, ask: Ask, keys: DataFrame) -> DataFrame:
        self.asks.append(ask)
        found = self.answer(ask, keys if ask.bound else None)
        return self.names.kept(self.names.gathered(found))

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
            rows = evidence.where(f"f = {probes.all_rows}").select("k", "g")
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
            shown = with_columns(rows.select("k").distinct(), {"there": "true"})
            frame = with_columns(self.verdicts[i], {"k": names.key(probes.shown)})
            frame = names.kept(names.joined_on(frame, shown, ("k",), "left"))
            is_missed = f"NOT insert AND kind = {MISS}"
            replace(probes, frame.where(f"{is_missed} AND there").select("k").distinct())
            helped = f"{is_missed} AND NOT {certain('there')}"
            first = {} if "first" in frame.columns else {"first": "rule"}
            self.verdicts[i] = with_columns(
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
        query = self.query
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
        place = {var: f"b{n}" for n, var in enumerate(bound)}
        place |= {var: f"w{n}" for n, var in enumerate(wanted)}
        cells = [
            (literal(term.value) if isinstance(term, Const) else sf.col(place[term]))
            .cast(kind)
            .alias(f"h{i}")
            for i, (term, kind) in enumerate(zip(query.head, self.names.kinds, strict=True))
        ]
        return found.select(*cells).distinct()

    def put_together(self, new: Sequence[DataFrame], replaced: Sequence[DataFrame]) -> DataFrame:
        """What becomes of each row that anything is known about, as rows with `n`.

        The view after the batch is the settled rows outside the slices, the new slices, and the
        rows of the missed insertions. Whether a row was in the view before is known from the
        evidence, from having been removed, or from having been in a slice that is replaced.
        """
        names = self.names
        whole = [n for f, n in self.families.numbers.items() if len(f.gives) == len(names.head)]
        there = self.evidence.where(any_of(f"f = {n}" for n in whole))
        marked = [
            *(self.mark(frame, "moved", "n") for frame in self.deltas),
            *(self.mark(frame, "replaced", "1") for frame in replaced),
            *(self.mark(frame, "new", "1") for frame in new),
            self.mark(there.selectExpr(*names.unmasked("g")), "there", "1"),
        ]
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
