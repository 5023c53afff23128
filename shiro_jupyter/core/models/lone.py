"""One question to a model outside any conversation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing

from ..events import Event
from ..transcript import User
from ..workspace.clock import Clock
from .base import ModelClient, Request, TextPiece
from .patience import patient


async def answer(
    client: ModelClient, prompt: str, clock: Clock, emit: Callable[[Event], None]
) -> str:
    """The text of the model's reply, without tools; the client is closed then.

    Raises `EndpointError` where there is none.
    """
    request = Request(system="", tools=(), items=(User(prompt, turn=1),), turn=1, step=1)
    try:
        async with aclosing(patient(client, request, clock, emit)) as pieces:
            said = [piece.text async for piece in pieces if isinstance(piece, TextPiece)]
    finally:
        await client.close()
    return "".join(said)
