"""The session itself: Delta works, nothing reaches the screen, and what is missing is named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from warehouse.errors import SetupError
from warehouse.jars import delta_jars
from warehouse.requirements import (
    CATALOG,
    DELTA_CATALOG,
    DELTA_EXTENSION,
    EXTENSIONS,
    MEANING,
    Gap,
    Remedy,
    UnfitSessionError,
    require,
    require_meaning,
)
from warehouse.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.sessions import Jobs, RunScript, SessionArguments


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> str:
    """A Delta table `(id, name)` with two rows at version 1, as it is named in SQL."""
    name = f"delta.`{tmp_path / 'a table'}`"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, name STRING) USING delta TBLPROPERTIES"
        " (delta.enableChangeDataFeed = true, delta.enableDeletionVectors = true)"
    )
    frame = spark.createDataFrame([(1, "ann"), (2, "bob")], "id BIGINT, name STRING")
    frame.write.format("delta").mode("append").save(str(tmp_path / "a table"))
    return name


def rows(spark: SparkSession, query: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.sql(query).collect())


def test_append_merge_time_travel_and_change_feed(spark: SparkSession, table: str) -> None:
    spark.sql(
        f"MERGE INTO {table} AS old USING"
        " (SELECT * FROM VALUES (2, 'bob', true), (3, 'eve', false) AS changes (id, name, gone))"
        " AS new ON old.id = new.id AND new.gone"
        " WHEN MATCHED THEN DELETE"
        " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (new.id, new.name)"
    )
    assert rows(spark, f"SELECT * FROM {table}") == [(1, "ann"), (3, "eve")]
    assert rows(spark, f"SELECT * FROM {table} VERSION AS OF 1") == [(1, "ann"), (2, "bob")]
    assert rows(spark, f"SELECT * FROM {table} VERSION AS OF 0") == []

    feed = spark.read.format("delta").option("readChangeFeed", True).option("startingVersion", 2)
    path = table.removeprefix("delta.`").removesuffix("`")
    changes = feed.load(path).select("id", "name", "_change_type").collect()
    assert sorted(tuple(row) for row in changes) == [(2, "bob", "delete"), (3, "eve", "insert")]

    (last, *_) = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()
    assert (last["version"], last["operation"]) == (2, "MERGE")
    assert last["engineInfo"] == "Apache-Spark/4.2.0 Delta-Lake/4.4.0"


def test_jobs_are_counted(
    spark: SparkSession, table: str, count_jobs: Callable[[], AbstractContextManager[Jobs]]
) -> None:
    with count_jobs() as none:
        spark.sql(f"SELECT * FROM {table}").schema  # noqa: B018 - asking is what is counted
    with count_jobs() as one:
        spark.range(3).write.format("noop").mode("overwrite").save()
    with count_jobs() as three:
        for _ in range(3):
            spark.range(3).write.format("noop").mode("overwrite").save()
    assert (none.count, one.count, three.count) == (0, 1, 3)


def test_numbers_that_do_not_fit_are_errors(spark: SparkSession) -> None:
    from pyspark.errors import ArithmeticException, NumberFormatException

    with pytest.raises(ArithmeticException):
        spark.sql("SELECT 2147483647 + 1").collect()
    with pytest.raises(NumberFormatException):
        spark.sql("SELECT int('x')").collect()


def test_times_are_read_in_utc(spark: SparkSession) -> None:
    """In most zones one of these two does not exist; in UTC both do, an hour apart."""
    query = "SELECT unix_seconds(TIMESTAMP '2024-03-31 02:30:00') - unix_seconds(TIMESTAMP '{}')"
    assert rows(spark, query.format("2024-03-31 01:30:00")) == [(3600,)]
    assert rows(spark, query.format("1970-01-01 00:00:00")) == [(1711852200,)]


def test_a_good_session_passes(spark: SparkSession) -> None:
    assert require(spark) is spark


def test_the_running_session_is_returned(
    spark: SparkSession, session_arguments: SessionArguments
) -> None:
    assert session() is spark
    assert session(**vars(session_arguments)) is spark


@contextmanager
def setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    before = spark.conf.get(key)
    assert before is not None
    spark.conf.set(key, value)
    try:
        yield
    finally:
        spark.conf.set(key, before)


def test_settings_that_can_still_be_made_are_made(spark: SparkSession) -> None:
    key = "spark.sql.shuffle.partitions"
    with setting(spark, key, "3"):
        assert session(settings={key: "5"}) is spark
        assert spark.conf.get(key) == "5"


def test_settings_that_come_too_late_are_refused(
    spark: SparkSession, session_arguments: SessionArguments
) -> None:
    with pytest.raises(SetupError) as refused:
        session(
            master="local[7]",
            settings={
                "spark.sql.shuffle.partitions": "77",
                "spark.driver.cores": "9",
                "spark.authenticate.secret": "hunter2",
            },
        )
    assert spark.conf.get("spark.sql.shuffle.partitions") != "77"
    assert str(refused.value) == (
        "error[WH306]: a Spark session already runs here, and some settings can only be made"
        " before\n"
        " = help: spark.driver.cores is not set, asked for is 9\n"
        " = help: spark.authenticate.secret has another value than the one asked for\n"
        f" = help: spark.master is {session_arguments.master}, asked for is local[7]\n"
        " = help: leave these settings out, or stop the running session first: `spark.stop()`"
    )


def test_settings_that_change_the_meaning_of_values_are_named(spark: SparkSession) -> None:
    with (
        setting(spark, "spark.sql.session.timeZone", "Asia/Tokyo"),
        setting(spark, "spark.sql.ansi.enabled", "false"),
        setting(spark, "spark.sql.datetime.java8API.enabled", "false"),
        setting(spark, "spark.sql.files.ignoreMissingFiles", "true"),
        setting(spark, "spark.sql.files.ignoreCorruptFiles", "true"),
        pytest.raises(UnfitSessionError) as unfit,
    ):
        session()
    assert str(unfit.value) == (
        "error[WH301]: this Spark session cannot keep Delta views\n"
        " = help: set spark.sql.ansi.enabled=true, also on a running session (now: false)\n"
        " = help: set spark.sql.session.timeZone=UTC, also on a running session (now: Asia/Tokyo)\n"
        " = help: set spark.sql.datetime.java8API.enabled=true, also on a running session"
        " (now: false)\n"
        " = help: set spark.sql.files.ignoreMissingFiles=false, also on a running session"
        " (now: true)\n"
        " = help: set spark.sql.files.ignoreCorruptFiles=false, also on a running session"
        " (now: true)"
    )
    assert unfit.value.code == "WH301"
    assert {gap.name: gap.needed for gap in unfit.value.gaps} == MEANING


def test_a_changed_meaning_is_noticed_later(spark: SparkSession) -> None:
    require_meaning(spark)
    with (
        setting(spark, "spark.sql.ansi.enabled", "false"),
        pytest.raises(UnfitSessionError) as unfit,
    ):
        require_meaning(spark)
    assert unfit.value.gaps == (Gap("spark.sql.ansi.enabled", "false", "true", Remedy.SET),)
    assert unfit.value.code == "WH301"


def test_asking_for_the_meaning_runs_no_job(
    spark: SparkSession, count_jobs: Callable[[], AbstractContextManager[Jobs]]
) -> None:
    with count_jobs() as jobs:
        require_meaning(spark)
    assert jobs.count == 0


def test_other_names_of_utc_will_do(spark: SparkSession) -> None:
    with setting(spark, "spark.sql.session.timeZone", "Etc/UTC"):
        assert require(spark) is spark


def test_the_gap_of_another_spark_names_both_versions() -> None:
    assert str(Gap("Spark", "4.1.1", "4.2.0", Remedy.RUN)) == "run Spark 4.2.0 (now: 4.1.1)"


USUAL_WORK = """
import json, sys
from pyspark.errors import AnalysisException
from warehouse.session import session

arguments, table = json.loads(sys.argv[1]), sys.argv[2]
spark = session(**arguments)
spark.range(4).write.format("delta").save(table)
spark.sql(f"DELETE FROM delta.`{table}` WHERE id = 1")
try:
    spark.sql(f"SELECT no_such_column FROM delta.`{table}`").collect()
except AnalysisException as error:
    print(error.getCondition())
print(spark.read.format("delta").load(table).count())
"""


def test_nothing_reaches_the_screen_and_the_log_keeps_it(
    run_script: RunScript, tmp_path: Path
) -> None:
    log = tmp_path / "spark.log"
    table = str(tmp_path / "table")
    done = run_script(USUAL_WORK, table, SELFMAINT_SPARK_LOG=str(log), TZ="Asia/Tokyo")
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["UNRESOLVED_COLUMN.WITH_SUGGESTION", "3"]
    logged = log.read_text(encoding="utf-8")
    assert "WARN" in logged
    assert "loading settings" not in logged, "Ivy ran, which may ask the network"


PLAIN_SESSION = """
import json, sys
from pyspark.sql import SparkSession
from warehouse.errors import SetupError
from warehouse.session import require

builder = SparkSession.builder.master("local[2]").config("spark.sql.extensions", "some.Extension")
settings = json.loads(sys.argv[1])["settings"]
for key in {"spark.driver.extraJavaOptions", "spark.api.mode"} & settings.keys():
    builder = builder.config(key, settings[key])
try:
    require(builder.getOrCreate())
except SetupError as error:
    print(error)
"""


def test_a_session_without_delta_is_told_everything_at_once(run_script: RunScript) -> None:
    done = run_script(PLAIN_SESSION, TZ="Asia/Tokyo")
    assert done.stdout == (
        "error[WH301]: this Spark session cannot keep Delta views\n"
        " = help: build the session with"
        " spark.jars.packages=io.delta:delta-spark_4.2_2.13:4.4.0"
        " (now: no Delta on the class path)\n"
        " = help: build the session with"
        " spark.sql.extensions=some.Extension,io.delta.sql.DeltaSparkSessionExtension"
        " (now: some.Extension)\n"
        " = help: build the session with"
        " spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
        " (now: not set)\n"
        " = help: set spark.sql.session.timeZone=UTC, also on a running session"
        " (now: Asia/Tokyo)\n"
        " = help: set spark.sql.datetime.java8API.enabled=true, also on a running session"
        " (now: false)\n"
        " = help: jars come only with the JVM: start a new Python process (in a notebook: restart"
        " the kernel) and call `session()` first; where it is a Spark Connect server's, start that"
        " anew\n"
    ), done.stderr


OWN_SESSION = """
import json, sys
from pyspark.sql import SparkSession
from warehouse.session import require

settings = json.loads(sys.argv[1])["settings"]
builder = SparkSession.builder.master("local[2]")
for key in {"spark.driver.extraJavaOptions", "spark.api.mode"} & settings.keys():
    builder = builder.config(key, settings[key])
for key, value in json.loads(sys.argv[2]).items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
print(require(spark) is spark)
"""


def test_what_would_be_faster_is_said_once_a_session_can_do_it_at_all(
    run_script: RunScript,
) -> None:
    """But not of what somebody has set."""
    own = {
        "spark.jars": ",".join(path.as_uri() for path in delta_jars()),
        EXTENSIONS: DELTA_EXTENSION,
        CATALOG: DELTA_CATALOG,
        **MEANING,
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    done = run_script(OWN_SESSION, json.dumps(own))
    assert done.stdout == "True\n", done.stderr
    assert (
        "SlowSessionWarning: small batches take longer than need be on this Spark session:\n"
        "  set spark.sql.maxSinglePartitionBytes=4611686018427387904, also on a running session"
        " (now: not set)\n"
        "  set spark.sql.execution.usePartitionEvaluator=true, also on a running session"
        " (now: not set)\n"
        "  build the session with spark.sql.codegen.cache.maxEntries=5000 (now: not set)\n"
        "  build the session with spark.buffer.pageSize=1m (now: not set)\n"
    ) in done.stderr


STOPPED_SESSION = """
import json, sys
from pyspark.sql import SparkSession
from warehouse.errors import SetupError
from warehouse.session import require, session
from warehouse.sparklog import spark_log

settings = json.loads(sys.argv[1])["settings"]
builder = SparkSession.builder.master("local[1]")
for key in {"spark.driver.extraJavaOptions", "spark.api.mode"} & settings.keys():
    builder = builder.config(key, settings[key])
with spark_log():  # what the user's own session says on its way up
    own = builder.getOrCreate()
    own.stop()
for refused in (lambda: session(settings=settings), lambda: require(own), lambda: require(None)):
    try:
        refused()
    except SetupError as error:
        print(error)
"""


def test_a_jvm_without_delta_and_a_session_that_is_gone_are_named(run_script: RunScript) -> None:
    """PySpark keeps the JVM of a session that was stopped, and starts the next one in it."""
    done = run_script(STOPPED_SESSION)
    advice = " = help: build a new one with `session()`, or with Spark's own builder\n"
    assert done.stdout == (
        "error[WH307]: the JVM of this Python process was not given Delta's jars when it started\n"
        " = help: start a new Python process (in a notebook: restart the kernel) and call"
        " `session()` first\n"
        f"error[WH308]: this Spark session has been stopped\n{advice}"
        f"error[WH308]: a Spark session is needed, not None\n{advice}"
    ), done.stderr
    assert done.stderr == ""


ONE_JVM = """
import json, sys
from pathlib import Path
from warehouse.errors import SetupError
from warehouse.session import session

arguments, own = json.loads(sys.argv[1]), Path(sys.argv[2])
master, settings = arguments["master"], arguments["settings"]
own.write_bytes(b"PK\\5\\6" + bytes(18))  # a jar of no classes
settings |= {"spark.driver.memory": "1g", "spark.jars": str(own)}

def attempt(**changed):
    try:
        spark = session(master=master, settings=settings | changed)
        print(spark.range(3).count(), spark.conf.get("spark.driver.memory"))
    except SetupError as error:
        print(error)

options = {
    "spark.driver.memory": "3g",
    "spark.driver.extraJavaOptions": "-Dpassword=hunter2",
    "spark.jars": f"{own},/other.jar",
}
attempt()
attempt(**options)                    # while a session runs
session().stop()
attempt(**options)
attempt()
session().stop()
print(session(master=master).conf.get("spark.driver.memory"))
"""


def test_what_the_jvm_was_not_started_with_is_refused(
    run_script: RunScript, tmp_path: Path
) -> None:
    """Spark would show the other amount of memory, and go on with the old one."""
    own = tmp_path / "own.jar"
    done = run_script(ONE_JVM, str(own))
    refused = (
        "error[WH306]: this Python process has a JVM, and some settings can only be made before"
        " it starts\n"
        " = help: spark.driver.memory is 1g, asked for is 3g\n"
        " = help: spark.driver.extraJavaOptions has another value than the one asked for\n"
        f" = help: spark.jars is JARS, asked for is {own},/other.jar\n"
        " = help: leave these settings out, or start a new Python process (in a notebook: restart"
        " the kernel): `spark.stop()` does not end the JVM\n"
    )
    said = re.sub("spark.jars is [^ ]*,", "spark.jars is JARS,", done.stdout)
    assert said == f"3 1g\n{refused}{refused}3 1g\n1g\n", done.stderr


BROKEN_START = """
from pyspark.errors import PySparkRuntimeError
from warehouse.session import session

try:
    session(master="local", settings={"spark.driver.memory": "plenty"})
except PySparkRuntimeError as error:
    print(error.getCondition(), *error.__notes__, sep="\\n")
"""


def test_a_failed_start_shows_the_end_of_the_log(run_script: RunScript) -> None:
    done = run_script(BROKEN_START)
    assert done.stderr == ""
    assert done.stdout.startswith("JAVA_GATEWAY_EXITED\nSpark's log ends with:\n")
    assert "plenty" in done.stdout
