"""Text to syntax, with every error of the text.

The text is lexed once and cut into statements (a rule ends at its full stop, a declaration where
its clauses end). Each statement is parsed on its own by the lark grammar beside this module, so one
broken statement costs one diagnostic and hides nothing behind it.

Law: for every text, `parse_syntax` returns within time linear in its length and never raises; what
it could not read is a diagnostic.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from cq.diagnostics import Diagnostic, Span, shorten
from cq.syntax import (
    Atom,
    ColumnSyntax,
    Comparison,
    Const,
    Declaration,
    NameRef,
    Operator,
    ReferencesSyntax,
    Rule,
    Syntax,
    Term,
    Var,
)

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

Node: TypeAlias = Any
"""A parse tree of lark: which children it has is the grammar's business, not the type checker's."""

_WORDS = {
    "DECL": "`.decl`",
    "DOT": "`.`",
    "IMPLIES": "`:-`",
    "OP": "a comparison",
    "TIMESTAMP": "a constant",
    "DATE": "a constant",
    "NUMBER": "a constant",
    "STRING": "a constant",
    "VAR": "a variable",
    "NAME": "a name",
    "COMMA": "`,`",
    "AMPERSAND": "`&`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "COLON": "`:`",
    "KEY": "`key`",
    "REFERENCES": "`references`",
    "$END": "the end of the declaration",
}


@cache
def _lark() -> Lark:
    # Imported on first use: reading a grammar takes longer than everything else at import.
    from lark import Lark

    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", start="statement", maybe_placeholders=True)


def parse_syntax(text: str) -> tuple[Syntax, list[Diagnostic]]:
    """Everything that could be read of `text`, and what could not.

    Example:
        >>> syntax, errors = parse_syntax("v(X) :- r(X, Y), s(Y). w(X) :- .")
        >>> len(syntax.rules), [error.code for error in errors]
        (1, ['CQ101'])
    """
    diagnostics: list[Diagnostic] = []
    reader = _Reader(diagnostics)
    declarations: list[Declaration] = []
    rules: list[Rule] = []
    tokens, bad = _tokens(text)
    diagnostics += map(_unexpected_characters, bad)
    for statement in _statements(tokens):
        tree, error = _parse(statement)
        if error is not None and not _is_hurt(statement, bad):
            diagnostics.append(error)
        if tree is None:
            continue
        node: Node = tree.children[0]
        if node.data == "declaration":
            declarations.append(reader.declaration(node))
        else:
            rules.append(reader.rule(node))
    return Syntax(tuple(declarations), tuple(rules)), diagnostics


def _tokens(text: str) -> tuple[list[Token], list[list[Token]]]:
    """The tokens of `text`, and the runs of characters that start no token."""
    tokens: list[Token] = []
    bad: list[list[Token]] = []
    for token in _lark().lex(text):
        if token.type != "BAD":
            tokens.append(token)
        elif bad and bad[-1][-1].end_pos == token.start_pos:
            bad[-1].append(token)
        else:
            bad.append([token])
    return tokens, bad


def _is_hurt(statement: list[Token], bad: list[list[Token]]) -> bool:
    """Whether characters were left out of the statement: what it lacks then is said already."""
    first, last = statement[0].start_pos or 0, statement[-1].end_pos or 0
    after = bisect_left(bad, first, key=lambda run: run[0].start_pos or 0)
    return after < len(bad) and (bad[after][0].start_pos or 0) < last


def _unexpected_characters(run: list[Token]) -> Diagnostic:
    piece = "".join(run)
    span = Span(run[0].line or 0, run[0].column or 0, len(piece))
    if piece[0] in "'\"":
        return Diagnostic(
            "CQ100",
            "a quoted string does not end on its line",
            span,
            ("close it with the same quote; inside, write \\' \\\" \\\\ \\n \\t",),
        )
    shown = shorten(
        piece.encode("unicode_escape").decode("ascii") if not piece.isprintable() else piece
    )
    help_ = (
        ("a name starts with a letter a-z, a variable with A-Z or _",)
        if piece[0].isalpha()
        else ('write "and" as `,` or `&`; comments start with `%`',)
    )
    return Diagnostic("CQ100", f"`{shown}` means nothing here", span, help_)


def _statements(tokens: list[Token]) -> Iterator[list[Token]]:
    """Cut at full stops, and where a declaration's clauses end (it needs no full stop)."""
    start = 0
    while start < len(tokens):
        end = _declaration_end(tokens, start) if tokens[start].type == "DECL" else start
        if end == start:
            end = start + 1
            while (
                end < len(tokens) and tokens[end - 1].type != "DOT" and tokens[end].type != "DECL"
            ):
                end += 1
        yield tokens[start:end]
        start = end


def _declaration_end(tokens: list[Token], start: int) -> int:
    """One past a well-bracketed declaration at `start`, its clause words retagged; else `start`."""
    at = _after_brackets(tokens, start + 2)
    if at is None:
        return start
    while at < len(tokens):
        word = at + (tokens[at].type == "COMMA")
        if word >= len(tokens):
            break
        if tokens[word] == "key" and tokens[word].type == "NAME":
            tokens[word] = tokens[word].update(type="KEY")
            after = _after_brackets(tokens, word + 1)
        elif tokens[word] == "references" and tokens[word].type == "NAME":
            tokens[word] = tokens[word].update(type="REFERENCES")
            after = _after_brackets(tokens, word + 2)
        else:
            break
        if after is None:
            return start
        at = after
    return at + (at < len(tokens) and tokens[at].type == "DOT")


def _after_brackets(tokens: list[Token], at: int) -> int | None:
    """One past the bracket that closes the one at `at`; None where none opens or it stays open."""
    if at >= len(tokens) or tokens[at].type != "LPAR":
        return None
    depth = 0
    while at < len(tokens) and tokens[at].type not in ("DOT", "DECL", "IMPLIES"):
        depth += {"LPAR": 1, "RPAR": -1}.get(tokens[at].type, 0)
        at += 1
        if depth == 0:
            return at
    return None


def _parse(tokens: list[Token]) -> tuple[Tree[Token] | None, Diagnostic | None]:
    """The tree of a statement, or what is wrong with it."""
    from lark.exceptions import UnexpectedToken

    parser: Any = _lark().parse_interactive()
    token = tokens[0]
    try:
        for token in tokens:
            parser.feed_token(token)
        return parser.feed_eof(tokens[-1]), None
    except UnexpectedToken as error:
        expected = sorted({_WORDS[name] for name in parser.accepts() - {"BAD"}})
        at_end = error.token.type == "$END"
        found = "the statement ends too early" if at_end else f"unexpected `{shorten(token)}`"
        span = _span(tokens[-1]) if at_end else _span(token)
        help_ = (f"expected {_or(expected)}",) if expected else ()
        return None, Diagnostic("CQ101", found, span, help_)


def _or(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _span(token: Token) -> Span:
    return Span(token.line or 0, token.column or 0, len(token))


@dataclass(slots=True)
class _Reader:
    """Parse trees to nodes. `_` becomes a fresh variable whose name no text can spell."""

    diagnostics: list[Diagnostic]
    anonymous: int = field(default=0)

    def declaration(self, tree: Node) -> Declaration:
        children = tree.children
        name, columns = children[1], children[2]
        keys: list[tuple[NameRef, ...]] = []
        references: list[ReferencesSyntax] = []
        for clause in children[3:]:
            if not hasattr(clause, "children"):
                continue  # the optional full stop
            words = clause.children[-1]
            names = tuple(self.name(word.children[0]) for word in words.children) if words else ()
            if clause.data == "key":
                keys.append(names)
            else:
                references.append(ReferencesSyntax(self.name(clause.children[1]), names))
        listed = columns.children if columns else []
        return Declaration(
            self.name(name),
            tuple(self.column(column) for column in listed),
            tuple(keys),
            tuple(references),
        )

    def column(self, tree: Node) -> ColumnSyntax:
        name, kind, *numbers = tree.children
        name_ref = self.name(name.children[0])
        kind_ref = (
            self.name(kind.children[0]) if kind is not None else NameRef("any", name_ref.span)
        )
        arguments = tuple(self.whole(number) for number in numbers if number is not None)
        return ColumnSyntax(name_ref, kind_ref, arguments)

    def whole(self, token: Token) -> int:
        if len(token) <= 9 and token.isdigit():
            return int(token)
        return -1  # reported by the checker, which knows what the number is for

    @staticmethod
    def name(token: Token) -> NameRef:
        return NameRef(str(token), _span(token))

    def rule(self, tree: Node) -> Rule:
        head, body, _stop = tree.children
        atoms: list[Atom] = []
        comparisons: list[Comparison] = []
        for literal in body.children if body is not None else ():
            node = literal.children[0]
            if node.data == "atom":
                atoms.append(self.atom(node))
            else:
                comparisons.append(self.comparison(node))
        return Rule(self.atom(head), tuple(atoms), tuple(comparisons))

    def atom(self, tree: Node) -> Atom:
        name, terms = tree.children
        listed = tuple(self.term(term) for term in terms.children) if terms is not None else ()
        span = _span(name)
        end = listed[-1].span if listed else span
        closed = span.to(Span(end.line, end.column, end.length + 1))
        return Atom(str(name), listed, closed)

    def comparison(self, tree: Node) -> Comparison:
        left, op, right = tree.children
        first, second = self.term(left), self.term(right)
        return Comparison(first, cast(Operator, str(op)), second, span=first.span.to(second.span))

    def term(self, tree: Node) -> Term:
        token: Token = tree.children[0]
        span = _span(token)
        match token.type:
            case "VAR" if token == "_":
                self.anonymous += 1
                return Var(f"_#{self.anonymous}", span)
            case "VAR":
                return Var(str(token), span)
            case "NAME":
                return self.word(token, span)
            case "STRING":
                return Const(self.string(token, span), span)
            case "NUMBER":
                return Const(self.number(token, span), span)
            case "DATE" | "TIMESTAMP":
                return Const(self.time(token, span), span)
            case _:
                raise AssertionError(token.type)

    def word(self, token: Token, span: Span) -> Const:
        if token in ("true", "false"):
            return Const(token == "true", span)
        if token == "null":
            self.diagnostics.append(
                Diagnostic(
                    "CQ123",
                    "NULL is not a constant of the language: it equals nothing",
                    span,
                    ("leave the column unconstrained with `_`, or quote it: 'null'",),
                )
            )
        return Const(str(token), span)

    def number(self, token: Token, span: Span) -> int | Decimal:
        if len(token) > 400:
            self.diagnostics.append(
                Diagnostic("CQ124", "a number of more than 400 digits fits no type", span)
            )
            return 0
        if token.lstrip("+-").isdigit():
            return int(token)
        try:
            number = Decimal(str(token))
        except InvalidOperation:  # an exponent beyond what even Decimal holds
            number = Decimal("inf")
        if math.isinf(number) or math.isinf(float(number)):
            self.diagnostics.append(
                Diagnostic("CQ124", f"`{shorten(token)}` is beyond what any type holds", span)
            )
            return 0
        return number

    def time(self, token: Token, span: Span) -> date:
        try:
            if token.type == "DATE":
                return date.fromisoformat(token)
            return datetime.fromisoformat(token)
        except ValueError:
            self.diagnostics.append(
                Diagnostic("CQ124", f"`{token}` is no day or time of the calendar", span)
            )
            return date(1970, 1, 1)

    def string(self, token: Token, span: Span) -> str:
        body = token[1:-1]
        if "\\" not in body:
            return str(body)
        out: list[str] = []
        chars = iter(body)
        for char in chars:
            if char != "\\":
                out.append(char)
                continue
            code = next(chars)
            if code not in _ESCAPES:
                self.diagnostics.append(
                    Diagnostic(
                        "CQ124",
                        f"`\\{code}` is no escape",
                        span,
                        ("write \\' \\\" \\\\ \\n \\r \\t, or the character itself",),
                    )
                )
            out.append(_ESCAPES.get(code, code))
        return "".join(out)


_ESCAPES = {"'": "'", '"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
