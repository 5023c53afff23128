"""remember: one line for good."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from ..context.quoting import quoted
from ..events import MemoryChanged
from ..memory.index import Kind
from ..memory.store import Memory, Scope
from ..policy.subjects import Access
from ..workspace.threads import in_thread
from .base import Parameters, Tool, ToolContext, ToolResult
from .recall import quoting

# What is being worked on, for a text: kept beside it, to rank it by later.
About = Callable[[str], Mapping[str, Sequence[str]]]


class RememberParameters(Parameters):
    text: str = Field(description="One line, best under 120 characters.")
    kind: Kind | None = Field(None, description="Left out: fact, or that of the one replaced.")
    scope: Scope = Field("project", description="global: about the person, in every project.")
    tags: list[Annotated[str, Field(max_length=60)]] = Field(
        default=[], max_length=8, description="Words that name the work it matters for."
    )
    topic: str = Field(
        "", max_length=100, description="The name of a topic file that holds the detail."
    )
    replaces: str = Field("", description="Id of the memory that this one takes the place of.")
    keep_both: bool = Field(False, description="Keep it beside a close one that was named.")


@dataclass(frozen=True)
class Remember(Tool[RememberParameters]):
    """Record one line that outlasts this session. kind: fact, decision (what was chosen and why),
    gotcha (a trap), command (an invocation that works).

    Record: what the person corrects, preferences they confirm, decisions with their reason,
    references from outside, work that is not in git yet. Never: what code or AGENTS.md shows,
    one-off fixes, the state of a task. Detail goes into a topic file in the memory folder, named
    after its topic and written first, plus one line here with `topic` that points at it. When the
    memory is full: forget what is stale, merge what says nearly the same, move detail to topics.
    """

    memory: Memory
    about: About

    name: ClassVar[str] = "remember"
    toolset: ClassVar[str] = "session"
    access: ClassVar[Access] = "memory"
    parameters = RememberParameters

    def summary(self, parameters: RememberParameters) -> str:
        return parameters.text

    async def run(self, parameters: RememberParameters, context: ToolContext) -> ToolResult:
        given = parameters
        with quoting(self.memory, context.session):
            done = await in_thread(
                self.memory.remember,
                given.text,
                given.kind,
                given.scope,
                tags=given.tags,
                topic=given.topic,
                about=self.about(given.text),
                replaces=given.replaces,
                keep_both=given.keep_both,
            )
        entry, old = done.entry, done.replaced
        if done.stored or old:
            context.emit(MemoryChanged(given.scope, entry.text, old.text if old else ""))
        said = f"Remembered as {entry.kind}, id {entry.id}: {entry.said}"
        if not done.stored:
            said = f"Already recorded: {entry.id} {entry.said}"
        instead = [f"In place of: {quoted(old.said)}"] if old else []
        return ToolResult("ok", "\n".join([said, *instead, *done.notes]))
