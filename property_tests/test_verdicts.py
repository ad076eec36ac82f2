"""Law: a verdict never claims more than all databases with this view agree on.

Where the rules are complete it claims no less: `Flavour.is_complete` says where that is. For the
other flavours `python -m property_tests.share` prints how much of the truth the verdicts find.
"""

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from property_tests.judgement import judge, judgements, profile_runs
from property_tests.oracle import Inconsistent, TooLarge
from property_tests.strategies import FLAVOURS, Case, Flavour, cases

MULTIPLE = 10


@pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda flavour: flavour.name)
def test_verdicts_are_true(flavour: Flavour) -> None:
    for judgement in judgements(flavour, profile_runs(MULTIPLE)):
        assert judgement.problem() is None, judgement.text()


@given(st.sampled_from(FLAVOURS).flatmap(cases))
def test_verdicts_are_true_wherever_hypothesis_looks(case: Case) -> None:
    try:
        judgement = judge(case)
    except (Inconsistent, TooLarge):
        reject()
    assert judgement.problem() is None, judgement.text()
