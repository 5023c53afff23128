"""Retries and the idle deadline around a client's stream."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from ..errors import EndpointError, EndpointSilent
from ..events import Event, Retrying
from ..workspace.clock import Clock
from .base import Finished, Heartbeat, ModelClient, Piece, Request

TRIES = 3
# Seconds before the second try, doubled before each one after; up to a quarter of it is
# taken off at random, so that clients that failed together do not return together.
FIRST_WAIT = 0.5
JITTER = 0.25
# Longer than this nobody waits unasked.
LONGEST_WAIT = 120.0


async def patient(
    client: ModelClient, request: Request, clock: Clock, emit: Callable[[Event], None]
) -> AsyncGenerator[Piece, None]:
    """The pieces of a step, `Finished` last, from as many tries as it takes, 3 at most.

    Only what failed before its first visible piece is tried again, after `Retry-After` or a
    growing wait slept on `clock`. Silence is measured on the event loop's own time, between
    events of the wire, and raises `EndpointSilent`. `Heartbeat`s end here.
    """
    for attempt in range(TRIES):
        shown = False
        pieces = _attentive(client, request)
        try:
            async for piece in pieces:
                shown = True
                yield piece
            return
        except EndpointError as error:
            if shown or not error.retryable or attempt + 1 == TRIES:
                raise
            seconds = _wait(error, attempt)
            emit(Retrying(str(error), seconds))
        finally:
            await pieces.aclose()
        await clock.sleep(seconds)


def _wait(error: EndpointError, attempt: int) -> float:
    """Seconds before the next try. Raises the error anew where nobody should wait so long."""
    if error.retry_after is None:
        return FIRST_WAIT * float(2**attempt) * (1 - JITTER * random.random())
    if error.retry_after > LONGEST_WAIT:
        raise type(error)(
            f"{str(error).rstrip('.')}; it asks to wait {_spoken(error.retry_after)}.",
            retry_after=error.retry_after,
            code=error.code,
        ) from error
    return error.retry_after


def _spoken(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} minutes"
    hours = round(seconds / 3600)
    if hours < 48:
        return f"{hours} hours"
    days = round(seconds / 86_400)
    return f"{days} days" if days <= 30 else "longer than a month"


async def _attentive(client: ModelClient, request: Request) -> AsyncGenerator[Piece, None]:
    """The client's pieces without heartbeats; never silent for longer than its profile says."""
    idle = client.profile.idle_seconds
    pieces = client.stream(request)
    try:
        while True:
            piece = await _next(pieces, idle)
            if piece is None:
                return
            if not isinstance(piece, Heartbeat):
                yield piece
            if isinstance(piece, Finished):
                return
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


async def _next(pieces: AsyncIterator[Piece], idle: float) -> Piece | None:
    try:
        async with asyncio.timeout(idle):
            return await anext(pieces, None)
    except TimeoutError:
        raise EndpointSilent(
            f"Nothing came from the model for {idle:g} s; ask again, choose another model with "
            "/model, or set a longer `timeout`."
        ) from None
