"""What the repository promises about itself: imports, named paths, pinned versions."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cq", "lookups", "warehouse", "selfmaint")

# package -> the packages of ours that it may import
MAY_IMPORT = {
    "cq": set(),
    "lookups": {"cq"},
    "warehouse": {"cq"},
    "selfmaint": {"cq", "lookups", "warehouse"},
}
NOT_FOR_USERS = {
    *("bench", "tests", "property_tests", "examples", "conftest"),
    *("hypothesis", "pysat", "pytest"),
}
HEAVY = ("pyspark", "sympy", "matplotlib", "typer", "rich")

GENERATED_FOLDERS = {"__pycache__", "build", "dist", "spark-warehouse", "metastore_db"}
FILE_SUFFIXES = (".lark", ".md", ".py", ".toml", ".txt")


def repository_files(folder: Path = ROOT) -> Iterator[Path]:
    """The files a reader sees: no caches, no virtual environments, no built things."""
    for path in sorted(folder.iterdir()):
        if path.is_file():
            yield path
        elif path.is_dir() and path.name not in GENERATED_FOLDERS:
            is_environment = (path / "pyvenv.cfg").exists()
            is_tool_folder = path.name.startswith(".") and path.name != ".ci"
            if not is_environment and not is_tool_folder:
                yield from repository_files(path)


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute name of every import in a file, wherever in the file it stands."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *filter(None, [node.module])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


@pytest.mark.parametrize("package", ["cq", "lookups", "selfmaint"])
def test_import_loads_nothing_heavy(package: str) -> None:
    code = f"import sys, {package}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [], f"import {package} loads {done.stdout}"


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_in_one_direction(package: str) -> None:
    forbidden = set(PACKAGES) - {package} - MAY_IMPORT[package] | NOT_FOR_USERS
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, module in imported_modules(path)
        if module.split(".")[0] in forbidden
    ]
    assert wrong == []


def test_the_library_does_not_import_its_command_line() -> None:
    cli = ROOT / "selfmaint" / "cli"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sorted((ROOT / "selfmaint").rglob("*.py"))
        if cli not in path.parents and path.name != "__main__.py"
        for line, module in imported_modules(path)
        if module.startswith("selfmaint.cli")
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ["cq", "lookups"])
def test_only_the_spark_executor_knows_spark(package: str) -> None:
    executor = ROOT / "lookups" / "spark"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if not path.is_relative_to(executor)
        for line, module in imported_modules(path)
        if f"{module}.".startswith(("pyspark.", "delta.", "lookups.spark."))
    ]
    assert wrong == []


def named_paths(markdown: str) -> list[str]:
    """What stands in backticks and looks like a file or a folder of this repository.

    That is a word that ends in `/`, has one of our file suffixes, or starts with one of our
    folders. `path.py:name` and `path.py::name` count as the path; `*` is a wildcard.
    """
    prose = re.sub(r"^ *```.*?^ *```", "", markdown, flags=re.MULTILINE | re.DOTALL)
    folders = tuple(f"{path.name}/" for path in ROOT.iterdir() if path.is_dir())
    words = (word.split(":")[0] for word in re.findall(r"`([\w.*/-]+(?:::?\w+)?)`", prose))
    return sorted(
        {word for word in words if word.endswith(("/", *FILE_SUFFIXES)) or word.startswith(folders)}
    )


def path_exists(name: str, files: list[Path]) -> bool:
    if "/" in name or "*" in name:
        return any(ROOT.glob(name.rstrip("/")))
    return any(path.name == name for path in files)


def test_named_paths_are_recognized() -> None:
    text = "`cq/syntax.py`, `tests/golden/`, `emit.py:main`, `tests/unit/*.py`, `a/b`, `v.dl`, `-`"
    assert named_paths(text + "\n```\n`gone.py`\n```\n") == [
        "cq/syntax.py",
        "emit.py",
        "tests/golden/",
        "tests/unit/*.py",
    ]


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_named_path_exists(document: str) -> None:
    files = list(repository_files())
    names = named_paths((ROOT / document).read_text(encoding="utf-8"))
    assert [name for name in names if not path_exists(name, files)] == []


# Written so that no pattern matches its own text.
PRIVATE = {
    "a path of one machine": r"(?<![\w.~-])/(?:home|root|Users|work|opt|mnt)/\w|\b[A-Z]:\\\w",
    "a package registry": r"\bpypi\.org|pythonhosted\.org|\brepo\d?\.maven\.|maven\.org\b"
    r"|--(?:extra-)?index[-]url|--find[-]links|--trusted[-]host",
}


@pytest.mark.parametrize("what", sorted(PRIVATE))
def test_no_file_depends_on_one_machine(what: str) -> None:
    pattern = re.compile(PRIVATE[what])
    texts = (path for path in repository_files() if path.suffix != ".png")  # bytes spell anything
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in texts
        for number, line in enumerate(path.read_bytes().decode(errors="ignore").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == [], f"mentions {what}"


def test_constraints_pin_every_dependency() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.+!]+", pin)] == []

    def normal(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name).lower()

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {normal(re.split(r"[^\w.-]", requirement)[0]) for requirement in asked}
    assert names - {normal(pin.split("==")[0]) for pin in pins} == set(), "run `make lock`"
