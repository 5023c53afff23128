"""forget: one memory less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from ..events import MemoryChanged
from ..memory.store import Memory, Scope
from ..policy.subjects import Access
from ..workspace.threads import in_thread
from .base import Parameters, Tool, ToolContext, ToolResult
from .recall import quoting


class ForgetParameters(Parameters):
    text: str = Field(description="The memory's id, its text, or a part that only it holds.")
    scope: Scope | None = None


@dataclass(frozen=True)
class Forget(Tool[ForgetParameters]):
    """Remove one memory that is wrong or stale. Its topic file stays."""

    memory: Memory

    name: ClassVar[str] = "forget"
    toolset: ClassVar[str] = "session"
    access: ClassVar[Access] = "memory"
    parameters = ForgetParameters

    def summary(self, parameters: ForgetParameters) -> str:
        return parameters.text

    async def run(self, parameters: ForgetParameters, context: ToolContext) -> ToolResult:
        with quoting(self.memory, context.session):
            gone = await in_thread(self.memory.forget, parameters.text, parameters.scope)
        context.emit(MemoryChanged(gone.scope, "", gone.entry.text))
        return ToolResult("ok", "\n".join([f"Forgotten: {gone.entry.said}", *gone.notes]))
