"""Several sources as one: a join over relations that live in different places.

A semi-join programme: a source is asked for the part of the join that it holds and that the values
known so far lead to; its answer gives the keys for the next. Only keys and columns that somebody
still needs travel, and each part is a `Join` of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cq.syntax import Comparison, Var, variables_of
from warehouse.columns import check_columns
from warehouse.sources.ask import ask
from warehouse.sources.clock import Clock
from warehouse.sources.compare import comparison_holds
from warehouse.sources.errors import SourceError
from warehouse.sources.join import Join, joined_on
from warehouse.sources.protocol import Answer, Cost, Part, Source, require_relations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROUNDS: Final = 3
"""How often all sources are asked again because one of them had moved on."""


@dataclass(frozen=True)
class Step:
    """One question of a programme.

    Args:
        source: which of the sources is asked.
        tests: comparisons that can be decided once it has answered, and by no source alone.
        keep: the variables that are needed after it.
    """

    source: int
    join: Join
    tests: tuple[Comparison, ...]
    keep: tuple[Var, ...]


def programme(join: Join, holder: Mapping[str, int]) -> Iterator[Step]:
    """The questions that answer `join`, in order.

    Next is the source with the most subgoals that use a variable with a known value; it is asked
    for those and for all that its own subgoals connect to them. Where nothing is connected to what
    is known, the first subgoal left begins anew.

    Args:
        holder: the source of each relation. Comparisons of bound variables alone are no step's:
            the keys are tested before anybody is asked.
    """
    known = dict.fromkeys(join.bound)
    pending = list(join.subgoals)
    tests = [c for c in join.comparisons if not _is_over(c, join.bound)]
    while pending:
        asked = _next_part(join, pending, known.keys(), holder)
        pending = [i for i in pending if i not in asked]
        own = variables_of(*(v for i in asked for v in join.query.variables[i]))
        sent = [c for c in tests if set(variables_of(c.left, c.right)).issubset(own)]
        bound = tuple(v for v in own if v in known)
        known.update(dict.fromkeys(own))
        left = [c for c in tests if c not in sent]
        ready = [c for c in left if known.keys() >= set(variables_of(c.left, c.right))]
        tests = [c for c in left if c not in ready]
        # What the next parts and the comparisons here still use.
        after = {*join.bound, *join.wanted, *_variables(join, pending, tests)}
        wanted = tuple(
            v for v in own if v not in bound and v in after | {*_variables(join, (), ready)}
        )
        yield Step(
            holder[join.query.atoms[asked[0]].predicate],
            Join(join.query, tuple(asked), tuple(sent), bound, wanted, join.is_null_safe),
            tuple(ready),
            tuple(v for v in known if v in after),
        )


def _next_part(
    join: Join, pending: Sequence[int], known: Set[Var], holder: Mapping[str, int]
) -> list[int]:
    def source_of(subgoal: int) -> int:
        return holder[join.query.atoms[subgoal].predicate]

    def touches(subgoal: int, variables: Set[Var]) -> bool:
        return not variables.isdisjoint(join.query.variables[subgoal])

    touched = [source_of(i) for i in pending if touches(i, known)]
    if touched:
        best = max(touched, key=touched.count)
        part = [i for i in pending if source_of(i) == best and touches(i, known)]
    else:
        best = source_of(pending[0])
        part = [pending[0]]
    reached = {v for i in part for v in join.query.variables[i]}
    rest = [i for i in pending if source_of(i) == best and i not in part]
    while more := [i for i in rest if touches(i, reached)]:
        part += more
        rest = [i for i in rest if i not in more]
        reached.update(v for i in more for v in join.query.variables[i])
    return sorted(part)


def _variables(
    join: Join, subgoals: Sequence[int], comparisons: Sequence[Comparison]
) -> Iterator[Var]:
    for i in subgoals:
        yield from join.query.variables[i]
    for comparison in comparisons:
        yield from variables_of(comparison.left, comparison.right)


class FederatedSource:
    """Sources that hold different relations, asked as one.

    All count versions alike: version 7 of each ends the seventh batch. Where one answers as of a
    later version than asked for, all are asked again as of that one.

    Args:
        limit_seconds: for each part.
        retries: for each part. A caller who asks with retries as well repeats all parts.
        clock: the real one, unless given.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        name: str = "federation",
        limit_seconds: float | None = None,
        retries: int = 0,
        clock: Clock | None = None,
    ) -> None:
        if not sources:
            raise SourceError("WH330", f"`{name}` has no source in it", "give it one, or several")
        self._name = name
        self.sources = tuple(sources)
        self._holder: Mapping[str, int] = {}
        for number, source in enumerate(self.sources):
            for relation in sorted(source.relations):
                other = self._holder.setdefault(relation, number)
                if other != number:
                    raise SourceError(
                        "WH330",
                        f"both `{self.sources[other].name}` and `{source.name}` hold "
                        f"relation `{relation}`",
                        "each relation lives in one source",
                    )
        self._limit_seconds = limit_seconds
        self._retries = retries
        self._clock = clock

    @property
    def name(self) -> str:
        return self._name

    @property
    def relations(self) -> frozenset[str]:
        return frozenset(self._holder)

    def holders(self, relations: Iterable[str]) -> int:
        """How many of the sources hold one of these relations."""
        return len({self._holder[name] for name in relations})

    def version(self) -> int:
        return min(source.version() for source in self.sources)

    def answer(self, join: Join, keys: DataFrame | None, version: int) -> Answer:
        require_relations(self, join)
        if keys is not None:
            check_columns(keys, join.key_schema, "the keys")
        parts: list[Part] = []
        for _ in range(ROUNDS):
            frame, newest = self._round(join, keys, version, parts)
            if newest == version:
                break
            version = newest
        else:
            raise SourceError(
                "WH338",
                f"the sources of `{self.name}` answer as of different versions, the latest "
                f"{version}, and move on while they are asked",
                "ask again, or use sources that can answer as of an earlier version",
                retryable=True,
            )
        cost = sum((part.cost for part in parts), Cost())
        return Answer(frame, version, cost, frame.count(), tuple(parts))

    def _round(
        self, join: Join, keys: DataFrame | None, version: int, parts: list[Part]
    ) -> tuple[DataFrame, int]:
        """The rows, if all parts are as of one version, and the newest version among them."""
        from pyspark.sql import functions

        names = {var: f"v{i}" for i, var in enumerate(join.query.type_of)}
        current: DataFrame | None = None
        if keys is not None:
            current = keys.select(
                *(functions.col(f"b{i}").alias(names[var]) for i, var in enumerate(join.bound))
            ).distinct()
            current = _tested(
                join, current, names, [c for c in join.comparisons if _is_over(c, join.bound)]
            )
        newest = version
        for step in programme(join, self._holder):
            answer = self._ask(step, current, names, version)
            parts.append(
                Part(self.sources[step.source].name, step.join, answer.version, answer.cost)
            )
            newest = max(newest, answer.version)
            if newest != version:
                break
            if not answer.rows:  # nor has the join: nobody else need be asked
                return answer.frame.sparkSession.createDataFrame([], join.schema), newest
            current = _extended(step, current, answer.frame, names, join)
        assert current is not None or newest != version
        if current is None or newest != version:
            return answer.frame, newest
        rows = current.select(
            *(functions.col(names[var]).alias(f"b{i}") for i, var in enumerate(join.bound)),
            *(functions.col(names[var]).alias(f"w{i}") for i, var in enumerate(join.wanted)),
        )
        rows = rows.distinct() if rows.columns else rows.limit(1)
        if join.query.is_empty:
            rows = rows.where(functions.lit(False))
        return rows.localCheckpoint(), newest

    def _ask(
        self, step: Step, current: DataFrame | None, names: Mapping[Var, str], version: int
    ) -> Answer:
        from pyspark.sql import functions

        keys = None
        if step.join.bound:
            assert current is not None
            keys = current.select(
                *(functions.col(names[var]).alias(f"b{i}") for i, var in enumerate(step.join.bound))
            ).distinct()
        return ask(
            self.sources[step.source],
            step.join,
            keys,
            version,
            limit_seconds=self._limit_seconds,
            retries=self._retries,
            clock=self._clock,
        )


def _is_over(comparison: Comparison, variables: Sequence[Var]) -> bool:
    return set(variables_of(comparison.left, comparison.right)).issubset(variables)


def _extended(
    step: Step,
    current: DataFrame | None,
    answer: DataFrame,
    names: Mapping[Var, str],
    join: Join,
) -> DataFrame:
    """What is known, joined with the answer to one question."""
    from pyspark.sql import functions

    bound, wanted = step.join.bound, step.join.wanted
    part = answer.toDF(*(names[var] for var in (*bound, *wanted)))
    if current is None:
        current = part
    elif not bound:
        current = current.crossJoin(part)
    elif wanted:
        current = joined_on(join, current, part, names, bound, "inner")
    else:
        current = joined_on(join, current, part, names, bound, "left_semi")
    current = _tested(join, current, names, step.tests)
    return current.select(*(functions.col(names[var]) for var in step.keep))


def _tested(
    join: Join, frame: DataFrame, names: Mapping[Var, str], comparisons: Sequence[Comparison]
) -> DataFrame:
    for comparison in comparisons:
        frame = frame.where(comparison_holds(comparison, names.__getitem__, join.query.type_of))
    return frame
