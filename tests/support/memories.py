"""Memories over made folders and a made clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from shiro_jupyter.core.memory.store import Caps, Memory
from shiro_jupyter.core.workspace.folders import Folders
from shiro_jupyter.core.workspace.project import Project


@dataclass
class SteppingClock:
    """A second passes at every look."""

    time: datetime = datetime(2026, 11, 30, 9, 0, 0)

    def now(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time

    def monotonic(self) -> float:
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


MakeMemory = Callable[..., Memory]


def maker(tmp_path: Path) -> MakeMemory:
    """Memories over one user and any project folder; each call is a new process's view."""

    def make(project: str = "project", caps: Caps | None = None) -> Memory:
        root = (tmp_path / project).resolve()
        root.mkdir(exist_ok=True)
        folders = Folders(tmp_path / "config", tmp_path / "data", tmp_path)
        return Memory(Project(root), folders, SteppingClock(), caps)

    return make
