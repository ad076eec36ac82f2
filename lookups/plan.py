"""Plans: what to look up in a view for one kind of change, and what the answers mean.

A plan is data. It says nothing about how rows are stored or found, so the reference executor and
the Spark executor run the same one, and plans are compared, printed and stored by value.

A plan has one `Step` per subgoal of the changed relation; each treats its subgoal as a relation of
its own, as if the updated relation occurred nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from cq.query import Query
from cq.syntax import Const, Operator
from cq.types import Row

if TYPE_CHECKING:
    from lookups.index import RowIndex
    from lookups.verdict import Answer, Verdict

Action: TypeAlias = Literal["insert", "delete"]
ACTIONS: tuple[Action, Action] = ("insert", "delete")


@dataclass(frozen=True, slots=True)
class Given:
    """The change's value in column `position` of the changed relation."""

    position: int


Ref: TypeAlias = Given | Const
"""A value that is known once the change is: one of its own, or a constant of the query."""


def value_of(ref: Ref, change: Row) -> object:
    return change[ref.position] if isinstance(ref, Given) else ref.value


class Rule(StrEnum):
    """Which row of the tables in `lookups.emit` a step comes from."""

    DELETE_EXPOSED = "delete-exposed"
    DELETE_KEY = "delete-key"
    DELETE_HIDDEN = "delete-hidden"
    INSERT_ALONE = "insert-alone"
    INSERT_EXPOSED = "insert-exposed"
    INSERT_HIDDEN = "insert-hidden"
    INSERT_NEVER = "insert-never"


DELETIONS = frozenset({Rule.DELETE_EXPOSED, Rule.DELETE_KEY, Rule.DELETE_HIDDEN})


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison between two values that the change determines."""

    left: Ref
    operator: Operator
    right: Ref
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Screen:
    """Whether a change matches the updated subgoal at all. What fails it is irrelevant.

    Args:
        constants: columns that must hold a constant.
        equal: pairs of columns that must hold the same value.
        non_null: columns that must not hold NULL.
        tests: comparisons over the subgoal's own values.
        is_closed: nothing passes; no database gives the view a row.
    """

    constants: tuple[tuple[int, Const], ...] = ()
    equal: tuple[tuple[int, int], ...] = ()
    non_null: tuple[int, ...] = ()
    tests: tuple[Test, ...] = ()
    is_closed: bool = False


@dataclass(frozen=True)  # without slots, to keep `columns`: every decision asks for them
class Lookup:
    """Is there a view row with these values in these columns? No column: is there any row?"""

    pattern: tuple[tuple[int, Ref], ...]

    def __post_init__(self) -> None:
        columns = [column for column, _ in self.pattern]
        assert columns == sorted(set(columns)), columns

    @cached_property
    def columns(self) -> tuple[int, ...]:
        return tuple(column for column, _ in self.pattern)

    def values(self, change: Row) -> Row:
        # A list, because every decision comes here and a generator costs twice as much.
        return tuple([value_of(ref, change) for _, ref in self.pattern])

    def subsumes(self, other: Lookup) -> bool:
        """Whether every row that answers `other` answers this one."""
        theirs = dict(other.pattern)
        return all(theirs.get(column) == ref for column, ref in self.pattern)


@dataclass(frozen=True, slots=True)
class Equal:
    """An equality between two values that the change determines."""

    left: Ref
    right: Ref


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to meet a need: a lookup, to be made if all the equalities hold.

    Args:
        subgoal: the subgoal that vouches, by position in the body.
    """

    lookup: Lookup
    condition: tuple[Equal, ...] = ()
    subgoal: int = 0


@dataclass(frozen=True, slots=True)
class Instance:
    """A ground row of a relation: what the change turns a subgoal over its own values into."""

    relation: str
    values: tuple[Ref, ...]

    def row(self, change: Row) -> Row:
        return tuple(value_of(ref, change) for ref in self.values)


@dataclass(frozen=True, slots=True)
class Any:
    """A need that one of several lookups meets.

    Args:
        subgoals: the group it stands for, by position in the body.
        alternatives: the first one is the group's own; the others vouch for its instance.
        gives: head columns whose values the matching rows provide for the new rows.
        instance: the row that alternatives after the first vouch for.
    """

    subgoals: tuple[int, ...]
    alternatives: tuple[Alternative, ...]
    gives: tuple[int, ...] = ()
    instance: Instance | None = None

    def __post_init__(self) -> None:
        assert self.alternatives
        assert not self.alternatives[0].condition
        assert len(self.alternatives) == 1 or (self.instance is not None and not self.gives)


@dataclass(frozen=True, slots=True)
class All:
    """The VSM test: every need is met."""

    needs: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Contradiction:
    """The view shows another subgoal's key with other values than the change needs.

    A row that agrees on `lookup` and differs from the change on one of `differs` shows the one row
    that the relation has for this key, and it is not the row the change would join with.

    Args:
        relation: the relation of the contradicting row.
        key: the key's values, by column of that relation.
    """

    relation: str
    lookup: Lookup
    differs: tuple[tuple[int, Ref], ...]
    key: tuple[tuple[int, Ref], ...]


@dataclass(frozen=True, slots=True)
class Child:
    """A subgoal that refers to the updated one by a foreign key, with the same terms.

    Args:
        key: the referenced key, as columns of the updated relation.
        columns: the referring columns of the child's relation, in the same order.
    """

    subgoal: int
    key: tuple[int, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A value read from head column `column` of the rows that meet need number `need`."""

    need: int
    column: int


Cell: TypeAlias = Ref | Found


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that an insertion adds: one cell per head column; needs combine freely."""

    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """How a change of one subgoal's relation acts on the view.

    Args:
        subgoal: the updated subgoal, by position in the body.
        key: `DELETE_KEY`: the exposed key, as columns of the relation; NULL in it names no row.
            Insertion: those columns of an exposed key that may hold NULL.
        children: foreign keys into it; a change that makes a key come or go leaves the view as is.
        vdu: deletion: unaffected if *not* found. Insertion: unaffected if found. None: not made,
            because no answer would show the view unaffected.
        nameless: insertion: the VDU lookup of a change with NULL in `key`. Rows with NULL in a key
            may be several, so what such a change adds may be there.
        contradictions: insertion: unaffected if one is found.
        vsm: insertion: self-maintained if met. None: nothing but VDU shows the view maintainable.
        rows: the rows an insertion adds.
    """

    subgoal: int
    screen: Screen
    rule: Rule
    key: tuple[int, ...] = ()
    children: tuple[Child, ...] = ()
    vdu: Lookup | None = None
    nameless: Lookup | None = None
    contradictions: tuple[Contradiction, ...] = ()
    vsm: All | None = None
    rows: Rows | None = None

    @property
    def can_be_skipped(self) -> bool:
        """Whether it is an insertion that may ask a source."""
        return self.rule not in DELETIONS and self.rule is not Rule.INSERT_ALONE

    def vdu_of(self, change: Row) -> Lookup | None:
        """The VDU lookup that is made for a change."""
        is_nameless = self.nameless is not None and any(change[i] is None for i in self.key)
        return self.nameless if is_nameless else self.vdu

    def lookups(self) -> tuple[Lookup, ...]:
        """Every distinct lookup the step may make, in the order it makes them.

        That of a change with NULL in its key is left out: nobody prepares for it.
        """
        found = dict.fromkeys([self.vdu] if self.vdu is not None else [])
        found.update(dict.fromkeys(c.lookup for c in self.contradictions))
        needs = self.vsm.needs if self.vsm is not None else ()
        found.update(dict.fromkeys(a.lookup for need in needs for a in need.alternatives))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do when `relation` gains or loses a row.

    Args:
        query: the analysed view.
        steps: one per subgoal of the relation, parents before the subgoals that refer to them.
    """

    query: Query
    relation: str
    action: Action
    steps: tuple[Step, ...]

    def decide(
        self, rows: Iterable[Sequence[object]] | RowIndex, change: Sequence[object]
    ) -> Verdict:
        """The verdict on one change, from the view's own rows.

        The change is effective (an inserted row was absent, a deleted one present), and the
        declared keys and foreign keys hold before and after it.

        Args:
            rows: the view's rows as tuples, or an index built from them once for many changes.
            change: the inserted or deleted row.
        Raises:
            InputError: the change or a row does not fit the program.
        """
        from lookups.decide import decide  # the executor imports the plans it runs

        return decide(self, rows, change)

    def lookups(self) -> tuple[Lookup, ...]:
        """Every distinct lookup of the plan."""
        return tuple(dict.fromkeys(lookup for step in self.steps for lookup in step.lookups()))

    def __str__(self) -> str:
        from lookups.printer import print_plan

        return print_plan(self)

    def show(self, answer: Answer) -> str:
        """A lookup as it was made, with the change's values in it: `v(1, 'a', -)`."""
        from lookups.printer import print_answer

        return print_answer(self.query, answer)

    def to_json(self, indent: int | None = None) -> str:
        """The plan as a versioned JSON text."""
        from lookups.serde import plan_to_json

        return plan_to_json(self, indent)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` wrote; an `InputError` if the text is none."""
        from lookups.serde import plan_from_json

        return plan_from_json(text)
