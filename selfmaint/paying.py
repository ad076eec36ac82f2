"""Which lookups pay, per view and relation: the records of a warehouse (see `lookups.payoff`).

They are kept in the journal, in the mark of its last batch. So the choice for a batch depends on
the batches that were applied, and not on the process that applies it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lookups.payoff import Choice, Lookups, Payoff, Stretch
from lookups.verdict import Kind

if TYPE_CHECKING:
    from selfmaint.deciding import Decision
    from warehouse.tables.store import Note


@dataclass
class Paying:
    """The records of all views.

    Args:
        lookups: when to make them.
        of: view to relation to its record.
    """

    lookups: Lookups
    of: dict[str, dict[str, Payoff]] = field(default_factory=dict)

    @classmethod
    def noted(cls, lookups: Lookups, note: Note) -> Paying:
        """The records as `note` wrote them: by view and relation."""
        return cls(
            lookups,
            {
                view: {name: Payoff.from_dict(record) for name, record in records.items()}
                for view, records in note.items()
            },
        )

    def note(self) -> Note:
        """The records for the journal."""
        return {
            view: {name: record.as_dict() for name, record in sorted(records.items())}
            for view, records in sorted(self.of.items())
        }

    def skipped(self, view: str, relations: Iterable[str], *, is_new: bool) -> frozenset[str]:
        """Those relations whose insertions are not looked up in a view.

        Args:
            is_new: nobody has written to the view yet, so there is nothing to find in it.
        """
        match self.lookups:
            case Lookups.ALWAYS:
                return frozenset()
            case Lookups.NEVER:
                return frozenset(relations)
            case Lookups.ADAPT if is_new:
                return frozenset(relations)
            case Lookups.ADAPT:
                records = self.of.get(view, {})
                off = (name for name in relations if name in records)
                return frozenset(name for name in off if records[name].choice is Choice.SKIP)

    def learn(self, decision: Decision, *, is_cold: bool) -> None:
        """Note what a batch's lookups and questions took on a view.

        Args:
            is_cold: it is the first one that this warehouse has decided since it was opened. Java
                may be cold then, and lookups take many times what they will: that is no evidence.
        """
        records = self.of.setdefault(decision.task.stored.name, {})
        for name, stretch in stretches(decision).items():
            if not (is_cold and stretch.looked_up):
                records[name] = records.get(name, Payoff()).after(stretch)

    def sentences(self, view: str) -> tuple[str, ...]:
        """For a report: the relations whose insertions are no longer looked up, and why."""
        return tuple(
            record.sentence(name)
            for name, record in sorted(self.of.get(view, {}).items())
            if self.lookups is Lookups.ADAPT and record.choice is Choice.SKIP
        )


def stretches(decision: Decision) -> dict[str, Stretch]:
    """What became of the insertions of a batch, by relation.

    Looking into the view is one scan for all changes: each relation has its share by changes, and
    of the questions and what they took, by changes that asked. So a change that needs no source
    counts as a question saved, though a batch asks many keys at once: lookups are also there to
    spare the source, and stop only where next to none helps. An empty view is no evidence.
    """
    done, skipped = decision.done, decision.task.skipped
    if done is None:
        return {}
    met = [tally for tally in done.counts.tallies if tally.kind is not Kind.IRRELEVANT]
    total = sum(tally.changes for tally in met)
    all_asked = sum(tally.changes for tally in met if tally.kind is Kind.MISS)
    found: dict[str, Stretch] = {}
    for name in sorted({tally.relation for tally in met if tally.insert}):
        mine = [tally for tally in met if tally.insert and tally.relation == name]
        count = sum(tally.changes for tally in mine)
        missed = sum(tally.changes for tally in mine if tally.kind is Kind.MISS)
        share = missed / all_asked if missed else 0.0
        questions, source_cost = decision.cost.questions * share, decision.cost.seconds * share
        if name in skipped or not decision.files:
            found[name] = Stretch(skipped=count, asked=questions, source_cost=source_cost)
        else:
            lookup_cost = done.seconds * count / total
            found[name] = Stretch(count, count - missed, lookup_cost, 0, questions, source_cost)
    return found
