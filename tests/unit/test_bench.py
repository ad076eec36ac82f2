"""The benchmark runs and reports; how fast it is, is its own business."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench import views
from tests.bench.__main__ import main
from tests.bench.chart import chart
from tests.bench.report import Run, table
from tests.bench.timing import Line

FAST = Line("fast", "ms", 2.0, median=1.0, low=0.9, high=1.1, cpu=1.0, samples=3)
OVER = Line("over", "1/s", 20_000.0, median=5_000, low=4_000, high=6_000, cpu=5_000, samples=3)
FREE = Line("free", "s", None, median=1.5, low=1.5, high=1.5, cpu=1.5, samples=1)
RUN = Run((FAST, OVER, FREE), {"python": "3"}, {"cores": 2})


def row_of(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(name))


def test_quick_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "bench.json"
    assert main(["--quick", "--out", str(out)]) == 0
    data = json.loads(out.read_text(encoding="utf-8"))
    assert data["version"] == 1
    assert data["quick"] is True
    assert set(data["versions"]) == {"lark", "python", "sympy"}
    assert data["machine"]["cores"] >= 1
    names = [line["name"] for line in data["lines"]]
    assert len(set(names)) == len(names)
    sections = {name.split(":")[0] for name in names}
    assert {
        "import",
        "compile 3",
        "compile 10",
        "one relation",
        "file",
        "index",
        "decide",
    } <= sections
    for line in data["lines"]:
        assert line["unit"] in ("ms", "s", "1/s")
        assert 0 < line["low"] <= line["median"] <= line["high"]
        assert line["target"] is None or line["target"] > 0
    shown = capsys.readouterr().out
    assert all(row_of(shown, name) for name in names)
    ElementTree.fromstring(out.with_suffix(".svg").read_text(encoding="utf-8"))
    assert Run.read(out).to_json() == out.read_text(encoding="utf-8")


def test_table_judges_by_the_target() -> None:
    shown = table(RUN)
    assert "0.50" in row_of(shown, "fast")
    assert row_of(shown, "fast").endswith("PASS")
    assert row_of(shown, "over").endswith("OVER TARGET")
    assert "PASS" not in row_of(shown, "free")


def test_a_busy_machine_is_not_a_slow_program() -> None:
    busy = replace(FAST, median=3.0, high=3.5, cpu=1.5)
    assert row_of(table(replace(RUN, lines=(busy,))), "fast").endswith("cpu is on target")


def test_comparison_flags_what_became_slower() -> None:
    lines = (replace(FAST, cpu=1.4), replace(OVER, cpu=10_000.0), replace(FREE, name="extra"))
    shown = table(replace(RUN, lines=lines), RUN)
    assert "x1.40" in row_of(shown, "fast")
    assert row_of(shown, "fast").endswith("SLOWER")
    assert "x0.50" in row_of(shown, "over")
    assert "SLOWER" not in row_of(shown, "over")
    assert row_of(shown, "extra").endswith("new")
    assert row_of(shown, "free").endswith("no longer measured")


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version"):
        Run.from_json(RUN.to_json().replace('"version": 1', '"version": 0'))


def test_chart_has_a_bar_for_every_target() -> None:
    picture = ElementTree.fromstring(chart(RUN))
    bars = [node.get("class") for node in picture if node.get("class") in ("fine", "over")]
    assert bars == ["fine", "over"]


@pytest.mark.parametrize("size", [3, 10])
@pytest.mark.parametrize("shape", views.SHAPES)
def test_shapes_have_the_size_they_say(shape: str, size: int) -> None:
    rule = views.SHAPES[shape](size, 7).splitlines()[-1]
    body = rule.split(":-")[1]
    assert body.count("(") == size
