"""Notes over a made project, a made clock and made ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from shiro_jupyter.core.notes.kept import Kept
from shiro_jupyter.core.notes.store import Notes, Record
from shiro_jupyter.core.workspace.project import Project
from tests.support.memories import SteppingClock


@dataclass
class Desk:
    """One project whose sessions come and go; `living` are those that run, `of_others` are not
    this user's."""

    root: Path
    living: set[str] = field(default_factory=set)
    of_others: set[str] = field(default_factory=set)
    records: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        self.clock = SteppingClock()
        numbers = count(1)
        self.new_id: Callable[[], str] = lambda: f"{next(numbers):08x}"

    def notes(self, session: str = "one", notebook: str = "eda.ipynb") -> Notes:
        """What a new process of that session sees."""
        self.living.add(session)
        project = Project(self.root, self.root / notebook if notebook else None)
        return Notes(
            project,
            lambda: session,
            self.clock,
            alive=self.living.__contains__,
            ours=lambda session: session not in self.of_others,
            record=self.records.append,
            new_id=self.new_id,
        )

    @property
    def files(self) -> list[Path]:
        return sorted((self.root / ".shiro" / "notes").glob("*.md"))


def kept(notes: Notes) -> Kept:
    """The active note, which there is."""
    found = notes.active()
    assert found
    return found
