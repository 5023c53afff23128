"""Chat Completions: the client, and how a model is made to call tools over it.

A `Calling` settles what goes into the request and who reads the reply, so that a model without
native tool calls is served by the same client and the same loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Protocol

from ..context.render import chat_messages
from .assembly import Assembly, ChatAssembly
from .base import Piece, Request, ToolSpec, offered, system_of
from .endpoint import Endpoint
from .profiles import Profile
from .sdk import Wire


class Calling(Protocol):
    """How a model calls tools over Chat Completions."""

    def payload(self, request: Request, profile: Profile) -> dict[str, Any]:
        """`messages` and what calls need beside them: `tools`, `response_format`."""
        ...

    def assembly(self, request: Request) -> Assembly:
        """A new assembly for the reply to this request."""
        ...


class NativeCalling:
    """Tools in the request, `tool_calls` in the reply."""

    def payload(self, request: Request, profile: Profile) -> dict[str, Any]:
        messages = chat_messages(system_of(request, profile), request.items, request.tail)
        tools = [_tool(spec) for spec in offered(request, profile)]
        return {"messages": messages, **({"tools": tools} if tools else {})}

    def assembly(self, request: Request) -> Assembly:
        return ChatAssembly(request)


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
    }
    return {"type": "function", "function": function}


class ChatClient:
    """A `ModelClient` of any OpenAI-compatible server."""

    def __init__(self, endpoint: Endpoint, profile: Profile, calling: Calling | None = None):
        self.profile = profile
        self._calling = calling or NativeCalling()
        self._wire = Wire(endpoint, profile.model)

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        assembly = self._calling.assembly(request)
        stream = self._wire.stream("/chat/completions", self.body(request), assembly)
        async with aclosing(stream) as pieces:
            async for piece in pieces:
                yield piece

    async def close(self) -> None:
        await self._wire.close()

    def body(self, request: Request) -> dict[str, Any]:
        profile = self.profile
        body: dict[str, Any] = {
            "model": profile.model,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if profile.temperature is not None:
            body["temperature"] = profile.temperature
        if effort := effort_of(profile):
            body["reasoning_effort"] = effort
        body |= self._calling.payload(request, profile)
        if body["messages"][0]["role"] == "system":
            body["messages"][0]["role"] = profile.role
        return body


def effort_of(profile: Profile) -> str:
    """The reasoning effort to ask for; empty where the model has none, or its own holds."""
    if profile.think == "off":
        return "none" if profile.efforts else ""
    return profile.think if profile.think in profile.efforts else ""
