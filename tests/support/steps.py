"""One step of a client against an endpoint, as a test wants it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime

from shiro_jupyter.core.errors import EndpointError
from shiro_jupyter.core.models.base import (
    Finished,
    ModelClient,
    Piece,
    Request,
    TextPiece,
    ToolSpec,
)
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.profiles import Api, Profile
from shiro_jupyter.core.transcript import Item, User

LOOK = ToolSpec(
    "look",
    "Look at a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


@dataclass
class MadeClock:
    """A clock on which sleeping takes no time and is written down."""

    seconds: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


def asked(*items: Item, tail: str = "", step: int = 1) -> Request:
    return Request("Be kind.", (LOOK,), items or (User("hi", 1),), tail, turn=1, step=step)


@dataclass(frozen=True)
class Outcome:
    """All that a step gave: its pieces, and the error it ended with, if any."""

    pieces: list[Piece]
    error: EndpointError | None = None

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces if isinstance(piece, TextPiece))

    @property
    def finished(self) -> Finished:
        (only,) = [piece for piece in self.pieces if isinstance(piece, Finished)]
        return only

    @property
    def sentence(self) -> str:
        return str(self.error or "")


async def outcome_of(client: ModelClient, request: Request) -> Outcome:
    """The step's outcome; the client stays open. Other errors than `EndpointError` pass."""
    pieces: list[Piece] = []
    try:
        stream = client.stream(request)
        async with aclosing(stream):  # type: ignore[type-var]
            async for piece in stream:
                pieces.append(piece)
    except EndpointError as error:
        return Outcome(pieces, error)
    return Outcome(pieces)


def step(
    endpoint: Endpoint, api: Api, request: Request | None = None, model: str = "tiny"
) -> Outcome:
    """One step of a fresh client that is closed after it."""

    async def run() -> Outcome:
        client = client_for(endpoint, Profile(model=model, api=api))
        try:
            return await outcome_of(client, request or asked())
        finally:
            await client.close()

    return asyncio.run(run())
