"""A scripted model that also writes the summaries it is asked for."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence

from shiro_jupyter.core.compaction import HEADINGS
from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.models.base import Finished, Piece, Request, TextPiece
from shiro_jupyter.core.models.profiles import Profile
from shiro_jupyter.core.models.scripted import ScriptedModel, Step
from shiro_jupyter.core.transcript import Assistant, User

_TOLD = re.compile(r"(?m)^ *-? *((?:DECIDED|NEXT) [\w ]+)$")


def faithful(prompt: str) -> str:
    """The lines that begin with DECIDED, and the last one with NEXT, under the headings."""
    told = list(dict.fromkeys(_TOLD.findall(prompt)))
    parts = {
        "Decisions": [line for line in told if line.startswith("DECIDED")],
        "What remains": [line for line in told if line.startswith("NEXT")][-1:],
    }
    lines = (f"## {each}\n" + "\n".join(f"- {n}" for n in parts.get(each, [])) for each in HEADINGS)
    return "\n\n".join(lines)


class SummingModel(ScriptedModel):
    """Its script is for the steps alone; `summary` answers what is asked without tools."""

    def __init__(
        self,
        steps: Sequence[Step],
        profile: Profile | None = None,
        summary: Callable[[str], str] = faithful,
    ) -> None:
        super().__init__(steps, profile)
        self.summary = summary
        self.asked: list[str] = []  # for a summary

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        if request.tools:
            async for piece in super().stream(request):
                yield piece
            return
        prompt = "\n".join(item.text for item in request.items if isinstance(item, User))
        self.asked.append(prompt)
        await asyncio.sleep(0)  # as any answer takes its time
        text = self.summary(prompt)
        yield TextPiece(text)
        yield Finished((Assistant(text, 1, 1),), Usage(50, 0, 5, 0), "stop")
