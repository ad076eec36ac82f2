"""What a session stands on: versions, Java, jars. None of this starts Spark."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from warehouse import jars, java, versions
from warehouse.errors import SetupError

ROOT = Path(__file__).resolve().parents[2]


def test_the_pins_are_those_of_the_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"]["spark"]
    assert f"pyspark[connect]=={versions.SPARK}" in extra
    assert f"delta-spark=={versions.DELTA}" in extra


def test_the_jars_are_those_of_the_pinned_delta() -> None:
    assert versions.DELTA_PACKAGE == "io.delta:delta-spark_4.2_2.13:4.4.0"
    assert f"{versions.DELTA_PACKAGE.replace(':', '_', 1).replace(':', '-')}.jar" in jars.JARS
    assert all(name.endswith(f"-{versions.DELTA}.jar") for name in jars.JARS)


def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"pyspark": "4.2.1"}

    def version(name: str) -> str:
        if name in installed:
            return installed[name]
        raise PackageNotFoundError(name)

    monkeypatch.setattr(versions, "version", version)
    with pytest.raises(SetupError) as refused:
        versions.check_versions()
    assert str(refused.value) == (
        "error[WH302]: the Spark runtime needs pyspark 4.2.0 and delta-spark 4.4.0;"
        " installed: pyspark 4.2.1 and delta-spark missing\n"
        " = help: run `make spark` in a checkout, or `pip install 'selfmaint[spark]'`"
    )


def java_that_says(text: str, home: Path) -> Path:
    """A folder for JAVA_HOME, and in it the command."""
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho '{text}' >&2\n", encoding="utf-8")
    command.chmod(0o755)
    return command


@pytest.mark.parametrize(
    "text", ['openjdk version "17.0.15" 2025-04-15', 'java version "21"', 'openjdk version "25-ea"']
)
def test_java_17_and_later_will_do(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java_that_says(text, tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java.check_java()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11"),
        ('java version "1.8.0_392"', "is Java 8"),
        ("no such thing", "cannot be run"),
    ],
)
def test_other_java_is_refused(
    text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = java_that_says(text, tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError) as refused:
        java.check_java()
    assert str(refused.value) == (
        f"error[WH303]: Spark needs Java 17 or later, but `{command}` {problem}\n"
        " = help: install it (on Debian: apt-get install openjdk-17-jre-headless),"
        " or set JAVA_HOME to the folder of one"
    )


def test_java_that_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="Java 17 or later, but `java` cannot be run"):
        java.check_java()


def test_the_command_says_it_in_two_lines(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "warehouse.java"],
        cwd=ROOT,
        env={"JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error[WH303]: Spark needs Java 17 or later, but `")
    assert len(done.stderr.splitlines()) == 2


def test_missing_jars(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as refused:
        jars.delta_jars(tmp_path)
    assert str(refused.value) == (
        f"error[WH304]: Delta's jars are not in {tmp_path}\n"
        " = help: run `make spark` in a checkout, or `python -m warehouse.jars`;"
        " it needs the network once"
    )


def test_jars_are_resolved_only_if_they_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(jars, "_resolved")
    jars.provide_jars()
    assert {path.name for path in jars.delta_jars()} == jars.JARS.keys()


def test_broken_and_old_jars_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_resolved", jars.delta_jars)
    folder = tmp_path / "share" / "jars"
    shutil.copytree(jars.jars_folder(), folder)
    (folder / "io.delta_delta-storage-4.4.0.jar").write_bytes(b"half a jar")
    (folder / "io.delta_delta-storage-4.3.0.jar").write_bytes(b"an old one")
    jars.provide_jars(folder)
    assert [path.name for path in sorted(folder.iterdir())] == sorted(jars.JARS)
    jars.provide_jars(folder)
    assert [path.name for path in folder.parent.iterdir()] == ["jars"]


def test_failed_resolution_leaves_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = "noise\n\tServer access error at url x (Connection refused)\nmore noise\n"
    monkeypatch.setattr(jars, "_submit", lambda: ["sh", "-c", f"printf '{log}' >&2; exit 1"])
    (tmp_path / "other.jar").touch()
    with pytest.raises(SetupError) as failed:
        jars.provide_jars(tmp_path)
    assert str(failed.value) == (
        "error[WH305]: Delta's jars could not be resolved\n"
        " = help: Server access error at url x (Connection refused)"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["other.jar"]


def test_jars_with_other_content_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in jars.JARS:
        shutil.copyfile(jars.jars_folder() / name, tmp_path / name)
    wrong = tmp_path / "io.delta_delta-storage-4.4.0.jar"
    wrong.write_bytes(b"something else")
    monkeypatch.setattr(jars, "_submit", lambda: ["sh", "-c", f"ls -d {tmp_path}/*"])
    with pytest.raises(SetupError) as refused:
        jars.provide_jars(tmp_path / "jars")
    assert str(refused.value) == (
        f"error[WH305]: not what Delta published: {wrong}\n"
        " = help: remove it there and from Ivy's cache, and run this again"
    )
