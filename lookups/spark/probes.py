"""What a batch looks up, before it is looked up: patterns, families, and the probes of each step.

A *family* is a pattern of view columns together with the columns whose values are wanted. Every
lookup of a plan belongs to one; its key is a masked row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from cq.dependencies import determined
from cq.syntax import Var
from lookups.plan import (
    DELETIONS,
    Alternative,
    Contradiction,
    Given,
    Lookup,
    Ref,
    Rule,
    Step,
)
from lookups.spark.columns import Names, Sql, all_of, any_of, if_, not_
from lookups.verdict import Test


@dataclass(frozen=True, slots=True)
class Family:
    """A pattern, and what the rows that match it are asked for."""

    pattern: tuple[int, ...]
    gives: tuple[int, ...]


@dataclass(slots=True)
class Families:
    """Every family of a batch, numbered in the order of first use, after those of an index."""

    numbers: dict[Family, int] = field(default_factory=dict)
    _used: set[Family] = field(default_factory=set)

    def number(self, pattern: Iterable[int], gives: Iterable[int] = ()) -> int:
        family = Family(tuple(sorted(set(pattern))), tuple(sorted(set(gives))))
        self._used.add(family)
        return self.numbers.setdefault(family, max(self.numbers.values(), default=-1) + 1)

    def used(self) -> dict[Family, int]:
        """Those that lookups of the batch belong to."""
        return {family: n for family, n in self.numbers.items() if family in self._used}

    @property
    def patterns(self) -> tuple[tuple[int, ...], ...]:
        return tuple(dict.fromkeys(family.pattern for family in self.numbers))

    def of(self, number: int) -> Family:
        return next(family for family, n in self.numbers.items() if n == number)


@dataclass(frozen=True, slots=True)
class Guard:
    """A row of another relation that the view vouches for only while the batch leaves it alone."""

    relation: str
    columns: tuple[int, ...]
    values: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One lookup of a step, in the order in which the step asks.

    Args:
        contradiction: what a row must differ on.
        guard: the position among the step's guards of the row that must not be changing.
        need: with a VSM lookup, the number of its need.
        alternative: with a VSM lookup, which way to meet its need it is.
        nulls: unless empty, it is made only for a change with NULL in one of these columns.
    """

    test: Test
    lookup: Lookup
    family: int
    contradiction: Contradiction | None = None
    guard: int | None = None
    need: int | None = None
    alternative: Alternative | None = None
    nulls: tuple[int, ...] = ()

    @property
    def condition(self) -> Sql:
        return has_null(self.nulls) if self.nulls else "true"


def has_null(columns: Iterable[int]) -> Sql:
    """Whether a change has NULL in one of these columns."""
    return any_of(f"c{i} IS NULL" for i in columns)


@dataclass(frozen=True, slots=True)
class Probes:
    """The lookups of one step.

    Args:
        shown: the view rows that show the change's values.
        all_rows: the family that gives these rows whole: a deletion removes them, an insertion that
            misses may add rows that are there already, a slice replaces them. None where none of
            that can be, and for an insertion that shows nothing: every row would be one of them.
        has_rows: which changes may have such rows.
        giving: need to family, for needs whose answers make the new rows.
        single: those of them whose lookup has one answer at most: declared keys say so, of
            relations that the batch leaves alone.
        is_skipped: the step is an insertion whose lookups are not made: it misses.
    """

    step: Step
    questions: tuple[Question, ...]
    guards: tuple[Guard, ...]
    shown: Lookup
    all_rows: int | None
    giving: dict[int, int]
    single: frozenset[int] = frozenset()
    has_rows: Sql = "true"
    is_skipped: bool = False

    @property
    def others(self) -> list[tuple[int, Question]]:
        """The lookups that may find several values, or none that is wanted, with their numbers."""
        return [(n, q) for n, q in enumerate(self.questions) if q.need not in self.single]

    def lookup(self, need: int) -> Lookup:
        """The lookup whose answers make the new rows."""
        assert self.step.vsm is not None
        return self.step.vsm.needs[need].alternatives[0].lookup

    def given(self, need: int) -> dict[int, str]:
        """For a need with one answer at most: the columns of the view to those that hold it."""
        assert self.step.vsm is not None
        return {i: f"g{need}_{i}" for i in self.step.vsm.needs[need].gives}

    @property
    def single_answers(self) -> list[str]:
        """The columns that hold the answers of all these needs."""
        return [name for need in sorted(self.single) for name in self.given(need).values()]

    @property
    def is_hidden(self) -> bool:
        """Whether no row shows anything of a change. See `misses.Misses.there`."""
        return not self.shown.columns


def probes_of(
    names: Names, families: Families, step: Step, still: Collection[int], *, by_slices: bool
) -> Probes:
    """The lookups of `step`.

    Args:
        still: the subgoals whose relations the batch leaves alone.
        by_slices: an insertion that misses may be asked for as a slice.
    """
    everything = range(len(names.head))
    guards: dict[Guard, int] = {}
    questions: list[Question] = []
    if step.vdu is not None:
        questions.append(Question(Test.VDU, step.vdu, families.number(step.vdu.columns)))
    if step.nameless is not None:
        family = families.number(step.nameless.columns)
        questions.append(Question(Test.VDU, step.nameless, family, nulls=step.key))
    for contradiction in step.contradictions:
        lookup = contradiction.lookup
        family = families.number(lookup.columns, (i for i, _ in contradiction.differs))
        columns, refs = zip(*contradiction.key, strict=True)
        number = guards.setdefault(Guard(contradiction.relation, columns, refs), len(guards))
        questions.append(Question(Test.CONTRADICTION, lookup, family, contradiction, number))
    giving: dict[int, int] = {}
    for n, need in enumerate(step.vsm.needs if step.vsm is not None else ()):
        own, *others = need.alternatives
        family = families.number(own.lookup.columns, need.gives)
        if need.gives:
            giving[n] = family
        questions.append(Question(Test.VSM, own.lookup, family, need=n, alternative=own))
        if not others:
            continue
        assert need.instance is not None
        values = need.instance.values
        watched = Guard(need.instance.relation, tuple(range(len(values))), values)
        number = guards.setdefault(watched, len(guards))
        questions += [
            Question(
                Test.VSM,
                other.lookup,
                families.number(other.lookup.columns),
                guard=number,
                need=n,
                alternative=other,
            )
            for other in others
        ]
    shown = _shown(names, step.subgoal)
    all_rows = None
    may_be_slice = by_slices and step.rule is not Rule.INSERT_ALONE  # which never misses
    is_doubtful = step.rule in DOUBTFUL and bool(shown.columns)
    if step.rule in DELETIONS or is_doubtful or may_be_slice:
        all_rows = families.number(shown.columns, everything)
    single = frozenset(
        n for n, number in giving.items() if _is_single(names, families.of(number), still)
    )
    return Probes(step, tuple(questions), tuple(guards), shown, all_rows, giving, single)


def _is_single(names: Names, family: Family, still: Collection[int]) -> bool:
    """Whether the rows that match a key all give one value, also while a batch is worked through.

    A relation that changes may break its keys on the way: a row comes before another one goes.
    """
    if not family.pattern:
        return False  # not a join that Spark has a good way for
    known = [var for var, column in names.query.columns.items() if column in family.pattern]
    given = [var for var, column in names.query.columns.items() if column in family.gives]
    return determined(names.query, known, still).issuperset(given)


DOUBTFUL = (Rule.INSERT_HIDDEN, Rule.INSERT_NEVER)
"""Insertions that may miss although the view has some of their rows."""


def skipped_probes(names: Names, families: Families, step: Step, *, by_slices: bool) -> Probes:
    """What is looked up for an insertion that misses in any case.

    Of its rows some may be there already, unless it brings an exposed key. Where a lookup would
    have shown that there are none, the rows themselves are looked up.
    """
    shown = _shown(names, step.subgoal)
    all_rows, has_rows = None, "true"
    is_doubtful = by_slices or step.rule in DOUBTFUL or step.vdu is not None
    if (is_doubtful or step.nameless is not None) and (by_slices or shown.columns):
        all_rows = families.number(shown.columns, range(len(names.head)))
        has_rows = "true" if is_doubtful else has_null(step.key)
    return Probes(step, (), (), shown, all_rows, {}, has_rows=has_rows, is_skipped=True)


def no_probes(names: Names, step: Step) -> Probes:
    """A step that no change of the batch takes."""
    return Probes(step, (), (), _shown(names, step.subgoal), None, {})


def _shown(names: Names, subgoal: int) -> Lookup:
    """`[a', b', -]`: the rows that show the change's values."""
    cells: dict[int, Ref] = {}
    for position, term in enumerate(names.query.atoms[subgoal].terms):
        if isinstance(term, Var) and term in names.query.columns:
            cells.setdefault(names.query.columns[term], Given(position))
    return Lookup(tuple(sorted(cells.items(), key=lambda cell: cell[0])))


# What lookups found, as bits


BITS = 60
"""Lookups whose answers one number holds."""


def words(probes: Probes) -> int:
    """How many numbers hold the answers to all lookups of a step."""
    return len(probes.questions) // BITS + 1


def found(number: int) -> Sql:
    """Whether lookup `number` found a row."""
    word, bit = divmod(number, BITS)
    return f"(found{word} & {1 << bit}L) != 0"


def as_words(conditions: Sequence[Sql], count: int) -> list[Sql]:
    """Conditions as bits of numbers."""
    sums = ["0L"] * count
    for number, condition in enumerate(conditions):
        word, bit = divmod(number, BITS)
        sums[word] += f" + {if_(condition, f'{1 << bit}L', '0L')}"
    return sums


def answered(names: Names, probes: Probes) -> list[Sql]:
    """For each lookup whether it finds a row and its answer counts: its guard and condition hold.

    Whether the reference gets as far as asking is left out: where it does not, something else has
    settled the matter, and the outcome is the same.
    """
    return [
        all_of([*_usable(names, question), found(number)])
        for number, question in enumerate(probes.questions)
    ]


def asked(names: Names, probes: Probes) -> list[Sql]:
    """Which lookups the reference makes, given what they find: it stops at the first that settles.

    Every need is asked even after one failed, but of a need only until one alternative answers.
    """
    answers = answered(names, probes)
    columns = []
    for number, question in enumerate(probes.questions):
        earlier = (
            answers[n]
            for n, other in enumerate(probes.questions[:number])
            if other.test is not Test.VSM or other.need == question.need
        )
        columns.append(all_of([not_(any_of(earlier)), *_usable(names, question)]))
    return columns


def _usable(names: Names, question: Question) -> list[Sql]:
    """What must hold for the lookup to be made at all for a change."""
    if question.guard is None:
        return [question.condition] if question.nulls else []
    condition = question.alternative.condition if question.alternative is not None else ()
    equal = (f"{names.given(e.left)} <=> {names.given(e.right)}" for e in condition)
    return [f"NOT guard{question.guard}", *equal]


def settling(names: Names, probes: Probes) -> Sql:
    """Whether VDU or a contradiction shows an insertion without effect."""
    answers = answered(names, probes)
    return any_of(
        answers[n] for n, question in enumerate(probes.questions) if question.test is not Test.VSM
    )


def meeting(names: Names, probes: Probes) -> Sql:
    """Whether every need of an insertion is met."""
    step = probes.step
    if step.vsm is None or step.rows is None:
        return "false"
    answers = answered(names, probes)
    return all_of(
        any_of(answers[n] for n, question in enumerate(probes.questions) if question.need == need)
        for need in range(len(step.vsm.needs))
    )


def probe_structs(names: Names, probes: Probes) -> list[Sql]:
    """One struct per lookup, of those of `others`: bit, family, key, what it must differ from."""
    structs = []
    for number, question in probes.others:
        word, bit = divmod(number, BITS)
        contradiction = question.contradiction
        differs = contradiction.differs if contradiction is not None else ()
        other = names.mask({i: names.given(ref) for i, ref in differs})
        struct = (
            f"named_struct('word', {word}, 'bit', {1 << bit}L, 'f', {question.family}, "
            f"'k', {names.key(question.lookup)}, "
            f"'differs', {str(contradiction is not None).lower()}, 'w', {other})"
        )
        structs.append(if_(question.condition, struct) if question.nulls else struct)
    return structs
