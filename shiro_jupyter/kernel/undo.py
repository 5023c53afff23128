"""What `/undo` works on: the turns of the session at hand, by their files, names, cells and
commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.errors import ModelMendable
from ..core.events import Event, Notice
from ..core.policy.subjects import Access
from ..core.sessions.log import Opened
from ..core.sessions.session import Session
from ..core.sessions.undo import FileUndo
from ..core.tools.base import Tool
from ..core.transcript import Call, Result, User
from ..core.workspace.folders import Folders
from .cells_undo import CellsUndo
from .names_undo import NamesUndo

NEVER_RAN = ("refused", "invalid_arguments", "skipped")
# What a call did that no undo takes back; of the last two a call that fails has done nothing.
LASTING: tuple[Access, ...] = ("shell", "kernel", "job", "memory")
WHOLE: tuple[Access, ...] = ("job", "memory")


@dataclass(frozen=True)
class Lasting:
    """A call that ran, with what cannot be undone of it."""

    access: Access
    name: str
    summary: str


class Undo:
    """`opened` is the session at hand; `emit` takes events from any thread."""

    def __init__(
        self,
        namespace: dict[str, Any],
        folders: Folders,
        opened: Callable[[], Opened | None],
        emit: Callable[[Event], object],
    ) -> None:
        self.names = NamesUndo(namespace, self._turn_at_hand)
        self.cells = CellsUndo()
        self._folders, self._opened, self._emit = folders, opened, emit
        self._files: dict[str, FileUndo] = {}
        self._passed: set[tuple[str, int]] = set()  # undone, as far as that goes
        self.one = asyncio.Lock()  # held by the undo that runs: each is of what is left by then

    def files(self, session: str) -> FileUndo:
        if session not in self._files:
            folder = self._folders.undo_dir(session)
            self._files[session] = FileUndo(folder, lambda text: self._emit(Notice(text)))
        return self._files[session]

    def turns(self, session: Session, tools: Mapping[str, Tool[Any]]) -> list[int]:
        """Those that did something and were not undone yet, newest first. Blocks."""
        found = {
            *self.files(session.id).turns(),
            *self.names.turns(session.id),
            *self.cells.turns(session.id),
        }
        newest = max(found, default=0)
        for turn in {call.turn for call, _ in _lasting(session, tools)}:
            if turn > newest and (session.id, turn) not in self._passed:
                found.add(turn)
        return sorted(found, reverse=True)

    def passed(self, session: Session, turn: int) -> None:
        """That turn was undone; what is left of it is not asked about again."""
        self._passed.add((session.id, turn))

    def _turn_at_hand(self) -> tuple[str, int] | None:
        opened = self._opened()
        return (opened.session.id, opened.session.turn) if opened else None


def prompt_of(session: Session, turn: int) -> str:
    said = (each.text for each in session.items if isinstance(each, User) and each.turn == turn)
    return next(said, "")


def lasting(session: Session, turn: int, tools: Mapping[str, Tool[Any]]) -> list[Lasting]:
    """What a turn did that stays done."""
    return [
        Lasting(tool.access, tool.name, _summary(call, tool))
        for call, tool in _lasting(session, tools)
        if call.turn == turn
    ]


def _lasting(session: Session, tools: Mapping[str, Tool[Any]]) -> Iterator[tuple[Call, Tool[Any]]]:
    outcomes = {(r.turn, r.call_id): r.outcome for r in session.items if isinstance(r, Result)}
    for call in session.items:
        if not isinstance(call, Call) or (tool := tools.get(call.name)) is None:
            continue
        outcome = outcomes.get((call.turn, call.call_id), "interrupted")
        did = outcome == "ok" if tool.access in WHOLE else outcome not in NEVER_RAN
        if did and tool.access in LASTING:
            yield call, tool


def _summary(call: Call, tool: Tool[Any]) -> str:
    try:
        return " ".join(tool.summary(tool.parse(call.arguments)).split())
    except ModelMendable:
        return ""
