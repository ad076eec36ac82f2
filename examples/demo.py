"""What selfmaint does, on a small shop: `make demo`, or `python -m examples.demo`.

Reads `retail.dl`, explains two of its views, decides a few changes and maintains one view through a
batch. Every result is computed here and now, and compared with the view recomputed from its
sources; the last line says how many comparisons there were. It exits with 1 if one fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from pathlib import Path

from rich.console import RenderableType

import selfmaint
from selfmaint.cli.console import emphasized, grid, output_width, show, show_block, styled
from selfmaint.cli.decide import VERDICT_STYLES, change_text, decide_change, render
from selfmaint.cli.reasons import Words
from selfmaint.explain import Cell, Explanation, explain
from selfmaint.picture import picture

HERE = Path(__file__).parent
Row = tuple[object, ...]
Database = dict[str, set[Row]]
Change = tuple[str, str, Row]

SHOP: Database = {
    "regions": {("EU", "Europe"), ("US", "America")},
    "customers": {(1, "Ada", "EU"), (2, "Grace", "US"), (3, "Linus", "EU")},
    "products": {
        (10, "Hammer", "tools", Decimal("12.50")),
        (11, "Screws, 4 mm", "supplies", Decimal("0.05")),
        (12, "Ladder", None, Decimal("80.00")),
        (13, "Drill", "tools", Decimal("99.00")),
    },
    "orders": {
        (100, 1, date(2024, 3, 1)),
        (101, 2, date(2024, 3, 2)),
        (102, 3, date(2024, 3, 2)),
    },
    "order_lines": {
        (100, 1, 10, 2),
        (100, 2, 11, 200),
        (101, 1, 10, 1),
        (101, 2, 11, 150),
        (102, 1, 12, 1),
    },
}

DECISIONS: tuple[tuple[str, str, Change], ...] = (
    (
        "Ada adds 20 screws to her order.",
        "bulk_eu",
        ("order_lines", "insert", (100, 3, 11, 20)),
    ),
    (
        "Grace, in the US, takes her 150 screws back.",
        "bulk_eu",
        ("order_lines", "delete", (101, 2, 11, 150)),
    ),
    (
        "Linus adds three hammers to his order.",
        "sales",
        ("order_lines", "insert", (102, 2, 10, 3)),
    ),
    (
        "Linus adds a drill, the first one ever sold.",
        "sales",
        ("order_lines", "insert", (102, 2, 13, 1)),
    ),
)

BATCH: tuple[Change, ...] = (
    ("customers", "delete", (2, "Grace", "US")),
    ("customers", "insert", (2, "Grace", "EU")),
    ("customers", "insert", (4, "Edsger", "EU")),
    ("orders", "insert", (103, 4, date(2024, 3, 5))),
    ("order_lines", "insert", (103, 1, 10, 5)),
)


class Demonstration:
    """The program, the shop, and a count of what was compared with recomputation."""

    def __init__(self) -> None:
        self.program = selfmaint.load(HERE / "retail.dl")
        self.checked = 0
        self.wrong = 0

    def compare(self, verdicts: int, found: frozenset[Row], expected: frozenset[Row]) -> None:
        """Count `verdicts` that led to the view `found`, where recomputation gives `expected`."""
        self.checked += verdicts
        self.wrong += verdicts * (found != expected)

    def explain(self, view: str) -> None:
        """How often the view decides each kind of change."""
        show(matrix(explain(self.program, view)), "")

    def decide(self, what: str, view_name: str, change: Change) -> None:
        """One change from the view alone; a miss is then settled by asking the shop."""
        relation, action, row = change
        view = self.program.view(view_name)
        before = view.evaluate(SHOP)
        decided = decide_change(self.program, view_name, list(before), relation, action, row)
        show(styled(what, "italic"), "", render(decided, output_width()), "")
        verdict = decided.verdict
        after = applied(SHOP, [change])
        if verdict.kind == "miss":
            maintained = view.maintain(before, [change], after).rows
        else:
            maintained = (before - verdict.deletes) | verdict.inserts
        self.compare(1, maintained, view.evaluate(after))

    def batch(self, view_name: str, changes: tuple[Change, ...]) -> None:
        """Several changes at once, which answer for each other."""
        view = self.program.view(view_name)
        before, after = view.evaluate(SHOP), applied(SHOP, changes)
        outcome = view.maintain(before, changes, after)
        recomputed = view.evaluate(after)
        self.compare(len(outcome.decisions), outcome.rows, recomputed)
        for decision in outcome.decisions:
            plan = view.plan(decision.relation, decision.action)
            why = "\n".join(Words(plan, view.columns, decision.row).sentences(decision.reason))
            kind = styled(decision.kind, VERDICT_STYLES[decision.kind])
            show(
                grid((styled(change_text(plan, decision.row)), kind)),
                grid(("", styled(why, "dim"))),
            )
        agrees = "equal to" if outcome.rows == recomputed else "DIFFERENT from"
        show(
            "",
            styled(
                f"{len(changes)} changes, {len(outcome.questions)} questions to the sources. "
                f"The view went from {len(before)} to {len(outcome.rows)} rows, {agrees} "
                "recomputation."
            ),
            "",
        )


def applied(database: Database, changes: Iterable[Change]) -> Database:
    """The database after the changes."""
    after = {relation: set(rows) for relation, rows in database.items()}
    for relation, action, row in changes:
        if action == "insert":
            after[relation].add(row)
        else:
            after[relation].remove(row)
    return after


def matrix(explanation: Explanation) -> RenderableType:
    """Relations by kind of change: how often a change is decided from the view alone."""
    header = tuple(styled(title, "dim") for title in (explanation.view, "insert", "delete"))
    relations = dict.fromkeys(cell.relation for cell in explanation.cells)
    return grid(
        header,
        *(
            (
                styled(relation),
                grade(explanation.cell(relation, "insert")),
                grade(explanation.cell(relation, "delete")),
            )
            for relation in relations
        ),
    )


def grade(cell: Cell) -> RenderableType:
    if cell.maintainable == cell.in_update:
        return emphasized(cell.maintainable)
    return emphasized(f"{cell.maintainable}, in an update {cell.in_update}")


def title(text: str) -> None:
    show(styled(text, "bold"), "")


def main() -> int:
    """Run the demonstration; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description="Show selfmaint.")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="for the picture")
    out: Path = parser.parse_args().out
    demonstration = Demonstration()

    title("The program: examples/retail.dl")
    show_block((HERE / "retail.dl").read_text(encoding="utf-8"))
    title("How often is a change decided from the view alone?")
    for view in ("sales", "demand"):
        demonstration.explain(view)
    title(f"{len(DECISIONS)} changes, each decided from the rows of a view")
    for what, view, change in DECISIONS:
        demonstration.decide(what, view, change)
    title("A batch for `sales`: a customer moves, and a new one orders for the first time")
    demonstration.batch("sales", BATCH)

    out.mkdir(parents=True, exist_ok=True)
    drawing = out / "sales.svg"
    drawing.write_text(picture(demonstration.program.view("sales")), encoding="utf-8")
    show(styled(f"A picture of the view is in {drawing}."))
    checked, wrong = demonstration.checked, demonstration.wrong
    verdict = f"{wrong} WRONG" if wrong else "all agree"
    show(styled(f"{checked} verdicts checked against recomputation: {verdict}.", "bold"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
