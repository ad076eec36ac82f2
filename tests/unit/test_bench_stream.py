"""TPC-H as a living warehouse, without Spark: draws, programs, results, the README."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from bench.stream import program, readme, tables
from bench.stream.draws import ranked, scattered
from bench.stream.recompute import QUERIES
from bench.stream.results import (
    LOCAL_COPIES,
    NO_KEYS,
    PLANS,
    RECOMPUTE,
    SELFMAINT,
    TRADITIONAL,
    Asked,
    Decided,
    Happened,
    Kept,
    Line,
    Run,
    Settings,
    ViewSize,
    targets,
)
from bench.stream.sittings import CannotGoOn, Sitting

VIEWS = ("star", "urgent")
KEYS = {SELFMAINT: 3, NO_KEYS: 40, TRADITIONAL: 100, LOCAL_COPIES: 0, RECOMPUTE: 0}


def asked(plan: str, view: str) -> Asked:
    rows = 5000 if plan == RECOMPUTE else KEYS[plan]
    return Asked(plan, view, bool(rows), KEYS[plan], rows, 80 * rows, 30, 10)


@pytest.fixture
def run() -> Run:
    """Two batches of two views, as they might be."""
    lines = [
        Line.of(batch, plan, float(batch), [asked(plan, view) for view in VIEWS])
        for batch in (1, 2)
        for plan in PLANS
    ]
    return Run(
        settings=Settings(scale=0.01, batches=2),
        machine={"cores": 2},
        changes=tuple(Happened(batch, "orders", 15, 15) for batch in (1, 2)),
        lines=tuple(lines),
        asked=tuple(asked(plan, v) + asked(plan, v) for plan in PLANS for v in VIEWS),
        decided=tuple(
            Decided(plan, "star", "orders", "insert", kind, "insert-exposed", count)
            for plan in (SELFMAINT, NO_KEYS)
            for kind, count in (("self-maintained", 20), ("miss", 10))
        ),
        kept=tuple(
            Kept(plan, 10_000_000 if plan == LOCAL_COPIES else 9_000 * (plan != RECOMPUTE))
            for plan in PLANS
        ),
        views=tuple(ViewSize(view, 5000, 123_456) for view in VIEWS),
        compared=2 * 2 * 4,
    )


# What is drawn


@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.2])
def test_draws_become_ranks(exponent: float) -> None:
    count, draws = 1000, 20_000
    ranks = Counter(int(ranked(i / draws, count, exponent)) for i in range(draws))
    assert set(ranks) <= set(range(1, count + 1))
    first = sum(ranks[rank] for rank in range(1, 11)) / draws
    if exponent == 0:
        assert first == pytest.approx(0.01, abs=0.001)
    else:
        assert (first > 0.5) == (exponent > 1)
        assert ranks[1] > ranks[10] > ranks[100]


@pytest.mark.parametrize("count", [1, 2, 3, 10, 1000, 1500, 2000])
def test_every_rank_gets_a_number_of_its_own(count: int) -> None:
    assert sorted(scattered(rank, count) for rank in range(count)) == list(range(count))


# The programs


def test_without_keys_the_views_are_the_same() -> None:
    keyed, bare = program.with_keys(), program.without_keys()
    assert keyed.views == bare.views == tuple(QUERIES)
    for name in keyed.views:
        assert keyed.view(name).columns == bare.view(name).columns
        assert len(keyed.view(name).normal.atoms) == len(bare.view(name).normal.atoms)
    assert all(relation.keys for relation in keyed.relations.values())
    assert not any(relation.keys or relation.references for relation in bare.relations.values())
    for name, relation in keyed.relations.items():
        assert relation.columns == bare.relations[name].columns


def test_a_view_written_plainly_reads_the_same_relations() -> None:
    keyed = program.with_keys()
    for view, text in QUERIES.items():
        assert set(re.findall(r"\{(\w+)\}", text)) == set(keyed.view(view).relations)


def test_the_data_has_the_columns_of_the_program() -> None:
    data = pytest.importorskip("bench.stream.data", exc_type=ImportError)
    relations = program.with_keys().relations
    assert data.COLUMNS.keys() == relations.keys()
    for name, columns in data.COLUMNS.items():
        assert len(columns) == relations[name].arity


# Results


def test_a_run_reads_back(run: Run) -> None:
    assert Run.from_json(run.to_json()) == run
    with pytest.raises(ValueError, match="version"):
        Run.from_json(run.to_json().replace('"version": 1', '"version": 0'))


def test_a_run_as_csv(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run.to_csv())))
    assert len(rows) == len(run.lines)
    assert {"batch", "plan", "keys", "bytes", "seconds_at_2000_ms"} <= set(rows[0])


def test_seconds_are_what_was_measured_and_what_questions_take() -> None:
    line = Line(1, TRADITIONAL, 2.0, 3, 50_000, 50_000, 0, 0, 0)
    assert line.seconds_at(0) == pytest.approx(3.0)
    assert line.seconds_at(200) == pytest.approx(3.6)


def test_targets(run: Run) -> None:
    assert [target.is_met for target in targets(run)] == [True, True, True]
    more = [replace(line, keys=11) if line.plan == SELFMAINT else line for line in run.lines]
    assert [t.is_met for t in targets(replace(run, lines=tuple(more)))] == [True] * 3  # of 200
    more = [replace(line, keys=21) if line.plan == SELFMAINT else line for line in run.lines]
    assert [t.is_met for t in targets(replace(run, lines=tuple(more)))] == [False, True, True]
    kept = [replace(each, bytes=600_000) if each.bytes else each for each in run.kept[:3]]
    missed = replace(run, kept=(*kept, *run.kept[3:]), compared=run.compared - 1)
    assert [t.is_met for t in targets(missed)] == [True, False, False]
    assert tables.text(missed).count("MISSED") == 2


def test_tables_have_a_row_per_plan(run: Run) -> None:
    assert [row[0] for row in tables.overall(run)[1]] == list(PLANS)
    assert [row[0] for row in tables.speed_ups(run)[1]] == list(PLANS[1:])
    assert len(tables.views(run)[1]) == len(PLANS) * len(VIEWS)
    assert tables.verdicts(run)[1][0][-2:] == ["10", "10"]
    assert [tables.in_bytes(n) for n in (999, 12_345, 6_000_000, 7e12)] == [
        *("999 B", "12.3 kB", "6.00 MB", "7000 GB"),
    ]


def test_pictures(run: Run) -> None:
    figures = pytest.importorskip("bench.stream.figures", exc_type=ImportError)
    image = figures.png(run)
    assert image.startswith(b"\x89PNG")
    page = figures.html(run, image)
    assert "data:image/png;base64," in page
    assert all(address not in page for address in ("http://", "https://", 'src="/'))
    assert page.count("<table>") == 7


# The README


def test_the_readme_has_a_place_for_the_figures(run: Run) -> None:
    assert readme.summary(run) in readme.filled(run, [])


def test_runs_of_other_scales_and_skews_stand_beside_it(run: Run) -> None:
    other = replace(run, settings=replace(run.settings, scale=1.0, skew=0.0))
    assert readme.result_of(Settings(batches=7)) == readme.RESULT
    assert readme.result_of(other.settings).name == "stream-scale-1-skew-0.json"
    head, rows = tables.by_settings([run, other])
    assert [row[:2] for row in rows] == [["0.01", "0.8"], ["1", "0"]]
    assert dict(zip(head, rows[0], strict=True))["share"] == "3.0%"
    head, rows = tables.seconds_by_settings([run, other], 200)
    assert head[3:] == tuple(plan for plan in run.plans if plan != "selfmaint")
    assert rows[1][:2] == ["1", "0"]
    assert rows[0][3] == str(run.speed_up("selfmaint", head[3], 200)) == rows[1][3]
    assert "**By scale and skew**" in readme.filled(run, [other])
    assert "**By scale and skew**" not in readme.filled(run, [])


def test_the_readme_says_what_was_measured() -> None:
    text = readme.README.read_text(encoding="utf-8")
    committed = Run.from_json(readme.RESULT.read_text(encoding="utf-8"))
    assert committed.to_json() == readme.RESULT.read_text(encoding="utf-8")
    found = readme.filled(committed, readme.beside())
    assert found == text, "run `python -m bench.stream --fill`"


class TestSittings:
    """A run goes on only where it ended, with the same settings on the same machine."""

    MACHINE: ClassVar[dict[str, str | int | float]] = {"revision": "abc", "load": 0.1}

    def test_the_first_begins_and_the_next_goes_on(self, tmp_path: Path, run: Run) -> None:
        folder = tmp_path / "run"
        first = Sitting.of(folder, run.settings, self.MACHINE)
        assert (first.before, first.batches, first.number) == (None, 0, 1)
        first.require(0)
        folder.mkdir()
        first.keep(replace(run, machine=self.MACHINE))
        assert [path.name for path in folder.iterdir()] == ["result.json"]
        more = replace(run.settings, batches=50)
        second = Sitting.of(folder, more, self.MACHINE | {"load": 2.5})
        assert second.before == replace(run, machine=self.MACHINE)
        assert (second.batches, second.number) == (2, 2)
        second.require(2)
        with pytest.raises(CannotGoOn, match="batch 3 was broken off"):
            second.require(3)

    def test_another_run_is_not_continued(self, tmp_path: Path, run: Run) -> None:
        Sitting(tmp_path, None).keep(replace(run, machine=self.MACHINE))
        with pytest.raises(CannotGoOn, match="settings"):
            Sitting.of(tmp_path, replace(run.settings, skew=1.2), self.MACHINE)
        with pytest.raises(CannotGoOn, match="machine"):
            Sitting.of(tmp_path, run.settings, {"revision": "def", "load": 0.1})

    def test_a_folder_without_a_result_is_not_touched(self, tmp_path: Path, run: Run) -> None:
        (tmp_path / "source").mkdir()
        with pytest.raises(CannotGoOn, match="remove it"):
            Sitting.of(tmp_path, run.settings, self.MACHINE)

    def test_the_readme_says_how_many(self, run: Run) -> None:
        assert "2 batches in 3 sittings," in readme.summary(replace(run, sittings=3))
        assert "sittings" not in readme.summary(run)
        assert Run.from_json(replace(run, sittings=3).to_json()).sittings == 3
