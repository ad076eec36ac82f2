"""What a plan tells about the rows of a change before there are any.

One change often adds or removes many rows, and the indexes of the view have to follow each time
(`lookups.live`). What is known of all of them need not be read off them one by one.
"""

from __future__ import annotations

from cq.query import Query
from cq.syntax import Const
from lookups.live import Pattern
from lookups.plan import Plan


def same_columns(query: Query, relation: str) -> frozenset[int]:
    """View columns in which all rows agree that one change of `relation` adds or removes.

    Each of these rows is derived from the changed row and shows its values. Where the relation
    occurs several times, that may be in other columns each time.

    Example:
        >>> from cq.program import read
        >>> query = read("v(X, Y, Z) :- r(U, X, Y), s(X, Z).").query("v")
        >>> sorted(same_columns(query, "r")), sorted(same_columns(query, "s"))
        ([0, 1], [0, 2])
    """
    subgoals = query.occurrences(relation)
    if len(subgoals) != 1:
        return frozenset()
    known = query.variables[subgoals[0]]
    columns = enumerate(query.head)
    return frozenset(i for i, term in columns if isinstance(term, Const) or term in known)


def answered_by(insertion: Plan) -> frozenset[Pattern]:
    """Lookups to which the rows of a self-maintained insertion are nothing new.

    They are those that the rows are put together from: what a row shows them is what they answered.
    A need that gives no value is not among them, since another row may have vouched for it.

    Example:
        >>> from cq.program import read
        >>> from lookups.emit import emit
        >>> query = read("v(X, Y, Z) :- r(U, X, Y), s(X, Z).").query("v")
        >>> answered_by(emit(query, "r", "insert"))
        frozenset({((0,), (2,))})
    """
    if len(insertion.steps) != 1 or insertion.steps[0].vsm is None:
        return frozenset()
    needs = insertion.steps[0].vsm.needs
    return frozenset((n.alternatives[0].lookup.columns, n.gives) for n in needs if n.gives)
