"""Servers on loopback that answer in raw bytes, on ports of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Writer = asyncio.StreamWriter
# Writes an answer to the request, which is given as text.
Answer = Callable[[str, Writer], Awaitable[None]]


def reply(
    body: object, *, status: str = "200 OK", kind: str = "application/json", headers: str = ""
) -> bytes:
    """An HTTP answer; what is no text is put into JSON."""
    data = (body if isinstance(body, str) else json.dumps(body)).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{headers}"
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


def models(*names: str) -> dict[str, object]:
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}


@asynccontextmanager
async def serving(answer: bytes | Answer, *, closes: bool = True) -> AsyncIterator[int]:
    """A server that gives one answer to every request; its port."""

    async def handle(reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                request = (await reader.readuntil(b"\r\n\r\n")).decode()
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                else:
                    await answer(request, writer)
                if not closes:
                    await reader.read()
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
