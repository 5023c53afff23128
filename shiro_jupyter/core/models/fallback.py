"""From native calls, or a schema, to fenced ones, where the server says that it cannot."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from ..errors import EndpointError
from .base import Heartbeat, Piece, Request
from .chat import Calling, ChatClient
from .endpoint import Endpoint
from .fenced import FencedCalling
from .profiles import Profile

# In the words of Ollama, llama.cpp, vLLM, OpenRouter and others.
_UNABLE = re.compile(
    r"does not support tools|support tool use|tools? param\w* requires|tool choice requires"
    r"|tools? (?:is|are) not supported|tool.call\w* (?:is|are) not supported"
    r"|(?:response_format|json_schema|grammar)\W.*(?:not supported|unsupported|unknown|invalid)"
    r"|(?:not support|unsupported|unknown|invalid)\W.*(?:response_format|json_schema|grammar)",
    re.IGNORECASE,
)
FELL_BACK = (
    "{model} takes no tool calls as this server serves it, so it is asked to write them as text; "
    'set calling = "fenced" to ask so from the start.'
)


class FallbackClient(ChatClient):
    """A `ChatClient` that says once that it fell back, and goes on with the same step."""

    def __init__(
        self, endpoint: Endpoint, profile: Profile, calling: Calling, tell: Callable[[str], None]
    ) -> None:
        super().__init__(endpoint, profile, calling)
        self._tell = tell

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        shown = False
        try:
            async with aclosing(super().stream(request)) as pieces:
                async for piece in pieces:
                    shown = shown or not isinstance(piece, Heartbeat)
                    yield piece
            return
        except EndpointError as error:
            able = isinstance(self._calling, FencedCalling) or not request.tools
            if shown or able or not _UNABLE.search(str(error)):
                raise
        self._tell(FELL_BACK.format(model=self.profile.model))
        self.profile = replace(self.profile, calling="fenced")
        self._calling = FencedCalling()
        async with aclosing(super().stream(request)) as pieces:
            async for piece in pieces:
                yield piece
