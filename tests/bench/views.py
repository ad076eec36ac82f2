"""The views that are compiled: the shapes people write, in any number of subgoals.

Each function returns the text of one program with a view `v` of `size` subgoals; `serial` makes the
names of its variables different from those of the last one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, permutations

RETAIL = """\
.decl orders(order_id: long, cust: long, prod: long, qty: int) key(order_id)
      references customer(cust), references product(prod)
.decl customer(cust: long, name: string, region: string) key(cust)
.decl product(prod: long, category: string) key(prod)
"""


# The usual shapes


def star(size: int, serial: int) -> str:
    """A fact with `size - 1` dimensions, everything exposed."""
    ids = [f"D{i}_{serial}" for i in range(1, size)]
    dimensions = [f"dim{i}({name}, A{name})" for i, name in enumerate(ids, 1)]
    shown = [column for name in ids for column in (name, f"A{name}")]
    return rule(["F", *shown, "Q"], [f"fact(F, {', '.join(ids)}, Q)", *dimensions])


def declared_star(size: int, serial: int) -> str:
    """The same with types, a key per relation and a foreign key per dimension."""
    numbers = range(1, size)
    columns = ", ".join(f"d{i}: long" for i in numbers)
    references = ", ".join(f"references dim{i}(d{i})" for i in numbers)
    declarations = [
        f".decl fact(f: long, {columns}, q: int) key(f) {references}",
        *(f".decl dim{i}(d{i}: long, a: string) key(d{i})" for i in numbers),
    ]
    return "\n".join([*declarations, star(size, serial)])


def compared_star(size: int, serial: int) -> str:
    """The star with a screen, a test between two dimensions and one inside a dimension."""
    first, second = (f"AD{i}_{serial}" for i in (1, 2))
    return and_also(star(size, serial), "Q >= 10", f"{first} < {second}", f"{second} != 'none'")


def hidden_star(size: int, serial: int) -> str:
    """A star whose fact key, join values and measures are not shown."""
    ids = [f"D{i}_{serial}" for i in range(1, size)]
    dimensions = [f"dim{i}({name}, A{name})" for i, name in enumerate(ids, 1)]
    return rule([f"A{name}" for name in ids], [f"fact(_, {', '.join(ids)}, _)", *dimensions])


def chain(size: int, serial: int) -> str:
    """`r1(X0, X1), r2(X1, X2), ...`, every second link exposed."""
    links = [f"X{i}_{serial}" for i in range(size + 1)]
    return rule(links[::2], [f"r{i}({links[i - 1]}, {links[i]})" for i in range(1, size + 1)])


def self_joins(size: int, serial: int) -> str:
    """Exposed self-joins: one relation that vouches for itself in many ways."""
    names = [f"{letter}{serial}" for letter in "ABCDEF"]
    pairs = [*islice(permutations(names, 2), size - 2), ("d", names[0])]
    return rule(names, [f"r({', '.join(names)})", *(f"p({a}, {b})" for a, b in pairs)])


def screened_self_joins(size: int, serial: int) -> str:
    """The same with a comparison that no condition may contradict."""
    return and_also(self_joins(size, serial), f"A{serial} < B{serial}")


def rule(head: Iterable[str], body: Iterable[str]) -> str:
    return f"v({', '.join(head)}) :- {', '.join(body)}.\n"


def and_also(text: str, *literals: str) -> str:
    return ", ".join([text.removesuffix(".\n"), *literals]) + ".\n"


SHAPES: dict[str, Callable[[int, int], str]] = {
    "star": star,
    "star with keys and foreign keys": declared_star,
    "star with comparisons": compared_star,
    "star with hidden joins": hidden_star,
    "chain": chain,
    "exposed self-joins": self_joins,
    "exposed self-joins with a screen": screened_self_joins,
}


# Many subgoals of one relation


def path(size: int) -> str:
    """A path with hidden inner nodes: many homomorphisms to try, none that removes a subgoal."""
    return rule(["X0", f"X{size}"], [f"e(X{i}, X{i + 1})" for i in range(size)])


def cycle(size: int) -> str:
    """A Boolean cycle: every subgoal looks like every other."""
    return rule([], [f"e(X{i}, X{(i + 1) % size})" for i in range(size)])


def random_graph(size: int) -> str:
    """A random pattern; with thirty edges minimization does not finish within its bound."""
    draw, nodes = random.Random(1), size // 2
    return rule([], [f"e(X{draw.randrange(nodes)}, X{draw.randrange(nodes)})" for _ in range(size)])


def redundant(size: int) -> str:
    """All subgoals but one are too many."""
    return rule(["X"], [f"e(X, Y{i})" for i in range(size)])


def reordered(size: int) -> str:
    """Each subgoal over the same six exposed variables: every one may vouch for every other."""
    orders = list(permutations("ABCDEF"))
    random.Random(1).shuffle(orders)
    return rule("ABCDEF", [f"e({', '.join(order)})" for order in orders[:size]])


ONE_RELATION: dict[str, Callable[[int], str]] = {
    "path": path,
    "cycle": cycle,
    "random graph": random_graph,
    "redundant": redundant,
    "permutations": reordered,
}


# Many views in one file

_BODIES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("O", "C", "N", "G", "P", "K", "Q"),
        ("orders(O, C, P, Q)", "customer(C, N, G)", "product(P, K)"),
    ),
    (("O", "N"), ("orders(O, C, _, Q)", "customer(C, N, 'EU')", "Q >= {n}")),
    (("N", "K"), ("orders(_, C, P, _)", "customer(C, N, _)", "product(P, K)")),
    (
        ("O1", "O2", "C"),
        ("orders(O1, C, P, _)", "orders(O2, C, P, Q)", "product(P, 'k{n}')", "Q < {n}"),
    ),
    (("C", "G", "D"), ("customer(C, _, G)", "visit(C, D)", "day(D, W)", "W != {n}")),
    (
        ("O", "C", "G", "P", "K", "S"),
        (
            "orders(O, C, P, {n})",
            "customer(C, _, G)",
            "product(P, K)",
            "supply(P, S)",
            "visit(C, D)",
            "day(D, _)",
        ),
    ),
)


def many_views(count: int) -> Iterator[str]:
    """A file: declarations, then `count` views over them, of six shapes and different constants."""
    yield RETAIL
    yield ".decl visit(cust: long, day: date) references customer(cust)\n"
    yield ".decl day(day: date, week: int) key(day)\n"
    yield ".decl supply(prod: long, supplier: string) key(prod, supplier)\n"
    yield "      references product(prod)\n"
    for n in range(count):
        head, body = _BODIES[n % len(_BODIES)]
        literals = ", ".join(body).replace("{n}", str(n))
        yield f"view_{n}({', '.join(head)}) :- {literals}.\n"
