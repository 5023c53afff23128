"""Pending questions: several surfaces may answer one, the first answer wins."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from .events import Answer, ApprovalDecided, ApprovalRequested, Event, Question

# A way to ask the person: resolves to None where it turns out that nobody is there.
Surface = Callable[[Question], Awaitable[Answer | None]]


@dataclass
class Questions:
    """Asks the person through every surface at once; all on one loop.

    A page answers through `answer`; the surface that knows of it waits meanwhile, for as long as
    it takes.
    """

    emit: Callable[[Event], None]
    surfaces: list[Surface] = field(default_factory=list)
    _pending: dict[str, tuple[Question, asyncio.Future[Answer]]] = field(default_factory=dict)

    @property
    def pending(self) -> list[Question]:
        return [question for question, _ in self._pending.values()]

    async def ask(self, question: Question) -> Answer | None:
        """The person's answer, or None where no surface can reach one."""
        if not self.surfaces:
            return None
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._pending[question.id] = question, future
        # Each finds things as they are when the question is shown, which its first step follows.
        asked = [asyncio.create_task(self._ask(surface, question)) for surface in self.surfaces]
        try:
            self.emit(ApprovalRequested(question))
            while not future.done():
                awaited: set[asyncio.Future[Any]] = {future, *asked}
                done, _ = await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
                for broken in done - {future}:
                    broken.result()  # a surface that raised is a bug: let it be heard
                asked = [task for task in asked if not task.done()]
                if not asked and not future.done():
                    return None
            self.emit(ApprovalDecided(future.result()))
            return future.result()
        finally:
            del self._pending[question.id]
            future.cancel()
            for task in asked:
                task.cancel()

    def answer(self, answer: Answer, digest: str | None = None) -> bool:
        """False where nothing waits for this answer: answered before, not as shown, or none of
        the choices; only a question of the model's takes words instead of one."""
        question, future = self._pending.get(answer.question_id, (None, None))
        if question is None or future is None or future.done():
            return False
        if digest not in (None, question.digest):
            return False
        if answer.choice not in question.choices and (question.kind != "ask" or answer.choice):
            return False
        future.set_result(answer)
        return True

    async def _ask(self, surface: Surface, question: Question) -> None:
        if answer := await surface(question):
            self.answer(answer)
