"""What is kept of a view in memory, with others at work at the wrong moments."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from tests.spark.shops import frame
from tests.spark.test_indexing import PROGRAM, Shop
from warehouse.sources import Answer, Join
from warehouse.tables import ConflictError, ForeignWriteError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Shop:
    return Shop(spark, tmp_path)


def test_a_view_that_somebody_has_cached_is_read(shop: Shop) -> None:
    """Spark names no file for what it reads from a cache."""
    report = shop.sale(0)
    cached = shop.warehouse.view("sales").read(report.version).cache()
    cached.count()
    try:
        shop.happens(sale=[("-", 1, 1, 1)])
        assert shop.apply().deleted == 1
    finally:
        cached.unpersist()


@pytest.mark.parametrize("look", ["next_batch", "verify"])
def test_a_thread_looks_while_a_batch_is_decided(
    shop: Shop, look: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another maintainer has repaired the view meanwhile. The batch changes nothing of it."""
    shop.index()
    other = shop.open()
    looks: dict[str, Callable[[], object]] = {
        "next_batch": shop.warehouse.next_batch,
        "verify": lambda: shop.warehouse.verify("sales"),
    }
    # A batch that forgets a change: the view is wrong until it is repaired.
    shop.happens(cust=[("-", 0, "region 0"), ("+", 0, "north")], sale=[("+", 6_000, 1, 0)])
    shop.warehouse.apply({"sale": shop.batch["sale"]}, shop.number)
    answer = shop.source.answer

    def answering(join: Join, keys: DataFrame | None, version: int) -> Answer:
        monkeypatch.setattr(shop.source, "answer", answer)
        found = answer(join, keys, version)
        other.repair("sales")
        thread = Thread(target=looks[look])
        thread.start()
        thread.join()
        return found

    shop.happens(sale=[("+", 7_000, 99, 0)])  # nobody's, so that no row comes
    monkeypatch.setattr(shop.source, "answer", answering)
    with suppress(ConflictError):
        shop.warehouse.apply(shop.batch, shop.number)
    shop.apply()
    shop.sale(0)


def test_a_folder_that_was_put_back_is_noticed(shop: Shop) -> None:
    """Another maintainer has brought it to the same version again, with other rows."""
    shop.index()
    shutil.copytree(shop.path, f"{shop.path} of before")
    shop.happens(cust=[("-", 0, "region 0"), ("+", 0, "south")])
    shop.apply()
    shutil.rmtree(shop.path)
    shutil.copytree(f"{shop.path} of before", shop.path)
    changes = [("-", 0, "region 0"), ("+", 0, "north")]
    shop.open().apply({"cust": frame(shop.spark, PROGRAM.relations["cust"], changes)}, shop.number)
    shop.happens(sale=[("+", 9_000, 0, 0)])
    with pytest.raises(ForeignWriteError, match="put back from an older copy"):
        shop.apply()
    shop.warehouse.repair("sales")
    shop.apply()
