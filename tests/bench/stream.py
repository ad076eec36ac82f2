"""Views with many rows and the changes that are decided on them, drawn with a fixed seed.

Customers and products are as skewed as they are in life: the first percent of the customers has
about a fifth of the orders.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.bench.views import RETAIL

SEED = 20_240_229
REGIONS = ("EU", "US", "APAC", "LATAM")

PLAIN = """\
sales(O, C, N, G, P, K, Q) :- orders(O, C, P, Q), customer(C, N, G), product(P, K).
pairs(C, N, P, K)          :- orders(_, C, P, _), customer(C, N, _), product(P, K).
"""
DECLARED = RETAIL + PLAIN
STAFF = """\
.decl staff(id: long, name: string, boss: long) key(id) references staff(boss)
bosses(E, N, B, M) :- staff(E, N, B), staff(B, M, _).
"""
LEGS = "trips(A, B, C) :- leg(A, B), leg(B, C).\n"

Change = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Retail:
    """Orders with the customer and the product of each, and further changes of the same kind."""

    orders: list[tuple[int, int, int, int]]
    customers: int
    products: int
    draw: random.Random

    @classmethod
    def of(cls, rows: int) -> Retail:
        draw = random.Random(SEED)
        customers, products = max(rows // 10, 3), max(rows // 50, 3)
        retail = cls([], customers, products, draw)
        retail.orders.extend(retail.new_orders(0, rows))
        return retail

    def skewed(self, size: int) -> int:
        return int(size * self.draw.random() ** 3)

    def new_orders(self, first: int, count: int) -> list[tuple[int, int, int, int]]:
        """Orders of customers and products that exist, though perhaps without an order so far."""
        return [
            (
                first + i,
                self.skewed(self.customers),
                self.skewed(self.products),
                self.draw.randrange(1, 50),
            )
            for i in range(count)
        ]

    def sales(self) -> list[Change]:
        return [
            (o, c, f"customer {c}", REGIONS[c % len(REGIONS)], p, f"category {p % 40}", q)
            for o, c, p, q in self.orders
        ]

    def pairs(self) -> set[Change]:
        return {(c, n, p, k) for _, c, n, _, p, k, _ in self.sales()}

    def inserts(self, count: int) -> list[Change]:
        return list(self.new_orders(len(self.orders), count))

    def repeated_pairs(self, count: int) -> list[Change]:
        """New orders of what the same customer has bought before."""
        first = len(self.orders)
        old = self.draw.choices(self.orders, k=count)
        return [(first + i, c, p, q) for i, (_, c, p, q) in enumerate(old)]

    def unknown_customers(self, count: int) -> list[Change]:
        orders = self.new_orders(len(self.orders), count)
        return [(o, self.customers + o, p, q) for o, _, p, q in orders]

    def deletes(self, count: int) -> list[Change]:
        return list(self.draw.sample(self.orders, min(count, len(self.orders))))

    def new_customers(self, count: int) -> list[Change]:
        return [(self.customers + i, f"customer {i}", REGIONS[0]) for i in range(count)]


def staff(count: int) -> list[tuple[int, str, int]]:
    """Employees under bosses with a lower number; the first is her own boss."""
    draw = random.Random(SEED)
    return [(i, f"name {i}", int(i * draw.random() ** 2)) for i in range(count)]


def bosses(people: list[tuple[int, str, int]]) -> list[Change]:
    return [(i, name, boss, people[boss][1]) for i, name, boss in people]


def new_staff(people: list[tuple[int, str, int]], count: int) -> list[Change]:
    draw = random.Random(SEED + 1)
    bosses_of = draw.choices(people, k=count)
    return [(len(people) + i, f"new {i}", boss[2]) for i, boss in enumerate(bosses_of)]


def legs(trips: int, degree: int) -> list[tuple[int, int]]:
    """A network in which about `trips` pairs of legs connect: `degree` legs leave every place."""
    draw = random.Random(SEED)
    places = max(trips // degree**2, 3)
    each = range(min(degree, places - 1))
    found = {(a, draw.randrange(places)) for a in range(places) for _ in each}
    return sorted(found)


def trips(network: list[tuple[int, int]]) -> set[Change]:
    onward: dict[int, list[int]] = {}
    for a, b in network:
        onward.setdefault(a, []).append(b)
    return {(a, b, c) for a, b in network for c in onward.get(b, ())}


def new_legs(network: list[tuple[int, int]], count: int) -> list[Change]:
    """Legs that do not exist yet between places that do."""
    draw = random.Random(SEED + 1)
    known = set(network)
    places = sorted({place for leg in network for place in leg})
    found: dict[tuple[int, int], None] = {}
    for _ in range(20 * count):
        leg = (draw.choice(places), draw.choice(places))
        if leg not in known:
            found[leg] = None
        if len(found) == count:
            break
    return list(found)
