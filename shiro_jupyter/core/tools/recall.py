"""recall: what was recorded about something."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from ..context.quoting import quoted
from ..errors import MemoryRefused, StorageError
from ..memory.block import TAINT
from ..memory.store import Found, Memory, Scope
from ..policy.subjects import Access
from ..sessions.session import Session
from ..workspace.threads import in_thread
from .base import Parameters, Tool, ToolContext, ToolResult


class RecallParameters(Parameters):
    query: str = Field(description="A few words.")
    scope: Scope | None = None


@dataclass(frozen=True)
class Recall(Tool[RecallParameters]):
    """Search the memories of this project and of the person, best match first. Only those that
    fit the work were shown at the start. Check what contradicts what you can see now."""

    memory: Memory
    # The tables at hand and their columns, by which a memory may be stale.
    tables: Callable[[], Mapping[str, Sequence[str]]] = dict
    # Takes what the model is told.
    told: Callable[[Sequence[Found]], None] = lambda found: None

    name: ClassVar[str] = "recall"
    toolset: ClassVar[str] = "session"
    access: ClassVar[Access] = "session"
    parameters = RecallParameters

    def summary(self, parameters: RecallParameters) -> str:
        return parameters.query

    async def run(self, parameters: RecallParameters, context: ToolContext) -> ToolResult:
        found = await in_thread(
            self.memory.recall, parameters.query, parameters.scope, self.tables()
        )
        amiss = [] if parameters.scope else await in_thread(self.memory.unusable)
        if not found:
            return ToolResult("ok", "\n".join(["No memory matches; try other words.", *amiss]))
        if not all(each.accepted for each in found):
            context.session.taint(TAINT)
        self.told(found)
        return ToolResult("ok", "\n".join([*map(row, found), *amiss]))


@contextmanager
def quoting(memory: Memory, session: Session) -> Iterator[None]:
    """Around what may be refused with a sentence that quotes memories, of others maybe."""
    try:
        yield
    except MemoryRefused:
        with suppress(StorageError):
            if memory.unaccepted():
                session.taint(TAINT)
        raise


def row(found: Found) -> str:
    """One memory on one line: id, stamp, kind, what it says, and what to know of it."""
    entry = found.entry
    because = [f"because of {', '.join(found.why)}"] if found.why else []
    noted = "; ".join([*found.notes, *because])
    line = f"{entry.id} [{entry.stamp[:10]}] ({entry.kind}) {quoted(entry.said)}"
    return f"{line} — {noted}" if noted else line
