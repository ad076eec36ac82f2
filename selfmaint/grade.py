"""How often a change is decided from the view alone: the grade of a plan.

Two grades, because a key makes a difference. A change *on its own* makes its row's key come or go;
half of an UPDATE that *keeps the key* does not. So a foreign key into the relation settles the
first kind and not the second; and an inserted row whose key is new cannot stand in the view yet,
while the old row of an UPDATE can; and where an UPDATE keeps its join values too, the old row tells
what the new one meets (`lookups.updates`; counted where its key is exposed). Without a declared key
the two grades agree.

Laws, for effective changes in databases that satisfy the declared constraints, on their own:

- `ALWAYS`: no change that matches misses, whatever the view holds. One exception, which
  `nullable_key` names: the deletion of a row with NULL in the key that identifies it.
- `NEVER`: the step of every change that matches misses, whatever the view holds.
- `SOMETIMES`: the view decides it. The grade does not promise a database for each answer.
- `UNUSED`: no change of the relation matters.

What other changes of a batch, or other subgoals of the same relation, could still tell about a
missed change is not counted. Where the relation occurs several times its worst subgoal counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cq.query import Query
from cq.roles import roles
from cq.syntax import Const, Term, Var
from lookups.emit import emit_step
from lookups.plan import DELETIONS, Any, Given, Lookup, Plan, Rule, Step


class Maintainable(StrEnum):
    """How often a change of one kind is decided from the view alone, from worst to best."""

    NEVER = "never"
    SOMETIMES = "sometimes"
    ALWAYS = "always"
    UNUSED = "unused"

    @property
    def rank(self) -> int:
        return list(Maintainable).index(self)


@dataclass(frozen=True, slots=True)
class Grade:
    """A plan's grade for a change on its own, and for half of an UPDATE that keeps the key.

    Grades are ordered by the first, and where that is equal by the second.
    """

    alone: Maintainable
    in_update: Maintainable

    def __lt__(self, other: Grade) -> bool:
        mine, theirs = (self.alone, self.in_update), (other.alone, other.in_update)
        return [value.rank for value in mine] < [value.rank for value in theirs]


def grade(plan: Plan) -> Grade:
    """The grade of a plan: that of its worst subgoal.

    Example:
        >>> from cq.program import read
        >>> from lookups.emit import emit
        >>> text = ".decl s(k, z) key(k)   v(Y, Z) :- r(X, Y), s(Y, Z)."
        >>> found = grade(emit(read(text).query("v"), "s", "insert"))
        >>> str(found.alone), str(found.in_update)
        ('never', 'sometimes')
    """
    found = [step_grade(plan.query, step) for step in plan.steps if not step.screen.is_closed]
    return Grade(
        min((each.alone for each in found), key=_rank, default=Maintainable.UNUSED),
        min((each.in_update for each in found), key=_rank, default=Maintainable.UNUSED),
    )


def step_grade(query: Query, step: Step) -> Grade:
    """The grade of one subgoal's step."""
    found = lookup_grade(query, step)
    in_update = found.in_update
    if in_update is Maintainable.NEVER and telling_deletion(query, step) is not None:
        in_update = Maintainable.SOMETIMES
    return Grade(Maintainable.ALWAYS if step.children else found.alone, in_update)


def lookup_grade(query: Query, step: Step) -> Grade:
    """The grade by the step's own lookups."""
    if step.rule in DELETIONS:
        return Grade(_deletion(step), _deletion(step))
    fruitless = frozenset(k for k in step.lookups() if fixes_key(query, step, k))
    return Grade(_insertion(step, fruitless), _insertion(step, frozenset()))


def telling_deletion(query: Query, step: Step) -> Step | None:
    """The deletion that decides an insertion of an UPDATE which keeps its key and join values.

    Its rows tell those of the insertion (`lookups.updates`) where the key is exposed, and so is
    something else that may change. None if there is none.
    """
    if step.rule in DELETIONS:
        return None
    deletion = emit_step(query, step.subgoal, "delete")
    terms = query.atoms[step.subgoal].terms
    fixed = {terms[i] for i in deletion.key}
    shown = (v for v in roles(query, step.subgoal).own if v in query.columns and v not in fixed)
    return deletion if deletion.rule is Rule.DELETE_KEY and any(shown) else None


def _rank(value: Maintainable) -> int:
    return value.rank


def _deletion(step: Step) -> Maintainable:
    """With a hidden variable a deletion is still decided where the view shows no row like it."""
    hidden = step.rule is Rule.DELETE_HIDDEN
    return Maintainable.SOMETIMES if hidden else Maintainable.ALWAYS


def _insertion(step: Step, fruitless: frozenset[Lookup]) -> Maintainable:
    """One test that may succeed is enough; `fruitless` are lookups that find nothing."""

    def can_be_met(need: Any) -> bool:
        return any(option.lookup not in fruitless for option in need.alternatives)

    if step.vsm is not None and not step.vsm.needs:
        return Maintainable.ALWAYS
    shown = [step.vdu] if step.vdu is not None else []
    shown += [contradiction.lookup for contradiction in step.contradictions]
    is_possible = any(lookup not in fruitless for lookup in shown) or (
        step.vsm is not None and all(map(can_be_met, step.vsm.needs))
    )
    return Maintainable.SOMETIMES if is_possible else Maintainable.NEVER


def fixes_key(query: Query, step: Step, lookup: Lookup) -> bool:
    """Whether a view row that answers `lookup` shows the change's key in the updated subgoal.

    Such a row was built from a row of the relation with the change's key. An effective insertion on
    its own has a new key, so it finds no such row.
    """
    atom = query.atoms[step.subgoal]
    cells = set(lookup.pattern)

    def is_shown(term: Term) -> bool:
        if isinstance(term, Const):
            return True
        return (query.columns.get(term, -1), Given(atom.terms.index(term))) in cells

    keys = query.by_name[atom.predicate].keys
    return any(all(is_shown(atom.terms[i]) for i in key) for key in keys)


def nullable_key(query: Query, step: Step) -> tuple[str, ...]:
    """The key columns that may hold NULL, where a deletion relies on the key."""
    if step.rule is not Rule.DELETE_KEY:
        return ()
    atom = query.atoms[step.subgoal]
    columns = query.by_name[atom.predicate].columns
    return tuple(
        columns[i].name
        for i in step.key
        if isinstance(term := atom.terms[i], Var) and term not in query.non_null
    )
