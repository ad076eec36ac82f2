"""The documents' examples print what the code prints, and their commands run."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from selfmaint.cli.app import app

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md"])
def test_the_examples_of_a_document_run(name: str) -> None:
    failed, tried = doctest.testfile(str(ROOT / name), module_relative=False)
    assert tried >= 5
    assert not failed, f"see the output above: {failed} of {tried} examples of {name} differ"


README = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
COMMANDS = re.findall(r"^    selfmaint (.*)$", README, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_readme_run(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = CliRunner().invoke(app, shlex.split(command, comments=True))
    assert found.exit_code == 0, found.output


def test_the_readme_shows_every_command() -> None:
    assert {command.split()[0] for command in COMMANDS} == {"check", "explain", "plan", "decide"}
