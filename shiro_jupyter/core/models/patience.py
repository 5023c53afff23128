"""Retries and idle deadlines around a client's stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from ..events import Event
from ..workspace.clock import Clock
from .base import ModelClient, Piece, Request


async def patient(
    client: ModelClient, request: Request, clock: Clock, emit: Callable[[Event], None]
) -> AsyncIterator[Piece]:
    async for piece in client.stream(request):
        yield piece
