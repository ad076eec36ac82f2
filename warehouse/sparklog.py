"""What Spark has to say: where it writes it, not on the user's screen, and what it raises."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import IO, Final

LOG: Final = "SELFMAINT_SPARK_LOG"
STDERR: Final = 2
LAST: Final = 2_000
"""How much of the log an error of the start shows, in bytes."""

QUERY_ERROR_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def spark_log() -> Iterator[None]:
    """Start Spark inside this block, and its log goes to a file for as long as Spark runs.

    Spark's process, its start script and Java itself all write to the error stream that they
    inherit, some of it before any logging configuration is read. So for as long as the block
    runs, the error stream of this process is the file: the one named by `SELFMAINT_SPARK_LOG`,
    or one that vanishes with Spark. An error in the block gets the end of the log as a note.
    """
    with _open_log() as log, warnings.catch_warnings():
        # A Connect client repeats each setting to the server that it started with them, which
        # warns of those that can be made only at the start.
        warnings.filterwarnings("ignore", "Failed to set")
        try:
            with _stderr_to(log):
                yield
        except Exception as error:
            error.add_note(f"Spark's log ends with:\n{_end_of(log)}")
            raise


def silence_query_errors() -> None:
    """Keep PySpark from printing each error of a query as JSON before it raises it."""
    for logger in _query_error_loggers():
        logger.setLevel(logging.CRITICAL)


class _Silence:
    """The blocks that are silent now, and the levels to go back to after the last."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.blocks = 0
        self.levels: list[int] = []


_silence = _Silence()


@contextmanager
def silent_query_errors() -> Iterator[None]:
    """The same for a block in which an error is expected; for all threads while one is in it."""
    with _silence.lock:
        if not _silence.blocks:
            _silence.levels = [logger.level for logger in _query_error_loggers()]
            silence_query_errors()
        _silence.blocks += 1
    try:
        yield
    finally:
        with _silence.lock:
            _silence.blocks -= 1
            if not _silence.blocks:
                for logger, level in zip(_query_error_loggers(), _silence.levels, strict=True):
                    logger.setLevel(level)


def _query_error_loggers() -> list[logging.Logger]:
    from pyspark.logger import PySparkLogger

    return [PySparkLogger.getLogger(name) for name in QUERY_ERROR_LOGGERS]


def _open_log() -> IO[bytes]:
    name = os.environ.get(LOG)
    return Path(name).open("a+b") if name else tempfile.TemporaryFile()


@contextmanager
def _stderr_to(file: IO[bytes]) -> Iterator[None]:
    sys.stderr.flush()
    screen = os.dup(STDERR)
    os.dup2(file.fileno(), STDERR)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(screen, STDERR)
        os.close(screen)


def _end_of(log: IO[bytes]) -> str:
    log.seek(max(0, log.seek(0, os.SEEK_END) - LAST))
    return log.read().decode(errors="replace")


def spark_errors() -> tuple[type[Exception], ...]:
    """What Spark and Delta raise: some errors of Delta come as plain errors of the bridge."""
    from pyspark.errors import PySparkException

    # By name, since the bridge ships no types.
    return (PySparkException, import_module("py4j.protocol").Py4JError)
