"""The state of one session: the transcript and what goes with it.

State is owned here, never by a module. Every change is handed to the recorder as one record,
so that what is in memory and what is in the log cannot drift apart.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..events import Usage
from ..todos import Todos
from ..transcript import Assistant, Item, User, to_json

Record = dict[str, Any]
TITLE_LENGTH = 60


def new_id() -> str:
    """A UUID of version 7 (RFC 9562): ids sort by the time they were made."""
    stamp = time.time_ns() // 1_000_000
    tail = int.from_bytes(os.urandom(10))
    value = (stamp << 80) | (0x7 << 76) | ((tail >> 68 & 0xFFF) << 64) | (0b10 << 62)
    value |= tail & ((1 << 62) - 1)
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@dataclass
class Session:
    """A conversation. `record` is given each change; a session without a log drops them."""

    id: str = field(default_factory=new_id)
    model: str = ""
    title: str = ""
    items: list[Item] = field(default_factory=list)
    todos: Todos = ()
    usage: Usage = field(default_factory=Usage)
    record: Callable[[Record], None] = lambda record: None
    # What the person allowed for this session; never stored, so a resume asks again.
    grants: set[str] = field(default_factory=set)
    # What the model has read here that is neither the person's nor the project's; it stays in what
    # is sent, so it holds for the whole session.
    tainted: set[str] = field(default_factory=set)

    @property
    def turn(self) -> int:
        """The number of the newest turn, from 1; 0 before the first."""
        return self.items[-1].turn if self.items else 0

    def answer(self, turn: int) -> str:
        """The model's words in the last step of a turn."""
        said = [item for item in self.items if isinstance(item, Assistant) and item.turn == turn]
        return "\n\n".join(item.text for item in said if item.step == said[-1].step)

    def append(self, *items: Item) -> None:
        for item in items:
            if not self.title and isinstance(item, User):
                self.title = " ".join(item.text.split())[:TITLE_LENGTH]
                self.record({"set": "title", "value": self.title})
            self.items.append(item)
            self.record({"item": to_json(item)})

    def set_model(self, model: str) -> None:
        if model != self.model:
            self.model = model
            self.record({"set": "model", "value": model})

    def set_todos(self, todos: Todos) -> None:
        self.todos = todos
        stored = [{"text": t.text, "status": t.status, "note": t.note} for t in todos]
        self.record({"set": "todos", "value": stored})

    def taint(self, by: str) -> None:
        """The model reads something of others; a resumed session still holds it."""
        if by not in self.tainted:
            self.tainted.add(by)
            self.record({"set": "tainted", "value": sorted(self.tainted)})

    def add_usage(self, usage: Usage) -> None:
        self.usage += usage
        stored = [self.usage.input, self.usage.cached, self.usage.output, self.usage.reasoning]
        self.record({"set": "usage", "value": stored})
