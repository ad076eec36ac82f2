"""The batch rule over Python sets: the reference for every other maintainer.

`settle` decides what the view can decide and puts off what misses, `complete` gives the missed
insertions a second chance, and this module asks the source for what is left and puts the parts
together. Three things it does beyond what a batch of single changes would, all to ask less:

- A deleted and an inserted row that differ only in what the view does not use cancel out.
- A deleted row tells what an inserted one with the same join values meets (`lookups.updates`).
- Occurrences of a relation vouch for each other while they are in the same state, and the row in
  question decides that: one that the batch does not change is in the same state everywhere. In turn
  the batch knows every whole row that it changes, not only rows with a key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cq.diagnostics import InputError, shown
from cq.query import Query
from cq.roles import comparison_variables
from cq.schema import Column, Relation
from cq.syntax import Const, Var
from cq.types import Row
from lookups.batch import Batch, check_against, read_batch, read_change
from lookups.complete import Completion, Piece, Slice, complete, slice_of, variables_at
from lookups.decide import combine, decide_from_screen
from lookups.evaluate import Database, evaluate, solve, tabulate
from lookups.index import RowIndex, indexed
from lookups.plan import Action, Plan
from lookups.prepared import Prepared
from lookups.settle import Part, Settled, settle
from lookups.verdict import Because, Kind, Reason, Verdict

_STRONGEST = (Kind.MISS, Kind.SELF_MAINTAINED, Kind.UNAFFECTED, Kind.IRRELEVANT)


@dataclass(frozen=True, slots=True)
class Question:
    """What a source is asked: the rows of a small join for some keys.

    Args:
        subgoals: the join, by position in the body; the whole body for a slice of the view.
        bound: the variables that the keys are values of.
        wanted: the variables whose values the answer brings.
        keys: the values asked for, each in the order of `bound`.
        is_slice: asked for a slice of the view, on behalf of missed deletions.
    """

    subgoals: tuple[int, ...]
    bound: tuple[str, ...]
    wanted: tuple[str, ...]
    keys: frozenset[Row]
    is_slice: bool = False


Source: TypeAlias = Callable[[Question], Iterable[Row]]
"""Answers a question as of the state after the batch: the rows of the join for the keys asked, each
the values of `bound` followed by those of `wanted`."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Where one change of a batch ended, and why."""

    relation: str
    action: Action
    row: Row
    kind: Kind
    reason: Reason


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a batch did to the view.

    Args:
        rows: the view after the batch.
        questions: what the source was asked, once per group or slice.
        decisions: one per change, in the order given.
    """

    rows: frozenset[Row]
    questions: tuple[Question, ...]
    decisions: tuple[Decision, ...]


def maintain(
    query: Query,
    rows: Iterable[Sequence[object]] | RowIndex,
    changes: Iterable[object],
    database: Database,
    known: Iterable[str] = (),
    *,
    skipped: Collection[str] = (),
) -> Outcome:
    """Bring the view from `rows` to the state after the batch.

    Args:
        changes: net changes `(relation, "insert" | "delete", row)`.
        database: relation to rows, after the batch: the source that is asked for what is missing.
        known: relations that the view does not use; their changes are irrelevant.
        skipped: relations whose insertions are not looked up (see `settle`).
    Raises:
        InputError: a change does not fit, or the changes are not net.
    """
    listed = [read_change(change) for change in changes]
    batch = read_batch(query, listed, known)
    tables = tabulate(query, database)
    check_against(batch, tables)
    prepared = Prepared(query)
    before = indexed(rows, query)
    settled = settle(prepared, batch, before, skipped)
    effect = finish(prepared, batch, before, settled, answers_of(query, tables))
    decisions = tuple(effect.decision(query, *change) for change in listed)
    return Outcome((before.rows - effect.deletes) | effect.inserts, effect.questions, decisions)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a batch does to a view.

    Args:
        inserts: rows that were not there.
        deletes: rows that were.
        questions: what the source was asked.
    """

    inserts: frozenset[Row]
    deletes: frozenset[Row]
    questions: tuple[Question, ...]
    settled: Settled
    work: _Work

    def decision(self, query: Query, relation: str, action: Action, row: object) -> Decision:
        """Where a change of the batch ended."""
        return _decision(query, self.settled, self.work, relation, action, row)

    def screened(self, query: Query, relation: str) -> int:
        """How many insertions into a relation meet no subgoal: nothing was looked up for them."""
        subgoals = query.occurrences(relation)
        screened = Counter(
            part.row
            for part, verdict in self.settled.verdicts.items()
            if verdict.kind is Kind.IRRELEVANT
            and part.action == "insert"
            and part.subgoal in subgoals
        )
        return sum(times == len(subgoals) for times in screened.values())

    def asked(self, query: Query, relation: str) -> int:
        """How many insertions into a relation asked the source."""
        return len(
            {
                part.row
                for part in self.settled.missed
                if part.action == "insert"
                and query.atoms[part.subgoal].predicate == relation
                and self.work.is_open(part)
            }
        )


def finish(
    prepared: Prepared, batch: Batch, before: RowIndex, settled: Settled, source: Source
) -> Effect:
    """The second half of the batch rule, the source included.

    Args:
        before: the view that the batch was settled on.
    """
    query = prepared.query
    work = _second_chance(prepared, batch, settled)
    questions = tuple(_questions(query, work))
    answers = {_without_keys(question): ask(query, source, question) for question in questions}
    inserts, deletes = _put_together(query, before, settled, work, answers)
    return Effect(inserts, deletes, questions, settled, work)


def ask(query: Query, source: Source, question: Question) -> dict[Row, set[Row]]:
    """Put a question to a source: what it answers for each key, admitted as rows of relations are.

    Raises:
        InputError: the answer has other columns than were asked for, a value that its column does
            not admit, or a key that was not asked for.
    """
    answer = answer_schema(query, question)
    bound = len(question.bound)
    found: dict[Row, set[Row]] = {key: set() for key in question.keys}
    for admitted in answer.admit_all(list(source(question))):
        values = found.get(admitted[:bound])
        if values is None:
            raise InputError("LP230", f"{answer}: nobody asked for {shown(admitted)}")
        values.add(admitted[bound:])
    return found


def answer_schema(query: Query, question: Question) -> Relation:
    """The answer to a question as a relation: a column per variable, with the variable's type."""
    variables = variables_named(query, question)
    return Relation("answer", tuple(Column(var.name, query.type_of[var]) for var in variables))


def answers_of(query: Query, tables: Mapping[str, list[Row]]) -> Source:
    """The source that knows these tables, by recomputation."""

    def answer(question: Question) -> Iterable[Row]:
        if question.is_slice:  # NULL joins nothing, but is a value of a slice: so no join by keys
            columns = [query.columns[var] for var in variables_named(query, question)]
            rows = (tuple(row[i] for i in columns) for row in evaluate(query, tables))
            return {row for row in rows if row[: len(question.bound)] in question.keys}
        variables = variables_named(query, question)
        inside = {var for i in question.subgoals for var in query.variables[i]}.union(variables)
        tests = [c for c in query.comparisons if comparison_variables(c) <= inside]
        starts = [dict(zip(variables, key, strict=False)) for key in question.keys]
        found = solve(query, question.subgoals, tests, starts, tables)
        return {tuple(binding[var] for var in variables) for binding in found}

    return answer


def variables_named(query: Query, question: Question) -> tuple[Var, ...]:
    """The variables that the question binds, then those that it wants."""
    by_name = {var.name: var for atom in query.variables for var in atom}
    return tuple(by_name[name] for name in question.bound + question.wanted)


def decide_alone(plan: Plan, index: RowIndex, change: Row) -> Verdict:
    """One change of a relation that occurs several times: a batch with nobody to ask.

    Without a miss the batch rule is one step after the other, each on the view that the last one
    left. With one, the batch of this change may still know what is missing.
    """

    def is_changed(relation: str, columns: tuple[int, ...], values: Row) -> bool:
        return relation == plan.relation and values == tuple(change[i] for i in columns)

    inserts: frozenset[Row] = frozenset()
    deletes: frozenset[Row] = frozenset()
    verdicts: dict[int, Verdict] = {}
    for step in plan.steps:
        view = index.changed(deletes, inserts)
        verdict = verdicts[step.subgoal] = decide_from_screen(step, view, change, is_changed)
        if verdict.kind is Kind.MISS:
            return _decide_as_batch(plan, index, change)
        inserts, deletes = inserts | verdict.inserts, deletes | verdict.deletes
    parts = [verdicts[subgoal] for subgoal in sorted(verdicts)]
    kind = next(kind for kind in _STRONGEST if any(part.kind is kind for part in parts))
    reason = Reason(Because.SEVERAL, parts=tuple(part.reason for part in parts))
    return Verdict(kind, reason, inserts, deletes)


def _decide_as_batch(plan: Plan, index: RowIndex, change: Row) -> Verdict:
    one = {plan.relation: (change,)}
    batch = Batch(one, {}) if plan.action == "insert" else Batch({}, one)
    steps = {(step.subgoal, plan.action): step for step in plan.steps}
    prepared = Prepared(plan.query, steps)
    settled = settle(prepared, batch, index)
    work = _second_chance(prepared, batch, settled)
    decision = _decision(plan.query, settled, work, plan.relation, plan.action, change)
    if decision.kind is Kind.MISS:
        return Verdict(Kind.MISS, decision.reason)
    inserts, deletes = _put_together(plan.query, index, settled, work, {})
    kind = Kind.SELF_MAINTAINED if inserts or deletes else Kind.UNAFFECTED
    return Verdict(kind, decision.reason, inserts, deletes)


@dataclass(frozen=True, slots=True)
class _Work:
    """What became of the missed parts."""

    completions: Mapping[Part, Completion]
    slices: Mapping[Part, Slice]

    def is_open(self, part: Part) -> bool:
        completion = self.completions.get(part)
        return part in self.slices or (completion is not None and completion.is_open)


def _second_chance(prepared: Prepared, batch: Batch, settled: Settled) -> _Work:
    query = prepared.query
    completions = {
        part: complete(prepared, batch, settled, part)
        for part in settled.missed
        if part.action == "insert"
    }
    deletions = [part for part in settled.missed if part.action == "delete"]
    slices = {part: found for part in deletions if (found := slice_of(query, settled, part))}
    return _Work(completions, slices)


def _question_of(query: Query, piece: Piece) -> Question:
    """The question that answers `piece`, still without keys."""
    return Question(
        piece.group.subgoals,
        tuple(var.name for var in piece.group.bound),
        tuple(var.name for var in piece.wanted),
        frozenset(),
    )


def _slice_question(query: Query, part: Slice) -> Question:
    bound = variables_at(query, part.columns)
    wanted = tuple(var.name for var in query.columns if var not in bound)
    subgoals = tuple(range(len(query.atoms)))
    return Question(subgoals, tuple(v.name for v in bound), wanted, frozenset(), is_slice=True)


def _questions(query: Query, work: _Work) -> list[Question]:
    """One question per missing group or slice, with the set of missing keys."""
    keys: dict[Question, set[Row]] = {}
    for completion in work.completions.values():
        for piece in completion.pieces:
            if piece.answer is None:
                keys.setdefault(_question_of(query, piece), set()).add(piece.key)
    for part in work.slices.values():
        keys.setdefault(_slice_question(query, part), set()).add(part.values)
    return [
        Question(q.subgoals, q.bound, q.wanted, frozenset(found), q.is_slice)
        for q, found in keys.items()
    ]


_Answers: TypeAlias = Mapping[Question, Mapping[Row, Iterable[Row]]]
"""What the source answered, by question without keys and by key."""


def _without_keys(question: Question) -> Question:
    return replace(question, keys=frozenset())


def _put_together(
    query: Query, before: RowIndex, settled: Settled, work: _Work, answers: _Answers
) -> tuple[frozenset[Row], frozenset[Row]]:
    """What the batch adds to the view `before` it and removes from it.

    The view after the batch is the settled rows outside the slices, the new slices, and the rows of
    the missed insertions. A row of it either needs no missed insertion, and is then in the settled
    view, or is among the rows of a missed insertion. A settled row that needs a missed deletion's
    row is in the slice of that deletion.
    """
    replaced: set[Row] = set()
    new: set[Row] = set()
    for part in work.slices.values():
        question = _slice_question(query, part)
        replaced |= settled.view.matching(part.columns, part.values)
        variables = variables_named(query, question)
        new |= _head_rows(query, variables, part.values, [answers[question][part.values]])
    for completion in work.completions.values():
        new |= _completed(query, completion, answers)
    come = (settled.view.added - replaced) | new
    gone = (settled.view.removed | replaced) - new
    return before.absent(frozenset(come)), frozenset(gone) - before.absent(frozenset(gone))


def _completed(query: Query, completion: Completion, answers: _Answers) -> frozenset[Row]:
    if completion.binding is None:
        return frozenset()
    choices = [
        piece.answer if piece.answer is not None else answers[_question_of(query, piece)][piece.key]
        for piece in completion.pieces
    ]
    wanted = (var for piece in completion.pieces for var in piece.wanted)
    known = completion.binding
    return _head_rows(query, (*known, *wanted), tuple(known.values()), choices)


def _head_rows(
    query: Query, variables: Iterable[Var], known: Row, choices: Iterable[Iterable[Row]]
) -> frozenset[Row]:
    """The head for `known` with every combination of the choices, as values of `variables`."""
    constants = tuple(term.value for term in query.head if isinstance(term, Const))
    places = {var: i for i, var in enumerate(variables, len(constants))}
    own = iter(range(len(constants)))
    at = [next(own) if isinstance(term, Const) else places[term] for term in query.head]
    return combine(constants + known, choices, at)


def _decision(
    query: Query, settled: Settled, work: _Work, relation: str, action: Action, row: object
) -> Decision:
    """The parts of a change put together: a miss if one asked, else the most that one did."""
    if relation not in query.by_name:
        admitted = tuple(row) if isinstance(row, tuple | list) else ()
        return Decision(relation, action, admitted, Kind.IRRELEVANT, Reason(Because.UNUSED))
    admitted = query.by_name[relation].admit(row)
    kinds: list[Kind] = []
    reasons: list[Reason] = []
    for subgoal in query.occurrences(relation):
        part = Part(subgoal, action, admitted)
        verdict = settled.verdicts[part]
        kind, reason = verdict.kind, verdict.reason
        if kind is Kind.MISS and not work.is_open(part):
            completion = work.completions.get(part)
            from_view = completion is not None and completion.pieces
            kind = Kind.UNAFFECTED if completion is None else Kind.SELF_MAINTAINED
            because = Because.SETTLED if from_view or completion is None else Because.BATCH
            reason = Reason(because, reason.answers, subgoal, parts=(reason,))
        kinds.append(kind)
        reasons.append(reason)
    if not kinds:
        return Decision(relation, action, admitted, Kind.IRRELEVANT, Reason(Because.UNUSED))
    kind = next(kind for kind in _STRONGEST if kind in kinds)
    reason = reasons[0] if len(reasons) == 1 else Reason(Because.SEVERAL, parts=tuple(reasons))
    return Decision(relation, action, admitted, kind, reason)
