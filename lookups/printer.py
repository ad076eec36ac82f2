"""Plans as text: the golden form, which people review and tests compare.

A change's values are written in lower case after the variables they are bound to, so the insertion
of `r(U, X, Y)` is `r(u, x, y)`; `-` is any value; constants keep their spelling, strings in quotes.
"""

from __future__ import annotations

from collections.abc import Iterator

from cq.printer import print_atom, print_rule, print_term, print_value
from cq.query import Query
from cq.syntax import Const, Var
from lookups.plan import (
    DELETIONS,
    Alternative,
    Any,
    Contradiction,
    Found,
    Given,
    Lookup,
    Plan,
    Ref,
    Rule,
    Screen,
    Step,
)
from lookups.verdict import Answer

_RULES = {
    Rule.DELETE_EXPOSED: "all variables of the subgoal are exposed",
    Rule.DELETE_KEY: "a key of the relation is exposed",
    Rule.DELETE_HIDDEN: "some variable of the subgoal is hidden",
    Rule.INSERT_ALONE: "there is no other subgoal",
    Rule.INSERT_EXPOSED: "all join variables are exposed",
    Rule.INSERT_HIDDEN: "a join variable is hidden, and no group's answers depend on it",
    Rule.INSERT_NEVER: "a group's answers depend on a hidden join variable",
}


def print_plan(plan: Plan) -> str:
    """The whole plan, one block per subgoal of the relation."""
    query = plan.query
    lines = [
        f"plan {query.name}: {plan.action} {'into' if plan.action == 'insert' else 'from'} "
        f"{plan.relation}",
        *_rule_lines(query),
    ]
    lines += [f"  without {print_atom(gone.atom)}: {gone.reason}" for gone in query.dropped]
    if not query.is_minimal:
        lines.append("  note    minimization stopped early; a redundant subgoal may be left")
    if not plan.steps:
        lines.append("  the view does not depend on this relation: every change is irrelevant")
    for step in plan.steps:
        lines += ["", *_step_lines(query, step)]
    return "\n".join(lines)


class Names:
    """How the values of a change of one subgoal are written."""

    def __init__(self, query: Query, subgoal: int) -> None:
        self.query = query
        self.atom = query.atoms[subgoal]
        variables = [term for term in self.atom.terms if isinstance(term, Var)]
        lower = [var.name.lower() for var in dict.fromkeys(variables)]
        self.clash = {name for name in lower if lower.count(name) > 1}

    def ref(self, ref: Ref) -> str:
        if isinstance(ref, Const):
            return constant(ref)
        term = self.atom.terms[ref.position]
        if isinstance(term, Const):
            return constant(term)
        if print_term(term) == "_":
            return "_"
        return term.name if term.name.lower() in self.clash else term.name.lower()

    def change(self) -> str:
        cells = (self.ref(Given(i)) for i in range(len(self.atom.terms)))
        return f"{self.atom.predicate}({', '.join(cells)})"

    def lookup(self, lookup: Lookup, shown: dict[int, str] | None = None) -> str:
        """The pattern; `shown` puts names into columns that the pattern leaves open."""
        cells = dict(lookup.pattern)
        open_ = shown or {}
        texts = (
            self.ref(cells[column]) if column in cells else open_.get(column, "-")
            for column in range(len(self.query.head))
        )
        return f"{self.query.name}({', '.join(texts)})"

    def head(self, column: int) -> str:
        return print_term(self.query.head[column])


def constant(term: Const) -> str:
    """A constant among values in lower case: strings are quoted, so none looks like a value."""
    if isinstance(term.value, str):
        text = print_value(term.value)
        return text if text.startswith("'") else f"'{text}'"
    return print_value(term.value)


def print_answer(query: Query, answer: Answer) -> str:
    """The pattern of a lookup that was made, with the values that stood in it."""
    cells = {
        column: "NULL" if value is None else repr(value)
        for column, value in zip(answer.lookup.columns, answer.values, strict=True)
    }
    texts = (cells.get(column, "-") for column in range(len(query.head)))
    return f"{query.name}({', '.join(texts)})"


def _step_lines(query: Query, step: Step) -> Iterator[str]:
    names = Names(query, step.subgoal)
    yield f"  subgoal {step.subgoal + 1}: {names.change()}"
    yield f"    rule    {step.rule}: {_RULES[step.rule]}"
    screen = print_screen(step.screen, names)
    if screen:
        yield f"    screen  {screen}"
    for child in step.children:
        refers = query.atoms[child.subgoal].predicate
        yield f"    keys    unaffected if a key comes or goes: {refers} refers to it"
    yield from _folded("    VDU     ", _vdu(step, names), "or ")
    yield from _folded("    VSM     ", _vsm(step, names), "and ")
    yield from _folded("    rows    ", _rows(step, names), "for each ")


_WIDTH = 96
"""A line longer than this is folded at its joining words."""


def _rule_lines(query: Query) -> list[str]:
    line = f"  view    {print_rule(query.rule())}"
    if len(line) <= _WIDTH:
        return [line]
    head, _, body = line.partition(" :- ")
    return [f"{head} :-", " " * 12 + body]


def _folded(label: str, parts: list[str], word: str) -> Iterator[str]:
    """`parts` joined by `word`, on one line if they fit, else one under the other."""
    line = label + f" {word}".join(parts)
    if len(line) <= _WIDTH:
        yield line
        return
    yield label + parts[0]
    yield from (" " * len(label) + word + part for part in parts[1:])


def print_screen(screen: Screen, names: Names) -> str:
    """The tests a change must pass to match the subgoal."""
    if screen.is_closed:
        return "nothing passes: the view is empty in every database"
    parts = [f"value {i + 1} = {constant(value)}" for i, value in screen.constants]
    parts += [f"value {second + 1} = {names.ref(Given(first))}" for first, second in screen.equal]
    parts += [f"{names.ref(Given(position))} is not NULL" for position in screen.non_null]
    parts += [f"{names.ref(t.left)} {t.operator} {names.ref(t.right)}" for t in screen.tests]
    return ", ".join(parts)


def _vdu(step: Step, names: Names) -> list[str]:
    """The tests that show the view unaffected, of which one suffices."""
    if step.vdu is not None and step.rule in DELETIONS:
        return [f"no {names.lookup(step.vdu)}"]
    tests = [names.lookup(step.vdu)] if step.vdu is not None else []
    tests += [print_contradiction(contradiction, names) for contradiction in step.contradictions]
    if tests:
        return tests
    if step.rule is Rule.INSERT_NEVER:
        return ["never"]
    return [f"not looked up: the key is new{_unless(step, names)}"]


def _unless(step: Step, names: Names) -> str:
    """Where an exposed key is looked up after all."""
    columns = " or ".join(names.ref(Given(position)) for position in step.key)
    return f", unless {columns} is NULL" if columns else ""


def print_contradiction(contradiction: Contradiction, names: Names) -> str:
    """A row with the key, and another value somewhere the change fixes one."""
    differs = {column: f"not {names.ref(ref)}" for column, ref in contradiction.differs}
    together = " (one differs)" if len(differs) > 1 else ""
    return names.lookup(contradiction.lookup, differs) + together


def _vsm(step: Step, names: Names) -> list[str]:
    """The VSM test: lookups that are all needed, alternatives with "or" in brackets."""
    match step.rule:
        case Rule.DELETE_EXPOSED | Rule.DELETE_KEY | Rule.INSERT_ALONE:
            return ["always"]
        case Rule.INSERT_HIDDEN if step.vdu is None and not step.contradictions:
            return [f"never{_unless(step, names)}"]
        case Rule.DELETE_HIDDEN | Rule.INSERT_HIDDEN:
            return ["same as VDU"]
        case Rule.INSERT_NEVER:
            return ["same as VDU" if step.contradictions else "never"]
        case Rule.INSERT_EXPOSED:
            assert step.vsm is not None
            return [_need(need, names) for need in step.vsm.needs]


def _need(need: Any, names: Names) -> str:
    texts = [_alternative(alternative, names) for alternative in need.alternatives]
    return texts[0] if len(texts) == 1 else f"[{' or '.join(texts)}]"


def _alternative(alternative: Alternative, names: Names) -> str:
    text = names.lookup(alternative.lookup)
    equalities = [f"{names.ref(e.left)} = {names.ref(e.right)}" for e in alternative.condition]
    return f"{text} if {' and '.join(equalities)}" if equalities else text


def _rows(step: Step, names: Names) -> list[str]:
    """What changes in the view, then where each group's values come from."""
    if step.rule in (Rule.DELETE_EXPOSED, Rule.DELETE_KEY):
        assert step.vdu is not None
        return [f"delete {names.lookup(step.vdu)}"]
    if step.rows is None:
        return ["none"]
    cells = [
        names.head(cell.column) if isinstance(cell, Found) else names.ref(cell)
        for cell in step.rows.cells
    ]
    text = f"insert {names.query.name}({', '.join(cells)})"
    needs = [need for need in step.vsm.needs if need.gives] if step.vsm is not None else []
    sources = [
        f"{', '.join(map(names.head, need.gives))} of "
        + names.lookup(need.alternatives[0].lookup, {c: names.head(c) for c in need.gives})
        for need in needs
    ]
    return [text, *sources]
