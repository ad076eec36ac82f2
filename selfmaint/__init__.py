"""Materialized join views that maintain themselves: parse views, plan lookups, decide changes."""

from cq.diagnostics import DiagnosticError, InputError, SelfmaintError
from lookups.index import index
from lookups.verdict import Kind, Verdict
from selfmaint.program import Program, View, load, parse

__version__ = "0.1.0"

__all__ = [
    "DiagnosticError",
    "InputError",
    "Kind",
    "Program",
    "SelfmaintError",
    "Verdict",
    "View",
    "index",
    "load",
    "parse",
]
