"""The Spark session that a benchmark runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEASURED: Final = {
    "spark.driver.memory": "4g",
    # Leaves more of few cores to the work than Java's usual collector does.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
}

SHORT: Final = {
    "spark.driver.memory": "4g",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -XX:TieredStopAtLevel=1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For a short form, which runs everything once or twice: nothing is compiled that would pay only
later. So it is over sooner, and its seconds say nothing about those of the long form."""


def session(app: str, *, is_short: bool) -> SparkSession:
    from warehouse.session import session

    return session(app=app, settings=SHORT if is_short else MEASURED)
