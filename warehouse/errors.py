"""What can go wrong around the data: each error says what is the matter and what to do next."""

from __future__ import annotations

from cq.diagnostics import CodedError


class SetupError(CodedError):
    """Something that the Spark runtime stands on is missing or does not fit.

    Trying again does not help; the help lines say what does.
    """
