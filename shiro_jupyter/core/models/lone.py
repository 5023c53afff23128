"""One question to a model outside any conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from ..events import Event, Usage
from ..transcript import User
from ..workspace.clock import Clock
from .base import Finished, FinishReason, ModelClient, Request, TextPiece
from .patience import patient
from .profiles import Profile

# Settles with the person whether it is sent; raises where not.
Allow = Callable[[Request, Profile], Awaitable[None]]


@dataclass(frozen=True)
class Reply:
    """What the model said, what it cost, and why it ended."""

    text: str
    usage: Usage
    reason: FinishReason


async def reply(
    client: ModelClient, prompt: str, clock: Clock, emit: Callable[[Event], None], allow: Allow
) -> Reply:
    """The model's reply, without tools; the client stays open. Raises `EndpointError`, and what
    `allow` does."""
    request = Request(system="", tools=(), items=(User(prompt, turn=1),), turn=1, step=1)
    await allow(request, client.profile)
    said: list[str] = []
    finished = Finished((), Usage(), "stop")
    async with aclosing(patient(client, request, clock, emit)) as pieces:
        async for piece in pieces:
            match piece:
                case TextPiece(text):
                    said.append(text)
                case Finished():
                    finished = piece
    return Reply("".join(said), finished.usage, finished.reason)


async def answer(
    client: ModelClient, prompt: str, clock: Clock, emit: Callable[[Event], None], allow: Allow
) -> str:
    """The text of the model's reply; the client is closed then. Raises as `reply` does."""
    try:
        return (await reply(client, prompt, clock, emit, allow)).text
    finally:
        await client.close()
