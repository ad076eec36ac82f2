"""Drop subgoals that change no answer.

Three passes, each exact on the databases that can occur:

- `merge_by_key`: two subgoals that agree on a declared key are the same row, hence one subgoal;
- `fold`: a subgoal that a homomorphism maps into the rest is implied by it (Chandra and Merlin);
- `drop_guaranteed`: a subgoal that a foreign key guarantees, and that adds and tests nothing.

Law: on every database that satisfies the declared keys and foreign keys the result has the answers
of the given query. Set semantics only: multiplicities may change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import replace
from itertools import permutations
from typing import TypeAlias

from cq.order import implied, implies_all
from cq.printer import print_atom
from cq.query import Dropped, Query, decide_ground, substitute
from cq.syntax import Atom, Comparison, Const, Term, Var

Pass: TypeAlias = Callable[[Query], Query]

STEPS = 20_000
"""How many subgoal pairs the search for homomorphisms may try before it gives up."""

MOST_SUBGOALS = 200
"""The search goes as deep as there are subgoals; it is not started on views larger than this."""


def minimize(query: Query) -> Query:
    """Apply the passes until nothing changes, then state what the comparisons imply.

    Example:
        >>> from cq.program import read
        >>> query = read("v(X) :- r(X, Y), r(X, Z), s(Z).").normal("v")
        >>> [atom.predicate for atom in minimize(query).atoms]
        ['r', 's']
    """
    while True:
        before = query
        for apply in PASSES:
            query = apply(query)
        if query.atoms == before.atoms:
            return state_implied(query)


def merge_by_key(query: Query) -> Query:
    """Two subgoals of one relation with the same terms on a key: unify the rest, keep one.

    The key's terms cannot be NULL: a shared variable occurs twice, and a constant is none. The rest
    unifies to what both columns of the one row hold, NULL or not; where that needs two constants to
    be equal the view is empty. A variable that meets another one, or a constant, elsewhere in the
    body is in `non_null` already, and stays there under its new name.
    """
    for first, left in enumerate(query.atoms):
        for second in range(first + 1, len(query.atoms)):
            right = query.atoms[second]
            if left.predicate == right.predicate and _same_key(query, left, right):
                return merge_by_key(_unify(query, left, second))
    return query


def _same_key(query: Query, left: Atom, right: Atom) -> bool:
    keys = query.by_name[left.predicate].keys
    return any(all(left.terms[i] == right.terms[i] for i in key) for key in keys)


def _unify(query: Query, left: Atom, second: int) -> Query:
    mapping: dict[Term, Term] = {}

    def find(term: Term) -> Term:
        while term in mapping:
            term = mapping[term]
        return term

    empty = query.is_empty
    for ours, theirs in zip(left.terms, query.atoms[second].terms, strict=True):
        keep, lose = find(ours), find(theirs)
        if keep == lose:
            continue
        if isinstance(lose, Const) or (isinstance(keep, Var) and keep.is_anonymous):
            keep, lose = lose, keep
        if isinstance(lose, Const):
            empty |= not (isinstance(keep, Const) and keep.value == lose.value)
            continue
        mapping[lose] = keep
    rule = substitute(query.rule(), {term: find(term) for term in mapping})
    comparisons, tested, possible = decide_ground(rule.comparisons)
    dropped = Dropped(query.atoms[second], f"the same row as {print_atom(left)}: same key")
    return replace(
        query,
        head=rule.head.terms,
        atoms=tuple(atom for i, atom in enumerate(rule.atoms) if i != second),
        comparisons=comparisons,
        non_null=frozenset(
            var for term in (*query.non_null, *tested) if isinstance(var := find(term), Var)
        ),
        is_empty=empty or not possible,
        dropped=(*query.dropped, dropped),
    )


def fold(query: Query) -> Query:
    """Remove subgoals that the rest implies, until none is left or the work bound is reached.

    A homomorphism `h` that is the identity on the head maps the body into itself without the
    subgoal. A variable that refuses NULL must go to one that refuses NULL too: otherwise the rest
    would accept rows that the subgoal refuses.
    """
    if len({atom.predicate for atom in query.atoms}) == len(query.atoms):
        return query
    steps = STEPS if len(query.atoms) <= MOST_SUBGOALS else 0
    at = 0
    while at < len(query.atoms):
        search = _Search(query, at, steps)
        target = search.image()
        steps = search.steps
        if steps <= 0:
            return replace(query, is_minimal=False)
        if target is None:
            at += 1
            continue
        query = replace(
            query,
            atoms=search.rest,
            dropped=(*query.dropped, Dropped(search.gone, f"implied by {print_atom(target)}")),
        )
        # What used only the removed subgoal's variables is implied too: `h` maps it to what stays.
        query = replace(
            query,
            comparisons=tuple(c for c in query.comparisons if uses_only(c, search.variables)),
            non_null=query.non_null & search.variables,
        )
        at = 0
    return query


class _Search:
    """One search for a homomorphism that is the identity on the head and avoids one subgoal."""

    def __init__(self, query: Query, gone: int, steps: int) -> None:
        self.query = query
        self.gone = query.atoms[gone]
        self.rest = query.atoms[:gone] + query.atoms[gone + 1 :]
        self.present = {(atom.predicate, atom.terms) for atom in self.rest}
        self.variables = {term for atom in self.rest for term in atom.terms}
        self.steps = steps
        self.users: dict[Term, list[Atom]] = {}
        for atom in query.atoms:
            for term in set(atom.terms):
                self.users.setdefault(term, []).append(atom)

    def image(self) -> Atom | None:
        """Where some homomorphism sends the subgoal, or None."""
        for twin in self.rest:
            mapping = self.match(self.gone, twin, {})
            if mapping is not None and self.extends(mapping):
                return twin
        return None

    def match(self, atom: Atom, target: Atom, mapping: dict[Var, Term]) -> dict[Var, Term] | None:
        """`mapping` extended so that it sends `atom` to `target`, or None."""
        if atom.predicate != target.predicate or self.steps <= 0:
            return None
        self.steps -= 1
        extended = dict(mapping)
        for source, image in zip(atom.terms, target.terms, strict=True):
            if isinstance(source, Const) or source in self.query.columns:
                if source != image:
                    return None
            elif extended.setdefault(source, image) != image or (
                source in self.query.non_null and not self.refuses_null(image)
            ):
                return None
        return extended

    def refuses_null(self, term: Term) -> bool:
        return isinstance(term, Const) or term in self.query.non_null

    def extends(self, mapping: dict[Var, Term]) -> bool:
        """Send every subgoal that holds a moved variable somewhere; all others stay where they are.

        Leaving the others in place loses nothing: from any homomorphism one gets another that is
        the identity on what the moved variables do not reach (compose until idempotent).
        """
        pending = next(self.unsettled(mapping), None)
        if pending is None:
            return self.comparisons_hold(mapping)
        for target in self.rest:
            extended = self.match(pending, target, mapping)
            if extended is not None and self.extends(extended):
                return True
        return False

    def unsettled(self, mapping: dict[Var, Term]) -> Iterator[Atom]:
        """Subgoals with a moved variable that `mapping` does not yet send into the rest."""
        for var, image in mapping.items():
            if var == image:
                continue
            for atom in self.users[var]:
                terms = tuple(_image(term, mapping) for term in atom.terms)
                complete = all(
                    isinstance(t, Const) or t in mapping or t in self.query.columns
                    for t in atom.terms
                )
                if not complete or (atom.predicate, terms) not in self.present:
                    yield atom

    def comparisons_hold(self, mapping: dict[Var, Term]) -> bool:
        """Whether the comparisons, moved by `mapping`, follow from those that stay.

        A comparison that uses a variable of the removed subgoal alone goes with it, and may then
        not be what another one follows from.
        """
        known = self.query.comparisons
        self.steps -= 3 * len(known) ** 2  # what follows takes that much longer than a pair
        stays = [c for c in known if uses_only(c, self.variables)]
        moved = (
            replace(c, left=_image(c.left, mapping), right=_image(c.right, mapping)) for c in known
        )
        return implies_all(stays, moved)


def uses_only(comparison: Comparison, terms: Set[Term]) -> bool:
    """Whether all variables of the comparison are among `terms`."""
    return all(isinstance(t, Const) or t in terms for t in (comparison.left, comparison.right))


def _image(term: Term, mapping: dict[Var, Term]) -> Term:
    return mapping.get(term, term) if isinstance(term, Var) else term


def drop_guaranteed(query: Query) -> Query:
    """Drop a subgoal that a foreign key of another subgoal guarantees.

    `orders(O, C), customer(C, _)` with `orders references customer(cust)`: the customer exists.
    Its other terms must be variables that occur nowhere else, so that it adds and tests nothing.
    """
    pairs = [
        (parent, child)
        for parent, child in permutations(range(len(query.atoms)), 2)
        if _is_guaranteed(query, parent, child)
    ]
    if not pairs:
        return query
    # A subgoal that is itself guaranteed may guarantee another one: that other one goes first.
    guarantors = {child for _, child in pairs}
    parent, child = next((pair for pair in pairs if pair[0] not in guarantors), pairs[0])
    reason = f"guaranteed by the foreign key of {print_atom(query.atoms[child])}"
    return drop_guaranteed(
        replace(
            query,
            atoms=query.atoms[:parent] + query.atoms[parent + 1 :],
            dropped=(*query.dropped, Dropped(query.atoms[parent], reason)),
        )
    )


def _is_guaranteed(query: Query, parent: int, child: int) -> bool:
    reference = query.reference(parent, child)
    if reference is None:
        return False
    terms = query.atoms[parent].terms
    others = [term for i, term in enumerate(terms) if i not in reference.key]
    if any(isinstance(term, Const) or term in query.non_null for term in others):
        return False
    # Not in `non_null`: each occurs once in the body and in no comparison. Not in the head either.
    return not any(term in query.columns for term in others)


def state_implied(query: Query) -> Query:
    """Write down what the comparisons of several subgoals together say about one of them.

    That changes no answer, and screens changes of that subgoal that could not matter.
    """
    return replace(
        query, comparisons=(*query.comparisons, *implied(query.comparisons, query.atoms))
    )


PASSES: tuple[Pass, ...] = (merge_by_key, fold, drop_guaranteed)
