"""Names and expressions: values, masked rows, comparisons, as expressions of Spark SQL.

A view row is `h0, h1, ...`, a row of a relation `c0, c1, ...`, a variable of the query `x0, ...`, a
constant of the query `q0, ...`: names by position. So an expression here consists of names that
this package made, and nothing that a user wrote, neither a name nor a value, is ever part of its
text. It is text because each operator of Spark's `Column` is a call into another process, and a
batch needs thousands of them.

A *masked* row is a struct of all columns of the view in which only some hold a value. All lookups
of a batch have keys and answers of this one type, so they travel in one frame and meet the view in
one join. Two structs are equal if their fields are, NULL being equal to NULL, as a lookup wants it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias, TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, StructType

from cq.comparing import compared
from cq.query import Query
from cq.syntax import Comparison, Const, Operator, Term, Var
from cq.types import Type, constant_type
from lookups.plan import Lookup, Ref

MOST_ROWS = 2**31 - 1
"""More rows than any frame of a small batch has."""

MOST_EVIDENCE = 1_000_000
"""Values that the view, or a source at once, may give for the keys of a small batch."""

MOST_JOINS = 3
"""Joins on top of each other. A client of Spark Connect can checkpoint a plan only if its messages
are nested at most a hundred deep, and what belongs to a join takes up to twenty of them."""

LONGS = 2**63

T = TypeVar("T")

Sql: TypeAlias = str
"""An expression of Spark SQL over names that this package made."""


def literal(value: object) -> Column:
    """A constant of the language, or a value that came from Spark."""
    if isinstance(value, datetime):  # Spark would read it in the zone of this process
        return sf.lit(value.isoformat(sep=" ")).cast("timestamp_ntz")
    if isinstance(value, date):  # and this one by Julius Caesar's calendar, if it is old
        return sf.lit(value.isoformat()).cast("date")
    if isinstance(value, int) and not -LONGS <= value < LONGS:
        return sf.lit(Decimal(value))
    return sf.lit(value)


def all_of(conditions: Iterable[Sql]) -> Sql:
    return " AND ".join(f"({condition})" for condition in conditions) or "true"


def any_of(conditions: Iterable[Sql]) -> Sql:
    return " OR ".join(f"({condition})" for condition in conditions) or "false"


def not_(condition: Sql) -> Sql:
    return f"NOT ({condition})"


def certain(condition: Sql) -> Sql:
    """A condition that is false where it is unknown."""
    return f"coalesce({condition}, false)"


def if_(condition: Sql, value: Sql, otherwise: Sql = "NULL") -> Sql:
    return f"CASE WHEN {condition} THEN {value} ELSE {otherwise} END"


def balanced(combine: Callable[[T, T], T], items: Sequence[T]) -> T:
    """All items, at least one, combined in their order; nested as little as possible.

    Example:
        >>> balanced(lambda a, b: f"({a}{b})", "abcde")
        '((ab)(c(de)))'
    """
    if len(items) == 1:
        return items[0]
    half = len(items) // 2
    return combine(balanced(combine, items[:half]), balanced(combine, items[half:]))


def with_columns(frame: DataFrame, columns: Mapping[str, Sql]) -> DataFrame:
    """The frame with these columns, which it does not have yet."""
    return frame.selectExpr("*", *(f"{value} AS {name}" for name, value in columns.items()))


def with_changed(frame: DataFrame, columns: Mapping[str, Sql]) -> DataFrame:
    """The frame with these columns, some of which take the place of what it has.

    Dearer than `with_columns`: each column is several calls into Spark's process.
    """
    return frame.withColumns({name: sf.expr(value) for name, value in columns.items()})


def exploded(frame: DataFrame, kept: Sequence[str], structs: Iterable[Sql], tag: str) -> DataFrame:
    """A row for each of these structs that is not NULL, with its fields as columns.

    Args:
        tag: a field that is NULL in none of them.
    """
    entries = frame.selectExpr(*kept, f"inline(array({', '.join(structs)}))")
    return entries.where(f"{tag} IS NOT NULL")


def in_one_piece(frame: DataFrame) -> DataFrame:
    """The frame, kept in one partition.

    The limit is never reached: on the way there are about as many rows as come out of it, and so
    many of them end the batch with an error. Spark multiplies the sizes that it expects from join
    to join, and would share the rows out again if it expects very many; a limit bounds what it
    expects.
    Spark compiles a limit anew each time, with all that it runs in one stage with it, unless it
    comes last in what is run: so the frame is kept there.
    """
    return frame.coalesce(1).limit(MOST_ROWS).localCheckpoint(eager=False)


def is_one_of(column: str, numbers: Iterable[int]) -> Sql:
    return f"{column} IN ({', '.join(map(str, numbers)) or 'NULL'})"


class Constants:
    """The constants of some queries, as columns `q0`, `q1`, ... that frames of changes carry along.

    Their values are never part of an expression's text.
    """

    def __init__(self, queries: Iterable[Query]) -> None:
        found = (value for query in queries for value in _constants(query))
        self._values = list(dict.fromkeys(found))

    def on(self, frame: DataFrame) -> DataFrame:
        """The frame with these columns."""
        columns = {f"q{n}": literal(value) for n, (_, value) in enumerate(self._values)}
        return frame.withColumns(columns) if columns else frame

    def name(self, const: Const) -> str:
        return f"q{self._values.index((type(const.value), const.value))}"

    def given(self, ref: Ref) -> Sql:
        """A value that the change determines, in a frame of changes."""
        return self.name(ref) if isinstance(ref, Const) else f"c{ref.position}"


class Names:
    """The columns of one view's frames, with their types.

    Args:
        head: the types of the view's columns.
        variables: the types of the variables that a batch can bind.
        is_small: every frame but the view fits one task, so that none of them is ever shuffled.
    """

    def __init__(
        self,
        query: Query,
        head: Sequence[DataType],
        variables: Mapping[Var, DataType],
        *,
        is_small: bool,
    ) -> None:
        self.query = query
        self.is_small = is_small
        self.head = tuple(kind.simpleString() for kind in head)
        self.kinds = tuple(head)
        self.types = {var: kind.simpleString() for var, kind in variables.items()}
        self.number = {var: n for n, var in enumerate(self.types)}
        self.constants = Constants([query])

    # Frames

    def meet(self, values: int) -> None:
        """So many values were found or sent for the batch's keys: it may be small no longer.

        Even a single change may meet very many: those of a customer with very many orders.
        """
        self.is_small = self.is_small and values <= MOST_EVIDENCE

    def together(self, frames: Sequence[DataFrame]) -> DataFrame:
        """The rows of all frames."""
        if len(frames) == 1:
            return frames[0]
        union = balanced(DataFrame.unionByName, frames)
        return union.coalesce(1) if self.is_small else union

    def gathered(self, frame: DataFrame) -> DataFrame:
        """The frame, kept in one partition if the batch is small, so that joins need no shuffle."""
        return in_one_piece(frame) if self.is_small else frame

    def kept(self, frame: DataFrame) -> DataFrame:
        """The frame, cut off from how it is computed, which the first job that needs it does."""
        return frame.localCheckpoint(eager=False)

    def kept_now_and_then(self, frame: DataFrame, joins: int) -> DataFrame:
        """The frame after so many joins on top of each other, cut off before they are too many.

        Those of a small batch are cut off by each join.
        """
        return frame if self.is_small or joins % MOST_JOINS else self.kept(frame)

    def finished(self, frame: DataFrame) -> DataFrame:
        """The frame, kept: where a last join was not yet."""
        return self.gathered(frame) if self.is_small else self.kept(frame)

    def joined(
        self,
        left: DataFrame,
        right: DataFrame,
        condition: Sql,
        how: str = "left",
        *,
        is_last: bool = False,
    ) -> DataFrame:
        """A join of two frames of about the size of a batch, which do not share a name.

        Args:
            is_last: what is made of it is joined with nothing else before it is `finished`, so it
                need not be kept twice.
        """
        found = left.join(self.hinted(right), sf.expr(condition), how)
        return found if is_last else self.gathered(found)

    def joined_on(
        self,
        left: DataFrame,
        right: DataFrame,
        columns: Sequence[str],
        how: str = "inner",
        *,
        is_last: bool = False,
    ) -> DataFrame:
        found = left.join(self.hinted(right), list(columns), how)
        return found if is_last else self.gathered(found)

    def filtered(
        self, left: DataFrame, right: DataFrame, columns: Sequence[str], how: str = "left_semi"
    ) -> DataFrame:
        """The rows of `left` that have a partner, or with `left_anti` none."""
        return left.join(self.hinted(right), list(columns), how)

    def hinted(self, right: DataFrame) -> DataFrame:
        """Never a broadcast, which is a job of its own: their number must not depend on sizes."""
        return right.hint("shuffle_hash" if self.is_small else "merge")

    # View rows

    @property
    def row(self) -> tuple[str, ...]:
        """The columns of a view row."""
        return tuple(f"h{i}" for i in range(len(self.head)))

    def equals(self, column: int) -> Sql:
        """How a column of the view compares: null-safely where it may hold NULL."""
        term = self.query.head[column]
        return "=" if isinstance(term, Var) and term in self.query.non_null else "<=>"

    def mask(self, values: Mapping[int, Sql]) -> Sql:
        """A struct of a view row with these values in these columns."""
        return _struct((f"h{i}", values.get(i, "NULL"), kind) for i, kind in enumerate(self.head))

    def masked(self, columns: Iterable[int]) -> Sql:
        """A view row of which only these columns are kept."""
        return self.mask({i: f"h{i}" for i in columns})

    def unmasked(self, struct: str) -> list[Sql]:
        """The columns of a masked row."""
        return [f"{struct}.h{i} AS h{i}" for i in range(len(self.head))]

    # Variables and constants

    def variable(self, var: Var) -> str:
        return f"x{self.number[var]}"

    def term(self, term: Term) -> Sql:
        return self.constants.name(term) if isinstance(term, Const) else self.variable(term)

    def given(self, ref: Ref) -> Sql:
        """A value that the change determines, in a frame of changes."""
        return self.constants.given(ref)

    def key(self, lookup: Lookup) -> Sql:
        """What a change is looked up by, as a masked row."""
        return self.mask({column: self.given(ref) for column, ref in lookup.pattern})

    def binding(self, variables: Iterable[Var], value: Callable[[Var], Sql]) -> Sql:
        """A struct of all variables in which only these hold a value."""
        kept = set(variables)
        return _struct(
            (f"x{n}", value(var) if var in kept else "NULL", kind)
            for n, (var, kind) in enumerate(self.types.items())
        )

    def bound(self, variables: Iterable[Var]) -> Sql:
        return self.binding(variables, self.variable)

    # Conditions

    def comparison(self, comparison: Comparison) -> Sql:
        left, right = comparison.left, comparison.right
        kinds = (
            constant_type(side.value) if isinstance(side, Const) else self.query.type_of[side]
            for side in (left, right)
        )
        return compares(comparison.operator, self.term(left), self.term(right), *kinds)


def _struct(fields: Iterable[tuple[str, Sql, str]]) -> Sql:
    cells = [f"'{name}', CAST({value} AS {kind})" for name, value, kind in fields]
    # A struct has at least one field, also where nothing is bound.
    return f"named_struct({', '.join([*cells, _PADDING])})"


_PADDING = "'_', CAST(NULL AS boolean)"


def _constants(query: Query) -> Iterable[tuple[type, object]]:
    """By type too: 1 and true are equal to Python."""
    terms = [*query.head, *(term for atom in query.atoms for term in atom.terms)]
    terms += [
        side for comparison in query.comparisons for side in (comparison.left, comparison.right)
    ]
    return ((type(term.value), term.value) for term in terms if isinstance(term, Const))


def compares(operator: Operator, left: Sql, right: Sql, kind: Type, other: Type) -> Sql:
    """Whether a comparison of values of two types is true; NULL makes it false."""
    return certain(compared(left, kind, operator, right, other))


def holds(operator: Operator, left: Sql, right: Sql) -> Sql:
    """The same for two values of one type."""
    return certain(f"{left} {operator} {right}")


def numbered(frame: DataFrame, letter: str) -> DataFrame:
    """The frame with its columns named by position."""
    return frame.toDF(*(f"{letter}{i}" for i in range(len(frame.columns))))


def kinds(schema: StructType) -> tuple[DataType, ...]:
    return tuple(field.dataType for field in schema.fields)
