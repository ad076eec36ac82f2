"""The command: measure, print a table, write the JSON and a picture beside it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench.chart import chart
from tests.bench.lines import SECTIONS
from tests.bench.report import Run, table
from tests.bench.timing import FULL, QUICK


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/bench.json"), metavar="FILE.json")
    parser.add_argument("--compare", type=Path, metavar="OLD.json", help="an earlier run")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    options = parser.parse_args(arguments)

    before = Run.read(options.compare) if options.compare else None
    sizes = QUICK if options.quick else FULL
    lines = []
    for section in SECTIONS:
        for line in section(sizes):
            print(f"measured {line.name}", file=sys.stderr, flush=True)
            lines.append(line)
    run = Run.of(lines, quick=options.quick)
    print(table(run, before))

    picture = options.out.with_suffix(".svg")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(run.to_json(), encoding="utf-8")
    picture.write_text(chart(run), encoding="utf-8")
    print(f"wrote {options.out} and {picture}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
