"""One batch on one view, stage by stage."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType

from cq.query import Query
from cq.syntax import Var
from lookups.emit import emit_step
from lookups.plan import ACTIONS, Action, Rule, Step
from lookups.spark.bindings import Case, Resolution, cases, resolutions
from lookups.spark.chances import Piece, Pieces, is_left
from lookups.spark.changes import Changes, Kinds, rows_of
from lookups.spark.columns import (
    MOST_ROWS,
    Names,
    Sql,
    all_of,
    exploded,
    if_,
    kinds,
    numbered,
    with_columns,
)
from lookups.spark.counts import Counts, count
from lookups.spark.evidence import at, pruned, ranges, scan
from lookups.spark.misses import Answering, Ask, Misses, Reading
from lookups.spark.parts import LOOKED_UP, OPEN, Changed, Open, open_parts, parts_of
from lookups.spark.probes import Families, Probes, no_probes, probes_of, skipped_probes
from lookups.spark.rounds import (
    can_be_stuck,
    decided,
    decided_at_last,
    families_of,
    looked_up,
    net,
    new_rows,
    removed_rows,
    shows_updates,
    stuck,
    taken_by_now,
    updated_rows,
)


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
        seconds: what looking into the view took.
    """

    inserts: DataFrame
    deletes: DataFrame
    counts: Counts
    decided: tuple[Decided, ...]
    asks: tuple[Ask, ...]
    seconds: float = 0.0


def _unheeded(scanned: DataFrame) -> None:
    pass


MOST_SMALL = 20_000
"""Changes of a batch that one task works through faster than several share them out."""


def maintain(
    query: Query,
    view: DataFrame,
    changes: Mapping[str, Changes],
    answer: Answering,
    *,
    by_slices: bool = False,
    skipped: Collection[str] = (),
    reading: Reading = _unheeded,
) -> Maintained:
    """Bring a view from its state before a batch to the state after it.

    Args:
        view: the rows of the view before the batch, at a fixed version.
        changes: relation to its net changes, at least one.
        answer: asked for what neither the view nor the batch know.
        by_slices: `answer` knows only whole rows of the view. An insertion that nobody here can
            complete is then asked for as a missed deletion is: the slice of the view that shows
            its values.
        skipped: relations whose insertions are not looked up, as in `lookups.settle.settle`.
        reading: told what is about to be read, if the view is looked into at all.
    """
    used = {atom.predicate for atom in query.atoms}
    mine = {name: found for name, found in changes.items() if name in used}
    size = sum(found.inserts + found.deletes for found in mine.values())
    run = _Run(query, view, mine, answer, size <= MOST_SMALL, by_slices, skipped, reading)
    if not run.order:
        return Maintained(view.limit(0), view.limit(0), Counts((), 0, {}, {}, 0, 0), (), ())
    run.prepare()
    started = time.monotonic()
    run.look_up()
    run.seconds = time.monotonic() - started
    for subgoal in run.order:
        run.work_through(subgoal)
    for subgoal in reversed(run.order):
        run.disappear(subgoal)
    return run.finish()


@dataclass
class _Run:
    query: Query
    view: DataFrame
    changes: Mapping[str, Changes]
    answer: Answering
    is_small: bool
    by_slices: bool
    skipped: Collection[str]
    reading: Reading
    seconds: float = 0.0
    families: Families = field(default_factory=Families)
    parts: dict[int, Changed] = field(default_factory=dict)
    left: dict[int, tuple[tuple[Case, Piece], ...]] = field(default_factory=dict)
    verdicts: dict[int, DataFrame] = field(default_factory=dict)
    deltas: list[DataFrame] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert self.query.head, "a view without columns has no table"
        self.rows = {name: rows_of(found) for name, found in self.changes.items()}
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
        bound: dict[int, tuple[Resolution, ...]] = {}
        for subgoal in self.order:
            kinds = Kinds.of(self.changes[self.relation(subgoal)])
            may_be = Open.maybe(kinds)
            # Numbers of families are given when it is known which lookups are made.
            insert, delete = self.probes(subgoal, kinds, may_be, Families())
            bound[subgoal] = resolutions(self.query, subgoal, rows) if kinds.inserts else ()
            frame = parts_of(names, rows, subgoal, kinds, insert, delete, bound[subgoal])
            self.parts[subgoal] = Changed(subgoal, kinds, insert, delete, names.kept(frame), may_be)
        self.leave_out()
        pieces = Pieces(names, self.families)
        for subgoal, changed in self.parts.items():
            # An insertion that stands alone never misses.
            if changed.open.inserts and changed.insert.step.rule is not Rule.INSERT_ALONE:
                found = cases(self.query, subgoal, bound[subgoal], changed.open.masks)
                self.left[subgoal] = tuple(
                    (case, pieces.of(case.group, is_skipped=changed.insert.is_skipped))
                    for case in found
                )
        self.pieces = pieces.all()

    def leave_out(self) -> None:
        """No lookup is planned that no change of the batch makes."""
        # Of a single subgoal most is told by the kinds of its changes: nothing worth a job is left.
        if len(self.parts) > 1:
            frames = {subgoal: changed.frame for subgoal, changed in self.parts.items()}
            for subgoal, found in open_parts(self.names, frames).items():
                self.parts[subgoal] = replace(self.parts[subgoal], open=found)
        for subgoal in reversed(self.order):  # children first: what goes free keeps nothing alive
            changed = self.parts[subgoal]
            found = replace(changed.open, waiting=can_be_stuck(changed, self.parts))
            self.parts[subgoal] = replace(changed, open=found)
        for subgoal, changed in self.parts.items():
            insert, delete = self.probes(subgoal, changed.kinds, changed.open, self.families)
            self.parts[subgoal] = replace(changed, insert=insert, delete=delete)

    def probes(
        self, subgoal: int, kinds: Kinds, found: Open, families: Families
    ) -> tuple[Probes, Probes]:
        """The lookups of insertions and of deletions, as far as there are any to make."""
        names = self.names
        insert, delete = (self.step(subgoal, action, kinds) for action in ACTIONS)
        of_step = skipped_probes if self.is_skipped(insert) else probes_of
        return (
            of_step(names, families, insert, by_slices=self.by_slices)
            if found.inserts
            else no_probes(names, insert),
            probes_of(names, families, delete, by_slices=self.by_slices)
            if found.deletes or found.waiting
            else no_probes(names, delete),
        )

    def step(self, subgoal: int, action: Action, kinds: Kinds) -> Step:
        step = emit_step(self.query, subgoal, action)
        # The lookup for rows with NULL in their key, if there are any.
        return replace(step, nameless=None) if kinds.are_named else step

    def is_skipped(self, insert: Step) -> bool:
        return self.relation(insert.subgoal) in self.skipped and insert.can_be_skipped

    def look_up(self) -> None:
        names = self.names
        asked = [frame for i in self.order if (frame := self.keys(i)) is not None]
        keys = names.kept(names.together(asked).distinct()) if asked else None
        spans = {} if keys is None else ranges(names, self.families, keys)
        if keys is None or not spans:
            self.evidence = self.no_evidence()
            return
        rows = pruned(names, numbered(self.view, "h"), spans)
        scanned = scan(names, self.families, rows, keys, spans)
        self.reading(scanned)
        found = names.kept(scanned)
        count = found.count()
        names.meet(count)
        # Where it meets none, Spark leaves the joins with them out.
        self.evidence = names.gathered(found) if count else self.no_evidence()

    def no_evidence(self) -> DataFrame:
        nothing = self.parts[self.order[0]].frame.where("false")
        row = self.names.mask({})
        return nothing.selectExpr("0 AS f", f"{row} AS k", f"{row} AS g", "0L AS n")

    def keys(self, subgoal: int) -> DataFrame | None:
        """Every key that a change of this subgoal may be looked up by; None without a lookup."""
        changed = self.parts[subgoal]
        inserts = f"insert AND {LOOKED_UP}"
        deletes = f"NOT insert AND {OPEN if changed.open.waiting else LOOKED_UP}"
        structs = []
        for which, probes in ((inserts, changed.insert), (deletes, changed.delete)):
            lookups = [(question.lookup, question.condition) for question in probes.questions]
            if probes.all_rows is not None:
                lookups.append((probes.shown, probes.has_rows))
            structs += [
                if_(
                    all_of([which, condition]),
                    self.key_struct(lookup.columns, self.names.key(lookup)),
                )
                for lookup, condition in dict.fromkeys(lookups)
            ]
        for case, piece in self.left.get(subgoal, ()):
            for way in piece.ways:
                key = self.key_struct(self.families.of(way.family).pattern, way.key)
                structs.append(if_(f"{inserts} AND {is_left(case)} AND {way.condition}", key))
        return exploded(changed.frame, (), structs, "p") if structs else None

    def key_struct(self, pattern: tuple[int, ...], key: Sql) -> Sql:
        return f"named_struct('p', {self.families.patterns.index(pattern)}, 'k', {key})"

    # Round by round

    def now(self, wanted: set[int]) -> DataFrame:
        return at(self.names, self.families, self.evidence, self.deltas, wanted)

    def work_through(self, subgoal: int) -> None:
        """One subgoal's deletions, then its insertions, both on the view before the deletions.

        No insertion has to be put back. A VDU lookup is made only without an exposed key. Then
        deletions remove rows only where all own and join variables are exposed, and rows that show
        a deleted row show no inserted one. Rows of an UPDATE that a deletion tells are new ones.
        """
        names, changed = self.names, self.parts[subgoal]
        evidence = self.now(families_of(changed))
        frame = looked_up(names, changed.frame, changed, evidence, LOOKED_UP)
        frame = decided(names, frame, changed, waits=changed.open.waiting)
        frame = self.verdicts[subgoal] = self.names.kept(frame)
        gone = come = None
        if changed.open.deletes:
            gone = removed_rows(names, frame, changed.delete, evidence, "true")
        if changed.open.inserts and not changed.insert.is_skipped:
            come = new_rows(names, frame, changed.insert, evidence)
        if shows_updates(changed):  # then no insertion is maintained by itself
            come = updated_rows(names, frame, changed, evidence)
        self.change(gone, come)

    def change(self, gone: DataFrame | None, come: DataFrame | None) -> None:
        """Note what a round did to the view."""
        delta = net(self.names, gone, come)
        if delta is not None:
            self.deltas.append(self.names.kept(delta))

    def disappear(self, subgoal: int) -> None:
        """Deletions of a key that is gone for good, unless a child's missed deletion keeps it."""
        names, changed = self.names, self.parts[subgoal]
        if not changed.open.waiting:
            return
        evidence = self.now(families_of(changed))
        frame = stuck(names, self.verdicts[subgoal], changed, self.verdicts)
        frame = names.kept(taken_by_now(names, frame, changed))
        frame = decided_at_last(names, frame, changed, evidence)
        frame = self.verdicts[subgoal] = self.names.kept(frame)
        gone = removed_rows(names, frame, changed.delete, evidence, "late")
        self.change(gone, None)

    # At the end

    def finish(self) -> Maintained:
        names = self.names
        result = self.moved()
        counts = count(names, self.verdicts, result)
        misses = Misses(
            names,
            self.families,
            self.pieces,
            self.left,
            self.parts,
            self.evidence,
            self.deltas,
            self.verdicts,
            self.view,
            self.answer,
            self.by_slices,
            self.reading,
        )
        if counts.missed:
            result = names.kept(misses.complete(counts.missed).where("n != 0"))
            counts = count(names, self.verdicts, result, counts)
        if names.is_small and max(counts.inserted, counts.deleted) >= MOST_ROWS:
            raise OverflowError(f"a batch of {MOST_SMALL:,} changes changes {MOST_ROWS:,} rows")
        own = [
            sf.col(name).alias(column)
            for name, column in zip(names.row, self.view.columns, strict=True)
        ]
        return Maintained(
            inserts=result.where("n > 0").select(*own),
            deletes=result.where("n < 0").select(*own),
            counts=counts,
            decided=tuple(self.decided(subgoal) for subgoal in self.order),
            asks=tuple(misses.asks),
            seconds=self.seconds,
        )

    def moved(self) -> DataFrame:
        """What all rounds together did to the view, each row once."""
        names = self.names
        if not self.deltas:
            none = numbered(self.view, "h").where("false")
            return none.selectExpr(*names.row, "0L AS n")
        if len(self.deltas) == 1:
            return self.deltas[0]
        moved = names.together(self.deltas).groupBy(*names.row).agg(sf.expr("sum(n) AS n"))
        return names.kept(moved.where("n != 0"))

    def decided(self, subgoal: int) -> Decided:
        frame, changed = self.verdicts[subgoal], self.parts[subgoal]
        if "first" not in frame.columns:
            frame = with_columns(frame, {"first": "rule"})
        return Decided(subgoal, changed.insert, changed.delete, frame)
