"""The views of `tpch.dl`, with the declared keys and foreign keys and without them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import selfmaint
from cq.printer import print_rule
from selfmaint import Program

TEXT: Final = Path(__file__).parent / "tpch.dl"


def with_keys() -> Program:
    return selfmaint.load(TEXT)


def without_keys() -> Program:
    """The same views over the same columns; nothing is known about them."""
    keyed = with_keys()
    rules = "\n".join(map(print_rule, keyed.source.syntax.rules))
    bare = (replace(r, keys=(), references=()) for r in keyed.relations.values())
    return selfmaint.parse(rules, relations=bare)
