"""Running one tool as the loop does, with a context made for the test."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from shiro_jupyter.core.events import Answer, Event, Question
from shiro_jupyter.core.policy.subjects import Subject
from shiro_jupyter.core.sessions.session import Session
from shiro_jupyter.core.sessions.undo import FileUndo
from shiro_jupyter.core.tools.base import Tool, ToolContext, ToolResult
from shiro_jupyter.core.workspace.processes import Processes
from shiro_jupyter.core.workspace.project import Project
from shiro_jupyter.core.workspace.seen import Seen


@dataclass
class Bench:
    """A project folder and all that a call touches; keeps what it emitted, printed and asked.

    `person` answers questions; None is a person who is not there.
    """

    root: Path
    person: Callable[[Question], Answer] | None = None
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    told: list[str] = field(default_factory=list)
    turn: int = 1

    def __post_init__(self) -> None:
        self.outputs = self.root.parent / f"{self.root.name}-outputs"
        self.project = Project(self.root, allowed=(self.outputs,))
        self.session = Session()
        self.seen = Seen()
        # Beside the project; nobody else's turns are undone from there.
        self.undo = FileUndo(self.root.parent / f"{self.root.name}-undo", self.told.append)
        self.processes = Processes(self.environment, self.outputs)
        self.events: list[Event] = []
        self.printed: list[str] = []
        self.questions: list[Question] = []

    @property
    def context(self) -> ToolContext:
        return ToolContext(
            call_id="call_1",
            project=self.project,
            session=self.session,
            processes=self.processes,
            seen=self.seen,
            emit=self.events.append,
            output=self.printed.append,
            ask=self._ask,
            around=partial(self.undo.around, self.turn),
        )

    async def _ask(self, question: Question) -> Answer | None:
        self.questions.append(question)
        return self.person(question) if self.person else None

    def run(self, tool: Tool[Any], **arguments: Any) -> ToolResult:
        """The tool's result; what it raises for the model to mend is raised here too."""
        parameters, context = tool.parse(json.dumps(arguments)), self.context

        async def run() -> ToolResult:
            await tool.prepare(parameters, context)
            tool.subject(parameters, context)
            return await tool.run(parameters, context)

        return asyncio.run(run())

    def judged(self, tool: Tool[Any], **arguments: Any) -> Subject:
        """What of a call is to be approved."""
        parameters, context = tool.parse(json.dumps(arguments)), self.context
        asyncio.run(tool.prepare(parameters, context))
        return tool.subject(parameters, context)
