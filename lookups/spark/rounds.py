"""Subgoal by subgoal, as in `lookups.settle`: verdicts from the view, and what they change.

A decided frame has, beside the columns of the parts:

    kind       how the verdict stands, as in `KINDS`; NULL while a deletion waits for the end
    rule       what decided
    asked0..   which lookups were made, as bits in the order of the step's questions
    found0..   which lookups found a row
    barren     an insertion: the batch deletes a row with its join values, and the view shows none
    old        an insertion: what the view shows of the row that an UPDATE deletes is looked up by
               this; both only where the subgoal has such pairs (see `lookups.updates`)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from cq.roles import join_columns
from lookups.plan import ACTIONS, Action, Cell, Child, Found, Rule
from lookups.spark.columns import (
    MOST_JOINS,
    Names,
    Sql,
    all_of,
    any_of,
    certain,
    exploded,
    if_,
    is_one_of,
    with_changed,
    with_columns,
)
from lookups.spark.parts import LOOKED_UP, Changed, child_keys, over
from lookups.spark.probes import (
    Probes,
    as_words,
    asked,
    found,
    meeting,
    probe_structs,
    settling,
    words,
)
from lookups.updates import own_cells, shared_columns
from lookups.verdict import Because, Kind

KINDS: tuple[Kind, ...] = (Kind.IRRELEVANT, Kind.UNAFFECTED, Kind.SELF_MAINTAINED, Kind.MISS)
"""By number, so that the greatest of a change's parts is the verdict on the change."""

IRRELEVANT, UNAFFECTED, SELF_MAINTAINED, MISS = range(len(KINDS))


def families_of(changed: Changed) -> set[int]:
    """The families that deciding a subgoal needs."""
    numbers = set()
    for probes in (changed.insert, changed.delete):
        numbers |= {question.family for question in probes.questions} | set(probes.giving.values())
    if changed.delete.all_rows is not None:
        numbers.add(changed.delete.all_rows)
    return numbers


def looked_up(
    names: Names,
    frame: DataFrame,
    changed: Changed,
    evidence: DataFrame | None,
    which: Sql,
    actions: Sequence[Action] = ACTIONS,
) -> DataFrame:
    """The parts with what their lookups found; `which` says of which parts lookups are made.

    What a lookup with a single answer found comes along, as `Probes.given` names it: the new rows
    are made of it. What the last join gives is not kept yet: see `Names.finished`.
    """
    size = max(words(changed.insert), words(changed.delete))
    columns = [f"found{word}" for word in range(size)]
    if evidence is None:
        return with_columns(frame, dict.fromkeys(columns, "0L"))
    steps = {"insert": ("insert", changed.insert), "delete": ("NOT insert", changed.delete)}
    chosen = [
        (is_action, structs)
        for is_action, of_action in (steps[action] for action in actions)
        if (structs := probe_structs(names, of_action))
    ]
    single = sorted(changed.insert.single) if "insert" in actions else []
    for joins, need in enumerate(single, 1):
        is_end = joins == len(single)
        is_last = is_end and not chosen
        frame = _answered(names, frame, changed.insert, need, evidence, which, is_last=is_last)
        # The last of them is kept, too: more joins may follow.
        frame = names.kept_now_and_then(frame, MOST_JOINS if is_end else joins)
    probes = [
        exploded(frame.where(f"{which} AND {is_action}"), ("id",), structs, "bit")
        for is_action, structs in chosen
    ]
    if probes:
        rows = names.joined_on(names.together(probes), _told(evidence, changed), ("f", "k"))
        rows = rows.where("NOT differs OR NOT (g <=> w)")
        found = [
            sf.expr(f"bit_or({if_(f'word = {word}', 'bit', '0L')})").alias(name)
            for word, name in enumerate(columns)
        ]
        rows = rows.groupBy("id").agg(*found)
        frame = names.joined_on(frame, rows, ("id",), "left", is_last=True)
    met = as_words(
        [
            certain(f"met{question.need}") if question.need in single else "false"
            for question in changed.insert.questions
        ],
        size,
    )
    if not probes:
        return with_columns(frame, dict(zip(columns, met, strict=True)))
    values = zip(columns, met, strict=True)
    return with_changed(frame, {name: f"coalesce({name}, 0L) | ({bits})" for name, bits in values})


def _answered(
    names: Names,
    frame: DataFrame,
    insert: Probes,
    need: int,
    evidence: DataFrame,
    which: Sql,
    *,
    is_last: bool,
) -> DataFrame:
    """The parts with the answer of a need that has one at most, and whether it has."""
    lookup = insert.lookup(need)
    gives = insert.given(need)
    answers = evidence.where(f"f = {insert.giving[need]}").selectExpr(
        *(f"k.h{i} AS a{i}" for i in lookup.columns),
        *(f"g.h{i} AS {name}" for i, name in gives.items()),
        f"true AS met{need}",
    )
    same = (
        f"CAST({names.given(ref)} AS {names.head[i]}) {names.equals(i)} a{i}"
        for i, ref in lookup.pattern
    )
    met = all_of([f"insert AND {which}", *same])
    frame = names.joined(frame, answers, met, is_last=is_last)
    return frame.drop(*(f"a{i}" for i in lookup.columns))


def _told(evidence: DataFrame, changed: Changed) -> DataFrame:
    """The evidence that lookups are answered by: of values that none is compared with, none.

    A key may give very many values to very many changes, and all of them say the same: it is there.
    A value that contradicts is the only one of its key: that is a key of the row that it shows.
    """
    steps = (changed.insert, changed.delete)
    questions = [question for probes in steps for _, question in probes.others]
    if not {q.family for q in questions} & {n for probes in steps for n in probes.giving.values()}:
        return evidence  # no key of these gives more than one value
    compared = {question.family for question in questions if question.contradiction is not None}
    if not compared:
        return with_columns(evidence.selectExpr("f", "k").distinct(), {"g": "NULL"})
    value = if_(is_one_of("f", sorted(compared)), "g")
    return evidence.selectExpr("f", "k", f"{value} AS g").distinct()


def decided(names: Names, frame: DataFrame, changed: Changed, *, waits: bool) -> DataFrame:
    """The verdicts of one round, from what the lookups found.

    Args:
        waits: something may stand in the way of deletions of a key that goes for good.
    """
    insert, delete = changed.insert, changed.delete
    waiting = f"NOT insert AND fleeting AND {str(waits).lower()}"
    of_insertion = _insertion_kind(names, insert)
    because = f"'{Because.SKIPPED if insert.is_skipped else insert.step.rule}'"
    if updates := _updates(names, changed):
        frame = with_columns(frame, updates)
        told = if_("barren", str(UNAFFECTED), str(MISS))
        if "old" in updates:
            told = if_("old IS NOT NULL", str(SELF_MAINTAINED), told)
        because = if_(
            f"{of_insertion} = {MISS} AND {told} != {MISS}", f"'{Because.UPDATE}'", because
        )
        of_insertion = if_(f"{of_insertion} = {MISS}", told, of_insertion)
    kind = (
        f"CASE WHEN failed IS NOT NULL THEN {IRRELEVANT} WHEN unseen THEN {UNAFFECTED} "
        f"WHEN {waiting} THEN NULL WHEN fleeting THEN {UNAFFECTED} "
        f"WHEN insert THEN {of_insertion} ELSE {_deletion_kind(delete)} END"
    )
    rule = (
        f"CASE WHEN failed IS NOT NULL THEN '{Because.SCREEN}' "
        f"WHEN unseen THEN '{Because.UNSEEN}' WHEN fleeting THEN '{Because.FOREIGN_KEY}' "
        f"WHEN insert THEN {because} ELSE '{delete.step.rule}' END"
    )
    size = max(words(insert), words(delete))
    bits = zip(
        as_words(asked(names, insert), size), as_words(asked(names, delete), size), strict=True
    )
    made = {
        f"asked{word}": if_(LOOKED_UP, if_("insert", of_insert, of_delete), "0L")
        for word, (of_insert, of_delete) in enumerate(bits)
    }
    return with_columns(frame, {"kind": f"CAST({kind} AS int)", "rule": rule, **made})


def has_updates(changed: Changed) -> bool:
    """Whether an insertion that misses may be told by a deletion that is decided with it."""
    return (
        changed.open.inserts
        and changed.open.deletes
        and changed.insert.step.rule is not Rule.INSERT_ALONE  # which never misses
    )


def shows_updates(changed: Changed) -> bool:
    """Whether it may be told rows: the deletion removes them, and no lookup finds them as well."""
    insert, delete = changed.insert, changed.delete
    is_maintained = insert.step.rule is Rule.INSERT_EXPOSED and not insert.is_skipped
    return has_updates(changed) and delete.step.rule is not Rule.DELETE_HIDDEN and not is_maintained


def _updates(names: Names, changed: Changed) -> dict[str, Sql]:
    """What deletions tell about insertions with the same join values; see `lookups.updates`."""
    if not has_updates(changed):
        return {}
    delete = changed.delete
    deletion = f"NOT insert AND {LOOKED_UP}"
    joined = over(join_columns(names.query, changed.subgoal))
    columns = {"barren": f"max({deletion} AND NOT ({found(0)})) {joined}"}
    if shows_updates(changed):
        removed = f"{deletion} AND {_deletion_kind(delete)} = {SELF_MAINTAINED}"
        shared = over(shared_columns(names.query, delete.step))
        columns["old"] = f"max({if_(removed, names.key(delete.shown))}) {shared}"
    return columns


def _insertion_kind(names: Names, probes: Probes) -> Sql:
    """Rows of an insertion that is self-maintained are never all there: VDU had found one."""
    if probes.is_skipped:
        return str(MISS)
    met = if_(meeting(names, probes), str(SELF_MAINTAINED), str(MISS))
    return if_(settling(names, probes), str(UNAFFECTED), met)


def _deletion_kind(probes: Probes) -> Sql:
    step = probes.step
    nameless = [f"c{i} IS NULL" for i in step.key]
    is_hidden = str(step.rule is Rule.DELETE_HIDDEN).lower()
    misses = any_of([is_hidden, "taken", *nameless])
    return if_(found(0), if_(misses, str(MISS), str(SELF_MAINTAINED)), str(UNAFFECTED))


def removed_rows(
    names: Names, frame: DataFrame, probes: Probes, evidence: DataFrame | None, which: Sql
) -> DataFrame | None:
    """The view rows that deletions take away; None where there is nothing to take.

    Like all rows that a round adds or removes they are not kept yet: see `Names.finished`.
    """
    if evidence is None:
        return None
    deletions = frame.where(f"NOT insert AND kind = {SELF_MAINTAINED} AND {which}")
    keys = deletions.selectExpr(f"{names.key(probes.shown)} AS k")
    rows = evidence.where(f"f = {probes.all_rows}").selectExpr("k", "g")
    found = names.joined_on(keys, rows, ("k",), is_last=True)
    return found.selectExpr(*names.unmasked("g")).distinct()


def new_rows(
    names: Names, frame: DataFrame, probes: Probes, evidence: DataFrame | None
) -> DataFrame | None:
    """The view rows that self-maintained insertions add; None where no insertion ever is."""
    step = probes.step
    if step.vsm is None or step.rows is None or (step.vsm.needs and evidence is None):
        return None
    rows = frame.where(f"insert AND kind = {SELF_MAINTAINED}")
    several = {need: family for need, family in probes.giving.items() if need not in probes.single}
    own = [cell for cell in step.rows.cells if not isinstance(cell, Found)]
    # Insertions that look the same give the same rows. With each of them once there are never more
    # rows on the way than there are new ones.
    rows = rows.selectExpr(
        *(f"{names.key(probes.lookup(need))} AS wanted{need}" for need in several),
        *probes.single_answers,
        *dict.fromkeys(map(names.given, own)),
    )
    rows = rows.distinct() if names.is_small and several else rows
    for joins, (need, family) in enumerate(several.items(), 1):
        assert evidence is not None
        answers = evidence.where(f"f = {family}").selectExpr("k AS answered", f"g AS g{need}")
        same, is_last = f"wanted{need} = answered", joins == len(several)
        rows = names.joined(rows, answers, same, "inner", is_last=is_last)
        rows = names.kept_now_and_then(rows.drop(f"wanted{need}", "answered"), joins)

    def value(cell: Cell) -> Sql:
        if not isinstance(cell, Found):
            return names.given(cell)
        if cell.need in probes.single:
            return probes.given(cell.need)[cell.column]
        return f"g{cell.need}.h{cell.column}"

    return _with_cells(names, rows, list(map(value, step.rows.cells)))


def updated_rows(
    names: Names, frame: DataFrame, changed: Changed, evidence: DataFrame | None
) -> DataFrame | None:
    """The view rows that insertions add which deletions have told about; None if there are none.

    They are the rows that the deletion removes, with the inserted row's values for its own.
    """
    if evidence is None:
        return None
    own = own_cells(names.query, changed.subgoal)
    rows = frame.where(f"insert AND kind = {SELF_MAINTAINED} AND rule = '{Because.UPDATE}'")
    rows = rows.selectExpr("old", *(f"c{i}" for i in dict.fromkeys(own.values())))
    rows = rows.distinct() if names.is_small else rows  # as in `new_rows`
    shown = evidence.where(f"f = {changed.delete.all_rows}").selectExpr("k AS old", "g")
    rows = names.joined_on(rows, shown, ("old",), is_last=True)
    cells = [f"c{own[i]}" if i in own else f"g.h{i}" for i in range(len(names.head))]
    return _with_cells(names, rows, cells)


def _with_cells(names: Names, rows: DataFrame, cells: Sequence[Sql]) -> DataFrame:
    """View rows with these values, each once."""
    typed = zip(cells, names.head, strict=True)
    columns = [f"CAST({cell} AS {kind}) AS h{i}" for i, (cell, kind) in enumerate(typed)]
    return rows.selectExpr(*columns).distinct()


def net(names: Names, gone: DataFrame | None, come: DataFrame | None) -> DataFrame | None:
    """What came and went, as view rows with `n`; a row that did both stayed."""
    frames = [
        frame.selectExpr(*names.row, f"{n}L AS n")
        for frame, n in ((gone, -1), (come, 1))
        if frame is not None
    ]
    if len(frames) < 2:
        return frames[0] if frames else None
    together = names.together(frames)
    return together.groupBy(*names.row).agg(sf.expr("sum(n) AS n")).where("n != 0")


# Keys that go for good


def can_be_stuck(changed: Changed, subgoals: Mapping[int, Changed]) -> bool:
    """Whether a missed deletion of a child could keep a parent's key alive in the settled view."""
    return changed.open.waiting and any(
        child.subgoal in subgoals and _can_miss(subgoals[child.subgoal])
        for child in changed.delete.step.children
    )


def _can_miss(changed: Changed) -> bool:
    """Whether a deletion of this subgoal could miss; by its step, before anything is decided.

    With all that matters exposed none does. One by an exposed key may, if NULL stands in the key,
    or if another row has taken the key by then. That row is an inserted one, and if every key that
    children refer to is part of the exposed one, the two are an UPDATE: neither makes a key come or
    go, so the deletion is decided before the insertion.
    """
    step, kinds = changed.delete.step, changed.kinds
    is_open = changed.open.deletes or changed.open.waiting
    if not is_open or step.rule is Rule.DELETE_EXPOSED:
        return False
    if step.rule is Rule.DELETE_HIDDEN or not kinds.are_named:
        return True
    return kinds.inserts and any(not set(key) <= set(step.key) for key in child_keys(step))


def stuck(
    names: Names, frame: DataFrame, changed: Changed, children: Mapping[int, DataFrame]
) -> DataFrame:
    """The parts with `stuck`: a missed deletion stands in the way of each foreign key there is."""
    step = changed.delete.step
    keys = child_keys(step)
    blocked = []
    for number, child in enumerate(step.children):
        ways = [f"kept{keys.index(child.key)}"]
        if child.subgoal in children:
            frame = _referred(names, frame, child, children[child.subgoal], f"referred{number}")
            frame = names.kept_now_and_then(frame, number + 1)
            ways.append(f"referred{number}")
        blocked.append(any_of(ways))
    frame = with_columns(frame, {"stuck": all_of(blocked)})
    return frame.drop(*(f"referred{n}" for n in range(len(step.children))))


def _referred(
    names: Names, frame: DataFrame, child: Child, parts: DataFrame, name: str
) -> DataFrame:
    """Whether a missed deletion of the child refers to the key."""
    missed = parts.where(f"NOT insert AND kind = {MISS}")
    columns = [f"r{n}" for n in range(len(child.columns))]
    picked = (f"c{i} AS {column}" for i, column in zip(child.columns, columns, strict=True))
    missed = missed.selectExpr(*picked, f"true AS {name}").distinct()
    same = all_of(f"c{i} <=> {column}" for i, column in zip(child.key, columns, strict=True))
    frame = names.joined(frame, missed, same).drop(*columns)
    return with_changed(frame, {name: certain(name)})


def taken_by_now(names: Names, frame: DataFrame, changed: Changed) -> DataFrame:
    """`taken` for the waiting deletions: by now every insertion has been decided.

    What the last join gives is not kept yet: see `Names.finished`.
    """
    key = changed.delete.step.key
    if not key:
        return frame
    there = frame.where(f"insert AND kind IN ({UNAFFECTED}, {SELF_MAINTAINED})")
    there = there.selectExpr(*(f"c{i} AS t{i}" for i in key), "true AS there").distinct()
    same = all_of(f"c{i} <=> t{i}" for i in key)
    frame = names.joined(frame, there, same, is_last=True)
    taken = if_("kind IS NULL", certain("there"), "taken")
    return with_changed(frame, {"taken": taken}).drop("there", *(f"t{i}" for i in key))


def decided_at_last(
    names: Names, frame: DataFrame, changed: Changed, evidence: DataFrame | None
) -> DataFrame:
    """The verdicts on the waiting deletions; `late` says which they are."""
    delete = changed.delete
    was = {name: f"was_{name}" for name in frame.columns if name.startswith("found")}
    frame = with_columns(frame, {"late": "kind IS NULL"}).withColumnsRenamed(was)
    frame = looked_up(names, frame, changed, evidence, "late AND stuck", ("delete",))
    frame = with_changed(frame, {name: if_("late", name, old) for name, old in was.items()})
    kind = if_("late", if_("stuck", _deletion_kind(delete), str(UNAFFECTED)), "kind")
    columns = {
        "kind": f"CAST({kind} AS int)",
        "rule": if_("late AND stuck", f"'{delete.step.rule}'", "rule"),
    }
    for word, bits in enumerate(as_words(asked(names, delete), words(delete))):
        columns[f"asked{word}"] = if_("late AND stuck", bits, f"asked{word}")
    return with_changed(frame, columns).drop("stuck", *was.values())
