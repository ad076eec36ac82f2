"""Hypothesis profiles and markers, shared by `tests`, `property_tests` and the doctests.

HYPOTHESIS_PROFILE chooses one:

    dev      the default for a plain `pytest`: few examples, new ones each time
    ci       what `make test` uses: as many examples, the same ones each time
    nightly  a long search with new examples

`ci` is derandomized so that a red build means that the change under review broke something, and
so that the next run shows the same failure. New ground is covered by `dev` and `nightly`, which
print a line that reproduces what they found; pin it with `@example`, and `ci` has it from then on.

No profile has a deadline or the `too_slow` health check: both measure the machine, not the law.
A law that needs more examples than others asks for a multiple of `settings().max_examples`, so
that it still follows the profile.
"""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent
ON_SPARK = tuple(ROOT / folder for folder in ("tests/spark", "tests/long", "property_tests/spark"))

# The one Spark session of all these.
pytest_plugins = ["tests.spark.sessions"]

# The doctests of these need Spark, which is an extra.
collect_ignore_glob = [] if find_spec("pyspark") else ["lookups/spark/*", "warehouse/*", "bench/*"]

settings.register_profile(
    "base", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
BASE = settings.get_profile("base")
settings.register_profile("dev", BASE, max_examples=50)
settings.register_profile("ci", BASE, max_examples=50, derandomize=True)
settings.register_profile("nightly", BASE, max_examples=5000)

PROFILES = ("dev", "ci", "nightly")


def pytest_configure() -> None:
    name = os.environ.get("HYPOTHESIS_PROFILE", "dev")
    if name not in PROFILES:
        raise pytest.UsageError(
            f"HYPOTHESIS_PROFILE is {name!r}, but must be one of {', '.join(PROFILES)}"
        )
    settings.load_profile(name)


# First, so that `-m` sees the markers when it selects.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in ON_SPARK):
            item.add_marker("spark")
