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
from lookups.spark.changes import Changes, Gathered, Kinds, rows_of
from lookups.spark.columns import (
    MOST_ROWS,
    Names,
    Sql,
    all_of,
    balanced,
    exploded,
    if_,
    in_one_piece,
    kinds,
    numbered,
    with_columns,
)
from lookups.spark.counts import Counts, count
from lookups.spark.evidence import MOST_BROADCAST, at, pruned, ranges, scan
from lookups.spark.indexing import Index, Met, met_by, whole
from lookups.spark.misses import Answering, Ask, Misses, Reading, Unheeded
from lookups.spark.parts import LOOKED_UP, OPEN, Changed, Open, open_parts, parts_of
from lookups.spark.probes import Families, Family, Probes, no_probes, probes_of, skipped_probes
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


NO_INDEX = Index()
UNHEEDED = Unheeded()


@dataclass(frozen=True)
class Maintained:
    """What a batch does to a view.

    Args:
        inserts, deletes: disjoint sets of view rows, with the view's own column names.
        counts: of the verdicts and of these rows.
        decided: the verdicts, one frame per changed subgoal.
        asks: what the source was asked.
        seconds: what looking into the view took. What an index alone answers is planned in this
            time, and computed later.
        index: that of the view after the batch.
        met: what was scanned for, and not found in the index before the batch.
    """

    inserts: DataFrame
    deletes: DataFrame
    counts: Counts
    decided: tuple[Decided, ...]
    asks: tuple[Ask, ...]
    seconds: float = 0.0
    index: Index = NO_INDEX
    met: Mapping[Family, Met] = field(default_factory=dict)


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
    reading: Reading = UNHEEDED,
    index: Index = NO_INDEX,
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
        reading: told if and when the view is read.
        index: of these rows of the view.
    """
    used = {atom.predicate for atom in query.atoms}
    mine = {name: found for name, found in changes.items() if name in used}
    size = sum(found.inserts + found.deletes for found in mine.values())
    run = _Run(query, view, mine, size, answer, by_slices, skipped, reading, index)
    if not run.order:
        nothing, counts = view.limit(0), Counts((), 0, {}, {}, 0, 0)
        return Maintained(nothing, nothing, counts, (), (), index=index)
    run.prepare()
    started = time.monotonic()
    run.look_up()
    run.seconds = time.monotonic() - started
    for subgoal in run.order:
        run.work_through(subgoal)
    for subgoal in reversed(run.order):
        run.disappear(subgoal)
    return run.finish()


def gathered(changes: Mapping[str, Changes]) -> Mapping[str, Changes]:
    """The changes of a batch, kept as small batches need them: once, for several views."""
    if sum(each.inserts + each.deletes for each in changes.values()) > MOST_SMALL:
        return changes
    return {
        name: Gathered(in_one_piece(each.frame), each.inserts, each.deletes, each.is_named)
        for name, each in changes.items()
    }


def is_cached(frame: DataFrame) -> bool:
    """Whether somebody has cached what this frame shows: Spark reads that, and no file, then."""
    level = frame.storageLevel
    return bool(level.useMemory or level.useDisk or level.useOffHeap)


@dataclass
class _Run:
    query: Query
    view: DataFrame
    changes: Mapping[str, Changes]
    size: int
    answer: Answering
    by_slices: bool
    skipped: Collection[str]
    reading: Reading
    index: Index
    seconds: float = 0.0
    met: dict[Family, Met] = field(default_factory=dict)
    is_index_used: bool = False
    parts: dict[int, Changed] = field(default_factory=dict)
    left: dict[int, tuple[tuple[Case, Piece], ...]] = field(default_factory=dict)
    verdicts: dict[int, DataFrame] = field(default_factory=dict)
    deltas: list[DataFrame] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert self.query.head, "a view without columns has no table"
        self.rows = {name: rows_of(found) for name, found in self.changes.items()}
        self.order = tuple(i for i in self.query.order if self.relation(i) in self.rows)
        self.still = tuple(i for i in self.query.order if i not in self.order)
        self.families = Families(dict(self.index.numbers))
        self.evidence: DataFrame | None = None

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
        return Names(self.query, kinds(self.view.schema), types, is_small=self.size <= MOST_SMALL)

    # Before the view is read

    def prepare(self) -> None:
        names = self.names
        rows = {
            name: frame if isinstance(self.changes[name], Gathered) else names.gathered(frame)
            for name, frame in self.rows.items()
        }
        bound: dict[int, tuple[Resolution, ...]] = {}
        possible = Families()  # they are numbered when it is known which lookups are made
        for subgoal in self.order:
            kinds = Kinds.of(self.changes[self.relation(subgoal)])
            may_be = Open.maybe(kinds)
            insert, delete = self.probes(subgoal, kinds, may_be, possible)
            if not possible.used().keys() <= self.index.numbers.keys():
                self.reading.is_likely()
            bound[subgoal] = resolutions(self.query, subgoal, rows) if kinds.inserts else ()
            frame = parts_of(names, rows, subgoal, kinds, insert, delete, bound[subgoal])
            self.parts[subgoal] = Changed(subgoal, kinds, insert, delete, frame, may_be)
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
        is_told = {insert: found.inserts, delete: found.deletes or found.waiting}

        def of(step: Step) -> Probes:
            if not is_told[step]:
                return no_probes(names, step)
            if self.is_skipped(step):
                return skipped_probes(names, families, step, by_slices=self.by_slices)
            return probes_of(names, families, step, self.still, by_slices=self.by_slices)

        return of(insert), of(delete)

    def step(self, subgoal: int, action: Action, kinds: Kinds) -> Step:
        step = emit_step(self.query, subgoal, action)
        # The lookup for rows with NULL in their key, if there are any.
        return replace(step, nameless=None) if kinds.are_named else step

    def is_skipped(self, step: Step) -> bool:
        return self.relation(step.subgoal) in self.skipped and step.can_be_skipped

    def look_up(self) -> None:
        """Find out what the view shows of the batch's keys; None where it shows nothing at all."""
        names = self.names
        asked = [frame for i in self.order if (frame := self.keys(i)) is not None]
        if not asked:
            return
        self.build()
        known = {f: n for f, n in self.families.used().items() if f in self.index.numbers}
        others = {f: n for f, n in self.families.used().items() if f not in known}
        self.is_index_used = bool(known)
        keys = names.together(asked)
        if not others:
            # No job: an index never has too much for a small batch to meet.
            found = self.indexed(keys, known)
            self.evidence = names.gathered(found) if names.is_small else names.kept(found)
            return
        keys = names.kept(keys.distinct())
        frames = [self.indexed(keys, known)] if known else []
        if (scanned := self.scanned(keys, others)) is not None:
            frames.append(scanned)
        if not frames:
            return
        found = names.kept(balanced(DataFrame.unionByName, frames))
        met = met_by(found)
        self.met = {family: met.get(number, Met(0, 0)) for family, number in others.items()}
        count = sum(each.entries for each in met.values())
        names.meet(count)
        if count:
            self.evidence = names.gathered(found)

    def build(self) -> None:
        """Add to the index what is due."""
        if due := self.index.due(self.families):
            built = whole(self.names, self.view, due)
            self.reading.begins(built)
            self.index = self.index.extended(self.names, built, due)

    def indexed(self, keys: DataFrame, known: Mapping[Family, int]) -> DataFrame:
        """What the index holds about the keys."""
        are_few = self.size * len(known) <= MOST_BROADCAST
        return self.index.about(self.families, keys, known.values(), are_few=are_few)

    def scanned(self, keys: DataFrame, wanted: Mapping[Family, int]) -> DataFrame | None:
        """One scan of the view, for what the index does not hold; None if it cannot find any."""
        names, patterns = self.names, {family.pattern for family in wanted}
        spans = {
            p: span
            for p, span in ranges(names, self.families, keys).items()
            if self.families.patterns[p] in patterns
        }
        if not spans:
            return None
        whole_rows = numbered(self.view, "h")
        rows = pruned(names, whole_rows, spans)
        found = scan(names, self.families, rows, keys, spans, wanted)
        if self.reading.begins(found) or any(map(is_cached, (self.view, whole_rows, rows))):
            return found
        return None

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

    def now(self, wanted: set[int]) -> DataFrame | None:
        """The evidence for some families, now that earlier rounds have changed the view.

        A round meets it several times.
        """
        found = at(self.names, self.families, self.evidence, self.deltas, wanted)
        return self.names.kept(found) if self.deltas and found is not None else found

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
        # Of what is not open nothing was looked up: the verdicts are expressions over the parts.
        frame = self.verdicts[subgoal] = names.finished(frame) if changed.is_open else frame
        gone = come = None
        if changed.open.deletes:
            gone = removed_rows(names, frame, changed.delete, evidence, "true")
        if changed.open.inserts and not changed.insert.is_skipped:
            come = new_rows(names, frame, changed.insert, evidence)
            if more := changed.insert.single_answers:
                self.verdicts[subgoal] = frame.drop(*more)
        if shows_updates(changed):  # then no insertion is maintained by itself
            come = updated_rows(names, frame, changed, evidence)
        self.change(gone, come)

    def change(self, gone: DataFrame | None, come: DataFrame | None) -> None:
        """Note what a round did to the view."""
        delta = net(self.names, gone, come)
        if delta is not None:
            self.deltas.append(self.names.finished(delta))

    def disappear(self, subgoal: int) -> None:
        """Deletions of a key that is gone for good, unless a child's missed deletion keeps it."""
        names, changed = self.names, self.parts[subgoal]
        if not changed.open.waiting:
            return
        evidence = self.now(families_of(changed))
        frame = stuck(names, self.verdicts[subgoal], changed, self.verdicts)
        frame = names.finished(taken_by_now(names, frame, changed))
        frame = decided_at_last(names, frame, changed, evidence)
        frame = self.verdicts[subgoal] = names.finished(frame)
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
            result = names.finished(misses.complete(counts.missed).where("n != 0"))
            counts = count(names, self.verdicts, result, counts)
        if names.is_small and max(counts.inserted, counts.deleted) >= MOST_ROWS:
            raise OverflowError(f"a batch of {MOST_SMALL:,} changes changes {MOST_ROWS:,} rows")
        inserts, deletes = (
            result.where(side).selectExpr(*names.row).toDF(*self.view.columns)
            for side in ("n > 0", "n < 0")
        )
        changes = counts.inserted + counts.deleted
        return Maintained(
            inserts=inserts,
            deletes=deletes,
            counts=counts,
            decided=tuple(self.decided(subgoal) for subgoal in self.order),
            asks=tuple(misses.asks),
            seconds=self.seconds,
            index=self.index.after(names, result, changes, is_used=self.is_index_used),
            met=self.met,
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
