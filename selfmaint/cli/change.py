"""A change from text: one row, `orders(7, 1, 2024-03-01)`, read by the language's own parser.

The row is checked as a subgoal of a rule would be, so constants get the representation of their
columns and errors their caret. Only `null` is new: a rule cannot ask for it, a row can hold it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from cq.check import check
from cq.diagnostics import (
    Diagnostic,
    DiagnosticError,
    Diagnostics,
    Severity,
    Span,
    did_you_mean,
    shorten,
)
from cq.parser import parse_syntax
from cq.printer import print_term
from cq.syntax import Atom, Const, Rule, Syntax, Var
from cq.types import Row
from selfmaint.program import Program

_NAME: Final = "--change"
_RULE: Final = "change#"
"""The head of the rule that is checked; no text can spell this name."""

_FORM: Final = "write one row: relation(value, ..), such as orders(7, 'EU', null)"
_NULL_CODE: Final = "CQ123"


def read_change(text: str, program: Program) -> tuple[str, Row]:
    """The relation that `text` names and the row, in the representation of its columns.

    Raises:
        DiagnosticError: the text is no row of a relation of `program`.

    Example:
        >>> from selfmaint import parse
        >>> program = parse(".decl r(a: double, b: string) v(A) :- r(A, _).")
        >>> read_change("r(1, null)", program)
        ('r', (1.0, None))
    """
    body = text.rstrip().removesuffix(".")
    syntax, found = parse_syntax(body + ".")
    nulls = {item.span for item in found if item.code == _NULL_CODE}
    errors = [_within(item, body) for item in found if item.code != _NULL_CODE]
    if errors:
        raise _broken(errors, text)
    atom = _one_atom(syntax, text)
    errors = [*_unknown(atom, program), *_variables(atom)]
    if errors:
        raise _broken(errors, text)
    # NULL becomes a variable that occurs once: like it, it fits every column and joins nothing.
    terms = tuple(
        Var(f"_#{position}") if isinstance(term, Var) or term.span in nulls else term
        for position, term in enumerate(atom.terms)
    )
    rule = Rule(Atom(_RULE, ()), (replace(atom, terms=terms),))
    checked, found = check(Syntax((), (rule,)), program.relations.values())
    errors = [item for item in found if item.severity is Severity.ERROR]
    if errors:
        raise _broken(errors, text)
    (subgoal,) = checked.views[_RULE].rule.atoms
    return atom.predicate, tuple(t.value if isinstance(t, Const) else None for t in subgoal.terms)


def _broken(errors: list[Diagnostic], text: str) -> DiagnosticError:
    return DiagnosticError(Diagnostics.of(errors, text, _NAME))


def _within(item: Diagnostic, body: str) -> Diagnostic:
    """The diagnostic in terms of the text as given, which the full stop was added to."""
    lines = body.split("\n")
    if item.span < Span(len(lines), len(lines[-1]) + 1):
        return item
    end = Span(len(lines), max(len(lines[-1]), 1))
    return replace(item, message="the change ends too early", span=end)


def _one_atom(syntax: Syntax, text: str) -> Atom:
    if not syntax.declarations and len(syntax.rules) == 1:
        (rule,) = syntax.rules
        if not rule.atoms and not rule.comparisons:
            return rule.head
    start = len(text) - len(text.lstrip())
    span = Span(text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start))
    raise _broken([Diagnostic("LP228", "a change is one row of a relation", span, (_FORM,))], text)


def _unknown(atom: Atom, program: Program) -> list[Diagnostic]:
    name = atom.predicate
    span = Span(atom.span.line, atom.span.column, len(name))
    if name in program.views:
        message = f"`{shorten(name)}` is a view, and only relations change"
        relations = did_you_mean(name, program.relations)
        return [Diagnostic("LP205", message, span, relations)]
    if name in program.relations:
        return []
    near = did_you_mean(name, program.relations)
    return [Diagnostic("LP205", f"there is no relation `{shorten(name)}`", span, near)]


def _variables(atom: Atom) -> list[Diagnostic]:
    """Variables are errors, but for `NULL`, which many will write."""
    found = [term for term in atom.terms if isinstance(term, Var) and term.name != "NULL"]
    return [
        Diagnostic(
            "LP228",
            f"`{shorten(print_term(term))}` is a variable, and a row has none",
            term.span,
            ("put strings in quotes; NULL is written `null`",),
        )
        for term in found
    ]
