"""What declared keys determine, by hand."""

import pytest

from cq.dependencies import determined, telling_columns
from cq.program import read
from cq.syntax import Var

KEYS = """
.decl line(order: long, line: int, part: long, price: long)  key(order, line)
.decl orders(order: long, cust: long)                        key(order)
.decl cust(cust: long, name: string)                         key(cust) key(name)
.decl part(part: long, name: string)                         key(part)
.decl tag(part: long, tag: string)
"""


@pytest.mark.parametrize(
    ("view", "columns"),
    [
        # The line's key leads to everything else.
        ("v(P, N, O, L) :- line(O, L, P, _), orders(O, C), cust(C, N).", (2, 3)),
        # Nothing leads from a line's part to the line.
        ("v(P, N, C) :- line(O, L, P, _), orders(O, C), cust(C, N).", (0, 1)),
        # A relation without a key needs all that is shown of it.
        ("v(O, L, P, T) :- line(O, L, P, _), tag(P, T).", (0, 1, 3)),
        # A constant in a key is known.
        ("v(P, N) :- line(1, 1, P, _), part(P, N).", ()),
        # Either key does; the first column stays.
        ("v(C, N) :- cust(C, N), orders(_, C).", (0,)),
        ("v(N, C) :- cust(C, N).", (0,)),
        # A column that shows the same variable again, and a constant, tell nothing.
        ("v(O, O, 7) :- orders(O, C), cust(C, _).", (0,)),
    ],
)
def test_telling_columns(view: str, columns: tuple[int, ...]) -> None:
    assert telling_columns(read(KEYS + view).query("v")) == columns


def test_a_key_that_may_hold_null_determines_nothing_unless_it_has_none() -> None:
    query = read(KEYS + "v(C, N) :- cust(C, N), orders(_, C).").query("v")
    found = [determined(query, [Var("N")], [0], are_named=named) for named in (False, True)]
    assert found == [{Var("N")}, {Var("C"), Var("N")}]


def test_only_the_given_subgoals_count() -> None:
    query = read(KEYS + "v(O, N) :- orders(O, C), cust(C, N), C > 0, O > 0.").query("v")
    names = (sorted(v.name for v in determined(query, [Var("O")], which)) for which in ([0], [1]))
    assert list(names) == [["C", "O"], ["O"]]
