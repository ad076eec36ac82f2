"""Which subgoal stands where: the body of a view in rows around one subgoal, the root.

The other subgoals stand in rows by how many links they are away from the root, each group on one
side of it, above or below.

Law: subgoals that a link connects stand in the same row or in neighbouring rows, apart from links
of the root, which reach the rows on both sides of it. So every link runs in the gap between two
rows, or in two gaps that meet at the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cq.partition import Group, partition
from cq.printer import print_comparison, print_term
from cq.query import Query
from cq.roles import comparison_variables, roles
from cq.syntax import Comparison, Var, variables_of

_MOST_BELOW: Final = 3
"""Up to this many neighbours all stand below the root; more are spread above and below."""

_MOST_COMPARED: Final = 30


@dataclass(frozen=True, slots=True)
class Link:
    """What connects subgoals: a variable they share, or a comparison between two of them.

    Args:
        label: the variable's name, or the comparison.
        subgoals: by position in the body; at least two.
    """

    label: str
    subgoals: tuple[int, ...]
    is_exposed: bool = True
    is_comparison: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """The part of a link that runs in one gap: the one below row number `gap`."""

    link: Link
    subgoals: tuple[int, ...]
    gap: int


@dataclass(frozen=True, slots=True)
class Rows:
    """Subgoals by row, top to bottom and left to right, and the links between them."""

    rows: tuple[tuple[int, ...], ...]
    segments: tuple[Segment, ...]


def arrange(query: Query, root: int) -> Rows:
    """The rows as seen from `root`.

    Example:
        >>> from cq.program import read
        >>> query = read("v(X, Z) :- r(X, Y), s(Y, Z), t(Z, W), u(X).").query("v")
        >>> found = arrange(query, 0)
        >>> found.rows
        ((0,), (1, 3), (2,))
        >>> [(segment.link.label, segment.gap) for segment in found.segments]
        [('X', 0), ('Y', 0), ('Z', 1)]
    """
    links = links_of(query, root)
    groups = groups_of(query, root)
    level = _levels(root, links, groups)
    above, below = _sides(groups, level)
    upper = _side_rows(above, level, links)
    rows = (*reversed(upper), (root,), *_side_rows(below, level, links))
    return Rows(rows, tuple(_segments(links, rows, len(upper))))


def groups_of(query: Query, root: int) -> tuple[Group, ...]:
    """The groups of the other subgoals when `root` is updated."""
    found = roles(query, root)
    return partition(query, found.rest, found.tests, variables_of(*query.atoms[root].terms))


def home_of(query: Query, comparison: Comparison, root: int) -> int | None:
    """A subgoal that has all variables of the comparison, preferably the root; None if none has."""
    wanted = comparison_variables(comparison)
    order = (root, *range(len(query.atoms)))
    return next((i for i in order if wanted <= set(query.atoms[i].terms)), None)


def links_of(query: Query, root: int) -> tuple[Link, ...]:
    """Everything that connects subgoals, in body order."""
    users: dict[Var, list[int]] = {}
    for i, atom in enumerate(query.atoms):
        for var in variables_of(*atom.terms):
            users.setdefault(var, []).append(i)
    found = [
        Link(_name(query, var, subgoals[0]), tuple(subgoals), query.is_exposed(var))
        for var, subgoals in users.items()
        if len(subgoals) > 1
    ]
    for comparison in query.comparisons:
        if home_of(query, comparison, root) is None:
            sides = [users[v] for v in variables_of(comparison.left, comparison.right)]
            ends = tuple(root if root in subgoals else subgoals[0] for subgoals in sides)
            found.append(Link(print_comparison(comparison), ends, is_comparison=True))
    return tuple(found)


def _name(query: Query, var: Var, subgoal: int) -> str:
    """A variable's name; for one without a name that of the first column it stands in."""
    if print_term(var) != "_":
        return var.name
    atom = query.atoms[subgoal]
    return query.by_name[atom.predicate].columns[atom.terms.index(var)].name


def central(query: Query) -> int:
    """The subgoal with the most neighbours; among several the one nearest to all, then the first.

    In large views nearness is not looked at: it takes quadratic time.
    """
    links = links_of(query, 0)
    neighbours = [set[int]() for _ in query.atoms]
    for link in links:
        for i in link.subgoals:
            neighbours[i].update(link.subgoals)
    most = max(map(len, neighbours))
    best = [i for i, found in enumerate(neighbours) if len(found) == most][:_MOST_COMPARED]
    return min(best, key=lambda i: max(_levels(i, links, ()).values()))


def _levels(root: int, links: Iterable[Link], groups: Iterable[Group]) -> dict[int, int]:
    """How many links each subgoal is away from the root; an unlinked group starts at 1."""
    links_at: dict[int, list[Link]] = {}
    for link in links:
        for i in link.subgoals:
            links_at.setdefault(i, []).append(link)
    level: dict[int, int] = {}
    for start in (root, *(group.subgoals[0] for group in groups)):
        if start in level:
            continue
        level[start] = 0 if start == root else 1
        agenda = [start]
        for i in agenda:  # grows while it is walked
            fresh = {j for link in links_at.get(i, ()) for j in link.subgoals if j not in level}
            level.update(dict.fromkeys(fresh, level[i] + 1))
            agenda += sorted(fresh)
    return level


def _sides(groups: Sequence[Group], level: Mapping[int, int]) -> tuple[list[Group], list[Group]]:
    """The groups above and below the root, evenly by the number of neighbours."""
    near = [sum(level[i] == 1 for i in group.subgoals) for group in groups]
    if sum(near) <= _MOST_BELOW:
        return [], list(groups)
    above: list[Group] = []
    below: list[Group] = []
    balance = 0
    for group, count in zip(groups, near, strict=True):
        (below if balance >= 0 else above).append(group)
        balance += -count if balance >= 0 else count
    return above, below


def _side_rows(
    groups: Iterable[Group], level: Mapping[int, int], links: Sequence[Link]
) -> list[tuple[int, ...]]:
    """The rows on one side of the root, nearest first, each in the order of its links."""
    members = [i for group in groups for i in group.subgoals]
    rows: list[tuple[int, ...]] = []
    for number in range(1, max((level[i] for i in members), default=0) + 1):
        place = {i: at for at, i in enumerate(rows[-1])} if rows else {}
        linked: dict[int, list[int]] = {i: [] for i in members if level[i] == number}
        for link in links:
            known = [place[j] for j in link.subgoals if j in place]
            for i in linked.keys() & set(link.subgoals):
                linked[i] += known
        mean = {i: sum(places) / max(1, len(places)) for i, places in linked.items()}
        rows.append(tuple(sorted(linked, key=mean.__getitem__)))
    return rows


def _segments(
    links: Iterable[Link], rows: Sequence[tuple[int, ...]], root_row: int
) -> Iterable[Segment]:
    row_of = {i: number for number, row in enumerate(rows) for i in row}
    for link in links:
        above = tuple(i for i in link.subgoals if row_of[i] <= root_row)
        below = tuple(i for i in link.subgoals if row_of[i] >= root_row)
        # Within one row a link uses the gap on the side of the root.
        if len(above) > 1:
            yield Segment(link, above, min(row_of[i] for i in above))
        if len(below) > 1:
            yield Segment(link, below, max(row_of[i] for i in below) - 1)
