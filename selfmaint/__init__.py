"""Materialized join views that maintain themselves: parse views, plan lookups, decide changes."""

from typing import TYPE_CHECKING, Any

from cq.diagnostics import DiagnosticError, InputError, SelfmaintError
from lookups.index import index
from lookups.verdict import Kind, Verdict
from selfmaint.maintainer import Maintainer
from selfmaint.program import Program, View, load, parse

if TYPE_CHECKING:
    from selfmaint.report import Report
    from selfmaint.warehouse import Warehouse

__version__ = "0.1.0"

__all__ = [
    "DiagnosticError",
    "InputError",
    "Kind",
    "Maintainer",
    "Program",
    "Report",
    "SelfmaintError",
    "Verdict",
    "View",
    "Warehouse",
    "index",
    "load",
    "parse",
]

_ON_SPARK = {"Report": "selfmaint.report", "Warehouse": "selfmaint.warehouse"}


def __getattr__(name: str) -> Any:
    """The names of the Spark side are loaded when they are first used."""
    if name not in _ON_SPARK:
        raise AttributeError(f"module `selfmaint` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(_ON_SPARK[name]), name)
