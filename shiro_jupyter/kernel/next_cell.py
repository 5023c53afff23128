"""Code that is offered as the next cell, where no page of ours can insert one."""

from __future__ import annotations

from typing import Any

from . import compat
from .main_thread import MainThread
from .owner import CURRENT


class NextCell:
    """The front end makes one cell of what the cell that runs said last: so all that a turn has
    to offer is joined. On the agent's thread."""

    def __init__(self, shell: Any, main: MainThread) -> None:
        self._shell, self._main = shell, main
        self._of: object = None  # the turn that offered last
        self._sources: list[str] = []

    @property
    def possible(self) -> bool:
        """Whether the turn at hand has a cell that runs still, and a person who would see it."""
        owner = CURRENT.get()
        cell = owner is not None and owner.origin == "cell" and owner.person
        return bool(cell) and compat.in_kernel(self._shell)

    async def offer(self, source: str) -> None:
        owner = CURRENT.get()
        if owner is None or owner is not self._of:
            self._of, self._sources = owner, []
        self._sources.append(source.strip("\n"))
        joined = "\n\n".join(self._sources)
        await self._main.run(lambda: self._shell.set_next_input(joined), owner=owner)
