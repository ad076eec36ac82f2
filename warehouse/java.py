"""The Java that Spark will start: found and checked before it is started.

`python -m warehouse.java` says nothing if it will do, and otherwise what to install.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from warehouse.errors import SetupError

OLDEST: Final = 17


def check_java() -> None:
    """Refuse a missing Java and one that is too old for Spark.

    Raises:
        SetupError: WH303.
    """
    command = _command()
    release = _release(command)
    if release is not None and release >= OLDEST:
        return
    if release is None:
        problem = f"`{command}` cannot be run"
    else:
        problem = f"`{command}` is Java {release}"
    raise SetupError(
        "WH303",
        f"Spark needs Java {OLDEST} or later, but {problem}",
        f"install it (on Debian: apt-get install openjdk-{OLDEST}-jre-headless), "
        "or set JAVA_HOME to the folder of one",
    )


def _command() -> str:
    """The program that Spark's start script will run, by the same rule."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else shutil.which("java") or "java"


def _release(command: str) -> int | None:
    """The major version, or None if the command does not answer like a Java."""
    try:
        done = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    # `17.0.15`, `21`, `25-ea`, and `1.8.0_392` for Java 8
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found and done.returncode == 0 else None


def main() -> None:
    try:
        check_java()
    except SetupError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
