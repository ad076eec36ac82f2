"""The commonest verdict without its reason: an insertion that the view already shows.

`decide` tells what it looked up and found, as data, and that costs many times the lookup. Where
change follows change, most are unaffected, and a maintainer need not say why each time.

Law: where `is_shown` is true, `decide_from_screen` says unaffected. Otherwise it says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from cq.types import Row
from lookups.index import RowIndex, values_at
from lookups.plan import DELETIONS, Given, Plan, Screen

IsShown: TypeAlias = Callable[[RowIndex, Row], bool]


def never_shown(index: RowIndex, change: Row) -> bool:
    """For plans whose lookups say more than one test can."""
    return False


def is_shown(plan: Plan) -> IsShown:
    """A test whether the plan's VDU lookup finds a row for a change, where that is a verdict.

    It is for a relation that occurs once, if a change that is found passes the screen: nothing but
    NULL in the columns looked up could fail it, and a row with NULL there is in no view.

    Example:
        >>> from cq.program import read
        >>> from lookups.emit import emit
        >>> query = read("v(X, Y, Z) :- r(U, X, Y), s(X, Z).").query("v")
        >>> test = is_shown(emit(query, "r", "insert"))
        >>> [test(RowIndex([(1, 2, 3)]), row) for row in [(9, 1, 2), (9, 2, 1)]]
        [True, False]
    """
    if len(plan.steps) != 1:
        return never_shown
    (step,) = plan.steps
    if step.rule in DELETIONS or step.vdu is None or step.children:
        return never_shown
    refs = [ref for _, ref in step.vdu.pattern]
    positions = [ref.position for ref in refs if isinstance(ref, Given)]
    if step.screen != Screen(non_null=step.screen.non_null) or len(positions) < len(refs):
        return never_shown
    if not set(step.screen.non_null).issubset(positions):
        return never_shown
    columns, values = step.vdu.columns, values_at(positions)
    return lambda index, change: index.has(columns, values(change))
