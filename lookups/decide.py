"""The reference executor for one change: plain lookups, in the order the plan lists them.

`decide_step` runs one step on one state of the view. A plan with one step is decided by it alone. A
relation that occurs several times is a batch of one change with nobody to ask: each subgoal is a
relation of its own, and the change is applied to one after the other (`lookups.maintain`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeAlias

from cq.types import Row, holds
from lookups.index import RowIndex, indexed, values_at
from lookups.plan import (
    DELETIONS,
    Any,
    Cell,
    Contradiction,
    Found,
    Given,
    Lookup,
    Plan,
    Rule,
    Screen,
    Step,
    value_of,
)
from lookups.verdict import Answer, Because, Kind, Mismatch, Reason, Screened, Test, Verdict

IsChanged: TypeAlias = Callable[[str, tuple[int, ...], Row], bool]
"""Whether a batch changes a row of a relation that has these values in these columns."""


def _never_changed(relation: str, columns: tuple[int, ...], values: Row) -> bool:
    return False


def decide(
    plan: Plan, rows: Iterable[Sequence[object]] | RowIndex, change: Sequence[object]
) -> Verdict:
    """The verdict of `plan` on `change`; see `Plan.decide`."""
    row = plan.query.by_name[plan.relation].admit(change)
    return decide_admitted(plan, indexed(rows, plan.query), row)


def decide_admitted(plan: Plan, index: RowIndex, row: Row) -> Verdict:
    """The same on rows of the view's width and a change in its relation's representation."""
    if not plan.steps:
        return Verdict(Kind.IRRELEVANT, Reason(Because.UNUSED))
    if len(plan.steps) > 1:
        from lookups.maintain import decide_alone  # which runs the steps of this module

        return decide_alone(plan, index, row)
    return decide_from_screen(plan.steps[0], index, row)


def decide_from_screen(
    step: Step, index: RowIndex, change: Row, is_changed: IsChanged = _never_changed
) -> Verdict:
    """The verdict of one step on a change that comes alone, from the screen on."""
    failed = mismatch(step.screen, change)
    if failed is not None:
        return Verdict(Kind.IRRELEVANT, Reason(Because.SCREEN, (), step.subgoal, failed))
    if step.children:
        return Verdict(Kind.UNAFFECTED, Reason(Because.FOREIGN_KEY, (), step.subgoal))
    return decide_step(step, index, change, is_changed)


def mismatch(screen: Screen, change: Row) -> Mismatch | None:
    """The first test of the screen that the change fails; None when it matches the subgoal."""
    if screen.is_closed:
        return Mismatch(Screened.EMPTY)
    for position, constant in screen.constants:
        value = change[position]
        if value is None or value != constant.value:
            return Mismatch(Screened.CONSTANT, (position,), (value, constant.value), "=")
    for position in screen.non_null:
        if change[position] is None:
            return Mismatch(Screened.NULL, (position,), (None, None), "!=")
    for pair in screen.equal:
        first, second = (change[position] for position in pair)
        if first is None or first != second:
            return Mismatch(Screened.REPEATED, pair, (first, second), "=")
    for test in screen.tests:
        left, right = value_of(test.left, change), value_of(test.right, change)
        if not holds(test.operator, left, right, test.numeric):
            at = (ref.position for ref in (test.left, test.right) if isinstance(ref, Given))
            return Mismatch(Screened.COMPARISON, tuple(at), (left, right), test.operator)
    return None


def decide_step(
    step: Step, index: RowIndex, change: Row, is_changed: IsChanged = _never_changed
) -> Verdict:
    """The verdict of one step on a change that passed its screen.

    Args:
        is_changed: what the batch around this change touches. Where a subgoal vouches for another
            one, or a key contradicts, the view shows a row of a relation that may be in two states
            at once; a row that the batch leaves alone is the same in all of them.
    """
    if step.rule in DELETIONS:
        return _deletion(step, index, change)
    return _insertion(step, index, change, is_changed)


def _deletion(step: Step, index: RowIndex, change: Row) -> Verdict:
    assert step.vdu is not None
    values = step.vdu.values(change)
    found = index.has(step.vdu.columns, values)
    reason = Reason(step.rule, (Answer(Test.VDU, step.vdu, values, found),), step.subgoal)
    if not found:
        return Verdict(Kind.UNAFFECTED, reason)
    if step.rule is Rule.DELETE_HIDDEN or any(change[i] is None for i in step.key):
        return Verdict(Kind.MISS, reason)
    deletes = index.matching(step.vdu.columns, values)
    return Verdict(Kind.SELF_MAINTAINED, reason, deletes=deletes)


def _insertion(step: Step, index: RowIndex, change: Row, is_changed: IsChanged) -> Verdict:
    answers: list[Answer] = []

    def verdict(kind: Kind, inserts: frozenset[Row] = frozenset()) -> Verdict:
        return Verdict(kind, Reason(step.rule, tuple(answers), step.subgoal), inserts)

    vdu = step.vdu_of(change)
    if vdu is not None and _ask(vdu, Test.VDU, index, change, answers):
        return verdict(Kind.UNAFFECTED)
    for contradiction in step.contradictions:
        if _contradicts(contradiction, index, change, is_changed, answers):
            return verdict(Kind.UNAFFECTED)
    if step.vsm is None or step.rows is None:
        return verdict(Kind.MISS)
    # Every need is asked even after one failed: the reason then names all that is missing.
    met = [_meet(need, index, change, is_changed, answers) for need in step.vsm.needs]
    if not all(met):
        return verdict(Kind.MISS)
    found = index.absent(new_rows(step.rows.cells, step.vsm.needs, index, change))
    return verdict(Kind.SELF_MAINTAINED if found else Kind.UNAFFECTED, found)


def _ask(lookup: Lookup, test: Test, index: RowIndex, change: Row, answers: list[Answer]) -> bool:
    values = lookup.values(change)
    found = index.has(lookup.columns, values)
    answers.append(Answer(test, lookup, values, found))
    return found


def _contradicts(
    contradiction: Contradiction,
    index: RowIndex,
    change: Row,
    is_changed: IsChanged,
    answers: list[Answer],
) -> bool:
    relation, columns = contradiction.relation, tuple(i for i, _ in contradiction.key)
    key = tuple(value_of(ref, change) for _, ref in contradiction.key)
    if is_changed(relation, columns, key):
        return False
    lookup = contradiction.lookup
    values = lookup.values(change)
    wanted = tuple(value_of(ref, change) for _, ref in contradiction.differs)
    shown = index.distinct(lookup.columns, values, tuple(i for i, _ in contradiction.differs))
    found = any(row != wanted for row in shown)
    answers.append(Answer(Test.CONTRADICTION, lookup, values, found))
    return found


def _meet(
    need: Any, index: RowIndex, change: Row, is_changed: IsChanged, answers: list[Answer]
) -> bool:
    own, *others = need.alternatives
    if _ask(own.lookup, Test.VSM, index, change, answers):
        return True
    if not others or need.instance is None:
        return False
    row = need.instance.row(change)
    if is_changed(need.instance.relation, tuple(range(len(row))), row):
        return False
    return any(
        _ask(alternative.lookup, Test.VSM, index, change, answers)
        for alternative in others
        if all(
            value_of(equal.left, change) == value_of(equal.right, change)
            for equal in alternative.condition
        )
    )


def new_rows(
    cells: Sequence[Cell], needs: Sequence[Any], index: RowIndex, change: Row
) -> frozenset[Row]:
    """The rows an insertion adds: its own values, with every combination of the groups' answers."""
    giving = [n for n, need in enumerate(needs) if need.gives]
    choices: list[Collection[Row]] = []
    for n in giving:
        lookup = needs[n].alternatives[0].lookup
        choices.append(index.given(lookup.columns, lookup.values(change), needs[n].gives))
    # A combination is the change's values and all answers in a row; each cell picks one of them.
    known = [value_of(cell, change) for cell in cells if not isinstance(cell, Found)]
    places = [(n, column) for n in giving for column in needs[n].gives]
    answered = {place: len(known) + i for i, place in enumerate(places)}
    own = iter(range(len(known)))
    places_of_cells = [
        answered[c.need, c.column] if isinstance(c, Found) else next(own) for c in cells
    ]
    return combine(tuple(known), choices, places_of_cells)


def combine(known: Row, choices: Iterable[Iterable[Row]], at: Sequence[int]) -> frozenset[Row]:
    """`known` followed by one answer of every choice, in all combinations; of each the values `at`.

    Example:
        >>> sorted(combine((1,), [[(2,), (3,)], [(4,)]], (2, 1, 0)))
        [(4, 2, 1), (4, 3, 1)]
    """
    combined = [known]
    for choice in choices:
        combined = [values + answer for values in combined for answer in choice]
    return frozenset(map(values_at(at), combined))
