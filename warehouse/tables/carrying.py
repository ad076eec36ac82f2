"""What a commit carries besides rows, and how it is made: for one write, and for no other.

An append takes options of its own. A MERGE has none, and Delta reads them from the session, where
any write of any thread would find them: a transaction number that another table's write carries
can make Delta drop a later one in silence. So writers of this project take turns, the session is
left as it was, and what a write may be told by itself is not put there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from warehouse.settings import put

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_A_SESSION: Final = {
    "userMetadata": "spark.databricks.delta.commitInfo.userMetadata",
    "txnAppId": "spark.databricks.delta.write.txnAppId",
    "txnVersion": "spark.databricks.delta.write.txnVersion",
}
"""A write's option -> the session's setting for it."""

_one_writer = threading.RLock()


@contextmanager
def carrying(
    spark: SparkSession, options: Mapping[str, str], settings: Mapping[str, str] | None = None
) -> Iterator[None]:
    """A block whose writes carry these options and no others, under these settings.

    Only one thread at a time is in such a block. Afterwards all settings are as they were.
    """
    wanted: dict[str, str | None] = {
        setting: options.get(option) for option, setting in OF_A_SESSION.items()
    }
    wanted |= settings or {}
    with _one_writer:
        before = {key: spark.conf.get(key, None) for key in wanted}
        try:
            put(spark, wanted)
            yield
        finally:
            put(spark, before)
