"""A Spark session with Delta: built in one call, or checked if the user already has one.

    spark = session()                    # on this machine, with what small batches need
    spark = require(spark)               # one that exists, on any cluster or over Spark Connect

A session does not depend on the machine it runs on: it needs no network, writes nothing to the
screen, and reads times and numbers the same way everywhere (see `MEANING`).
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from warehouse.errors import SetupError
from warehouse.jars import delta_jars
from warehouse.java import check_java
from warehouse.requirements import (
    CATALOG,
    DELTA_CATALOG,
    DELTA_EXTENSION,
    EXTENSIONS,
    MEANING,
    NEW_PROCESS,
    PACKAGES,
    SMALL_BATCHES,
    require,
)
from warehouse.settings import put
from warehouse.sparklog import silence_query_errors, spark_log
from warehouse.versions import check_versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["require", "session"]

JARS: Final = "spark.jars"
MASTER: Final = "spark.master"
ANY_CORES: Final = "local[*]"

SECRET: Final = "secret|password|passwd|token|credential|key"
"""In a setting whose value nobody is to see: in its name, or among the options in its value."""

CLASS_PATH: Final = "spark.driver.extraClassPath"
OF_THE_JVM: Final = (
    "spark.driver.memory",
    "spark.driver.defaultJavaOptions",
    "spark.driver.extraJavaOptions",
    CLASS_PATH,
    "spark.driver.extraLibraryPath",
    PACKAGES,
    JARS,
)
"""Settings that say how the driver's JVM is to be started. PySpark starts one per Python process
and keeps it for the next session, which would show them without following them."""

DELTA_JAR: Final = "delta-spark"
"""In the name of Delta's main jar, whoever has put it where."""

QUIET: Final = {
    # No progress bars: they would fill the log.
    "spark.ui.showConsoleProgress": "false",
}

ON_THIS_MACHINE: Final = {
    # A web server that nobody looks at, on a port that may be taken.
    "spark.ui.enabled": "false",
    # One task per core and shuffle. The default, 200, costs half a second for a few rows.
    "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2)),
    # Planning again between stages pays for itself on large data. A small MERGE takes twice as
    # many jobs with it, and a fifth more processor time.
    "spark.sql.adaptive.enabled": "false",
    # Spark would ask the name service for this machine's address and listen there. Everything that
    # talks to this driver is on this machine.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""For a master that begins with `local`; a cluster has its own right values."""

_starting = threading.Lock()
_built_with: dict[str, str] = {}
"""The settings of the session that was built here last. Spark rewrites some when it starts."""

_jvm_asked_for: dict[str, str] = {}
"""The settings that this process's JVM was started for, if it was started here."""


def session(
    *, master: str = ANY_CORES, app: str = "selfmaint", settings: Mapping[str, str] = {}
) -> SparkSession:
    """A Spark session that can keep Delta views; the running one, if there is one.

    What Spark logs does not reach the screen. `SELFMAINT_SPARK_LOG` names a file to keep it in.

    Example:
        spark = session(settings={"spark.driver.memory": "4g"})

    Args:
        master: as in Spark. Not for the address of a Spark Connect server: build that session with
            Spark's own builder and pass it to `require`. `{"spark.api.mode": "connect"}` in the
            settings starts a Connect server here and returns a session with it.
        app: the name that the cluster shows.
        settings: Spark's, before our own defaults. `spark.jars` and `spark.sql.extensions` are
            added to what Delta needs.
    Raises:
        SetupError: WH301 to WH304, WH306, WH307: what is missing, and what to do about it.
    """
    check_versions()
    with _starting:
        running = _running_session()
        _check_jvm(settings, for_start=running is None)
        if running is None:
            return require(_start(app, _all_settings(master, settings)))
        _adapt(running, master, settings)
        return require(running)


def _all_settings(master: str, given: Mapping[str, str]) -> dict[str, str]:
    master = given.get(MASTER, master)
    own = {MASTER: master, CATALOG: DELTA_CATALOG, **MEANING, **SMALL_BATCHES, **QUIET}
    if _is_local(master):
        own |= ON_THIS_MACHINE
    jars = ",".join(path.as_uri() for path in delta_jars())
    together = {
        key: ",".join(filter(None, [given.get(key), needed]))
        for key, needed in ((EXTENSIONS, DELTA_EXTENSION), (JARS, jars))
    }
    return {**own, **given, **together}


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _check_jvm(given: Mapping[str, str], *, for_start: bool) -> None:
    """Refuse what the JVM of this Python process, if it has one, can no longer be given.

    For the start of a session in it, that is Delta too.
    """
    jvm = _jvm_settings()
    if not jvm:
        return
    if for_start and not any(DELTA_JAR in jvm.get(key, "") for key in (JARS, CLASS_PATH)):
        raise SetupError(
            "WH307",
            "the JVM of this Python process was not given Delta's jars when it started",
            f"{NEW_PROCESS} and call `session()` first",
        )
    if refused := [
        _shown(key, jvm.get(key), given[key])
        for key in OF_THE_JVM
        if key in given and not _has(jvm, key, given[key])
    ]:
        raise SetupError(
            "WH306",
            "this Python process has a JVM, and some settings can only be made before it starts",
            *refused,
            f"leave these settings out, or {NEW_PROCESS}: `spark.stop()` does not end the JVM",
        )


def _jvm_settings() -> dict[str, str]:
    """The settings that the JVM of this Python process was started with; none if there is no JVM.

    A `SparkConf` begins with them, whoever started the JVM, and whether or not a session runs.
    """
    from pyspark import SparkConf

    return dict(SparkConf().getAll())


def _has(jvm: Mapping[str, str], key: str, value: str) -> bool:
    """Whether the JVM has this setting, or was started for it: Spark may have rewritten it.

    Of jars it may have more than are asked for.
    """
    known = [had for settings in (jvm, _jvm_asked_for) if (had := settings.get(key)) is not None]
    if key == JARS:
        return _files(",".join(known)).issuperset(_files(value))
    return value in known


def _files(jars: str) -> set[str]:
    """The jars of a setting, those on this machine by one of the many ways to write a path."""
    addresses = map(urlsplit, filter(None, map(str.strip, jars.split(","))))
    return {
        os.path.realpath(address.path) if address.scheme in ("", "file") else address.geturl()
        for address in addresses
    }


def _start(app: str, settings: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    check_java()
    if _is_local(settings[MASTER]):
        # Python workers run what this process runs. Spark would take the `python3` of the path.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app)
    for key, value in settings.items():
        builder = builder.config(key, value)
    if not _jvm_settings():
        _jvm_asked_for.clear()
        _jvm_asked_for.update(settings)
    silence_query_errors()
    with spark_log():
        spark = builder.getOrCreate()
    _built_with.clear()
    _built_with.update(settings)
    return spark


def _running_session() -> SparkSession | None:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _adapt(running: SparkSession, master: str, given: Mapping[str, str]) -> None:
    """Give a running session the settings asked for, or say which it can no longer take.

    The default master asks for nothing: `session()` is also how to get at the running session.
    """
    asked = [*given, *([MASTER] if master != ANY_CORES else [])]
    wanted = _all_settings(master, given) if asked else {}
    before = {key: running.conf.get(key, None) for key in asked}
    refused = [
        _shown(key, before[key], wanted[key])
        for key in asked
        if not _takes(running, key, wanted[key])
    ]
    if refused:
        put(running, {k: v for k, v in before.items() if running.conf.get(k, None) != v})
        raise SetupError(
            "WH306",
            "a Spark session already runs here, and some settings can only be made before",
            *refused,
            "leave these settings out, or stop the running session first: `spark.stop()`",
        )


def _takes(running: SparkSession, key: str, value: str) -> bool:
    """Whether the session has this setting, or could still be given it, and then was."""
    from pyspark.errors import PySparkException

    if running.conf.get(key, None) == value:
        return True
    if key == MASTER:  # can be set, to no effect
        return False
    try:
        running.conf.set(key, value)
    except PySparkException:
        return _built_with.get(key) == value
    return True


def _shown(key: str, found: str | None, asked: str) -> str:
    """A setting that could not be made; without its values if they may be secret."""
    if re.search(SECRET, f"{key} {found} {asked}", re.IGNORECASE):
        return f"{key} has another value than the one asked for"
    return f"{key} is {found or 'not set'}, asked for is {asked}"
