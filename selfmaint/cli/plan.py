"""`selfmaint plan`: what to look up for each kind of change, or an earlier stage of a view."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from cq.diagnostics import InputError, did_you_mean, shorten
from cq.printer import print_atom, print_rule
from lookups.plan import ACTIONS, Action, Plan
from selfmaint.cli.check import warn
from selfmaint.cli.console import show_block, show_json
from selfmaint.cli.files import choose_views, read_program
from selfmaint.cli.guard import AsJson, Debug, File, ViewName, guarded
from selfmaint.program import Program, View


class Stage(StrEnum):
    """After which stage to stop."""

    SYNTAX = "syntax"
    NORMAL = "normal"
    PLAN = "plan"


class On(StrEnum):
    """The kinds of change; see `lookups.plan.Action`."""

    INSERT = "insert"
    DELETE = "delete"


@guarded
def plan(
    file: File,
    view: ViewName = None,
    relation: Annotated[
        str | None, typer.Option(metavar="R", help="Only for changes of this relation.")
    ] = None,
    on: Annotated[On | None, typer.Option(help="Only for this kind of change.")] = None,
    stage: Annotated[
        Stage,
        typer.Option(
            "--show", help="The view as written, unfolded over base relations, or its plans."
        ),
    ] = Stage.PLAN,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Show what each change looks up in a view.

    VDU tells that the view is unaffected, VSM that its new rows follow from its own; `-` in a
    lookup is any value. JSON plans are read back by selfmaint's Plan.from_json.
    """
    program = read_program(file)
    warn(program)
    views = [program.view(name) for name in choose_views(program, view)]
    if stage is not Stage.PLAN:
        if relation is not None or on is not None:
            raise typer.BadParameter("a stage before `plan` has no changes", param_hint="--show")
        texts = {
            item.name: _syntax(program, item) if stage is Stage.SYNTAX else _normal(item)
            for item in views
        }
        if as_json:
            show_json({"show": stage.value, "views": texts})
        else:
            show_block("\n".join(texts.values()))
        return
    plans = list(_plans(program, views, relation, ACTIONS if on is None else (on.value,)))
    if as_json:
        show_json({"plans": [json.loads(item.to_json()) for item in plans]})
    else:
        show_block("\n\n".join(map(str, plans)))


def _plans(
    program: Program, views: list[View], relation: str | None, actions: tuple[Action, ...]
) -> Iterator[Plan]:
    users = [view for view in views if relation is None or relation in view.relations]
    if relation is not None and not users:
        known = {name for view in views for name in view.relations}
        where = f"view `{views[0].name}` does not use" if len(views) == 1 else "no view uses"
        raise InputError(
            "LP205", f"{where} a relation `{shorten(relation)}`", *did_you_mean(relation, known)
        )
    for view in users:
        for name in view.relations if relation is None else (relation,):
            for action in actions:
                yield view.plan(name, action)


def _syntax(program: Program, view: View) -> str:
    rules = program.source.syntax.rules
    return print_rule(next(rule for rule in rules if rule.head.predicate == view.name))


def _normal(view: View) -> str:
    """The view over base relations, with comments on what minimization does to it."""
    lines = [print_rule(view.normal.rule())]
    lines += [f"%   without {print_atom(gone.atom)}: {gone.reason}" for gone in view.query.dropped]
    if view.query.is_empty:
        lines.append("%   empty in every database")
    return "\n".join(lines)
