"""Law: the maintained view is the recomputed view, for every net batch.

And recomputation itself is right: `view.evaluate` is held against nested loops.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import selfmaint
from property_tests.judgement import profile_runs
from property_tests.strategies import BATCH_FLAVOURS, BatchCase, Flavour, batch_case, batch_cases
from property_tests.worlds import evaluate

MULTIPLE = 10


def _check(case: BatchCase) -> None:
    view = selfmaint.parse(case.world.text()).view("v")
    before, after = evaluate(case.world.view, case.before), evaluate(case.world.view, case.after)
    assert view.evaluate(case.before) == before, case.text()
    assert view.evaluate(case.after) == after, case.text()
    changes = [(change.relation, change.kind, change.row) for change in case.changes]
    outcome = view.maintain(before, changes, case.after)
    assert outcome.rows == after, "\n".join(
        [
            case.text(),
            f"before: {sorted(before, key=repr)}",
            f"maintained: {sorted(outcome.rows, key=repr)}",
            f"recomputed: {sorted(after, key=repr)}",
            f"outcome: {outcome}",
        ]
    )


@pytest.mark.parametrize("flavour", BATCH_FLAVOURS, ids=lambda flavour: flavour.name)
def test_maintained_is_recomputed(flavour: Flavour) -> None:
    for seed, size in profile_runs(MULTIPLE):
        _check(batch_case(flavour, seed, size))


@given(st.sampled_from(BATCH_FLAVOURS).flatmap(batch_cases))
def test_maintained_is_recomputed_wherever_hypothesis_looks(case: BatchCase) -> None:
    _check(case)
