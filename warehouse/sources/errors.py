"""What can go wrong when a source is asked. No message holds a value of a key or a row."""

from __future__ import annotations

from cq.diagnostics import CodedError


class SourceError(CodedError):
    """A source that did not answer, or not what it was asked.

    A question changes nothing: whatever is built from the answers is as it was.

    Attributes:
        message: what was asked of whom, and what went wrong.
        retryable: the same question may be answered later.

    Codes: WH330 a relation that the source does not hold; WH331 a version that it no longer or
    never had; WH332 a version that it has not reached; WH333 it failed; WH334 it took too long;
    WH335 rows are missing; WH336 other columns than asked for; WH337 an older version than asked
    for; WH338 two sources that answered as of different versions; WH339 a table of a Delta source
    that is not as the source left it.
    """

    def __init__(self, code: str, message: str, *help: str, retryable: bool = False) -> None:
        super().__init__(code, message, *help)
        self.retryable = retryable
