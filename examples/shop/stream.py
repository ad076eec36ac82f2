"""Batches that look like a shop's life: each reads the shop as it is, and says what changes.

A batch is net, as `Warehouse.apply` needs it, and keeps every declared key and foreign key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from examples.shop.data import (
    CATEGORIES,
    LINES,
    REGIONS,
    Size,
    Span,
    bought,
    customers,
    order_lines,
    orders,
    products,
)
from warehouse.batches import CHANGE, DELETE, INSERT, netted

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from selfmaint import Program
    from warehouse.sources import DeltaSource

Batch: TypeAlias = Mapping[str, DataFrame]


@dataclass
class Shop:
    """The shop between two batches.

    Args:
        known: the customers and products that there were before the first batch.
        customers, products, orders: the last number given to one.
        idle_customers, idle_products: those that came without an order, since they last got one.
    """

    spark: SparkSession
    program: Program
    source: DeltaSource
    known: Size
    batch: int = 0
    customers: int = field(init=False)
    products: int = field(init=False)
    orders: int = field(init=False)
    idle_customers: Span | None = None
    idle_products: Span | None = None

    def __post_init__(self) -> None:
        self.customers = self.known.customers.last
        self.products = self.known.products.last
        self.orders = self.known.orders

    def read(self, relation: str) -> DataFrame:
        return self.source.read(relation, self.source.version())

    def some(self, relation: str, count: int) -> DataFrame:
        """So many rows, other ones in each batch, and always the same ones."""
        rows = self.read(relation)
        (key,) = self.program.relations[relation].keys
        names = [rows.columns[i] for i in key]
        chance = sf.xxhash64(sf.lit(self.batch), *map(sf.col, names))
        return rows.orderBy(chance, *names).limit(count)

    def add_customers(self, count: int) -> tuple[Span, Batch]:
        span = Span.after(self.customers, count)
        self.customers = span.last
        return span, {"customers": inserted(customers(self.spark, span))}

    def add_products(self, count: int) -> tuple[Span, Batch]:
        span = Span.after(self.products, count)
        self.products = span.last
        return span, {"products": inserted(products(self.spark, span))}

    def add_orders(self, count: int, buyers: Span | None = None, sold: Span | None = None) -> Batch:
        """Orders with their lines, of the customers and products known from the start."""
        span = Span.after(self.orders, count)
        self.orders = span.last
        placed = orders(self.spark, span, buyers or self.known.customers)
        lines = order_lines(placed, sold or self.known.products)
        return {"orders": inserted(placed), "order_lines": inserted(lines)}


# What happens. Each takes about how many changes there should be.


def regulars_order(shop: Shop, changes: int) -> Batch:
    return shop.add_orders(as_orders(changes))


def newcomers_order(shop: Shop, changes: int) -> Batch:
    count = share(changes, LINES + 2)
    span, new = shop.add_customers(count)
    return {**new, **shop.add_orders(count, buyers=span)}


def orders_are_cancelled(shop: Shop, changes: int) -> Batch:
    gone = shop.some("orders", as_orders(changes))
    lines = shop.read("order_lines").join(sf.broadcast(gone), "order_id", "left_semi")
    return {"orders": deleted(gone), "order_lines": deleted(lines)}


def customers_move(shop: Shop, changes: int) -> Batch:
    movers = shop.some("customers", share(changes, 2))
    return {"customers": updated(movers, region=next_of(tuple(REGIONS), "region"))}


def orders_come_and_go(shop: Shop, changes: int) -> Batch:
    """Placed and cancelled before the batch ended: its net effect is nothing."""
    batch = shop.add_orders(as_orders(changes))

    def net(relation: str, placed: DataFrame) -> DataFrame:
        cancelled = placed.withColumn(CHANGE, sf.lit(DELETE))
        log = placed.withColumn("at", sf.lit(1)).union(cancelled.withColumn("at", sf.lit(2)))
        return netted(shop.program.relations[relation], log, "at")

    return {relation: net(relation, placed) for relation, placed in batch.items()}


def lines_are_added(shop: Shop, changes: int) -> Batch:
    open_orders = shop.some("orders", changes)
    # No order has so many lines yet, and each gets one a batch.
    lines = open_orders.select("order_id", sf.lit(100 + shop.batch).alias("line"))
    return {"order_lines": inserted(lines.select("order_id", "line", *bought(shop.known.products)))}


def products_arrive(shop: Shop, changes: int) -> Batch:
    shop.idle_products, batch = shop.add_products(changes)
    return batch


def new_products_sell(shop: Shop, changes: int) -> Batch:
    return shop.add_orders(as_orders(changes), sold=shop.idle_products)


def prices_rise(shop: Shop, changes: int) -> Batch:
    dearer = (sf.col("price") + 1).cast("decimal(10,2)")
    return {"products": updated(shop.some("products", share(changes, 2)), price=dearer)}


def products_are_reclassified(shop: Shop, changes: int) -> Batch:
    chosen = shop.some("products", share(changes, 2))
    return {"products": updated(chosen, category=next_of(CATEGORIES, "category"))}


def customers_register(shop: Shop, changes: int) -> Batch:
    shop.idle_customers, batch = shop.add_customers(changes)
    return batch


def registered_customers_order(shop: Shop, changes: int) -> Batch:
    return shop.add_orders(as_orders(changes), buyers=shop.idle_customers)


def quantities_are_corrected(shop: Shop, changes: int) -> Batch:
    chosen = shop.some("order_lines", share(changes, 2))
    return {"order_lines": updated(chosen, qty=sf.col("qty") + 1)}


def a_mixed_day(shop: Shop, changes: int) -> Batch:
    """A bit of everything; no two parts touch the same row."""
    part = share(changes, 3)
    return together(
        newcomers_order(shop, part),
        regulars_order(shop, part),
        orders_are_cancelled(shop, part),
        customers_move(shop, share(part, 20)),  # each of them has many rows in the views
    )


Happening: TypeAlias = Callable[[Shop, int], Batch]


@dataclass(frozen=True, slots=True)
class Event:
    """What happens in a batch.

    Args:
        share: of all changes, this batch's part relative to the others'.
    """

    words: str
    share: float
    happening: Happening


REGULARS: Final = Event("regulars order", 10, regulars_order)
MOVES: Final = Event("customers move", 0.2, customers_move)
MORE_LINES: Final = Event("lines added to old orders", 6, lines_are_added)
PRICES: Final = Event("prices rise, no view shows them", 0.5, prices_rise)
CORRECTIONS: Final = Event("quantities are corrected", 6, quantities_are_corrected)

EVENTS: Final = (
    REGULARS,
    Event("newcomers order", 6, newcomers_order),
    Event("orders are cancelled", 6, orders_are_cancelled),
    Event("orders placed and cancelled", 2, orders_come_and_go),
    MOVES,
    Event("new products, not sold yet", 1, products_arrive),
    Event("these products sell", 4, new_products_sell),
    MORE_LINES,
    PRICES,
    Event("products change category", 0.2, products_are_reclassified),
    Event("customers without an order", 1, customers_register),
    Event("their first orders", 4, registered_customers_order),
    CORRECTIONS,
    Event("a mixed day", 6, a_mixed_day),
    MORE_LINES,
    MOVES,
    CORRECTIONS,
    PRICES,
    REGULARS,
)
"""In this order, again and again. The first five stand for the rest where there is little time."""


def schedule(batches: int, changes: int) -> list[tuple[Event, int]]:
    """The events of so many batches, with the changes of each."""
    events = [EVENTS[i % len(EVENTS)] for i in range(batches)]
    total = sum(event.share for event in events)
    return [(event, max(2, round(changes * event.share / total))) for event in events]


# Parts of batches


def as_orders(changes: int) -> int:
    """How many orders with their lines make so many changes."""
    return share(changes, LINES + 1)


def share(changes: int, parts: float) -> int:
    return max(1, round(changes / parts))


def inserted(rows: DataFrame) -> DataFrame:
    return rows.withColumn(CHANGE, sf.lit(INSERT))


def deleted(rows: DataFrame) -> DataFrame:
    return rows.withColumn(CHANGE, sf.lit(DELETE))


def updated(rows: DataFrame, **columns: Column) -> DataFrame:
    """These rows go, and come back with other values in some columns."""
    new = rows.select(*(columns.get(name, sf.col(name)).alias(name) for name in rows.columns))
    return deleted(rows).union(inserted(new))


def next_of(values: tuple[str, ...], column: str) -> Column:
    """The value after the column's; after the last comes the first."""
    place = sf.array_position(sf.array(*map(sf.lit, values)), sf.col(column)).cast("int")
    return sf.get(sf.array(*map(sf.lit, values)), place % len(values))


def together(*batches: Batch) -> Batch:
    """One batch of several that change different rows."""
    relations = dict.fromkeys(relation for batch in batches for relation in batch)
    return {
        relation: reduce(DataFrame.union, (b[relation] for b in batches if relation in b))
        for relation in relations
    }
