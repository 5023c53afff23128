"""ask: a question to the person."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from ..events import Question
from ..policy.subjects import Access
from .base import Parameters, Tool, ToolContext, ToolResult

NOBODY = "Nobody is there to answer: choose the most careful way yourself and say what you assumed."


Choice = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class AskParameters(Parameters):
    question: str = Field(min_length=1, description="One question, in a sentence or two.")
    choices: list[Choice] = Field([], max_length=10, description="Answers to choose from, if any.")


class Ask(Tool[AskParameters]):
    """Ask the person, only for what neither files, data nor memory can tell.

    They may answer in their own words, whatever the choices.
    """

    name: ClassVar[str] = "ask"
    toolset: ClassVar[str] = "session"
    access: ClassVar[Access] = "session"
    parameters = AskParameters

    def summary(self, parameters: AskParameters) -> str:
        return parameters.question

    async def run(self, parameters: AskParameters, context: ToolContext) -> ToolResult:
        answer = await context.ask(
            Question(
                id=f"{context.call_id}:ask",
                call_id=context.call_id,
                kind="ask",
                title=parameters.question,
                choices=tuple(parameters.choices),
            )
        )
        if answer is None:
            return ToolResult("ok", NOBODY)
        said = ": ".join(part for part in (answer.choice, answer.words) if part)
        return ToolResult("ok", said or "The person gave an empty answer.")
