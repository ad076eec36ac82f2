"""A run in several sittings: its tables stay in a folder, and with them what it has found.

Law: the batches of all sittings are those of one run. What a batch brings follows from its number,
the seed and the sources, and the sources are what the last sitting left. A folder is left between
two batches, or it is of no more use: a batch that was broken off has no time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bench.stream.results import Run, Settings


class CannotGoOn(Exception):
    """What is in the folder is no run that these settings continue."""


@dataclass(frozen=True, slots=True)
class Sitting:
    """The folder of a run.

    Args:
        before: what earlier sittings found; None for the first one.
    """

    folder: Path
    before: Run | None

    @classmethod
    def of(cls, folder: Path, settings: Settings, machine: Mapping[str, object]) -> Sitting:
        """Begin a run in a new folder, or go on with the one in it.

        Raises:
            CannotGoOn: it is another run, or one on another machine or of other code.
        """
        sitting = cls(folder.resolve(), None)
        if not sitting.result.exists():
            if sitting.folder.exists() and any(sitting.folder.iterdir()):
                raise CannotGoOn(f"{folder} holds no batch that was finished: remove it")
            return sitting
        before = Run.from_json(sitting.result.read_text(encoding="utf-8"))
        for what, told, now in (
            ("settings", before.settings, replace(settings, batches=before.settings.batches)),
            ("machine", _same(before.machine), _same(machine)),
        ):
            if told != now:
                raise CannotGoOn(f"the {what} of the run in {folder} are {told}, not {now}")
        return replace(sitting, before=before)

    @property
    def result(self) -> Path:
        return self.folder / "result.json"

    @property
    def batches(self) -> int:
        """How many are done."""
        return 0 if self.before is None else self.before.settings.batches

    @property
    def number(self) -> int:
        """Of this sitting."""
        return 1 if self.before is None else self.before.sittings + 1

    def require(self, version: int) -> None:
        """Refuse sources that are not between two batches.

        Raises:
            CannotGoOn: the last sitting was broken off.
        """
        if version != self.batches:
            raise CannotGoOn(
                f"batch {version} was broken off: the tables in {self.folder} are half way, and "
                "the run cannot go on. Remove the folder"
            )

    def keep(self, run: Run) -> None:
        """Note what was found so far; all of it or nothing."""
        unfinished = self.result.with_suffix(".part")
        unfinished.write_text(run.to_json(), encoding="utf-8")
        unfinished.replace(self.result)


def _same(machine: Mapping[str, object]) -> dict[str, object]:
    """What must not change between two sittings: all but what else the machine has to do."""
    return {name: value for name, value in machine.items() if name != "load"}
