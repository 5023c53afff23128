"""One bounded HTTP GET to a port of this machine: no key, no proxy, no redirect, no SDK."""

from __future__ import annotations

import asyncio
import http.client
import io
from contextlib import suppress
from typing import Any, cast

HOST = "127.0.0.1"
MAX_BYTES = 1 << 20


async def get(port: int, path: str, *, seconds: float) -> tuple[int, bytes] | None:
    """Status and body; None where nothing answers in HTTP, wholly, in time and within bounds."""
    data = bytearray()
    # What came before the deadline may be whole: some servers do not close.
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(seconds):
            await _ask(port, path, data)
    response = http.client.HTTPResponse(cast(Any, _Received(bytes(data))))
    try:
        response.begin()
        return response.status, response.read()
    except (http.client.HTTPException, ValueError, OSError):
        return None


async def _ask(port: int, path: str, data: bytearray) -> None:
    """Fill `data` with the answer, up to the most it may be."""
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nAccept: application/json\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        while len(data) < MAX_BYTES and (chunk := await reader.read(1 << 16)):
            data += chunk
    finally:
        writer.transport.abort()  # closing in good order would wait for the other side


class _Received:
    """What the standard library reads a response from: a socket that has it all."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)
