"""A model's stream fed to the real client without a socket, on a clock that is made up.

line = Line()
with wired(line):
    line.begin(Sent(chunks, "broken"), Sent(others))  # of the first request, and of the next
    ...  # on a `MadeTimeLoop`
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from unittest.mock import patch

import httpx2

from shiro_jupyter.core.models import sdk
from shiro_jupyter.core.models.endpoint import Endpoint

End = Literal["clean", "broken", "silent"]
ENDPOINT = Endpoint("http://127.0.0.1:9/v1")


@dataclass(frozen=True)
class Sent:
    """The chunks of a body, and how it ends: properly, with the connection, or not at all."""

    chunks: Sequence[bytes]
    end: End = "clean"


@dataclass
class Line:
    """What is sent to the first request, and by the body of each one after it; `bodies` are the
    requests'."""

    first: Sent = field(default_factory=lambda: Sent(()))
    then: Callable[[bytes], Sent] = lambda body: Sent(())
    bodies: list[bytes] = field(default_factory=list)
    open: int = 0

    def begin(self, first: Sent, then: Callable[[bytes], Sent]) -> None:
        self.first, self.then, self.bodies = first, then, []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(request.content)
        sent = self.first if len(self.bodies) == 1 else self.then(request.content)
        kind = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=kind, stream=_Body(self, sent))


class _Body(httpx2.AsyncByteStream):
    def __init__(self, line: Line, sent: Sent) -> None:
        self._line, self._sent = line, sent
        line.open += 1

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._sent.chunks:
            yield chunk
        if self._sent.end == "broken":
            raise httpx2.RemoteProtocolError("peer closed connection")
        if self._sent.end == "silent":
            await asyncio.sleep(1e9)

    async def aclose(self) -> None:
        self._line.open -= 1


@contextmanager
def wired(line: Line) -> Iterator[None]:
    """Clients that are made within talk over this line."""
    real = sdk._http_client

    def http_client(endpoint: Endpoint) -> httpx2.AsyncClient:
        client = real(endpoint)
        client._transport = httpx2.MockTransport(line.answer)
        return client

    with patch.object(sdk, "_http_client", http_client):
        yield


class _Skipping(selectors.DefaultSelector):
    """Waits for nothing: time is what passes."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout:
            self.passed += timeout
        return super().select(0 if timeout is not None else None)


class MadeTimeLoop(asyncio.SelectorEventLoop):
    """An event loop on which a wait of an hour is over at once, and has taken an hour."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.passed
