"""The Responses API: stateless turns, with reasoning carried along encrypted."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from ..context.render import response_items
from ..context.repair import without_reasoning
from ..errors import EndpointRefused
from .assembly_responses import ResponsesAssembly
from .base import Piece, Request, ToolSpec, offered, system_of
from .chat import effort_of
from .endpoint import Endpoint
from .profiles import Profile
from .sdk import Wire

_ENCRYPTED = "reasoning.encrypted_content"
# A refusal of what is sent of earlier reasoning: sealed for another, unknown, or without what came
# beside it; or of the ids that go with it.
OF_REASONING = re.compile(r"encrypted|'reasoning'|\brs_|\binput\[\d+\]\.id\b")


class ResponsesClient:
    """A `ModelClient` of OpenAI, and of servers that speak its newer API."""

    def __init__(self, endpoint: Endpoint, profile: Profile) -> None:
        self.profile = profile
        self._origin = endpoint.origin(profile.model)
        self._wire = Wire(endpoint, profile.model)
        # Not every model has sealed reasoning, nor every account summaries of it.
        self._asks_for_sealed = True
        self._asks_for_summary = bool(profile.efforts)

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        try:
            async with aclosing(self._once(request)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        except EndpointRefused as error:
            # A refused request has shown nothing yet, so it may be sent once more without what
            # it was refused for.
            words = str(error).lower()
            if "encrypted content is not supported" in words and self._asks_for_sealed:
                self._asks_for_sealed = False
            elif "summar" in words and self._asks_for_summary:
                self._asks_for_summary = False
            elif error.code == "invalid_encrypted_content" or OF_REASONING.search(words):
                request = replace(request, items=without_reasoning(request.items))
            else:
                raise
        async with aclosing(self._once(request)) as pieces:
            async for piece in pieces:
                yield piece

    async def close(self) -> None:
        await self._wire.close()

    def _once(self, request: Request) -> AsyncGenerator[Piece, None]:
        assembly = ResponsesAssembly(request, self._origin)
        return self._wire.stream("/responses", self.body(request), assembly)

    def body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.profile.model,
            "input": response_items(request.items, request.tail, origin=self._origin),
            "store": False,
            "stream": True,
        }
        if (system := system_of(request, self.profile)).strip():
            body["instructions"] = system
        if tools := [_tool(spec) for spec in offered(request, self.profile)]:
            body["tools"] = tools
        if self.profile.temperature is not None:
            body["temperature"] = self.profile.temperature
        effort, summary = effort_of(self.profile), "auto" if self._asks_for_summary else ""
        if effort or summary:
            asked = {"effort": effort, "summary": summary}
            body["reasoning"] = {name: value for name, value in asked.items() if value}
        if self._asks_for_sealed:
            body["include"] = [_ENCRYPTED]
        return body


def _tool(spec: ToolSpec) -> dict[str, Any]:
    # Not strict: the strict form would refuse optional parameters.
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": False,
    }
