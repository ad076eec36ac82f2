"""Golden files."""

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"
UPDATED = pytest.StashKey[list[Path]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the files in tests/golden that differ from what the tests produce",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[UPDATED] = []


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for path in sorted(config.stash[UPDATED]):
        terminalreporter.write_line(f"rewrote {path.relative_to(config.rootpath)}")


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Callable[[str | Path, str], None]:
    """`golden(path, text)`: the text must equal the file, named relative to tests/golden.

    A final newline is neither required of the text nor missing from the file.
    """

    def compare(path: str | Path, text: str) -> None:
        __tracebackhide__ = True
        file = GOLDEN / path
        actual = text if text.endswith("\n") else text + "\n"
        expected = file.read_bytes().decode() if file.exists() else None
        if actual == expected:
            return
        name = file.relative_to(pytestconfig.rootpath)
        if pytestconfig.getoption("--update-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(actual.encode())
            pytestconfig.stash[UPDATED].append(file)
            return
        difference = difflib.unified_diff(
            (expected or "").splitlines(),
            actual.splitlines(),
            fromfile=f"{name} (expected)",
            tofile="produced",
            lineterm="",
        )
        problem = "differs from what was produced" if expected is not None else "does not exist"
        pytest.fail(
            "\n".join([*difference, "", f"{name} {problem}; --update-golden writes it."]),
            pytrace=False,
        )

    return compare
