"""The demonstration runs, and finds what it shows to be right."""

import re
import subprocess
import sys
from pathlib import Path

from examples.demo import SHOP
from selfmaint import load
from selfmaint.cli.files import read_text
from selfmaint.cli.rows import read_rows

ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_checks_itself(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo", "--out", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    closing = done.stdout.splitlines()[-1]
    assert re.fullmatch(r"9 verdicts checked against recomputation: all agree\.", closing)
    for verdict in ("irrelevant", "unaffected", "self-maintained", "miss"):
        assert re.search(rf"^verdict  {verdict}$", done.stdout, re.MULTILINE)
    assert "0 questions to the sources" in done.stdout
    assert (tmp_path / "sales.svg").read_text(encoding="utf-8").lstrip().startswith("<svg")


def test_the_rows_of_the_example_are_those_of_the_shop() -> None:
    program = load(ROOT / "examples" / "retail.dl")
    view = program.view("sales")
    text, name = read_text(str(ROOT / "examples" / "sales.csv"))
    rows = read_rows(text, name, view.query, view.columns)
    assert set(rows) == view.evaluate(SHOP)
