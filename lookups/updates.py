"""An UPDATE that keeps its join values: the deleted row has shown what the inserted one joins with.

A batch deletes `r(a, b)` and inserts `r(c, b)`, with the same values `b` on the join variables. The
other subgoals answer both alike, as nothing but `r` changes between the two. So the view rows
`[a', b', -]`, as they stood before the deletion, say what the insertion adds:

- There are none: nothing joins with `b`, and the insertion leaves the view as it is.
- There are some, and they come from `r(a, b)` alone: it adds the same rows, with `c'` for `a'`.

They come from it alone where its deletion may remove them: with all of X and Y exposed, or with an
exposed key. By an exposed key the two rows must be one UPDATE: no other row of the batch brings
this key then, so that the new rows cannot be there already.

Beyond Huyn, who decides one change at a time. It matters where a join value is hidden, so that no
insertion can be maintained by itself, and where the view shows nothing that joins with `b`: a new
status of an order whose customer is hidden, a new address of a customer without orders.
"""

from __future__ import annotations

from collections.abc import Mapping

from cq.query import Query
from cq.roles import join_columns
from cq.syntax import Var
from cq.types import Row
from lookups.index import values_at
from lookups.plan import Rule, Step
from lookups.verdict import Because, Kind, Reason, Verdict


def shared_columns(query: Query, deletion: Step) -> tuple[int, ...]:
    """In what a deleted row must agree with an inserted one to tell the rows that this one adds."""
    columns = join_columns(query, deletion.subgoal)
    return (*columns, *deletion.key) if deletion.rule is Rule.DELETE_KEY else columns


def own_cells(query: Query, subgoal: int) -> dict[int, int]:
    """The head columns that show a value of the subgoal's row, and the column of it that they show.

    Example:
        >>> from cq.program import read
        >>> own_cells(read("v(Z, X, X, 7) :- r(X, Y), s(Y, Z).").query("v"), 0)
        {1: 0, 2: 0}
    """
    terms = query.atoms[subgoal].terms
    shown = ((i, term) for i, term in enumerate(query.head) if isinstance(term, Var))
    return {i: terms.index(term) for i, term in shown if term in terms}


class Deleted:
    """The rows that a batch deletes from one subgoal, and what the view shows of them.

    Args:
        verdicts: on these deletions, all decided on the view that insertions are decided on.
    """

    __slots__ = ("_barren", "_joined", "_own", "_shared", "_shown", "_subgoal")

    def __init__(self, query: Query, deletion: Step, verdicts: Mapping[Row, Verdict]) -> None:
        self._subgoal = deletion.subgoal
        self._joined = values_at(join_columns(query, deletion.subgoal))
        self._shared = values_at(shared_columns(query, deletion))
        self._own = own_cells(query, deletion.subgoal)
        found = verdicts.items()
        self._barren = {self._joined(row) for row, v in found if v.kind is Kind.UNAFFECTED}
        self._shown = {self._shared(row): v.deletes for row, v in found if v.deletes}

    def verdict(self, row: Row, missed: Verdict) -> Verdict:
        """What they tell about an insertion that the view alone does not decide."""
        reason = Reason(Because.UPDATE, missed.reason.answers, self._subgoal)
        if self._joined(row) in self._barren:
            return Verdict(Kind.UNAFFECTED, reason)
        shown = self._shown.get(self._shared(row))
        if shown is None:
            return missed
        inserts = (
            tuple(row[self._own[i]] if i in self._own else value for i, value in enumerate(old))
            for old in shown
        )
        return Verdict(Kind.SELF_MAINTAINED, reason, frozenset(inserts))
