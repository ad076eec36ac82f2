"""A view that is maintained in this process: its rows in memory, its source a function.

A `Maintainer` is the batch rule with a memory. It holds the rows with live indexes, takes batches
or changes one by one, asks the source for what neither the view nor the batch knows, and keeps a
record of whether lookups pay. The reference, `View.maintain`, starts from nothing each time.

Law: after every batch the rows are those of the view on the state after it, whatever lookups were
made or skipped on the way; `property_tests/test_maintainer.py` holds it to recomputation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from cq.partition import partition
from cq.roles import roles
from cq.types import Row
from lookups.batch import Batch, read_batch, read_change, read_runs
from lookups.decide import decide_admitted
from lookups.foreseen import answered_by, same_columns
from lookups.index import admitted
from lookups.live import LiveIndex
from lookups.maintain import Effect, Source, finish
from lookups.payoff import Choice, Lookups, Payoff, Stretch
from lookups.plan import Plan
from lookups.prepared import Prepared
from lookups.quick import Shown, shown_by
from lookups.settle import settle
from lookups.verdict import Kind
from selfmaint.program import View

STRETCH: Final = 8
"""Single changes between two looks at the record: few, so that useless lookups end soon."""

LONGEST: Final = 64
"""The same while every lookup helps: the record would say each time what it said before."""

AHEAD: Final = 1024
"""Single changes that are read before the first of them is applied."""

DEAR: Final = 400
"""How many times what the last lookups cost the source has to cost before a probe, unless a key
comes again: indexes that nobody looked at have to catch up, and make it dearer than those were."""

SOON: Final = 8
"""The same if a key comes again."""

REMEMBERED: Final = 10_000
"""Keys that the source was asked for, at most: some memory, less than an index of the view."""

HELPED: Final = frozenset({Kind.UNAFFECTED, Kind.SELF_MAINTAINED})


class Maintainer:
    """A view's rows, kept up to date change by change or batch by batch.

    Args:
        source: answers what is missing, as of the state after the batch that asks.
        rows: the view as it stands.
        lookups: when lookups are made; `"adapt"` stops making those that do not pay.
        clock: what costs are measured by.

    Example:
        >>> from selfmaint import parse
        >>> view = parse("v(X, Y, Z) :- r(U, X, Y), s(X, Z).").view("v")
        >>> asked = []
        >>> def source(question):
        ...     asked.append(sorted(question.keys))
        ...     return [(x, 10 * x) for (x,) in question.keys]
        >>> maintained = Maintainer(view, source)
        >>> changes = [("r", "insert", row) for row in [(1, 7, 8), (2, 7, 9), (3, 7, 9)]]
        >>> [str(kind) for kind in maintained.follow(changes)]
        ['miss', 'self-maintained', 'unaffected']
        >>> sorted(maintained.rows), asked
        ([(7, 8, 70), (7, 9, 70)], [[(7,)]])
    """

    def __init__(
        self,
        view: View,
        source: Source,
        rows: Iterable[Sequence[object]] = (),
        *,
        lookups: Lookups | str = Lookups.ADAPT,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._view = view
        self._source = source
        self._live = LiveIndex(admitted(rows, view.query), len(view.query.head))
        self._prepared = Prepared(view.query)
        self._prepared.emit_all()  # now, or the first changes would be charged for it
        self._lookups = Lookups(lookups)
        self._clock = clock
        self._payoffs: dict[str, Payoff] = {}
        self._shown: dict[str, Shown | None] = {}
        names = view.query.by_name
        self._same = {name: same_columns(view.query, name) for name in names}
        self._answered = {name: answered_by(view.plan(name, "insert")) for name in names}
        self._one_need = {name for name in names if _has_one_need(view.plan(name, "insert"))}
        self._asked: set[tuple[tuple[int, ...], Row]] = set()
        self._asked_again: set[str] = set()

    @property
    def rows(self) -> frozenset[Row]:
        """The view as it stands; a copy."""
        return self._live.rows

    @property
    def payoffs(self) -> Mapping[str, Payoff]:
        """What lookups have cost and saved, by relation."""
        return dict(self._payoffs)

    def sentences(self) -> list[str]:
        """For a report: for which relations lookups are on or off, and why, if it adapts."""
        if self._lookups is not Lookups.ADAPT:
            return []
        return [record.sentence(name) for name, record in sorted(self._payoffs.items())]

    def apply(self, changes: Iterable[object]) -> Effect:
        """Apply a batch of net changes `(relation, "insert" | "delete", row)`.

        Raises:
            InputError: a change does not fit the program, the changes are not net, or the source
                answers something else than it was asked. The view is as it was.
        """
        listed = [read_change(change) for change in changes]
        batch = read_batch(self._view.query, listed, self._view.known)
        is_idle = self._lookups is Lookups.ADAPT and not self._live  # nothing to find, no evidence
        skipped = [n for n in batch.inserts if is_idle or self._choice(n) is Choice.SKIP]
        started = self._clock()
        settled = settle(self._prepared, batch, self._live, skipped)
        decided = self._clock()
        effect = finish(self._prepared, batch, self._live, settled, self._source)
        self._live.update(effect.deletes, effect.inserts)
        self._note_batch(batch, effect, decided - started, self._clock() - decided)
        return effect

    def follow(self, changes: Iterable[object]) -> list[Kind]:
        """Apply changes one by one, each as a batch of its own; where each of them ended.

        A deletion with an insertion of the same key right behind it is an UPDATE, and one batch:
        between the two, what references the row would reference nothing. Declared keys and foreign
        keys must hold after each of these batches, so the two must be in one call, next to each
        other; where changes come in another order, `apply` takes them as one batch.

        The lookups of a change that comes alone are those of its plan, so the batch rule is left to
        the changes that miss. Changes are read ahead, up to `AHEAD` of them, and the source answers
        as of the change that asks: where it moves on with the changes, follow them one by one, and
        an UPDATE as one.

        Raises:
            InputError: as `apply` does. The changes before the one at fault are applied, but for
                less than `AHEAD` that came right before a change that does not fit the program.
        """
        kinds: list[Kind] = []
        held: tuple[Plan, Row] | None = None  # a deletion that may be half of an UPDATE
        for plan, rows in self._ahead(changes):
            if held is not None:
                if _is_update(*held, plan, rows[0]):
                    kinds += self._update(plan.relation, held[1], rows.pop(0))
                else:
                    kinds += self._alone(held[0], [held[1]])
            held = None
            if plan.action == "delete" and plan.steps and _keys(plan):
                held = plan, rows.pop()
            kinds += self._alone(plan, rows)
        if held is not None:
            kinds += self._alone(held[0], [held[1]])
        return kinds

    def _ahead(self, changes: Iterable[object]) -> Iterator[tuple[Plan, list[Row]]]:
        """The changes, those together that have one plan."""
        coming = iter(changes)
        while ahead := list(islice(coming, AHEAD)):
            for relation, action, rows in read_runs(ahead):
                plan = self._view.plan(relation, action)
                yield plan, plan.query.by_name[relation].admit_all(rows)

    def _update(self, relation: str, old: Row, new: Row) -> list[Kind]:
        if old == new:  # no net change
            return [Kind.UNAFFECTED] * 2
        effect = self.apply([(relation, "delete", old), (relation, "insert", new)])
        query = self._view.query
        return [
            effect.decision(query, relation, "delete", old).kind,
            effect.decision(query, relation, "insert", new).kind,
        ]

    def _alone(self, plan: Plan, rows: list[Row]) -> list[Kind]:
        """Each change as a batch, in stretches between which the record is looked at."""
        if not plan.steps:
            return [Kind.IRRELEVANT] * len(rows)
        kinds: list[Kind] = []
        size = STRETCH
        while len(kinds) < len(rows):
            ended = self._stretch(plan, rows[len(kinds) : len(kinds) + size])
            size = min(2 * size, LONGEST) if HELPED.issuperset(ended) else STRETCH
            kinds += ended
        return kinds

    def _stretch(self, plan: Plan, rows: list[Row]) -> list[Kind]:
        live, clock = self._live, self._clock
        same, answered = self._same[plan.relation], self._answered[plan.relation]
        is_insert = plan.action == "insert"
        is_skipped = is_insert and self._choice(plan.relation) is Choice.SKIP
        shown = None if is_skipped else self._shown_by(plan)
        asked, source_cost = 0, 0.0
        started = clock()
        if shown is not None and shown.has_all(live, rows):
            kinds = [Kind.UNAFFECTED] * len(rows)
        else:
            kinds = []
            for row in rows:
                if shown is not None and shown.has(live, row):
                    kinds.append(Kind.UNAFFECTED)
                    continue
                if not is_skipped:
                    verdict = decide_admitted(plan, live, row)
                    if verdict.kind is not Kind.MISS:
                        live.update(verdict.deletes, verdict.inserts, same, answered)
                        kinds.append(verdict.kind)
                        continue
                missed = clock()
                kinds.append(self._miss(plan, row, is_skipped))
                source_cost += clock() - missed
                asked += kinds[-1] is Kind.MISS
        if is_insert and (count := len(rows) - kinds.count(Kind.IRRELEVANT)):
            lookup_cost = clock() - started - source_cost
            self._note(
                plan.relation,
                Stretch(skipped=count, asked=asked, source_cost=source_cost)
                if is_skipped
                else Stretch(count, count - asked, lookup_cost, 0, asked, source_cost),
            )
        return kinds

    def _shown_by(self, plan: Plan) -> Shown | None:
        if plan.action == "delete":
            return None
        if plan.relation not in self._shown:
            self._shown[plan.relation] = shown_by(plan)
        return self._shown[plan.relation]

    def _miss(self, plan: Plan, row: Row, is_skipped: bool) -> Kind:
        """A change that the view alone does not decide, as a batch of its own.

        If all that it misses is one group, the batch rule would look in vain for the same again.
        """
        is_skipped = is_skipped or (plan.action == "insert" and plan.relation in self._one_need)
        one = {plan.relation: (row,)}
        batch = Batch(one, {}) if plan.action == "insert" else Batch({}, one)
        skipped = (plan.relation,) if is_skipped else ()
        settled = settle(self._prepared, batch, self._live, skipped)
        effect = finish(self._prepared, batch, self._live, settled, self._source)
        self._live.update(effect.deletes, effect.inserts, self._same[plan.relation])
        if plan.action == "insert" and self._lookups is Lookups.ADAPT:
            self._remember((plan.relation,), effect)
        return effect.decision(self._view.query, plan.relation, plan.action, row).kind

    # The record

    def _choice(self, relation: str) -> Choice:
        match self._lookups:
            case Lookups.ALWAYS:
                return Choice.LOOK_UP
            case Lookups.NEVER:
                return Choice.SKIP
            case Lookups.ADAPT:
                record = self._payoffs.get(relation, Payoff())
                if record.idle_cost is None:
                    return record.choice
                wait = SOON if relation in self._asked_again else DEAR
                is_due = record.idle_cost >= wait * record.last_cost
                return Choice.PROBE if is_due else Choice.SKIP

    def _note(self, relation: str, seen: Stretch) -> None:
        if seen.looked_up:
            self._asked_again.discard(relation)
        self._payoffs[relation] = self._payoffs.get(relation, Payoff()).after(seen)

    def _remember(self, relations: Collection[str], effect: Effect) -> None:
        """Note what insertions into these relations have asked for.

        What was asked for before, and brought rows, a lookup would have found in the view. To
        notice that costs next to nothing, where a probe needs indexes.
        """
        keys = {(q.subgoals, key) for q in effect.questions if not q.is_slice for key in q.keys}
        if not keys.isdisjoint(self._asked):
            self._asked_again.update(relations)
        if effect.inserts:
            if len(self._asked) > REMEMBERED:
                self._asked.clear()
            self._asked |= keys

    def _note_batch(self, batch: Batch, effect: Effect, deciding: float, asking: float) -> None:
        """Share out what the batch took: deciding by changes, asking by changes that asked."""
        query = self._view.query
        asked = {name: effect.asked(query, name) for name in batch.inserts}
        if self._lookups is Lookups.ADAPT:
            self._remember([name for name, misses in asked.items() if misses], effect)
        total = sum(map(len, (*batch.inserts.values(), *batch.deletes.values())))
        for name, rows in batch.inserts.items():
            count, misses = len(rows) - effect.screened(query, name), asked[name]
            if not count:
                continue
            cost = asking * misses / sum(asked.values()) if misses else 0.0
            self._note(
                name,
                Stretch(skipped=count, asked=misses, source_cost=cost)
                if name in effect.settled.skipped
                else Stretch(count, count - misses, deciding * count / total, 0, misses, cost),
            )


def _keys(plan: Plan) -> tuple[tuple[int, ...], ...]:
    return plan.query.by_name[plan.relation].keys


def _is_update(deletion: Plan, old: Row, plan: Plan, new: Row) -> bool:
    """Whether a change is the second half of an UPDATE whose first half this deletion is."""
    is_behind = (plan.relation, plan.action) == (deletion.relation, "insert")
    return is_behind and any(all(old[i] == new[i] for i in key) for key in _keys(plan))


def _has_one_need(plan: Plan) -> bool:
    """Whether all that an insertion can miss is one group.

    One lookup may stand for several groups: it finds one row that shows them all, where the batch
    rule may find each of them in another row.
    """
    if len(plan.steps) != 1:
        return False
    vsm, query, role = plan.steps[0].vsm, plan.query, roles(plan.query, plan.steps[0].subgoal)
    groups = partition(query, role.rest, role.tests, query.variables[role.updated])
    return vsm is not None and len(vsm.needs) == len(groups) == 1
