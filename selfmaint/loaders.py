"""Loaders and streams that people have already, wrapped.

    @warehouse.maintains("sales")
    def sales(keys):                      # rows of the view, for values of some of its columns
        rows = spark.table("orders").join(spark.table("customers"), "cust").select(...)
        return rows if keys is None else rows.join(keys, keys.columns)

    sales({"orders": changes}, 17)        # decides, calls the function for the rest, commits

    stream.writeStream.foreachBatch(warehouse.batch_writer("orders")).start()

Both end in `Warehouse.apply`; what they add is who is asked, and which number a batch has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

from selfmaint.errors import RuntimeStateError
from warehouse.batches import netted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from selfmaint.report import Report
    from selfmaint.warehouse import Warehouse
    from warehouse.sources.loader import Loading

Splitting: TypeAlias = Callable[["DataFrame"], "Mapping[str, DataFrame]"]
"""A micro-batch to the batch that it is: relation to its changes."""


@dataclass(frozen=True)
class Loader:
    """A loader that takes batches: what `Warehouse.maintains` makes of a function.

    Args:
        function: as it was written.
    """

    warehouse: Warehouse
    view: str
    function: Loading

    def __call__(self, batch: Mapping[str, DataFrame], number: int | None = None) -> Report:
        """Maintain all of the warehouse's views; see `Warehouse.apply`.

        Raises:
            RuntimeStateError: RT412, no number, and there are other views: who calls the loader of
                each of them would apply the batch as often. With its number that changes nothing.
        """
        views = self.warehouse.views
        if number is None and len(views) > 1:
            raise RuntimeStateError(
                "RT412",
                f"a batch given to the loader of view `{self.view}` is applied to all "
                f"{len(views)} views of the warehouse, once. Nothing was changed",
                "give its number: `next_batch()` tells the next one",
                "or use `warehouse.apply(batch)`",
            )
        return self.warehouse.apply(batch, number)


@dataclass(frozen=True)
class BatchWriter:
    """What `Warehouse.batch_writer` makes: a function for `foreachBatch`.

    Law: micro-batch `id` of the stream is batch `first + id` of the warehouse. Spark gives a
    micro-batch that it repeats the same id, so the warehouse recognises it.
    """

    warehouse: Warehouse
    split: Splitting
    first: int

    def __call__(self, frame: DataFrame, id: int) -> None:
        self.warehouse.apply(self.split(frame), self.first + id)


def of_relation(warehouse: Warehouse, name: str, order: str | None) -> Splitting:
    """Micro-batches that are changes of one relation; with `order`, an ordered log of them."""
    relation = warehouse.program.relations[name]

    def split(frame: DataFrame) -> dict[str, DataFrame]:
        return {name: frame if order is None else netted(relation, frame, order)}

    return split


def bound_to(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """The same frame in another session of the application.

    Spark runs micro-batches in a session of their own. What is set for a commit, such as the
    number of its batch, is set in the warehouse's session, and a write takes the settings of the
    session that its frame belongs to.
    """
    if frame.sparkSession is spark:
        return frame
    name = f"selfmaint_{uuid4().hex}"
    frame.createGlobalTempView(name)
    try:
        return spark.table(f"global_temp.{name}")
    finally:
        spark.catalog.dropGlobalTempView(name)
