"""Every program in tests/golden/errors: the text a user sees, and that no message goes unseen."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import selfmaint
from selfmaint import DiagnosticError

ROOT = Path(__file__).resolve().parents[3]
ERRORS = ROOT / "tests" / "golden" / "errors"
PROGRAMS = sorted(path.stem for path in ERRORS.glob("*.dl"))


def shown(name: str) -> str:
    """What a user sees: all errors and warnings, or the warnings of a program that passes."""
    try:
        program = selfmaint.load(ERRORS / f"{name}.dl")
    except DiagnosticError as error:
        return str(error.diagnostics)
    return str(program.diagnostics)


@pytest.mark.parametrize("name", PROGRAMS)
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"errors/{name}.err", shown(name))


def test_every_text_has_its_program() -> None:
    assert sorted(path.stem for path in ERRORS.glob("*.err")) == PROGRAMS


def test_every_code_has_a_golden_text() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "cq").glob("*.py"))
    warnings = set(re.findall(r"warn\(\s*\"(CQ\d{3})\"", source))
    errors = set(re.findall(r"(?:error|Diagnostic)\(\s*\"(CQ\d{3})\"", source)) - warnings
    assert (len(warnings), len(errors)) > (1, 15), "the pattern no longer finds the codes"
    text = "\n".join(path.read_text(encoding="utf-8") for path in ERRORS.glob("*.err"))
    assert set(re.findall(r"^warning\[(CQ\d{3})\]", text, re.MULTILINE)) == warnings
    assert set(re.findall(r"^error\[(CQ\d{3})\]", text, re.MULTILINE)) == errors


@pytest.mark.parametrize("name", PROGRAMS)
def test_carets_stand_under_the_text_they_mean(name: str) -> None:
    lines = (ERRORS / f"{name}.dl").read_text(encoding="utf-8").splitlines()
    try:
        findings = selfmaint.load(ERRORS / f"{name}.dl").diagnostics.findings
    except DiagnosticError as error:
        findings = error.diagnostics.findings
    assert findings
    for finding in findings:
        line, start = lines[finding.span.line - 1], finding.span.column - 1
        marked = line[start : start + finding.span.length]
        assert marked.strip() == marked != "", finding
        if finding.code in ("CQ104", "CQ114", "CQ118", "CQ120"):
            assert f"variable `{marked}`" in finding.message
