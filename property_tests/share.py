"""How much of the truth the verdicts find, per flavour.

    python -m property_tests.share [CASES]

`agreed` is the share of the changes on which all databases agree, `found` the share of those that
ended without a miss, `VDU` the share of the unaffected ones that were seen to be so, and `exact`
the share of all changes whose verdict says all there is to say: 1 where the rules are complete.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass

from property_tests.judgement import UNTOUCHED, judgements, seeded_runs
from property_tests.strategies import FLAVOURS, Flavour

CASES = 1000


@dataclass(frozen=True, slots=True)
class Share:
    flavour: Flavour
    cases: int
    wrong: int
    agreed: int
    found: int
    unaffected: int
    seen_unaffected: int
    exact: int

    def text(self) -> str:
        return (
            f"{self.flavour.name:26} {self.cases:6} {self.wrong:6}"
            f" {_ratio(self.agreed, self.cases)} {_ratio(self.found, self.agreed)}"
            f" {_ratio(self.seen_unaffected, self.unaffected)} {_ratio(self.exact, self.cases)}"
        )


HEADER = f"{'flavour':26}  cases  wrong  agreed   found     VDU   exact"


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:7.4f}" if whole else f"{'-':>7}"


def share(flavour: Flavour, cases: int, start: int = 0) -> Share:
    """Judge `cases` cases, with the seeds from `start` on."""
    counts: Counter[str] = Counter()
    for judgement in judgements(flavour, seeded_runs(start, cases)):
        kind, truth = judgement.verdict.kind, judgement.truth
        counts["cases"] += 1
        counts["wrong"] += judgement.problem() is not None
        counts["agreed"] += truth.agrees
        counts["found"] += truth.agrees and kind != "miss"
        counts["unaffected"] += truth.unaffected
        counts["seen_unaffected"] += truth.unaffected and kind in UNTOUCHED
        counts["exact"] += judgement.is_exact
    return Share(flavour=flavour, **counts)


def main(arguments: list[str]) -> None:
    cases = int(arguments[0]) if arguments else CASES
    print(HEADER)
    for flavour in FLAVOURS:
        print(share(flavour, cases).text(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
