"""Programs and views as users hold them: the passes behind two small objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from cq.diagnostics import Diagnostics, InputError, shown
from cq.minimize import minimize
from cq.program import Source, read
from cq.query import Query
from cq.schema import Relation
from cq.syntax import Var
from cq.types import Row
from lookups.emit import emit
from lookups.evaluate import Database, evaluate
from lookups.index import RowIndex
from lookups.maintain import Outcome, maintain
from lookups.plan import ACTIONS, Action, Plan


class View:
    """One view of a program; made by `Program.view`.

    Attributes:
        name: the view's name.
        normal: the definition over base relations, as written.
        query: the same without redundant subgoals; what plans are made from.
        columns: the names of the columns: the variables of the head as written, in lower case; a
            constant is `c` and its position. Two columns can have one name.
    """

    def __init__(self, source: Source, name: str) -> None:
        self.name = name
        self.normal: Query = source.normal(name)
        self.columns = tuple(
            term.name.lower() if isinstance(term, Var) else f"c{position}"
            for position, term in enumerate(source.checked.views[name].rule.head.terms, 1)
        )
        self._relations = source.checked.relations
        self._plans: dict[tuple[str, Action], Plan] = {}

    @cached_property
    def query(self) -> Query:
        return minimize(self.normal)

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that the definition names, sorted."""
        return tuple(self.query.by_name)

    @property
    def known(self) -> frozenset[str]:
        """The relations of the program, whether the view uses them or not."""
        return frozenset(self._relations)

    def plan(self, relation: str, action: str) -> Plan:
        """What to look up when `relation` gains (`"insert"`) or loses (`"delete"`) a row.

        A relation of the program that the view does not use has a plan without steps.

        Raises:
            InputError: there is no such relation, or the action is neither of the two.
        """
        if action not in ACTIONS:
            raise InputError("LP206", f"a change is `insert` or `delete`, not {shown(action)}")
        key = (relation, action)
        if key not in self._plans:
            query = self.query
            if relation not in query.by_name and relation in self._relations:
                query = replace(query, relations=(*query.relations, self._relations[relation]))
            self._plans[key] = emit(query, *key)
        return self._plans[key]

    def maintain(
        self,
        rows: Iterable[Sequence[object]] | RowIndex,
        changes: Iterable[object],
        database: Database,
    ) -> Outcome:
        """The view after a batch of net changes, by the batch rule.

        Args:
            rows: the view before the batch.
            changes: `(relation, "insert" | "delete", row)`, net.
            database: relation to rows, after the batch; asked only for what the view and the batch
                do not know, as `Outcome.questions` lists.
        Raises:
            InputError: a change does not fit the program, or the changes are not net.
        """
        return maintain(self.query, rows, changes, database, self._relations)

    def evaluate(self, database: Database) -> frozenset[Row]:
        """The view's rows, recomputed from the relations by the definition as written."""
        return evaluate(self.normal, database)


class Program:
    """A checked program: relations, and views over them; made by `parse` or `load`."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._views: dict[str, View] = {}

    @property
    def views(self) -> tuple[str, ...]:
        """View names in the order written."""
        return tuple(dict.fromkeys(rule.head.predicate for rule in self._source.syntax.rules))

    @property
    def relations(self) -> dict[str, Relation]:
        """Base relations by name."""
        return dict(self._source.checked.relations)

    @property
    def diagnostics(self) -> Diagnostics:
        """Warnings about the text."""
        return self._source.diagnostics

    @property
    def source(self) -> Source:
        """The program stage by stage."""
        return self._source

    def view(self, name: str) -> View:
        """The view `name`.

        Raises:
            InputError: there is no such view; the message names the nearest one.
        """
        if name not in self._views:
            self._views[name] = View(self._source, name)
        return self._views[name]


def parse(text: str, *, filename: str = "<text>", relations: Iterable[Relation] = ()) -> Program:
    """Read a program from text.

    Args:
        relations: relations whose schema comes from Python or from tables instead of `.decl`.
    Raises:
        DiagnosticError: every error of the text at once, with line and caret.

    Example:
        >>> view = parse("v(X, Y, Z) :- r(U, X, Y), s(X, Z).").view("v")
        >>> verdict = view.plan("r", "insert").decide({(1, 2, 3)}, (9, 1, 7))
        >>> str(verdict.kind), sorted(verdict.inserts)
        ('self-maintained', [(1, 7, 3)])
    """
    return Program(read(text, filename, relations))


def load(path: str | Path, *, relations: Iterable[Relation] = ()) -> Program:
    """Read a program from a UTF-8 file; see `parse`.

    Raises:
        InputError: the file is not UTF-8. A file that cannot be read raises the system's error.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")  # a byte order mark is no part of the text
    except UnicodeDecodeError as error:
        raise InputError(
            "LP211", f"`{path.name}` is not UTF-8: byte {error.start + 1} starts no character"
        ) from None
    return parse(text, filename=path.name, relations=relations)
