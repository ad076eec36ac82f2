"""The first half of the batch rule: decide every change from the view, put off what misses.

Each subgoal of a changed relation is a relation of its own that gets the same changes. Subgoal by
subgoal, parents of foreign keys first, deletions and then insertions are decided on the view as it
stood before that subgoal's own deletions, because nothing else changed in between.

Law: the *settled* view is the view of a real database, the state before the batch with all changes
applied but the missed ones (net changes commute).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from cq.query import Query
from cq.syntax import Var
from cq.types import Row
from lookups.batch import Batch
from lookups.decide import decide_step, mismatch
from lookups.index import RowIndex
from lookups.plan import ACTIONS, Action, Child, Rule, Step
from lookups.prepared import Prepared
from lookups.updates import Deleted
from lookups.verdict import Because, Kind, Reason, Verdict


@dataclass(frozen=True, slots=True)
class Part:
    """A change as it meets one subgoal of its relation."""

    subgoal: int
    action: Action
    row: Row


@dataclass(frozen=True)
class Settled:
    """The view after every change that did not miss.

    Args:
        missed: the parts that were put off, in the order they were met.
        verdicts: the verdict on every part, missed or not.
        skipped: relations whose insertions are not looked up; they miss unless no lookup is needed.
    """

    view: RowIndex
    missed: tuple[Part, ...]
    verdicts: Mapping[Part, Verdict]
    skipped: Collection[str] = ()

    @cached_property
    def _missed(self) -> dict[tuple[int, tuple[Var, ...]], set[Row]]:
        return {}

    def missed_values(self, query: Query, subgoal: int, variables: tuple[Var, ...]) -> set[Row]:
        """What the missed changes of a subgoal bind these of its variables to."""
        known = self._missed.get((subgoal, variables))
        if known is None:
            terms = query.atoms[subgoal].terms
            at = [terms.index(var) for var in variables]
            rows = (part.row for part in self.missed if part.subgoal == subgoal)
            known = self._missed[subgoal, variables] = {tuple(r[i] for i in at) for r in rows}
        return known


def settle(
    prepared: Prepared, batch: Batch, view: RowIndex, skipped: Collection[str] = ()
) -> Settled:
    """Decide the batch on `view`, and apply what did not miss.

    Args:
        skipped: relations whose insertions are not looked up. A miss is always sound, so this only
            asks more. What needs no lookup (the screen, foreign keys, rows that cancel out) is
            decided as ever, and so are deletions, whose rows have to be found anyway.
    """
    run = _Run(prepared, batch, view, skipped)
    run.screen()
    for subgoal in run.order:
        run.cancel_unseen(subgoal)
    for subgoal in run.order:  # keys of parents appear first ...
        run.appear(subgoal)
    for subgoal in run.order:
        run.work_through(subgoal)
    for subgoal in reversed(run.order):  # ... and disappear last
        run.disappear(subgoal)
    missed = (part for part, verdict in run.verdicts.items() if verdict.kind is Kind.MISS)
    return Settled(run.view, tuple(missed), run.verdicts, skipped)


@dataclass(slots=True)
class _Run:
    prepared: Prepared
    batch: Batch
    view: RowIndex
    skipped: Collection[str]
    order: tuple[int, ...] = ()
    open: dict[tuple[int, Action], list[Row]] = field(default_factory=dict)
    verdicts: dict[Part, Verdict] = field(default_factory=dict)
    referring: dict[Child, set[Row]] = field(default_factory=dict)

    def screen(self) -> None:
        """Split the batch into parts; those that do not match their subgoal are done."""
        self.order = tuple(i for i in self.query.order if self.changes(i))
        for subgoal in self.order:
            relation = self.query.atoms[subgoal].predicate
            for action in ACTIONS:
                matching = self.open[subgoal, action] = []
                for row in self.batch.of(relation, action):
                    failed = mismatch(self.step(subgoal, action).screen, row)
                    if failed is not None:
                        reason = Reason(Because.SCREEN, (), subgoal, failed)
                        self.verdicts[Part(subgoal, action, row)] = Verdict(Kind.IRRELEVANT, reason)
                    else:
                        matching.append(row)

    @property
    def query(self) -> Query:
        return self.prepared.query

    def step(self, subgoal: int, action: Action) -> Step:
        return self.prepared.step(subgoal, action)

    def changes(self, subgoal: int) -> bool:
        relation = self.query.atoms[subgoal].predicate
        return any(self.batch.of(relation, action) for action in ACTIONS)

    def close(self, subgoal: int, action: Action, rows: Iterable[Row], because: Because) -> None:
        """These changes leave the view as it is."""
        done = set(rows)
        for row in self.open[subgoal, action]:
            if row in done:
                reason = Reason(because, (), subgoal)
                self.verdicts[Part(subgoal, action, row)] = Verdict(Kind.UNAFFECTED, reason)
        self.open[subgoal, action] = [r for r in self.open[subgoal, action] if r not in done]

    def cancel_unseen(self, subgoal: int) -> None:
        """Deleted and inserted rows that the view cannot tell apart cancel out.

        The view depends on the relation only through the join variables and the exposed own ones.
        A value of these that a deleted row had and an inserted row has was there and still is.
        """
        if not all(self.open[subgoal, action] for action in ACTIONS):
            return
        found = self.prepared.roles(subgoal)
        seen = {*found.join, *(var for var in found.own if var in self.query.columns)}
        at = [i for i, term in enumerate(self.query.atoms[subgoal].terms) if term in seen]
        by_action = {
            action: {row: tuple(row[i] for i in at) for row in self.open[subgoal, action]}
            for action in ACTIONS
        }
        both = set(by_action["insert"].values()) & set(by_action["delete"].values())
        for action in ACTIONS:
            rows = [row for row, values in by_action[action].items() if values in both]
            self.close(subgoal, action, rows, Because.UNSEEN)

    def appear(self, subgoal: int) -> None:
        """Insertions of a key that was absent: nothing refers to it before the children come."""
        rows = self.coming_or_going(subgoal, "insert")
        self.close(subgoal, "insert", rows, Because.FOREIGN_KEY)

    def coming_or_going(self, subgoal: int, action: Action) -> list[Row]:
        """The open changes that make a key appear or disappear that a foreign key refers to."""
        return [
            row
            for row in self.open[subgoal, action]
            if self.comes_or_goes(self.step(subgoal, action), row)
        ]

    def comes_or_goes(self, step: Step, row: Row) -> bool:
        relation = self.query.atoms[step.subgoal].predicate
        return any(not self.batch.keeps_key(relation, child.key, row) for child in step.children)

    def work_through(self, subgoal: int) -> None:
        """One subgoal's deletions, then its insertions, both on the view before the deletions.

        Nothing that an insertion relies on goes with these deletions, so nothing has to be put
        back. A deleted and an inserted row that look the same have cancelled out.
        With all own and join variables exposed, rows that look different share no view row.
        Otherwise only an exposed key lets a deletion remove rows, and with an exposed key an
        insertion makes no VDU lookup, or one for rows with NULL in the key, which no deletion
        removes. An insertion that a deletion tells about (`lookups.updates`) adds rows that were
        not there.
        """
        evidence = self.view
        removed: set[Row] = set()
        later = set(self.coming_or_going(subgoal, "delete"))
        gone: dict[Row, Verdict] = {}
        for row in self.open[subgoal, "delete"]:
            if row not in later:
                gone[row] = self.delete(subgoal, evidence, row)
                removed |= gone[row].deletes
        deleted = Deleted(self.query, self.step(subgoal, "delete"), gone) if gone else None
        added: set[Row] = set()
        for row in self.open[subgoal, "insert"]:
            added |= self.insert(subgoal, evidence, row, deleted).inserts
        self.view = evidence.changed(removed, added)

    def disappear(self, subgoal: int) -> None:
        """Deletions of a key that is gone for good: by now nothing refers to it any more.

        Unless a child's deletion missed. Its row is still there in the settled state, so this
        deletion is decided like any other.
        """
        rows = self.coming_or_going(subgoal, "delete")
        stuck = {r for r in rows if self.is_referred_to(self.step(subgoal, "delete"), r)}
        free = [row for row in rows if row not in stuck]
        self.close(subgoal, "delete", free, Because.FOREIGN_KEY)
        evidence = self.view
        removed: set[Row] = set()
        for row in rows:
            if row in stuck:
                removed |= self.delete(subgoal, evidence, row).deletes
        self.view = evidence.changed(removed, ())

    def is_referred_to(self, step: Step, row: Row) -> bool:
        """Whether a missed deletion stands in the way of every foreign key that could apply."""
        relation = self.query.atoms[step.subgoal].predicate
        return all(
            tuple(row[i] for i in child.key) in self.still_referring(child)
            for child in step.children
            if not self.batch.keeps_key(relation, child.key, row)
        )

    def still_referring(self, child: Child) -> set[Row]:
        """The keys that rows of a child refer to whose deletion missed."""
        if child not in self.referring:
            self.referring[child] = {
                tuple(part.row[i] for i in child.columns)
                for part, verdict in self.verdicts.items()
                if verdict.kind is Kind.MISS
                and (part.subgoal, part.action) == (child.subgoal, "delete")
            }
        return self.referring[child]

    def insert(
        self, subgoal: int, evidence: RowIndex, row: Row, deleted: Deleted | None
    ) -> Verdict:
        """Decide an insertion; without its lookups, if its relation is skipped.

        Args:
            deleted: what may still tell about it what the view alone does not.
        """
        step = self.step(subgoal, "insert")
        if self.query.atoms[subgoal].predicate in self.skipped and step.can_be_skipped:
            verdict = Verdict(Kind.MISS, Reason(Because.SKIPPED, (), subgoal))
        else:
            verdict = decide_step(step, evidence, row, self.batch.is_changed)
        if verdict.kind is Kind.MISS and deleted is not None:
            verdict = deleted.verdict(row, verdict)
        return self.record(subgoal, "insert", row, verdict)

    def delete(self, subgoal: int, evidence: RowIndex, row: Row) -> Verdict:
        """Decide a deletion.

        An exposed key says whose the rows are while it is unique. It is not when the batch gives
        the key to another row, and that row is there already: a key of a parent appeared before the
        old one, with other columns that are a key too, is gone.
        """
        step = self.step(subgoal, "delete")
        verdict = decide_step(step, evidence, row)
        if verdict.kind is Kind.SELF_MAINTAINED and self.is_key_taken(step, row):
            verdict = Verdict(Kind.MISS, verdict.reason)
        return self.record(step.subgoal, "delete", row, verdict)

    def is_key_taken(self, step: Step, row: Row) -> bool:
        if step.rule is not Rule.DELETE_KEY:
            return False
        relation = self.query.atoms[step.subgoal].predicate
        new = self.batch.inserted(relation, step.key, tuple(row[i] for i in step.key))
        if new is None:
            return False
        verdict = self.verdicts.get(Part(step.subgoal, "insert", new))
        return verdict is not None and verdict.kind not in (Kind.MISS, Kind.IRRELEVANT)

    def record(self, subgoal: int, action: Action, row: Row, verdict: Verdict) -> Verdict:
        self.verdicts[Part(subgoal, action, row)] = verdict
        return verdict
