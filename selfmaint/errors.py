"""What can go wrong with a warehouse as a whole."""

from __future__ import annotations

from cq.diagnostics import CodedError


class RuntimeStateError(CodedError):
    """A warehouse that cannot do what was asked in the state that it is in."""
