"""One Spark session for all tests, of the kind that SPARK_TESTS_ON names:

    local    the default: everything in one process
    cluster  two executors that are processes of their own
    connect  a Spark Connect server, and a client that has no SparkContext
    sc://..  the same with a server that runs already, such as that of `serving`

`make test-spark`, `make test-cluster` and `make test-connect` set it. The fixtures are there for
every test: `conftest.py` names this module as a plugin.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

import pytest

from warehouse.session import require, session

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]

MASTERS = {"local": "local[2]", "cluster": "local-cluster[2,1,1024]", "connect": "local[2]"}

# As it was before a session added to it.
ENVIRONMENT = dict(os.environ)

# Tests run most code once or twice: without the optimizing compiler they need half the time. What
# the other one compiles would no longer fit after some minutes, and then nothing is compiled.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"


def pytest_configure() -> None:
    if spark_kind() not in MASTERS:
        raise pytest.UsageError(
            f"SPARK_TESTS_ON is {spark_kind()!r}, but must be one of {', '.join(MASTERS)}"
        )


def spark_kind() -> str:
    return "connect" if spark_server() else os.environ.get("SPARK_TESTS_ON", "local")


def spark_server() -> str | None:
    """The address of a Spark Connect server that runs already."""
    given = os.environ.get("SPARK_TESTS_ON", "")
    return given if given.startswith("sc://") else None


@dataclass(frozen=True)
class SessionArguments:
    """What the shared session was built with; a script gets the same."""

    master: str
    settings: dict[str, str]


def settings_in(folder: Path) -> dict[str, str]:
    return {
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.executor.extraJavaOptions": JAVA_OPTIONS,
        "spark.sql.shuffle.partitions": "2",
        # Compiling a query costs more than running it on a few rows.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.warehouse.dir": str(folder),
    }


@contextmanager
def serving() -> Iterator[str]:
    """A Spark Connect server for the tests of other processes, and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # The server asks for it, and clients that are started from here know it.
    os.environ.setdefault("SPARK_CONNECT_AUTHENTICATE_TOKEN", str(uuid4()))
    with tempfile.TemporaryDirectory() as folder:
        server = {
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
        }
        spark = session(
            master=MASTERS["connect"],
            app="tests",
            settings=settings_in(Path(folder)) | server,
        )
        yield f"sc://localhost:{port}"  # by another name Spark would want TLS
        spark.stop()


@pytest.fixture(scope="session")
def session_arguments(tmp_path_factory: pytest.TempPathFactory) -> SessionArguments:
    settings = settings_in(tmp_path_factory.mktemp("spark-warehouse"))
    if spark_kind() == "connect":
        settings["spark.api.mode"] = "connect"
    return SessionArguments(MASTERS[spark_kind()], settings)


@pytest.fixture(scope="session")
def spark(session_arguments: SessionArguments) -> Iterator[SparkSession]:
    if server := spark_server():
        from pyspark.sql import SparkSession

        spark = require(SparkSession.builder.remote(server).getOrCreate())
    else:
        spark = session(
            master=session_arguments.master, app="tests", settings=session_arguments.settings
        )
    yield spark
    spark.stop()
    if spark_kind() == "cluster":
        _remove_executor_folders()


def _remove_executor_folders() -> None:
    """The executors of a local cluster keep logs and jars in a folder of the installed Spark."""
    import pyspark

    shutil.rmtree(Path(pyspark.__file__).parent / "work", ignore_errors=True)


RunScript: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_script(session_arguments: SessionArguments) -> RunScript:
    """`run_script(text, *arguments, **environment)`: a program in a process of its own.

    For what a test cannot do to the shared session, since a process has only one. The program
    finds the arguments for a session of the same kind, as JSON, in `sys.argv[1]`.
    """
    # A second Connect server on this machine: Spark's own tests ask for a free port in this way.
    port = {"SPARK_TESTING": "1"} if spark_kind() == "connect" else {}

    def run(text: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", text, json.dumps(vars(session_arguments))]
        return subprocess.run(
            [*command, *arguments],
            cwd=ROOT,
            env={**ENVIRONMENT, **port, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@dataclass
class Jobs:
    """How many Spark jobs a block ran; known when the block has ended."""

    count: int = 0


@pytest.fixture
def count_jobs(spark: SparkSession) -> Callable[[], AbstractContextManager[Jobs]]:
    """`with count_jobs() as jobs: ...` on a classic session; skips the test on a Connect one.

    Uses what Spark publishes: job groups, which also hold for the jobs that Delta and broadcasts
    start in other threads, and the status tracker. A Connect client is told about neither.
    """
    if spark_kind() == "connect":
        pytest.skip("Spark Connect does not say how many jobs ran")
    context = spark.sparkContext

    @contextmanager
    def counted() -> Iterator[Jobs]:
        jobs = Jobs()
        group = _new_job_group(context)
        yield jobs
        _wait_for_tracker(spark)
        jobs.count = len(context.statusTracker().getJobIdsForGroup(group))
        context.setLocalProperty("spark.jobGroup.id", None)

    return counted


def _wait_for_tracker(spark: SparkSession) -> None:
    """The tracker hears of jobs later, but in their order: once it knows one more, it knows all."""
    context = spark.sparkContext
    group = _new_job_group(context)
    spark.range(1).count()
    while not context.statusTracker().getJobIdsForGroup(group):
        time.sleep(0.01)


def _new_job_group(context: SparkContext) -> str:
    group = str(uuid4())
    context.setJobGroup(group, "counted by a test")
    return group
