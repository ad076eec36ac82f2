"""The tables of the shop: drawn at random, and the same ones each time.

Everything about a row follows from its number: a draw is a hash of that number and of what is
drawn. So the tables are computed where they are stored, and nothing is kept on the driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FIRST_DAY: Final = date(2024, 1, 1)
ORDERS_A_DAY: Final = 500
MOST_LINES: Final = 5
LINES: Final = (1 + MOST_LINES) / 2
"""Lines of an order, on average."""

REGIONS: Final = {
    "Nordics": "Europe",
    "Alps": "Europe",
    "Iberia": "Europe",
    "East Coast": "America",
    "West Coast": "America",
    "Andes": "America",
    "Kanto": "Asia",
    "Deccan": "Asia",
}
CATEGORIES: Final = ("tools", "garden", "kitchen", "paint", "lighting", "bath", "storage")
MAKES: Final = ("Solid", "Light", "Small", "Large", "Quiet", "Bright", "Plain", "Fine")
THINGS: Final = ("hammer", "ladder", "kettle", "brush", "lamp", "basin", "shelf", "drill", "rake")
FIRST_NAMES: Final = ("Ada", "Grace", "Linus", "Edsger", "Barbara", "Tony", "Frances", "Niklaus")
LAST_NAMES: Final = ("Berg", "Castro", "Dubois", "Eriksen", "Fischer", "Garcia", "Hara", "Ito")


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers from `first` to `last`, of customers, products or orders."""

    first: int
    last: int

    @classmethod
    def after(cls, last: int, count: int) -> Span:
        return cls(last + 1, last + count)

    @property
    def count(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Size:
    """How large the shop is before the first batch; it follows from the number of orders."""

    orders: int

    @property
    def customers(self) -> Span:
        return Span(1, max(40, self.orders // 20))

    @property
    def products(self) -> Span:
        return Span(1, max(20, self.orders // 50))


def tables(spark: SparkSession, size: Size) -> Mapping[str, DataFrame]:
    """Every relation of `shop.dl`."""
    placed = orders(spark, Span(1, size.orders), size.customers)
    return {
        "regions": spark.createDataFrame(list(REGIONS.items()), "region string, continent string"),
        "customers": customers(spark, size.customers),
        "products": products(spark, size.products),
        "orders": placed,
        "order_lines": order_lines(placed, size.products),
    }


def customers(spark: SparkSession, span: Span) -> DataFrame:
    name = sf.concat_ws(
        " ", one_of(FIRST_NAMES, "first name"), one_of(LAST_NAMES, "last name"), sf.col("id")
    )
    return _numbers(spark, span).select(
        sf.col("id").alias("cust"),
        name.alias("name"),
        one_of(tuple(REGIONS), "region").alias("region"),
    )


def products(spark: SparkSession, span: Span) -> DataFrame:
    title = sf.concat_ws(" ", one_of(MAKES, "make"), one_of(THINGS, "thing"), sf.col("id"))
    price = (sf.lit(1) + draw("price") * 200).cast("decimal(10,2)")
    return _numbers(spark, span).select(
        sf.col("id").alias("prod"),
        title.alias("title"),
        one_of(CATEGORIES, "category").alias("category"),
        price.alias("price"),
    )


def orders(spark: SparkSession, span: Span, buyers: Span) -> DataFrame:
    """Orders with these numbers, of customers among `buyers`: a few of them buy a lot."""
    day = sf.date_add(sf.lit(FIRST_DAY), (sf.col("id") / ORDERS_A_DAY).cast("int"))
    return _numbers(spark, span).select(
        sf.col("id").alias("order_id"),
        skewed(buyers, "customer").alias("cust"),
        day.alias("day"),
    )


def order_lines(placed: DataFrame, sold: Span) -> DataFrame:
    """The lines of some orders, with products among `sold`: a few of them sell a lot."""
    last = whole(draw("lines", "order_id"), MOST_LINES) + 1
    lines = placed.select("order_id", sf.explode(sf.sequence(sf.lit(1), last)).alias("line"))
    return lines.select("order_id", "line", *bought(sold))


def bought(sold: Span) -> tuple[Column, Column]:
    """What a line with an `order_id` and a `line` is about: `prod` and `qty`, mostly small."""
    which = ("order_id", "line")
    quantity = 1 + whole(draw("quantity", *which) ** 4, 100)
    return skewed(sold, "product", *which).alias("prod"), quantity.alias("qty")


# Draws


def draw(what: str, *which: str) -> Column:
    """A number from 0 up to 1 that depends on the columns `which`, `id` unless given."""
    steps = 1_000_000_007
    hashed = sf.xxhash64(sf.lit(what), *(sf.col(name) for name in which or ("id",)))
    return sf.pmod(hashed, sf.lit(steps)) / steps


def whole(drawn: Column, count: int) -> Column:
    """A draw as one of the whole numbers below `count`."""
    return (drawn * count).cast("int")


def one_of(values: tuple[str, ...], what: str) -> Column:
    return sf.get(sf.array(*map(sf.lit, values)), whole(draw(what), len(values)))


def skewed(span: Span, what: str, *which: str) -> Column:
    """A number of the span; a quarter of them is drawn as often as all the others."""
    return sf.lit(span.first) + (draw(what, *which) ** 2 * span.count).cast("long")


def _numbers(spark: SparkSession, span: Span) -> DataFrame:
    return spark.range(span.first, span.last + 1)
