"""Verdicts in words: what was looked up and what it means, for a person who knows the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from cq.printer import print_atom
from cq.query import Query
from cq.roles import roles
from cq.syntax import Term
from cq.types import Row
from lookups.plan import DELETIONS, Any, Lookup, Plan, Rule, Step, value_of
from lookups.verdict import Because, Mismatch, Reason, Screened, Test
from selfmaint.cli.values import short_value


class Found(StrEnum):
    """What became of a lookup of the plan."""

    FOUND = "found"
    MISSING = "missing"
    NOT_NEEDED = "not needed"


@dataclass(frozen=True, slots=True)
class Asked:
    """A lookup of the plan with the change's values in it, and its answer.

    Args:
        subgoal: the subgoal that the change meets, by position in the body.
        about: what the view is asked for, in words.
        pattern: the columns and values looked for, in words.
    """

    subgoal: int
    test: Test
    about: str
    pattern: str
    lookup: Lookup
    values: Row
    answer: Found


@dataclass(frozen=True, slots=True)
class Words:
    """A change of one relation, told in the names of the view's columns."""

    plan: Plan
    names: Sequence[str]
    change: Row

    @property
    def query(self) -> Query:
        return self.plan.query

    # Lookups

    def asked(self, reason: Reason) -> Iterator[Asked]:
        """Every lookup of the plan, in the order of the plan."""
        parts = {part.subgoal: part for part in (reason, *reason.parts)}
        for step in self.plan.steps:
            part = parts.get(step.subgoal, Reason(Because.UNUSED))
            yield from self._asked(step, part)

    def _asked(self, step: Step, reason: Reason) -> Iterator[Asked]:
        """The lookups of a step. Those that were made are among them in the same order."""
        made = list(reversed(reason.answers))
        for test, about, pattern, lookup in self._lookups(step):
            answer = Found.NOT_NEEDED
            if made and (made[-1].test, made[-1].lookup) == (test, lookup):
                answer = Found.FOUND if made.pop().found else Found.MISSING
            values = lookup.values(self.change)
            yield Asked(step.subgoal, test, about, pattern, lookup, values, answer)

    def _lookups(self, step: Step) -> Iterator[tuple[Test, str, str, Lookup]]:
        vdu = step.vdu_of(self.change)
        if vdu is not None:
            about = "rows built from it" if step.rule in DELETIONS else "what it would add"
            yield Test.VDU, about, self.pattern(vdu), vdu
        for contradiction in step.contradictions:
            about = f"another row of {contradiction.relation} for the key"
            wanted = ((column, value_of(ref, self.change)) for column, ref in contradiction.differs)
            pattern = (
                f"{self.pattern(contradiction.lookup)}, but not {self._cells(wanted, ' and ')}"
            )
            yield Test.CONTRADICTION, about, pattern, contradiction.lookup
        for need in step.vsm.needs if step.vsm is not None else ():
            for number, alternative in enumerate(need.alternatives):
                about = _and(self._relations(need))
                if number > 0:
                    about += f", by way of {print_atom(self.query.atoms[alternative.subgoal])}"
                yield Test.VSM, about, self.pattern(alternative.lookup), alternative.lookup

    def pattern(self, lookup: Lookup) -> str:
        """`customer = 1, product = 2`; without columns: `any row`."""
        cells = zip(lookup.columns, lookup.values(self.change), strict=True)
        return self._cells(cells) or "any row"

    def _cells(self, cells: Iterable[tuple[int, object]], joined: str = ", ") -> str:
        return joined.join(f"{self.names[column]} = {short_value(v)}" for column, v in cells)

    # Sentences

    def sentences(self, reason: Reason) -> list[str]:
        """Why the verdict is what it is: one sentence, or one for each subgoal of the relation."""
        if reason.rule != Because.SEVERAL:
            return [self._sentence(reason)]
        return [
            f"As {print_atom(self.query.atoms[part.subgoal])}: {self._sentence(part)}"
            for part in reason.parts
            if part.subgoal is not None
        ]

    def _sentence(self, reason: Reason) -> str:
        if reason.subgoal is None:
            return self._unused()
        step = next(step for step in self.plan.steps if step.subgoal == reason.subgoal)
        match reason.rule:
            case Because.SCREEN:
                assert reason.mismatch is not None
                atom = print_atom(self.query.atoms[reason.subgoal])
                return f"The row does not match {atom}: {self._mismatch(reason.mismatch)}."
            case Because.FOREIGN_KEY:
                return self._foreign_key(step)
            case Because.UNSEEN:
                return "The batch replaces the row by one that looks the same to the view."
            case Because.UPDATE:
                return "The row that the batch deletes for it has the same join values."
            case Because.BATCH:
                return "The batch itself brings what the row joins with."
            case Because.SETTLED if self.plan.action == "insert":
                return "The batch itself and the view show what the row joins with."
            case Because.SETTLED:
                return "Once the rest is applied, nothing built from the row is left in the view."
            case _ if step.rule in DELETIONS:
                return self._deletion(step, reason)
            case _:
                return self._insertion(step, reason)

    def _mismatch(self, failed: Mismatch) -> str:
        columns = [self._column(position) for position in failed.positions]
        left, right = map(short_value, failed.values or (None, None))
        match failed.test:
            case Screened.EMPTY:
                return "no database gives the view a row"
            case Screened.CONSTANT:
                return f"{columns[0]} is {left}, not {right}"
            case Screened.NULL:
                return f"{columns[0]} is NULL, which joins with nothing"
            case Screened.REPEATED:
                return f"{columns[0]} and {columns[1]} differ"
            case Screened.COMPARISON:
                return f"{left} {failed.operator} {right} does not hold"

    def _column(self, position: int) -> str:
        """A column of the changed relation; without a declaration it has no name."""
        relation = self.query.by_name[self.plan.relation]
        if not relation.declared:
            return f"value {position + 1} of {relation.name}"
        return f"{relation.name}.{relation.columns[position].name}"

    def _unused(self) -> str:
        relation = self.plan.relation
        for gone in self.query.dropped:
            if gone.atom.predicate == relation:
                return f"The view does not need {print_atom(gone.atom)}: {gone.reason}."
        return f"The view does not use `{relation}`."

    def _foreign_key(self, step: Step) -> str:
        children = sorted({self.query.atoms[child.subgoal].predicate for child in step.children})
        refers = _and(f"`{name}`" for name in children) + f" refer{'s' * (len(children) == 1)}"
        if self.plan.action == "insert":
            return f"{refers} to it by a foreign key, so nothing joins with a key that is new."
        return f"{refers} to it by a foreign key, so it goes only after all that joined with it."

    def _deletion(self, step: Step, reason: Reason) -> str:
        (answer,) = reason.answers
        rows = _rows(answer.lookup, self.pattern(answer.lookup))
        if not answer.found:
            return f"The view has no {rows}, so nothing in it was built from the deleted row."
        if step.rule is Rule.DELETE_HIDDEN:
            hidden = self._hidden(step.subgoal, self.query.atoms[step.subgoal].terms)
            return (
                f"The view has {rows} but lacks {hidden}, so it cannot tell whether another row "
                f"of `{self.plan.relation}` still supports them."
            )
        if any(self.change[i] is None for i in step.key):
            return f"The view has {rows}, but NULL in the key does not say whose they are."
        return f"The view's {rows} were built from the deleted row, so they go with it."

    def _insertion(self, step: Step, reason: Reason) -> str:
        found = [item for item in self._asked(step, reason) if item.answer is Found.FOUND]
        for item in found:
            if item.test is Test.VDU:
                rows = _rows(item.lookup, item.pattern)
                return f"The view already has {rows}, so the new row adds nothing."
            if item.test is Test.CONTRADICTION:
                return f"The view shows {item.about}: {item.pattern}. So the new row joins nothing."
        if step.vsm is None or step.rows is None:
            return self._hidden_join(step)
        if not step.vsm.needs:
            return f"The view is built from `{self.plan.relation}` alone; the row's values suffice."
        lookups = {item.lookup for item in found}
        unmet = [
            need
            for need in step.vsm.needs
            if lookups.isdisjoint(a.lookup for a in need.alternatives)
        ]
        if unmet:
            missing = ", or ".join(self._need(need) for need in unmet)
            return f"The view does not show {missing}; a source has to be asked."
        shown = ", and ".join(self._need(need) for need in step.vsm.needs)
        return f"The view already shows what the new row joins with: {shown}."

    def _hidden_join(self, step: Step) -> str:
        hidden = self._hidden(step.subgoal, roles(self.query, step.subgoal).join)
        vdu = step.vdu_of(self.change)
        if step.rule is Rule.INSERT_NEVER or vdu is None:
            return f"The new row joins on {hidden}, which the view lacks; a source has to be asked."
        rows = _rows(vdu, self.pattern(vdu))
        return (
            f"The view has no {rows} and lacks {hidden}, so whether the new row joins with "
            "anything has to be asked."
        )

    def _hidden(self, subgoal: int, terms: Iterable[Term]) -> str:
        """The columns of the subgoal that hold hidden variables among `terms`."""
        hidden = {term for term in terms if not self.query.is_exposed(term)}
        columns = enumerate(self.query.atoms[subgoal].terms)
        return _and(self._column(position) for position, term in columns if term in hidden)

    def _relations(self, need: Any) -> Iterable[str]:
        return dict.fromkeys(self.query.atoms[i].predicate for i in need.subgoals)

    def _need(self, need: Any) -> str:
        lookup = need.alternatives[0].lookup
        pattern = self.pattern(lookup)
        relations = _and(f"`{name}`" for name in self._relations(need))
        return f"{relations} ({pattern})" if lookup.columns else f"any {relations}"


def _rows(lookup: Lookup, pattern: str) -> str:
    return f"rows with {pattern}" if lookup.columns else "rows"


def _and(words: Iterable[str]) -> str:
    listed = list(words)
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)
