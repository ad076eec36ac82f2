"""Which subgoal of a repeated relation may vouch for which, and under what condition.

A change binds the join variables, and with them turns a subgoal `I` over exposed join variables
into one ground row. Any view row is built from one row per subgoal, so it shows a row of `I`'s
relation for *every* subgoal `J` of that relation, and shows all of it when `J`'s variables are all
exposed. Hence `J` vouches for `I` when `J` can match the instance of `I` and the view has a row
that agrees with that match (Huyn, Theorem 3.1, without the restriction to join variables).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cq.conditions import Equality, can_hold, conjunction, expression
from cq.query import Query
from cq.roles import Roles
from cq.syntax import Atom, Const, Term, Var

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True, slots=True)
class Voucher:
    """Subgoal `subgoal` vouches for an instance, if the change satisfies `equalities`.

    Args:
        subgoal: `J`, by position in the body.
        equalities: the condition under which `J` matches, in canonical form; empty means always.
        match: the substitution that makes `J` the instance: `J`'s variables, and for each a term
            whose value the change determines.
    """

    subgoal: int
    equalities: tuple[Equality, ...]
    match: tuple[tuple[Var, Term], ...]

    @property
    def condition(self) -> sympy.Basic:
        """The condition as a sympy expression over the change's values."""
        return expression(self.equalities)


def vouchers(query: Query, roles: Roles, instance: int) -> tuple[Voucher, ...]:
    """Who may vouch for subgoal `instance`, itself first.

    Precondition: all variables of the subgoal are exposed join variables.

    Example:
        >>> from cq.program import read
        >>> from cq.roles import roles
        >>> query = read("v(X, Y, Z) :- r(X, Y, Z), p(d, X, Y), p(Z, Y, Z).").query("v")
        >>> for voucher in vouchers(query, roles(query, 0), 1):
        ...     print(voucher.subgoal, [(v.name, t) for v, t in voucher.equalities])
        1 []
        2 [('Y', Const(value='d'))]
    """
    atom = query.atoms[instance]
    assert all(isinstance(t, Const) or t in roles.join for t in atom.terms)
    others = [j for j in query.occurrences(atom.predicate) if j != instance]
    found = []
    for j in (instance, *others):
        candidate = query.atoms[j]
        if not all(query.is_exposed(term) for term in candidate.terms):
            continue
        voucher = _match(candidate, atom, j)
        if voucher is not None and can_hold(voucher.equalities, roles.screens):
            found.append(voucher)
    return tuple(found)


def _match(candidate: Atom, instance: Atom, subgoal: int) -> Voucher | None:
    """Turn `candidate` into `instance`, whose terms are the change's values; None if never."""
    match: dict[Var, Term] = {}
    pairs: list[tuple[Term, Term]] = []
    for pattern, term in zip(candidate.terms, instance.terms, strict=True):
        image = pattern if isinstance(pattern, Const) else match.setdefault(pattern, term)
        pairs.append((image, term))
    equalities = conjunction(pair for pair in pairs if pair[0] != pair[1])
    if equalities is None:
        return None
    return Voucher(subgoal, equalities, tuple(match.items()))
