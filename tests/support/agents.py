"""An agent on a script, with a person who answers as told, and all it emitted kept."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from shiro_jupyter.core import events
from shiro_jupyter.core.agent import Agent
from shiro_jupyter.core.compaction import UpdateNotes
from shiro_jupyter.core.context.repair import repaired
from shiro_jupyter.core.cost import Ledger
from shiro_jupyter.core.events import Answer, Event, Question, TurnEnded
from shiro_jupyter.core.models.base import ModelClient
from shiro_jupyter.core.models.profiles import Profile
from shiro_jupyter.core.models.scripted import ScriptedModel, Step
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.questions import Questions
from shiro_jupyter.core.sessions.session import Session
from shiro_jupyter.core.tools.base import Tool
from shiro_jupyter.core.tools.shelf import tools_for
from shiro_jupyter.core.transcript import Call, Reasoning, Result
from shiro_jupyter.core.turn import Limits
from shiro_jupyter.core.workspace.processes import Processes
from shiro_jupyter.core.workspace.project import Project

Person = Callable[[Question], Answer | None]


def allows(question: Question) -> Answer:
    return Answer(question.id, events.ALLOW)


@dataclass
class MadeClock:
    """Stands still but for `advance`; sleeping takes no time and is written down."""

    passed: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime(2026, 1, 5, 9, 0).astimezone() + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.passed

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.passed += seconds
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        self.passed += seconds


@dataclass
class Stage:
    """Made inside a running loop. `on_event` is called after each event, as a view would be."""

    root: Path
    steps: Sequence[Step]
    person: Person | None = None
    gate: Gate = field(default_factory=Gate)
    tools: Sequence[Tool[Any]] = field(default_factory=tools_for)
    limits: Limits = field(default_factory=Limits)
    on_event: Callable[[Event], None] = lambda event: None
    window: int = 0
    base_url: str = ""  # a model that is served elsewhere has a price
    name: str = "scripted"
    ledger: Ledger | None = None
    update_notes: UpdateNotes | None = None

    def __post_init__(self) -> None:
        self.root.mkdir(exist_ok=True)
        self.clock = MadeClock()
        self.events: list[Event] = []
        self.asked: list[Question] = []
        profile = Profile(self.name, self.base_url, window=self.window)
        self.model = ScriptedModel(self.steps, profile)
        self.processes = Processes(os.environ, self.root.parent / "outputs")
        self.questions = Questions(self.emit, [self._person] if self.person else [])
        self.agent = Agent(
            session=Session(),
            model=self._client,
            tools=self.tools,
            system=lambda: "You are shiro.",
            gate=self.gate,
            project=Project(self.root),
            processes=self.processes,
            clock=self.clock,
            emit=self.emit,
            ask=self.questions.ask,
            limits=self.limits,
            ledger=self.ledger,
            update_notes=self.update_notes,
        )

    @property
    def session(self) -> Session:
        return self.agent.session

    async def _client(self) -> ModelClient:
        return self.model

    async def _person(self, question: Question) -> Answer | None:
        self.asked.append(question)
        await asyncio.sleep(0)
        assert self.person
        return self.person(question)

    def emit(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(event)

    def names(self) -> list[str]:
        return [events.name_of(event) for event in self.events]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def outcomes(self) -> list[str]:
        """How the calls ended, in order."""
        return [item.outcome for item in self.session.items if isinstance(item, Result)]

    async def check_whole(self) -> None:
        """What holds after every turn, however it ended."""
        for _ in range(5):  # what was cancelled gets to end
            await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left: {left}"
        turns = [event.turn for event in self.of(events.TurnStarted)]
        assert [event.turn for event in self.of(TurnEnded)] == turns
        assert isinstance(self.events[-1], TurnEnded)
        assert not self.questions.pending
        # Thoughts that led to nothing are kept, and left out of what is sent.
        items = [item for item in self.session.items if not isinstance(item, Reasoning)]
        assert repaired(items) == tuple(items), "the transcript needs repair"
        calls = [item.call_id for item in items if isinstance(item, Call)]
        results = [item.call_id for item in items if isinstance(item, Result)]
        assert sorted(calls) == sorted(results)
        finished = [event.call_id for event in self.of(events.ToolFinished)]
        assert sorted(finished) == sorted(results)
        begun = [event for event in self.of(events.StepStarted) if event.step == 1]
        assert self.model.closed == len(begun)
