"""The releases of Spark and Delta that fit together.

A Delta release is built for one Spark release, and patch releases of Spark have broken it before.
So both are pinned exactly: here, and in the `spark` extra of `pyproject.toml`.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from warehouse.errors import SetupError

SPARK: Final = "4.2.0"
DELTA: Final = "4.4.0"

DELTA_PACKAGE: Final = f"io.delta:delta-spark_{SPARK.rpartition('.')[0]}_2.13:{DELTA}"
"""Delta's Maven coordinates: the Spark release line and the Scala release are part of the name."""

PINS: Final = {"pyspark": SPARK, "delta-spark": DELTA}


def check_versions() -> None:
    """Refuse Python packages other than the pinned ones.

    Raises:
        SetupError: WH302, with what is installed and what is needed.
    """
    installed = {name: _installed(name) for name in PINS}
    if installed == PINS:
        return
    raise SetupError(
        "WH302",
        f"the Spark runtime needs {_listed(PINS)}; installed: {_listed(installed)}",
        "run `make spark` in a checkout, or `pip install 'selfmaint[spark]'`",
    )


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def _listed(versions: dict[str, str]) -> str:
    return " and ".join(f"{name} {release}" for name, release in versions.items())
