"""The views written plainly, as anybody would in SQL: the yardstick for every plan.

Nothing here is shared with the product, so that both cannot be wrong in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERIES: Final[Mapping[str, str]] = {
    "star": """
        SELECT l.order_id AS `order`, l.line, o.day, c.customer, c.name AS customer_name, c.segment,
               n.nation, n.name AS nation_name, p.part, p.name AS part_name, p.brand,
               s.supplier, s.name AS supplier_name, l.quantity, l.price
        FROM {lineitem} l JOIN {orders} o ON l.order_id = o.order_id
             JOIN {customer} c ON o.customer = c.customer JOIN {nation} n ON c.nation = n.nation
             JOIN {part} p ON l.part = p.part JOIN {supplier} s ON l.supplier = s.supplier
    """,
    "narrow": """
        SELECT l.order_id AS `order`, l.line, o.day, c.customer, n.name AS nation_name, l.price
        FROM {lineitem} l JOIN {orders} o ON l.order_id = o.order_id
             JOIN {customer} c ON o.customer = c.customer JOIN {nation} n ON c.nation = n.nation
    """,
    "discounted": """
        SELECT l.order_id AS `order`, l.line, o.day, c.customer, c.name AS customer_name,
               p.part, p.name AS part_name, p.brand, l.discount, l.price
        FROM {lineitem} l JOIN {orders} o ON l.order_id = o.order_id
             JOIN {customer} c ON o.customer = c.customer JOIN {part} p ON l.part = p.part
        WHERE l.discount >= 0.08 AND o.day >= DATE '1997-01-01' AND o.day < DATE '2000-01-01'
    """,
    "trade": """
        SELECT l.order_id AS `order`, l.line, c.customer, n.nation, n.name AS nation_name,
               s.supplier, m.nation AS origin, m.name AS origin_name, l.price
        FROM {lineitem} l JOIN {orders} o ON l.order_id = o.order_id
             JOIN {customer} c ON o.customer = c.customer JOIN {nation} n ON c.nation = n.nation
             JOIN {supplier} s ON l.supplier = s.supplier JOIN {nation} m ON s.nation = m.nation
    """,
    "urgent": """
        SELECT order_id AS `order`, customer, day, total FROM {orders} WHERE priority = '1-URGENT'
    """,
}


def recomputed(spark: SparkSession, view: str, relations: Mapping[str, DataFrame]) -> DataFrame:
    """The view's rows; each once, since every view shows the key of the rows that it lists."""
    text = QUERIES[view]
    # Frames may stand for tables. They come by name, as anything else may.
    used: dict[str, Any] = {n: frame for n, frame in relations.items() if f"{{{n}}}" in text}
    return spark.sql(text, **used)
