"""The stream: each batch reads the source as it is, and says what happens next.

A batch is what a working day brings: orders come with their lines and go with them, as in TPC-H's
refresh functions, customers move or are put into another segment, customers and parts are new,
prices change that no view shows, a line is corrected. It is net and keeps every declared key and
foreign key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as sf

from bench.stream.data import Size
from bench.stream.draws import Draws
from examples.shop.data import Span
from examples.shop.stream import Batch, deleted, inserted, next_of, together, updated
from warehouse.columns import struct_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from selfmaint import Program
    from warehouse.sources import DeltaSource

ORDERS_A_BATCH: Final = 0.001
"""New orders in a batch, as a share of the orders in the beginning; as many are deleted."""

NEWCOMERS: Final = 0.1
"""The share of new orders by customers that came with the stream, and of new lines about parts that
did."""

LAST_DAY: Final = date(1998, 8, 2)
"""TPC-H's last order is of that day; every batch is one later."""

NATIONS: Final = 25
MOST_LINES: Final = 7
SEGMENTS: Final = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES: Final = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
COLOURS: Final = ("almond", "azure", "blush", "coral", "ivory", "lemon", "navy", "olive", "plum")


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of each happen in a batch; all follow from the number of orders."""

    orders: int

    @classmethod
    def of(cls, size: Size) -> Counts:
        return cls(max(4, round(size.orders * ORDERS_A_BATCH)))

    @property
    def corrections(self) -> int:
        return self.part_of(2)

    @property
    def prices(self) -> int:
        return self.part_of(5)

    @property
    def moves(self) -> int:
        """Customers that move; as many change their segment."""
        return self.part_of(10)

    @property
    def newcomers(self) -> int:
        """New customers; as many parts are new."""
        return self.part_of(10)

    def part_of(self, parts: int) -> int:
        return max(1, self.orders // parts)


@dataclass
class Stream:
    """The sources between two batches.

    Args:
        size: before the first batch.
        skew: the exponent of Zipf's law, for who orders and what is ordered.
        batch: the number of the last batch. All that was new up to it follows from it.
    """

    spark: SparkSession
    program: Program
    source: DeltaSource
    size: Size
    draws: Draws
    skew: float
    batch: int = 0
    customers: int = field(init=False)
    parts: int = field(init=False)
    orders: int = field(init=False)

    def __post_init__(self) -> None:
        counts = Counts.of(self.size)
        self.customers = self.size.customers + self.batch * counts.newcomers
        self.parts = self.size.parts + self.batch * counts.newcomers
        self.orders = self.size.last_order + self.batch * counts.orders

    def next(self) -> Batch:
        """What happens in the next batch, computed once."""
        self.batch += 1
        counts = Counts.of(self.size)
        newcomers = Span.after(self.customers, counts.newcomers)
        arrivals = Span.after(self.parts, counts.newcomers)
        placed = Span.after(self.orders, counts.orders)
        self.customers, self.parts, self.orders = newcomers.last, arrivals.last, placed.last
        orders = self.new_orders(placed).localCheckpoint()
        batch = together(
            {
                "customer": inserted(self.new_customers(newcomers)),
                "part": inserted(self.new_parts(arrivals)),
                "orders": inserted(orders),
                "lineitem": inserted(self.new_lines(orders)),
            },
            self.old_orders(counts),
            self.customers_change(counts.moves),
            self.prices_change(counts.prices),
        )
        return {name: frame.localCheckpoint() for name, frame in batch.items()}

    # What is new

    def new_customers(self, span: Span) -> DataFrame:
        draws = self.draws
        return self._rows(
            "customer",
            self._numbers(span),
            customer=sf.col("id"),
            name=sf.format_string("Customer#%09d", sf.col("id")),
            nation=draws.whole(NATIONS, "nation"),
            phone=sf.format_string("%010d", draws.whole(10**9, "phone")),
            segment=draws.one_of(SEGMENTS, "segment"),
        )

    def new_parts(self, span: Span) -> DataFrame:
        draws = self.draws
        brand = sf.format_string("Brand#%d%d", *(1 + draws.whole(5, f"brand {i}") for i in (1, 2)))
        return self._rows(
            "part",
            self._numbers(span),
            part=sf.col("id"),
            name=sf.concat_ws(" ", *(draws.one_of(COLOURS, f"colour {i}") for i in range(5))),
            brand=brand,
            size=1 + draws.whole(50, "size"),
            price=retail_price(sf.col("id")),
        )

    def new_orders(self, span: Span) -> DataFrame:
        """Orders of customers that order already, a few of them often, and of newcomers."""
        draws = self.draws
        # In TPC-H every third customer never orders.
        regulars = self.size.customers - self.size.customers // 3
        rank = draws.skewed(regulars, self.skew, "customer")
        regular = sf.floor(rank / 2) * 3 + rank % 2 + 1
        return self._rows(
            "orders",
            self._numbers(span),
            order_id=sf.col("id"),
            customer=self._or_new(regular, self.size.customers, self.customers, "customer"),
            status=sf.lit("O"),
            total=1000 + draws.draw("total") * 300_000,
            day=sf.lit(LAST_DAY + timedelta(days=self.batch)),
            priority=draws.one_of(PRIORITIES, "priority"),
            clerk=sf.format_string("Clerk#%09d", draws.whole(1000, "clerk")),
        )

    def new_lines(self, orders: DataFrame) -> DataFrame:
        """The lines of these orders: of parts that sell already, a few of them often, and new."""
        draws, which = self.draws, ("order_id", "line")
        last = 1 + draws.whole(MOST_LINES, "lines", "order_id")
        lines = orders.select(
            "order_id", "day", sf.explode(sf.sequence(sf.lit(1).cast("long"), last)).alias("line")
        )
        known = draws.skewed(self.size.parts, self.skew, "part", *which) + 1
        part = self._or_new(known, self.size.parts, self.parts, "part", *which)
        lines = lines.select(
            "*", part.alias("part"), (1 + draws.whole(50, "quantity", *which)).alias("quantity")
        )
        return self._rows(
            "lineitem",
            lines,
            order_id=sf.col("order_id"),
            line=sf.col("line"),
            part=sf.col("part"),
            supplier=self.supplier_of(draws.whole(4, "supplier", *which)),
            quantity=sf.col("quantity"),
            price=sf.col("quantity") * retail_price(sf.col("part")),
            discount=draws.whole(11, "discount", *which) / 100,
            shipped=sf.date_add("day", (1 + draws.whole(121, "shipped", *which)).cast("int")),
        )

    def supplier_of(self, which: Column) -> Column:
        """One of the four suppliers of a `part`, by TPC-H's formula."""
        count, part = self.size.suppliers, sf.col("part")
        step = count // 4 + sf.floor((part - 1) / count)
        return (part + which * step) % count + 1

    def _or_new(self, known: Column, before: int, now: int, what: str, *which: str) -> Column:
        """`known`, or now and then one that came in the stream."""
        new = before + 1 + self.draws.whole(now - before, f"new {what}", *which)
        return sf.when(self.draws.draw(f"is new {what}", *which) < NEWCOMERS, new).otherwise(known)

    # What was there

    def old_orders(self, counts: Counts) -> Batch:
        """Some orders go with their lines; of some others the first line is corrected."""
        chosen = self._some("orders", counts.orders + counts.corrections).localCheckpoint()
        gone = chosen.where(sf.col("place") <= counts.orders).drop("place")
        kept = chosen.where(sf.col("place") > counts.orders)
        lines = self._read("lineitem")
        first = lines.where(sf.col("line") == 1)
        corrected = first.join(sf.broadcast(kept.select("order_id")), "order_id", "left_semi")
        one_more = (sf.col("quantity") + 1).cast("decimal(15,2)")
        dearer = (sf.col("price") * (one_more / sf.col("quantity"))).cast("decimal(15,2)")
        return together(
            {
                "orders": deleted(gone),
                "lineitem": deleted(
                    lines.join(sf.broadcast(gone.select("order_id")), "order_id", "left_semi")
                ),
            },
            {"lineitem": updated(corrected, quantity=one_more, price=dearer)},
        )

    def customers_change(self, count: int) -> Batch:
        """Some move to the next nation, some others are put into the next segment."""
        chosen = self._some("customer", 2 * count)
        moved = chosen.where(sf.col("place") <= count).drop("place")
        other = chosen.where(sf.col("place") > count).drop("place")
        return together(
            {"customer": updated(moved, nation=(sf.col("nation") + 1) % NATIONS)},
            {"customer": updated(other, segment=next_of(SEGMENTS, "segment"))},
        )

    def prices_change(self, count: int) -> Batch:
        dearer = (sf.col("price") + 1).cast("decimal(15,2)")
        return {"part": updated(self._some("part", count).drop("place"), price=dearer)}

    # Rows

    def _read(self, relation: str) -> DataFrame:
        return self.source.read(relation, self.batch - 1)

    def _some(self, relation: str, count: int) -> DataFrame:
        """So many rows, other ones in each batch, and always the same ones; in which `place`."""
        rows = self._read(relation)
        ((key,),) = self.program.relations[relation].keys
        name = rows.columns[key]
        chance = sf.xxhash64(sf.lit(f"{self.draws.seed} {relation} {self.batch}"), sf.col(name))
        some = rows.orderBy(chance, name).limit(count)
        # One partition, and on purpose: over Connect, a window that names none is warned of.
        order = Window.partitionBy(sf.lit(0)).orderBy(chance, name)
        return some.withColumn("place", sf.row_number().over(order))

    def _numbers(self, span: Span) -> DataFrame:
        return self.spark.range(span.first, span.last + 1)

    def _rows(self, relation: str, rows: DataFrame, **columns: Column) -> DataFrame:
        """Rows of a relation with its declared columns and types."""
        declared = struct_type(self.program.relations[relation])
        return rows.select(
            *(columns[f.name].cast(f.dataType).alias(f.name) for f in declared.fields)
        )


def retail_price(part: Column) -> Column:
    """By TPC-H's formula."""
    cents = 90_000 + sf.floor(part / 10) % 20_001 + 100 * (part % 1000)
    return (cents / 100).cast("decimal(15,2)")


def counted(batch: Mapping[str, DataFrame]) -> dict[str, tuple[int, int]]:
    """Relation to its insertions and deletions."""
    found = {}
    for name, frame in batch.items():
        is_new = sf.col("change") == "insert"
        (row,) = frame.select(sf.count_if(is_new), sf.count_if(~is_new)).collect()
        found[name] = (int(row[0]), int(row[1]))
    return found
