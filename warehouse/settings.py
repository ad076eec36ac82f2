"""Settings of a Spark session, made and put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def put(spark: SparkSession, settings: Mapping[str, str | None]) -> None:
    """Make these settings; None for one that is not to be set."""
    for key, value in settings.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)
