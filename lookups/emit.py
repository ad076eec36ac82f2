"""An analysed view and a kind of change to a plan: one function per row of the tables.

The tables are Huyn's Tables 2, 3 and 4, with what keys and comparisons add. `X`, `Y`, `Z` are
the own, join and far variables of the updated subgoal, `g` its groups, and a prime means "the
exposed part": `[a', b, -]` is a view row with the change's values on `X'` and on `Y`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from cq.diagnostics import InputError, did_you_mean, shorten
from cq.partition import Group, partition
from cq.query import Query
from cq.roles import Roles, roles
from cq.selfjoins import vouchers
from cq.syntax import Comparison, Const, Term, Var
from lookups.plan import (
    Action,
    All,
    Alternative,
    Any,
    Cell,
    Child,
    Contradiction,
    Equal,
    Found,
    Given,
    Instance,
    Lookup,
    Plan,
    Ref,
    Rows,
    Rule,
    Screen,
    Step,
    Test,
)

Pass: TypeAlias = Callable[[Step], Step]


def emit(query: Query, relation: str, action: Action) -> Plan:
    """The plan for inserting into or deleting from `relation`.

    A relation of the view whose subgoals were all removed has a plan without steps: its changes
    are irrelevant.

    Raises:
        InputError: the view does not use the relation.
    """
    if relation not in query.by_name:
        raise InputError(
            "LP205",
            f"view `{query.name}` does not use a relation `{shorten(str(relation))}`",
            *did_you_mean(relation, query.by_name),
        )
    updated = [i for i in query.order if query.atoms[i].predicate == relation]
    return Plan(query, relation, action, tuple(emit_step(query, i, action) for i in updated))


def emit_step(query: Query, updated: int, action: Action) -> Step:
    """The step for one subgoal, after the passes that make it smaller."""
    view = _Emitter(query, roles(query, updated))
    step = view.deletion() if action == "delete" else view.insertion()
    for apply in PASSES:
        step = apply(step)
    return step


class _Emitter:
    """Emission for one updated subgoal; the methods are the rows of the tables."""

    def __init__(self, query: Query, found: Roles) -> None:
        self.query = query
        self.roles = found
        self.atom = query.atoms[found.updated]
        self.relation = query.by_name[self.atom.predicate]
        self.given: dict[Var, Given] = {}
        for position, term in enumerate(self.atom.terms):
            if isinstance(term, Var):
                self.given.setdefault(term, Given(position))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        return partition(self.query, self.roles.rest, self.roles.tests, self.given)

    # Values and patterns

    def ref(self, term: Term) -> Ref:
        """The value that the change gives to `term`."""
        return term if isinstance(term, Const) else self.given[term]

    def exposed(self, variables: Iterable[Var]) -> list[Var]:
        return [var for var in variables if var in self.query.columns]

    def are_exposed(self, variables: Iterable[Var]) -> bool:
        return all(var in self.query.columns for var in variables)

    def lookup(self, variables: Iterable[Var]) -> Lookup:
        """A view row with the change's values on the exposed ones of `variables`."""
        return self.pattern((var, var) for var in self.exposed(variables))

    def pattern(self, match: Iterable[tuple[Var, Term]]) -> Lookup:
        """A view row in which each first variable has the value of the term beside it."""
        cells = {self.query.columns[var]: self.ref(term) for var, term in match}
        return Lookup(tuple(sorted(cells.items(), key=lambda cell: cell[0])))

    def exposed_key(self) -> tuple[int, ...]:
        """A key by which a view row shows what row of the updated relation it was built from.

        The first with as few columns as possible that may hold NULL.
        """
        terms = self.atom.terms
        exposed = (k for k in self.relation.keys if all(self.query.is_exposed(terms[i]) for i in k))
        return min(exposed, key=lambda key: len(self.nullable(key)), default=())

    def nullable(self, positions: Iterable[int]) -> tuple[int, ...]:
        """Those columns that may hold NULL in a change that passes the screen."""
        terms = self.atom.terms
        strict = self.query.non_null
        return tuple(i for i in positions if isinstance(t := terms[i], Var) and t not in strict)

    # What every step has

    def screen(self) -> Screen:
        constants: list[tuple[int, Const]] = []
        equal: list[tuple[int, int]] = []
        non_null: list[int] = []
        for position, term in enumerate(self.atom.terms):
            if isinstance(term, Const):
                constants.append((position, term))
                continue
            first = self.given[term]
            if first.position != position:
                equal.append((first.position, position))
            elif term in self.query.non_null:
                non_null.append(position)
        return Screen(
            constants=tuple(constants),
            equal=tuple(equal),
            non_null=tuple(non_null),
            tests=tuple(self.test(comparison) for comparison in self.roles.screens),
            is_closed=self.query.is_empty,
        )

    def test(self, comparison: Comparison) -> Test:
        left, right = self.ref(comparison.left), self.ref(comparison.right)
        return Test(left, comparison.operator, right, comparison.numeric)

    def children(self) -> tuple[Child, ...]:
        """Foreign keys into the updated subgoal, from subgoals that come after it in the order."""
        order = self.query.order
        later = order[order.index(self.roles.updated) + 1 :]
        found = []
        for child in sorted(later):
            reference = self.query.reference(self.roles.updated, child)
            if reference is not None:
                found.append(Child(child, reference.key, reference.columns))
        return tuple(found)

    # Deletion

    def deletion(self) -> Step:
        """Rows `[a', b', -]` go if they cannot come from another row of the relation.

        They cannot when all of X and Y is exposed: then only `r(a, b)` shows these values. Nor when
        a declared key is exposed: then no other row shares the key.
        """
        variables = (*self.roles.own, *self.roles.join)
        key = self.exposed_key()
        if self.are_exposed(variables):
            rule, key = Rule.DELETE_EXPOSED, ()
        else:
            rule = Rule.DELETE_KEY if key else Rule.DELETE_HIDDEN
        return Step(
            subgoal=self.roles.updated,
            screen=self.screen(),
            rule=rule,
            key=key,
            children=self.children(),
            vdu=self.lookup(variables),
        )

    # Insertion

    def insertion(self) -> Step:
        if not self.roles.rest:
            return self.insert_alone()
        if self.are_exposed(self.roles.join):
            return self.insert_exposed()
        if all(self.are_exposed(g.bound) or not self.exposed(g.free) for g in self.groups):
            return self.insert_hidden()
        return self.insert_never()

    def insert_alone(self) -> Step:
        """No other subgoal: insert `a'` unless it is there."""
        cells = tuple(self.ref(term) for term in self.query.head)
        return self.insert_step(Rule.INSERT_ALONE, vsm=All(), rows=Rows(cells))

    def insert_exposed(self) -> Step:
        """All of Y exposed: every group's answers stand in the rows that agree with `b` on Y_g."""
        needs = tuple(self.need(group) for group in self.groups)
        source = {column: Found(n, column) for n, need in enumerate(needs) for column in need.gives}
        cells: list[Cell] = []
        for term in self.query.head:
            if isinstance(term, Const) or term in self.given:
                cells.append(self.ref(term))
            else:
                cells.append(source[self.query.columns[term]])
        return self.insert_step(Rule.INSERT_EXPOSED, vsm=All(needs), rows=Rows(tuple(cells)))

    def insert_hidden(self) -> Step:
        """Some Y hidden, and each group's answers either known or not shown: VSM is VDU.

        A row `[a', b', -]` comes from a row of the relation that agrees with the change on what
        the groups with something to show depend on, so the change adds nothing to it.
        """
        return self.insert_step(Rule.INSERT_HIDDEN)

    def insert_never(self) -> Step:
        """A hidden join value decides what a group shows: no view row can vouch for that."""
        return self.insert_step(Rule.INSERT_NEVER, is_vdu_possible=False)

    def insert_step(
        self,
        rule: Rule,
        *,
        vsm: All | None = None,
        rows: Rows | None = None,
        is_vdu_possible: bool = True,
    ) -> Step:
        """The common parts of an insertion.

        With a declared key whose columns are exposed, an effective insertion cannot be in the view
        yet: its VDU lookup would fail and is not made, unless NULL in the key
        names no row.
        """
        key = self.exposed_key()
        unnamed = self.nullable(key)
        vdu = self.lookup((*self.roles.own, *self.roles.join)) if is_vdu_possible else None
        return Step(
            subgoal=self.roles.updated,
            screen=self.screen(),
            rule=rule,
            key=unnamed if vdu is not None else (),
            children=self.children(),
            vdu=None if key else vdu,
            nameless=vdu if unnamed else None,
            contradictions=self.contradictions(),
            vsm=vsm,
            rows=rows,
        )

    def need(self, group: Group) -> Any:
        """A row that agrees with `b` on Y_g; for a ground subgoal, anyone who vouches for it."""
        gives = tuple(sorted(self.query.columns[var] for var in self.exposed(group.free)))
        own = Alternative(self.lookup(group.bound), subgoal=group.subgoals[0])
        if group.free:
            return Any(group.subgoals, (own,), gives)
        (subgoal,) = group.subgoals
        atom = self.query.atoms[subgoal]
        instance = Instance(atom.predicate, tuple(self.ref(term) for term in atom.terms))
        found = (
            Alternative(
                self.pattern(voucher.match),
                tuple(Equal(self.ref(left), self.ref(right)) for left, right in voucher.equalities),
                voucher.subgoal,
            )
            for voucher in vouchers(self.query, self.roles, subgoal)
        )
        return Any(group.subgoals, tuple(found), instance=instance)

    def contradictions(self) -> tuple[Contradiction, ...]:
        """Subgoals whose key the change binds, and whose other values the view may contradict."""
        found: list[Contradiction] = []
        bound = set(self.exposed(self.roles.join))
        for i in self.roles.rest:
            atom = self.query.atoms[i]
            for key in self.query.by_name[atom.predicate].keys:
                key_terms = [atom.terms[position] for position in key]
                if not all(isinstance(term, Const) or term in bound for term in key_terms):
                    continue
                key_variables = {term for term in key_terms if isinstance(term, Var)}
                others = dict.fromkeys(
                    term
                    for term in atom.terms
                    if isinstance(term, Var) and term in bound and term not in key_variables
                )
                if others:
                    differs = self.pattern((var, var) for var in others).pattern
                    lookup = self.pattern((var, var) for var in key_variables)
                    values = tuple((position, self.ref(atom.terms[position])) for position in key)
                    found.append(Contradiction(atom.predicate, lookup, differs, values))
        return tuple(found)


# Passes


def drop_subsumed_needs(step: Step) -> Step:
    """Drop a need that another need's rows meet as well.

    A need with the lookup `[b1, -]` is met by every row that meets `[b1, b2, -]`. Those rows show
    all of its answers too: for fixed values on both, a view is the product of its groups' answers.
    """
    if step.vsm is None or step.rows is None or len(step.vsm.needs) < 2:
        return step
    needs = list(step.vsm.needs)
    merged: dict[int, int] = {}
    for index, need in enumerate(needs):
        for other in range(len(needs)):
            if (
                other != index
                and other not in merged
                and _is_met_by(need, needs[other], index < other)
            ):
                merged[index] = other
                needs[other] = _absorb(needs[other], need)
                break
    kept = [index for index in range(len(needs)) if index not in merged]
    position = {index: kept.index(_follow(index, merged)) for index in range(len(needs))}
    cells = _renumber(step.rows.cells, position)
    return replace(step, vsm=All(tuple(needs[index] for index in kept)), rows=Rows(cells))


def _is_met_by(need: Any, other: Any, earlier: bool) -> bool:
    """Whether one certain lookup of `other` answers `need`; of two equal ones the first stays."""
    if len(other.alternatives) > 1:
        return False
    mine, theirs = need.alternatives[0].lookup, other.alternatives[0].lookup
    return mine.subsumes(theirs) and (mine != theirs or not earlier or len(need.alternatives) > 1)


def _absorb(need: Any, other: Any) -> Any:
    subgoals = tuple(sorted({*need.subgoals, *other.subgoals}))
    gives = tuple(sorted({*need.gives, *other.gives}))
    return Any(subgoals, need.alternatives, gives, None if gives else need.instance)


def _follow(index: int, merged: dict[int, int]) -> int:
    while index in merged:
        index = merged[index]
    return index


def _renumber(cells: Sequence[Cell], position: dict[int, int]) -> tuple[Cell, ...]:
    return tuple(
        Found(position[cell.need], cell.column) if isinstance(cell, Found) else cell
        for cell in cells
    )


def drop_repeated_alternatives(step: Step) -> Step:
    """Drop an alternative whose lookup an earlier, less conditional one of the same need makes."""
    if step.vsm is None:
        return step
    needs = []
    for need in step.vsm.needs:
        kept: list[Alternative] = []
        for candidate in need.alternatives:
            if not any(
                a.lookup.subsumes(candidate.lookup) and set(a.condition) <= set(candidate.condition)
                for a in kept
            ):
                kept.append(candidate)
        needs.append(replace(need, alternatives=tuple(kept)))
    return replace(step, vsm=All(tuple(needs)))


PASSES: tuple[Pass, ...] = (drop_repeated_alternatives, drop_subsumed_needs)
