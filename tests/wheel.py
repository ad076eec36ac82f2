"""Build the wheel, check what is in it, install it in a fresh environment and use it there.

Run by `make wheel`. The wheel must hold the four packages as they are on disk and nothing else:
two of the names are generic, and a missing grammar shows only on a user's machine.
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("cq", "lookups", "warehouse", "selfmaint")
GRAMMAR = "cq/grammar.lark"

# Runs with the installed wheel only: -I keeps this checkout off the path.
USE = """
import importlib, importlib.resources, pathlib, sys
for name in sys.argv[1:]:
    where = pathlib.Path(importlib.import_module(name).__file__)
    assert where.is_relative_to(sys.prefix), f"{name} was imported from {where}"
importlib.resources.files("cq").joinpath("grammar.lark").read_text(encoding="utf-8")
"""


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)


def build(folder: Path) -> Path:
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def belongs(name: str) -> bool:
    return name.endswith((".py", "/py.typed")) or name == GRAMMAR


def content_problems(names: set[str]) -> list[str]:
    on_disk = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file()
    }
    expected = {name for name in on_disk if belongs(name)}
    shipped = {name for name in names if ".dist-info/" not in name}
    missing = [f"missing: {name}" for name in sorted(expected | {GRAMMAR}) if name not in shipped]
    return missing + [f"unexpected: {name}" for name in sorted(shipped - expected)]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="selfmaint-wheel-") as name:
        folder = Path(name)
        print("Building the wheel ...")
        wheel = build(folder / "dist")

        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
        if problems := content_problems(names):
            print(f"{wheel.name} does not hold what it should:", *problems, sep="\n  ")
            return 1

        print(f"Installing {wheel.name} in a fresh environment ...")
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
        run(*pip, "install", "--constraint", ROOT / "constraints.txt", wheel)
        run(python, "-I", "-c", USE, *PACKAGES, cwd=folder)
        for command in ([python.with_name("selfmaint")], [python, "-I", "-m", "selfmaint"]):
            shown = subprocess.run([*command, "--help"], cwd=folder, capture_output=True, text=True)
            if shown.returncode != 0 or "Usage" not in shown.stdout:
                print("`selfmaint --help` fails:", shown.stdout, shown.stderr, sep="\n")
                return 1
    shipped = sum(".dist-info/" not in name for name in names)
    print(f"{wheel.name} is fine: {shipped} files, {', '.join(PACKAGES)} import, selfmaint runs.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
