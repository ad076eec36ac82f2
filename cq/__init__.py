"""Conjunctive queries: from text to an analysed view. No Spark, no files."""

from cq.diagnostics import Diagnostic, DiagnosticError, Diagnostics, InputError, SelfmaintError
from cq.program import Source, read
from cq.query import Query
from cq.schema import Column, Reference, Relation
from cq.types import Type

__all__ = [
    "Column",
    "Diagnostic",
    "DiagnosticError",
    "Diagnostics",
    "InputError",
    "Query",
    "Reference",
    "Relation",
    "SelfmaintError",
    "Source",
    "Type",
    "read",
]
