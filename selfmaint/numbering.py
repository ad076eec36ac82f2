"""Which number a batch has: the one that it is given, or the next one, if that is sure.

A number is what tells a replay from a new batch. So none is chosen where the batch at hand could be
one that the views have already, in whole or in part; the caller is told what to say instead.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import SupportsIndex

from cq.diagnostics import InputError, shorten
from selfmaint.errors import RuntimeStateError
from warehouse.tables import ConflictError, Extent, State, last_batch


def next_number(states: Mapping[str, State]) -> int:
    """The number of the next batch, as far as the views' states tell.

    Raises:
        RuntimeStateError: RT401, some view was not loaded.
    """
    seen = {state.batch for state in states.values()}
    if None in seen:
        raise RuntimeStateError(
            "RT401",
            "the warehouse was not loaded yet, so its batches have no number",
            "run `load()`, or give the first batch a number",
        )
    # After a crash some views are ahead by one: then this batch is to be finished first.
    least = min(number for number in seen if number is not None)
    return least + 1


def require_finished(begun: Extent | None, states: Mapping[str, State]) -> None:
    """Refuse a batch without a number while it could be the last one again.

    Args:
        begun: the last batch, if it was not finished (`Store.unfinished`).
    """
    if begun is None:
        return
    own, last = begun.first, begun.last
    what = f"batch {own}, or a load as of it, was begun and not finished. Nothing was changed"
    if any(state.batch is None or state.batch < own - 1 for state in states.values()):
        raise RuntimeStateError("RT408", what, "it was a load: run `load()` again")
    raise RuntimeStateError(
        "RT408",
        what,
        f"apply that batch again, with `number={own}`: views that have it are left alone",
        f"or, if all views have it, go on with `number={last + 1}`",
        "or run `load()` again",
    )


def require_number(states: Mapping[str, State]) -> None:
    """Refuse a batch without a number where it could be in the views already.

    So it may be after one that was extended, and after a load that took the views further.
    """
    last = last_batch(states)
    if last is not None and any(state.extended_from is not None for state in states.values()):
        raise RuntimeStateError(
            "RT410",
            f"the views were taken from batch {last.first - 1} to batch {last.last} at once, by a "
            "load or because the source was ahead, so a batch without a number may be in them "
            "already. Nothing was changed",
            f"give its number: up to {last.last} it changes nothing, {last.last + 1} is the next",
        )


def unnumbered(who: str, call: str, batch: int) -> RuntimeStateError:
    """For a view that a loader computes, and nobody said as of which batch.

    Args:
        who: computes it.
        call: that lacks a number, up to where that goes.
        batch: the last one that was seen.
    """
    return RuntimeStateError(
        "RT409",
        f"{who} what the sources have now, and which batch that is only you can say. Nothing was "
        "changed",
        f"the last batch seen is {batch}: `{call}number={batch})`, or the next number if the "
        "sources have the next batch already",
    )


def whole_number(number: SupportsIndex) -> int:
    """The number of a batch, also where it is one of NumPy's.

    Raises:
        InputError: RT407, it is no whole number.
    """
    try:
        return operator.index(number)
    except TypeError:
        raise InputError(
            "RT407", f"the number of a batch is a whole number, not {shorten(repr(number))}"
        ) from None


def taken(error: ConflictError, number: int) -> ConflictError:
    """For a batch that no view has, and whose number was chosen here: another one may have it."""
    return ConflictError(
        error.message,
        f"somebody else may have applied another batch {number} meanwhile: apply this one again "
        "without a number, if you know that it is not the same one",
        "where several write, give every batch its number",
        table=error.table,
        version=error.version,
        batch=number,
    )


def batch_of(view: str, state: State) -> int:
    """The last batch that a view has.

    Raises:
        RuntimeStateError: RT401, it was not loaded.
    """
    if state.batch is None:
        raise RuntimeStateError("RT401", f"view `{view}` was not loaded yet", "run `load()`")
    return state.batch
