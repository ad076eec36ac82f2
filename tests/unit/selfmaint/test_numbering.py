from __future__ import annotations

import pytest

from cq.diagnostics import InputError
from selfmaint.errors import RuntimeStateError
from selfmaint.numbering import (
    batch_of,
    next_number,
    require_finished,
    require_number,
    whole_number,
)
from warehouse.tables import Extent, State


def test_the_next_batch_is_the_first_that_some_view_lacks():
    assert next_number({"v": State(3, 9), "w": State(1, 9)}) == 10
    assert next_number({"v": State(3, 9), "w": State(1, 8)}) == 9
    with pytest.raises(RuntimeStateError, match=r"RT401.*no number"):
        next_number({"v": State(3, 9), "w": State(0, None)})


def test_while_a_batch_is_not_finished_none_is_chosen():
    require_finished(None, {"v": State(3, 9)})
    with pytest.raises(RuntimeStateError, match=r"RT408(.|\n)*`number=9`(.|\n)*`number=10`"):
        require_finished(Extent(9, 9), {"v": State(3, 9), "w": State(1, 8)})
    with pytest.raises(RuntimeStateError, match=r"RT408(.|\n)*it was a load") as found:
        require_finished(Extent(9, 9), {"v": State(3, 9), "w": State(1, 5)})
    assert "number=" not in str(found.value)


def test_after_an_extended_batch_a_number_is_needed():
    require_number({"v": State(0, None)})
    require_number({"v": State(1, 9)})
    with pytest.raises(RuntimeStateError, match=r"RT410(.|\n)*up to 9(.|\n)*10 is the next"):
        require_number({"v": State(1, 9, 7), "w": State(1, 9)})


class Eight:
    def __index__(self) -> int:
        return 8


def test_a_number_is_a_whole_one():
    assert whole_number(Eight()) == 8
    with pytest.raises(InputError, match=r"RT407.*not 8\.0"):
        whole_number(8.0)  # type: ignore[arg-type]


def test_a_view_that_was_not_loaded_has_no_batch():
    assert batch_of("v", State(3, 0)) == 0
    with pytest.raises(RuntimeStateError, match=r"RT401.*`v`"):
        batch_of("v", State(3, None))
