"""Explain a view before it is created: what changes cost, how often they are decided, what helps.

For every relation of the view and both kinds of change: the grade, the rule it comes from with the
reason in words, the lookups, and the proposals that would lift it. As data, as text, and as JSON
with a version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Final

from cq.diagnostics import InputError, did_you_mean
from cq.partition import partition
from cq.printer import print_atom, print_rule
from cq.query import Query
from cq.roles import join_columns, roles
from cq.syntax import Var, variables_of
from lookups.plan import ACTIONS, Action, Plan, Rule, Step
from lookups.printer import Names
from selfmaint.edits import column_of, draft_of, listed
from selfmaint.grade import (
    Grade,
    Maintainable,
    grade,
    lookup_grade,
    nullable_key,
    telling_deletion,
)
from selfmaint.program import Program
from selfmaint.proposals import Proposal, propose

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Cell:
    """What happens when `relation` gains or loses a row.

    Args:
        maintainable: how often a change on its own is decided from the view alone.
        in_update: the same for half of an UPDATE that keeps the row's key.
        rules: the names of the rules that apply, one per subgoal of the relation.
        reasons: why these rules, one line each.
        notes: what else the grade rests on.
        lookups: the distinct patterns that may be looked up.
        proposals: what would lift the cell, the smallest change of each kind first.
    """

    relation: str
    action: Action
    maintainable: Maintainable
    in_update: Maintainable
    rules: tuple[str, ...]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    lookups: tuple[str, ...]
    proposals: tuple[Proposal, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The matrix of a view: one cell per relation and kind of change, relations in body order.

    Args:
        rule: the analysed view, without the subgoals that were dropped.
        dropped: subgoals that the view does not need, each with the reason.
        is_empty: no database gives the view a row.
        is_minimal: False when minimization stopped early; a redundant subgoal may be left.
        is_complete: False when the search for proposals stopped early.
    """

    view: str
    rule: str
    cells: tuple[Cell, ...]
    dropped: tuple[tuple[str, str], ...]
    is_empty: bool
    is_minimal: bool
    is_complete: bool

    def cell(self, relation: str, action: Action) -> Cell:
        """The cell of one relation and kind of change.

        Raises:
            InputError: the view does not use the relation.
        """
        for cell in self.cells:
            if (cell.relation, cell.action) == (relation, action):
                return cell
        raise InputError(
            "LP205",
            f"view `{self.view}` does not use a relation `{relation}`",
            *did_you_mean(relation, [cell.relation for cell in self.cells]),
        )

    def to_text(self) -> str:
        """A table and one paragraph per cell, at most 100 columns wide."""
        from selfmaint.explain_text import explanation_text  # which reads these classes

        return explanation_text(self)

    def to_json(self, indent: int | None = None) -> str:
        """The explanation as a versioned JSON text."""
        document = {
            "format": "selfmaint-explanation",
            "version": VERSION,
            "view": self.view,
            "rule": self.rule,
            "is_empty": self.is_empty,
            "is_minimal": self.is_minimal,
            "is_complete": self.is_complete,
            "dropped": [{"subgoal": atom, "reason": reason} for atom, reason in self.dropped],
            "cells": [_cell_data(cell) for cell in self.cells],
        }
        return json.dumps(document, indent=indent, ensure_ascii=False)


def explain(program: Program, view_name: str) -> Explanation:
    """Everything there is to know about a view before its first row.

    Raises:
        InputError: there is no such view.

    Example:
        >>> from selfmaint import parse
        >>> found = explain(parse("v(X, Y, Z) :- r(U, X, Y), s(X, Z)."), "v")
        >>> cell = found.cell("r", "delete")
        >>> str(cell.maintainable), cell.proposals[0].text
        ('sometimes', 'expose `U`')
    """
    view = program.view(view_name)
    query = view.query
    relations = dict.fromkeys(atom.predicate for atom in view.normal.atoms)
    plans = {(r, action): view.plan(r, action) for r in relations for action in ACTIONS}
    grades = {change: grade(plan) for change, plan in plans.items()}
    proposals, is_complete = propose(draft_of(program.source, query), query, grades)
    return Explanation(
        view=view_name,
        rule=print_rule(query.rule()),
        cells=tuple(
            _cell(plan, grades[change], proposals[change]) for change, plan in plans.items()
        ),
        dropped=tuple((print_atom(gone.atom), gone.reason) for gone in query.dropped),
        is_empty=query.is_empty,
        is_minimal=query.is_minimal,
        is_complete=is_complete,
    )


def _cell(plan: Plan, found: Grade, proposals: tuple[Proposal, ...]) -> Cell:
    steps = [step for step in plan.steps if not step.screen.is_closed]
    return Cell(
        relation=plan.relation,
        action=plan.action,
        maintainable=found.alone,
        in_update=found.in_update,
        rules=tuple(str(step.rule) for step in steps),
        reasons=tuple(why(plan.query, step) for step in steps),
        notes=tuple(dict.fromkeys(note for step in steps for note in _notes(plan.query, step))),
        lookups=tuple(_patterns(plan.query, steps)),
        proposals=proposals,
    )


def _patterns(query: Query, steps: Iterable[Step]) -> Iterator[str]:
    """The distinct lookups, each written with the names of the first subgoal that makes it."""
    seen = set()
    for step in steps:
        names = Names(query, step.subgoal)
        for lookup in step.lookups():
            if lookup not in seen:
                seen.add(lookup)
                yield names.lookup(lookup)


_HIDING: Final = (Rule.INSERT_HIDDEN, Rule.INSERT_NEVER)
"""Insertions that a hidden join variable keeps from being maintained by themselves."""


def _notes(query: Query, step: Step) -> Iterator[str]:
    columns = query.by_name[query.atoms[step.subgoal].predicate].columns
    children = sorted({query.atoms[child.subgoal].predicate for child in step.children})
    if children:
        refers = "references" if len(children) == 1 else "reference"
        yield f"{listed(children)} {refers} it: a key that comes or goes needs no lookup"
    elif step.rule is Rule.INSERT_HIDDEN and step.vdu is None:
        yield "its key is exposed, so the view cannot show a row like a new one"
    elif (found := lookup_grade(query, step)).alone is not found.in_update:
        yield "the view cannot show a new key yet; in an update it may show the old row"
    deletion = telling_deletion(query, step)
    if deletion is not None and step.rule in _HIDING:
        kept = listed(columns[i].name for i in join_columns(query, step.subgoal))
        unless = "".join(f", unless {name} is NULL" for name in nullable_key(query, deletion))
        yield f"in an update that keeps {kept}, the old row shows what it joins with{unless}"
    nullable = nullable_key(query, step)
    if nullable:
        yield f"except for a row with NULL in {' or '.join(nullable)}"


def why(query: Query, step: Step) -> str:
    """What makes a step's rule apply, in the names of the view."""
    found = roles(query, step.subgoal)
    relation = query.atoms[step.subgoal].predicate

    def named(variables: Iterable[Var]) -> str:
        columns = ((var, column_of(query, relation, var)) for var in variables)
        return listed(f"column {column}" if column else f"`{v.name}`" for v, column in columns)

    hidden = [v for v in variables_of(*query.atoms[step.subgoal].terms) if v not in query.columns]
    hidden_join = [var for var in found.join if var in hidden]
    match step.rule:
        case Rule.DELETE_EXPOSED:
            return "all its variables are exposed"
        case Rule.DELETE_KEY:
            columns = query.by_name[relation].columns
            return f"its key is exposed: {listed(columns[i].name for i in step.key)}"
        case Rule.DELETE_HIDDEN:
            return f"{named(hidden)} {_are(hidden)} hidden"
        case Rule.INSERT_ALONE:
            return "there is no other subgoal"
        case Rule.INSERT_EXPOSED if not found.join:
            return "there is no join variable"
        case Rule.INSERT_EXPOSED:
            return f"{named(found.join)} {_are(found.join)} exposed: all it joins on"
        case Rule.INSERT_HIDDEN:
            return (
                f"it joins on {named(hidden_join)}, which {_are(hidden_join)} hidden, "
                f"but the view shows nothing that depends on {_it(hidden_join)}"
            )
        case Rule.INSERT_NEVER:
            groups = partition(query, found.rest, found.tests, (*found.own, *found.join))
            blocked = [
                query.atoms[i].predicate
                for group in groups
                if any(var in hidden_join for var in group.bound)
                and any(var in query.columns for var in group.free)
                for i in group.subgoals
                if any(var in query.columns for var in variables_of(*query.atoms[i].terms))
            ]
            return (
                f"{named(hidden_join)} {_are(hidden_join)} hidden, and what the view shows of "
                f"{listed(dict.fromkeys(blocked))} depends on {_it(hidden_join)}"
            )


def _are(items: Iterable[object]) -> str:
    return "is" if len(list(items)) == 1 else "are"


def _it(items: Iterable[object]) -> str:
    return "it" if _are(items) == "is" else "them"


def _cell_data(cell: Cell) -> dict[str, object]:
    data = asdict(cell)
    data["proposals"] = [_proposal_data(proposal) for proposal in cell.proposals]
    return data


def _proposal_data(proposal: Proposal) -> dict[str, object]:
    return {
        "text": proposal.text,
        "edits": [{"kind": edit.kind, **asdict(edit)} for edit in proposal.edits],
        "fragment": proposal.fragment,
        "maintainable": proposal.grade.alone,
        "in_update": proposal.grade.in_update,
        "lowers": [
            {
                "relation": relation,
                "action": action,
                "maintainable": found.alone,
                "in_update": found.in_update,
            }
            for (relation, action), found in proposal.lowers
        ],
    }
