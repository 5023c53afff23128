"""The state of one session: the transcript and what goes with it.

State is owned here, never by a module. Every change is handed to the recorder as one record,
so that what is in memory and what is in the log cannot drift apart.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from ..events import NO_COST, Cost, TurnOutcome, Usage
from ..todos import Todos
from ..transcript import Assistant, Call, Item, Result, User, to_json

Record = dict[str, Any]
TITLE_LENGTH = 60
# An id names files and folders, so nothing of another shape is one.
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def new_id() -> str:
    """A UUID of version 7 (RFC 9562): ids sort by the time they were made."""
    stamp = time.time_ns() // 1_000_000
    tail = int.from_bytes(os.urandom(10))
    value = (stamp << 80) | (0x7 << 76) | ((tail >> 68 & 0xFFF) << 64) | (0b10 << 62)
    value |= tail & ((1 << 62) - 1)
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


@dataclass(frozen=True)
class Spent:
    """What the calls of one model took in one turn, and what they cost."""

    turn: int
    model: str
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)


@dataclass
class Session:
    """A conversation. `record` is given each change; a session without a log drops them."""

    id: str = field(default_factory=new_id)
    model: str = ""
    title: str = ""
    items: list[Item] = field(default_factory=list)
    todos: Todos = ()
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)
    spent: list[Spent] = field(default_factory=list)  # what the two are made of
    # What the newest requests began with, and left out: a resume that goes on with the same bytes
    # finds them cached.
    system: str = ""
    begun: str = ""  # when that was made, as memories are stamped
    memories: tuple[str, ...] = ()  # that it tells, each as its line in the file
    cut: tuple[int, ...] = (0, 0, 0)
    ended: int = 0  # the newest turn that ended; one that is newer runs, or its process died
    asked: str = ""  # the call that waits, or waited when its process died, for the person
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

    @property
    def step(self) -> int:
        """The number of the newest turn's newest step, 0 before its first."""
        return max((getattr(item, "step", 0) for item in self._newest()), default=0)

    @property
    def prompt(self) -> str:
        """The words that opened the newest turn."""
        said = [item.text for item in self._newest() if isinstance(item, User)]
        return said[-1] if said else ""

    def answer(self, turn: int) -> str:
        """The model's words in the last step of a turn."""
        said = [item for item in self.items if isinstance(item, Assistant) and item.turn == turn]
        return "\n\n".join(item.text for item in said if item.step == said[-1].step)

    def open_calls(self) -> list[Call]:
        """Calls of the newest turn that have no result while it has not ended, in their order."""
        if self.ended >= self.turn:
            return []
        found: dict[str, Call] = {}  # a server may use an id again in another step
        for item in reversed(list(self._newest())):
            if isinstance(item, Call):
                found[item.call_id] = item
            elif isinstance(item, Result):
                found.pop(item.call_id, None)
        return list(found.values())

    def _newest(self) -> Iterator[Item]:
        """The items of the newest turn, the last of them first."""
        return takewhile(lambda item: item.turn == self.turn, reversed(self.items))

    def append(self, *items: Item) -> None:
        """What comes at once, as all of one response of a model does, is one record: a damaged line
        loses it as a whole, since an endpoint takes no half of it back."""
        for item in items:
            if not self.title and isinstance(item, User):
                self.set_title(item.text)
        self.items += items
        stored = [to_json(item) for item in items]
        if stored:
            self.record({"items": stored} if len(stored) > 1 else {"item": stored[0]})

    def end_turn(self, turn: int, outcome: TurnOutcome) -> None:
        """A turn is over: nothing of it is open any more, whatever has no result. Lists find the
        title here, where the end of a long file is all that they read."""
        self.ended = turn
        ended = {"turn": turn, "outcome": outcome, "title": self.title}
        self.record({"set": "ended", "value": ended})

    def standing(self) -> list[Record]:
        """What holds for all of the session and was told once, to be told again."""
        told = {
            "title": self.title,
            "model": self.model,
            "tainted": sorted(self.tainted),
            "todos": _stored(self.todos),
        }
        return [{"set": name, "value": value} for name, value in told.items() if value]

    def set_title(self, text: str) -> None:
        self.title = " ".join(text.split())[:TITLE_LENGTH]
        self.record({"set": "title", "value": self.title})

    def set_system(self, text: str) -> None:
        if text != self.system:
            self.system = text
            self.record({"set": "system", "value": text})

    def set_memories(self, begun: str, lines: Sequence[str]) -> None:
        self.begun, self.memories = begun, tuple(lines)
        self.record({"set": "memories", "value": {"begun": begun, "lines": list(lines)}})

    def set_cut(self, cut: tuple[int, ...]) -> None:
        """The three places of a `Cut`."""
        if cut != self.cut:
            self.cut = cut
            self.record({"set": "cut", "value": list(cut)})

    def set_model(self, model: str) -> None:
        if model != self.model:
            self.model = model
            self.record({"set": "model", "value": model})

    def set_todos(self, todos: Todos) -> None:
        self.todos = todos
        self.record({"set": "todos", "value": _stored(todos)})

    def taint(self, by: str) -> None:
        """The model reads something of others; a resumed session still holds it."""
        if by not in self.tainted:
            self.tainted.add(by)
            self.record({"set": "tainted", "value": sorted(self.tainted)})

    def add_usage(self, usage: Usage, cost: Cost = NO_COST) -> Spent:
        """What the model in use took in the newest turn, and what that cost."""
        self.usage += usage
        self.cost += cost
        spent = Spent(self.turn, self.model, usage, cost)
        self.spent.append(spent)
        self.record({"set": "usage", "value": _counts(self.usage)})
        calls = [cost.priced, cost.unknown, cost.local]
        stored = {"turn": spent.turn, "model": spent.model, "usage": _counts(usage)}
        self.record({"set": "spent", "value": {**stored, "cost": cost.dollars, "calls": calls}})
        return spent


def _stored(todos: Todos) -> list[dict[str, str]]:
    return [{"text": t.text, "status": t.status, "note": t.note} for t in todos]


def _counts(usage: Usage) -> list[int]:
    return [usage.input, usage.cached, usage.output, usage.reasoning]
