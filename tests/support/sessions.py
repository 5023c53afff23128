"""A folder for sessions with what stands around it, for tests of their files."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.sessions.log import Opened, SessionLog, load_session, open_session
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.core.transcript import Assistant, Call, Item, Reasoning, Result, User
from shiro_jupyter.core.workspace.project import Project

ITEMS: list[Item] = [
    User("why  did we drop\nthe 2023 rows?", 1),
    Reasoning("hm", 1, 1, "rs_1", "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4"),
    Call("c1", "bash", '{"command": "ls “é”"}', 1, 1),
    Result("c1", "ok", "a.csv \u2028 \udce9\n", 1, 1),
    Assistant("Because of <b>duplicates</b>.", 1, 2),
]
TASKS = (Todo("look", "done"), Todo("deploy", "blocked", "no credentials"))


@dataclass
class MadeClock:
    seconds: float = 0.0

    def now(self) -> datetime:
        return datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class Desk:
    """A folder for sessions, a clock, and what the person was told."""

    folder: Path
    clock: MadeClock = field(default_factory=MadeClock)
    told: list[str] = field(default_factory=list)
    logs: list[SessionLog] = field(default_factory=list)

    @property
    def project(self) -> Project:
        return Project(self.folder.parent, notebook=self.folder.parent / "a.ipynb")

    def new(self, **more: Any) -> Opened:
        opened = open_session(
            self.folder, clock=self.clock, **{"project": self.project, "tell": self.tell, **more}
        )
        self.logs.append(opened.log)
        return opened

    def filled(self) -> Opened:
        """One with a turn, tasks and totals, on disk."""
        opened = self.new(model="small", provider="local")
        opened.session.append(*ITEMS)
        opened.session.set_todos(TASKS)
        opened.session.add_usage(Usage(10, 4, 3, 1))
        opened.session.end_turn(1, "answered")
        opened.log.flush()
        return opened

    def load(self, path: Path, **more: Any) -> Opened:
        """As a kernel does when those that had it open have died."""
        while self.logs:
            self.logs.pop().lease.release()
        return self.open(path, **more)

    def open(self, path: Path, **more: Any) -> Opened:
        opened = load_session(path, clock=self.clock, **{"tell": self.tell, **more})
        self.logs.append(opened.log)
        return opened

    def tell(self, sentence: str) -> None:
        self.told.append(sentence)


def two_turns(opened: Opened) -> None:
    """A first turn with a call, a second one that changes the task list; both ended."""
    session = opened.session
    session.append(*ITEMS)
    session.set_todos(TASKS)
    session.add_usage(Usage(10, 4, 3, 1))
    session.end_turn(1, "answered")
    session.append(User("and now?", 2), Assistant("Nothing.", 2, 1))
    session.set_todos(())
    session.set_cut((1, 2, 3))
    session.add_usage(Usage(20, 0, 1, 0))
    session.end_turn(2, "answered")
    opened.log.flush()
