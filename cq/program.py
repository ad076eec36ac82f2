"""From text to analysed views: the passes of this package in order.

text --parser--> syntax --check--> checked --query--> normal form --minimize--> Query
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cq.check import Checked, check
from cq.diagnostics import DiagnosticError, Diagnostics, InputError, did_you_mean, shorten
from cq.minimize import minimize
from cq.parser import parse_syntax
from cq.query import Query, normalize
from cq.schema import Relation
from cq.syntax import Syntax


@dataclass(frozen=True, slots=True)
class Source:
    """A program without errors, stage by stage.

    Args:
        syntax: as written.
        checked: relations and views by name.
        diagnostics: the warnings.
    """

    syntax: Syntax
    checked: Checked
    diagnostics: Diagnostics

    def normal(self, name: str) -> Query:
        """The view in normal form, before minimization.

        Raises:
            InputError: there is no such view.
        """
        if name not in self.checked.views:
            raise InputError(
                "LP204",
                f"there is no view `{shorten(name)}`",
                *did_you_mean(name, self.checked.views),
            )
        return normalize(name, self.checked)

    def query(self, name: str) -> Query:
        """The analysed view: in normal form, without redundant subgoals."""
        return minimize(self.normal(name))


def read(text: str, filename: str = "<text>", relations: Iterable[Relation] = ()) -> Source:
    """Parse and check a program.

    Args:
        relations: relations that come from Python or from tables rather than from `.decl`.
    Raises:
        DiagnosticError: with every error of the text, by position.
    """
    syntax, unread = parse_syntax(text)
    checked, found = check(syntax, relations)
    diagnostics = Diagnostics.of([*unread, *found], text, filename)
    if diagnostics.errors:
        raise DiagnosticError(diagnostics)
    return Source(syntax, checked, diagnostics)
