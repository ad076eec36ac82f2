"""The commonest verdict without its reason: an insertion that the view already shows.

`decide` tells what it looked up and found, as data, and that costs many times the lookup. Where
change follows change, most are unaffected, and a maintainer need not say why each time.

Law: where `Shown.has` is true, `decide_from_screen` says unaffected. Otherwise it says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cq.types import Row
from lookups.index import values_at
from lookups.live import LiveIndex
from lookups.plan import DELETIONS, Given, Plan, Screen


@dataclass(frozen=True, slots=True)
class Shown:
    """A test whether a plan's VDU lookup finds a row for a change, where that is a verdict.

    Args:
        columns: that it looks up.
        values: of a change in these columns.

    Example:
        >>> from cq.program import read
        >>> from lookups.emit import emit
        >>> query = read("v(X, Y, Z) :- r(U, X, Y), s(X, Z).").query("v")
        >>> shown, view = shown_by(emit(query, "r", "insert")), LiveIndex([(1, 2, 3)], 3)
        >>> [shown.has(view, row) for row in [(9, 1, 2), (9, 2, 1)]]
        [True, False]
        >>> shown.has_all(view, [(9, 1, 2), (8, 1, 2)])
        True
    """

    columns: tuple[int, ...]
    values: Callable[[Row], Row]

    def has(self, view: LiveIndex, change: Row) -> bool:
        return view.has(self.columns, self.values(change))

    def has_all(self, view: LiveIndex, changes: Iterable[Row]) -> bool:
        return view.has_all(self.columns, map(self.values, changes))


def shown_by(plan: Plan) -> Shown | None:
    """The test for a plan; None where one lookup does not tell.

    It is for a relation that occurs once, if a change that is found passes the screen: nothing but
    NULL in the columns looked up could fail it, and a row with NULL there is in no view.
    """
    if len(plan.steps) != 1:
        return None
    (step,) = plan.steps
    if step.rule in DELETIONS or step.vdu is None or step.children:
        return None
    refs = [ref for _, ref in step.vdu.pattern]
    positions = [ref.position for ref in refs if isinstance(ref, Given)]
    if step.screen != Screen(non_null=step.screen.non_null) or len(positions) < len(refs):
        return None
    if not set(step.screen.non_null).issubset(positions):
        return None
    return Shown(step.vdu.columns, values_at(positions))
