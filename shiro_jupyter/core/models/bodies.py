"""How much of a server's answer is read, whatever it sends.

All is counted after decompression, where a small answer may turn out to be a huge one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from ..errors import StreamBroken
from . import failures
from .endpoint import Endpoint

if TYPE_CHECKING:
    import httpx2

# Bytes: of a refusal and its reason, of a JSON document (a long list of models), of one event of
# a stream, and of a whole stream.
LARGEST_REFUSAL = 64_000
LARGEST_DOCUMENT = 16_000_000
LARGEST_EVENT = 8_000_000
LARGEST_STREAM = 64_000_000
_BLANK_LINES = (b"\n\n", b"\r\n\r\n", b"\r\r")
TOO_LARGE = "{at} sends an answer that is too large to be one; choose another model with /model."


def bound(endpoint: Endpoint, response: httpx2.Response) -> None:
    """Make every way to read the body of this response end in time.

    A refusal and a document are cut where they grow too large; a stream that does, or that is
    a web page, raises `EndpointError`.
    """
    unbound = response.aiter_bytes
    is_document = "json" in response.headers.get("content-type", "").lower()

    async def refusal_or_document(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        left = LARGEST_DOCUMENT if response.is_success else LARGEST_REFUSAL
        async with aclosing(unbound(chunk_size)) as chunks:
            async for chunk in chunks:
                yield chunk[:left]
                left -= len(chunk)
                if left <= 0:
                    break
        await response.aclose()

    async def stream(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        total = event = 0
        window = b""
        async with aclosing(unbound(chunk_size)) as chunks:
            async for chunk in chunks:
                if not total and failures.is_page({}, chunk[:100].decode("latin-1")):
                    raise failures.web_page(endpoint, response.status_code)
                total += len(chunk)
                window = window[-3:] + chunk
                # Where the newest event began; what is no longer in sight is counted on.
                ends = max(window.rfind(blank) for blank in _BLANK_LINES)
                event = len(window) - ends if ends >= 0 else event + len(chunk)
                if event > LARGEST_EVENT or total > LARGEST_STREAM:
                    too_large = TOO_LARGE.format(at=endpoint.shown)
                    raise StreamBroken(too_large, retryable=False)
                yield chunk

    bounded = stream if response.is_success and not is_document else refusal_or_document
    response.aiter_bytes = bounded  # type: ignore[method-assign]
