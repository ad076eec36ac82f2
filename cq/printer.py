"""Syntax to text that parses back to the same syntax."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime

from cq.schema import Relation
from cq.syntax import Atom, Comparison, Const, Rule, Term, Var, body_terms
from cq.types import ANY, Value

_NAME = re.compile(r"[a-z]\w*")
_WORDS = frozenset({"true", "false", "null"})
_ESCAPED = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def print_value(value: Value) -> str:
    """A constant as the language spells it.

    Example:
        >>> print(print_value("eu"), print_value("EU"), print_value(True), print_value(1.5))
        eu 'EU' true 1.5
    """
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat()
        case date():
            return value.isoformat()
        case str():
            if _NAME.fullmatch(value) and value not in _WORDS:
                return value
            return "'" + "".join(_ESCAPED.get(char, char) for char in value) + "'"
        case int():
            return str(value)
        case _:
            text = str(value)
            return text if any(char in text for char in ".eE") else f"{text}.0"


def print_term(term: Term) -> str:
    """A term on its own; an anonymous variable is `_`."""
    if isinstance(term, Const):
        return print_value(term.value)
    return "_" if "#" in term.name else term.name


def print_atom(atom: Atom, term: Callable[[Term], str] = print_term) -> str:
    return f"{atom.predicate}({', '.join(term(t) for t in atom.terms)})"


def print_comparison(comparison: Comparison, term: Callable[[Term], str] = print_term) -> str:
    return f"{term(comparison.left)} {comparison.operator} {term(comparison.right)}"


def print_rule(rule: Rule) -> str:
    """The rule as text.

    Law: the text parses to a rule equal up to the names of anonymous variables. One that occurs
    more than once, after unfolding, is given a name.
    """
    term = term_printer(rule)
    body = [print_atom(atom, term) for atom in rule.atoms]
    body += [print_comparison(comparison, term) for comparison in rule.comparisons]
    return f"{print_atom(rule.head, term)} :- {', '.join(body)}."


def term_printer(rule: Rule) -> Callable[[Term], str]:
    """Prints the terms of `rule`: anonymous variables as `_`, or by a name if they occur twice."""
    terms = [*rule.head.terms, *body_terms(rule)]
    count = Counter(term for term in terms if isinstance(term, Var))
    used = {var.name for var in count}
    names: dict[Var, str] = {}
    for var, times in count.items():
        if "#" in var.name and times > 1:
            name = "_" + var.name.rpartition("#")[2]
            while name in used:
                name += "_"
            used.add(name)
            names[var] = name

    def show(term: Term) -> str:
        return names[term] if isinstance(term, Var) and term in names else print_term(term)

    return show


def print_relation(relation: Relation) -> str:
    """A `.decl` line."""
    names = [column.name for column in relation.columns]
    columns = ", ".join(
        c.name if c.type == ANY else f"{c.name}: {c.type}" for c in relation.columns
    )
    parts = [f".decl {relation.name}({columns})"]
    parts += [f"key({', '.join(names[i] for i in key)})" for key in relation.keys]
    parts += [
        f"references {ref.relation}({', '.join(names[i] for i in ref.columns)})"
        for ref in relation.references
    ]
    return " ".join(parts)
