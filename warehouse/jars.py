"""Delta's jars: resolved once, in set-up, so that a session needs no network.

`python -m warehouse.jars` lets Spark's own Ivy resolve them, checks them against the published
content and puts them into a folder of this Python environment; where they already are, it only
checks them. Ivy's cache, a mirror or a proxy are set as for any other Spark program, in
`spark-defaults.conf`.

Delta's own jars are all that Spark lacks. What else Delta names as a dependency is either shipped
with Spark, in a later release, or serves only Unity Catalog.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

from warehouse.errors import SetupError
from warehouse.java import check_java
from warehouse.versions import DELTA_PACKAGE, check_versions

# file name, as Ivy gives it, and SHA-256
JARS: Final = {
    "io.delta_delta-kernel-api-4.4.0.jar": (
        "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11"
    ),
    "io.delta_delta-kernel-defaults-4.4.0.jar": (
        "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b"
    ),
    "io.delta_delta-kernel-unitycatalog-4.4.0.jar": (
        "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa"
    ),
    "io.delta_delta-spark_4.2_2.13-4.4.0.jar": (
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead"
    ),
    "io.delta_delta-storage-4.4.0.jar": (
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"
    ),
}

# Patterns for every dependency that is not one of Delta's own jars: 12 MB to fetch, not 88.
NOT_NEEDED: Final = (
    "com.*:*",
    "commons-*:*",
    "io.airlift:*",
    "io.unitycatalog:*",
    "javax.*:*",
    "org.*:*",
)

# Spark puts what it resolved for a Python program on that program's path.
SHOW_PATH: Final = "import sys; print(*sys.path, sep='\\n')"


def jars_folder() -> Path:
    return Path(sys.prefix, "share", "selfmaint", "jars")


def delta_jars(folder: Path | None = None) -> tuple[Path, ...]:
    """The jars a session needs, in a fixed order.

    Raises:
        SetupError: WH304, if set-up has not put them there.
    """
    folder = folder or jars_folder()
    paths = tuple(folder / name for name in JARS)
    if all(path.is_file() for path in paths):
        return paths
    raise SetupError(
        "WH304",
        f"Delta's jars are not in {folder}",
        "run `make spark` in a checkout, or `python -m warehouse.jars`; it needs the network once",
    )


def provide_jars(folder: Path | None = None) -> None:
    """Put Delta's jars into `folder`, unless they are there and sound.

    Raises:
        SetupError: WH305, if they cannot be had; the folder is then as it was.
    """
    folder = folder or jars_folder()
    if _are_sound(folder / name for name in JARS):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".jars-") as name:
        fresh = Path(name, "jars")
        fresh.mkdir()
        for jar in _resolved():
            shutil.copyfile(jar, fresh / jar.name)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)


def _are_sound(jars: Iterable[Path]) -> bool:
    return all(jar.is_file() and _digest(jar) == JARS[jar.name] for jar in jars)


def _digest(jar: Path) -> str:
    return sha256(jar.read_bytes()).hexdigest()


def _resolved() -> list[Path]:
    """Where Ivy has put the jars, fetched if they are not in its cache; all of them, all sound."""
    with tempfile.TemporaryDirectory(prefix="selfmaint-") as name:
        program = Path(name, "show_path.py")
        program.write_text(SHOW_PATH, encoding="utf-8")
        done = subprocess.run(
            [*_submit(), str(program)],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    found = {Path(line).name: Path(line) for line in done.stdout.splitlines()}
    if done.returncode != 0 or not JARS.keys() <= found.keys():
        raise SetupError("WH305", "Delta's jars could not be resolved", *_reasons(done.stderr))
    jars = [found[name] for name in JARS]
    if wrong := [jar for jar in jars if not _are_sound([jar])]:
        raise SetupError(
            "WH305",
            f"not what Delta published: {', '.join(map(str, wrong))}",
            "remove it there and from Ivy's cache, and run this again",
        )
    return jars


def _submit() -> list[str]:
    """A command that resolves packages and then runs a Python program, without a Spark session."""
    import pyspark

    return [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        "--master=local",
        f"--packages={DELTA_PACKAGE}",
        f"--exclude-packages={','.join(NOT_NEEDED)}",
    ]


def _reasons(log: str) -> list[str]:
    """The lines of Spark's and Ivy's log that say why, or the last one."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("Server access error", "Exception in"))]
    return telling or lines[-1:]


def main() -> None:
    try:
        check_versions()
        check_java()
        provide_jars()
    except SetupError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
