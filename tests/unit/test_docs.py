"""The documents' examples print what the code prints."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md"])
def test_the_examples_of_a_document_run(name: str) -> None:
    failed, tried = doctest.testfile(str(ROOT / name), module_relative=False)
    assert tried >= 5
    assert not failed, f"see the output above: {failed} of {tried} examples of {name} differ"
