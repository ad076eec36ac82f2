"""What can go wrong around the data: each error says what is the matter and what to do next."""

from __future__ import annotations

from cq.diagnostics import Diagnostic, SelfmaintError


class SetupError(SelfmaintError):
    """Something that the Spark runtime stands on is missing or does not fit.

    Trying again does not help; the help lines say what does.

    Attributes:
        code: stable code, such as `WH303`.
        message: what is the matter.
        help: what to do about it; one line each.
    """

    def __init__(self, code: str, message: str, *help: str) -> None:
        super().__init__(Diagnostic(code, message, help=help).render("", ""))
        self.code = code
        self.message = message
        self.help = help
