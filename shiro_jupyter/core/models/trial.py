"""Trying an endpoint out: what it serves, and one short call to a model of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from ..errors import EndpointSilent
from ..transcript import User
from .base import Finished, ReasoningPiece, Request, TextPiece
from .clients import client_for
from .discovery import Served, model_list
from .endpoint import Endpoint
from .profiles import Profile
from .sdk import Wire

LIST_SECONDS = 10.0
# A model that has to be loaded first, from a slow disk, takes its time.
TRY_SECONDS = 90.0
_REQUEST = Request(system="Answer in one word.", tools=(), items=(User("Say hello.", 1),), turn=1)


async def served_at(endpoint: Endpoint, *, seconds: float = LIST_SECONDS) -> tuple[Served, ...]:
    """The models that an endpoint lists; none where it keeps no list.

    Raises `EndpointError` where no model API answers at all, or the key is refused.
    """
    wire = Wire(endpoint, "")
    try:
        async with asyncio.timeout(seconds):
            return model_list(await wire.get("/models"))
    except TimeoutError:
        raise EndpointSilent(
            f"{endpoint.shown} gave no answer in {seconds:g} s; "
            "check the address, or that its server runs."
        ) from None
    finally:
        await wire.close()


async def try_call(endpoint: Endpoint, profile: Profile, *, seconds: float = TRY_SECONDS) -> None:
    """One short call, up to the first sign of an answer. Raises `EndpointError`."""
    client = client_for(endpoint, profile)
    try:
        stream = client.stream(_REQUEST)
        assert isinstance(stream, AsyncGenerator)
        async with asyncio.timeout(seconds), aclosing(stream) as pieces:
            async for piece in pieces:
                if isinstance(piece, TextPiece | ReasoningPiece | Finished):
                    return
    except TimeoutError:
        raise EndpointSilent(
            f"{profile.model} at {endpoint.shown} said nothing in {seconds:g} s; "
            "try again, or choose another model."
        ) from None
    finally:
        await client.close()
