"""The one place that imports the `openai` SDK, and what its exceptions mean.

Importing it costs over half a second, so it is imported with the first `Wire`. That sends
a JSON body, feeds the JSON events of the reply to an assembly, and raises `EndpointError` alone.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import socket
import ssl
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from ..errors import (
    EndpointError,
    EndpointRefused,
    EndpointSilent,
    EndpointUnreachable,
    StreamBroken,
)
from . import bodies, failures
from .assembly import Assembly, corrupt
from .base import Heartbeat, Piece
from .endpoint import Endpoint

if TYPE_CHECKING:
    import httpx2
    import openai

# Seconds to open a connection; silence after that is judged by `patient`.
CONNECT_SECONDS = 5.0
# Seconds that a server has in all for what may follow the model's end: usage, the stream's end.
AFTER_DONE = 1.0
_END = object()
# Statuses of what a server does not offer.
_ABSENT = (404, 405, 501)
# A stand-in that the SDK wants where there is no key; no header carries it.
_NO_KEY = "none"
# What a request carries beside the key and the endpoint's own headers. The SDK would add what it
# finds in OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS, and tell of the machine.
_OUR_HEADERS = {
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "user-agent",
}


def load() -> Any:
    """The SDK's module; the first call imports it."""
    return importlib.import_module("openai")


class Wire:
    """One model at one endpoint, over HTTP. Its sockets are open until `close`."""

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self._endpoint = endpoint
        self._model = model
        self._client: openai.AsyncOpenAI | None = None
        load()  # here, where no deadline runs yet

    async def stream(
        self, path: str, body: dict[str, Any], assembly: Assembly
    ) -> AsyncGenerator[Piece, None]:
        """The pieces of a streamed reply, `Finished` last.

        The response is closed when the iteration ends, however it ends. A fault or silence
        after the model has finished is none.
        """
        clock = asyncio.get_running_loop()
        until: float | None = None
        try:
            try:
                async with aclosing(self._events(path, body)) as events:
                    while until is None or clock.time() < until:
                        async with asyncio.timeout_at(until):
                            event = await anext(events, _END)
                        if event is _END:
                            break
                        for piece in self._fed(assembly, event) or (Heartbeat(),):
                            yield piece
                        if assembly.done and until is None:
                            until = clock.time() + AFTER_DONE
            except (EndpointError, TimeoutError):
                if not assembly.done:
                    raise
            yield assembly.finished()
        except EndpointError as error:
            self._scrubbed(error)
            raise

    def _fed(self, assembly: Assembly, event: object) -> Sequence[Piece]:
        try:
            return assembly.feed(event)
        except EndpointError:
            # Told anew from an event that is free of our secrets: the words of the error were cut
            # to length, perhaps within one.
            return assembly.feed(self._endpoint.scrubbed_json(event))

    async def get(self, path: str) -> object:
        """What a GET answers with, None where there is no such thing or it is no JSON."""
        sdk = load()
        try:
            response = await self._connected().get(
                path, cast_to=importlib.import_module("httpx2").Response
            )
            if failures.is_page(response.headers):
                raise failures.web_page(self._endpoint, response.status_code)
            return _parsed(response.content)
        except sdk.APIStatusError as error:
            if error.response.status_code in _ABSENT and not failures.is_page(
                error.response.headers
            ):
                return None
            raise self._scrubbed(self._refusal(error)) from error
        except sdk.APIConnectionError as error:
            raise self._scrubbed(_broken(self._endpoint, error, streaming=False)) from error

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    def _scrubbed(self, error: EndpointError) -> EndpointError:
        error.args = (self._endpoint.scrubbed(str(error)),)
        return error

    async def _events(self, path: str, body: dict[str, Any]) -> AsyncGenerator[object, None]:
        sdk = load()
        client = self._connected()
        stream: openai.AsyncStream[object] | None = None
        try:
            stream = await client.post(
                path,
                cast_to=object,
                content=encoded(body),
                stream=True,
                stream_cls=sdk.AsyncStream[object],
            )
            await self._check_is_stream(stream.response)
            async for event in stream:
                yield event
        except sdk.APIStatusError as error:
            raise self._refusal(error) from error
        except sdk.APIConnectionError as error:
            raise _broken(self._endpoint, error, streaming=stream is not None) from error
        except sdk.APIError as error:
            told = self._endpoint.scrubbed_json(error.body or error.message)
            raise failures.of_stream(told) from error
        except (ValueError, RecursionError) as error:
            raise corrupt() from error
        finally:
            if stream is not None:
                await stream.close()

    def _connected(self) -> openai.AsyncOpenAI:
        if self._client is None:
            self._client = load().AsyncOpenAI(
                api_key=self._endpoint.api_key or _NO_KEY,
                base_url=self._endpoint.base_url,
                max_retries=0,
                http_client=_http_client(self._endpoint),
            )
            # The SDK would look this up in a thread that stays, for a header that we drop.
            self._client._platform = "Unknown"
        return self._client

    async def _check_is_stream(self, response: httpx2.Response) -> None:
        if failures.is_page(response.headers):
            raise failures.web_page(self._endpoint, response.status_code)
        if "json" in response.headers.get("content-type", ""):
            body = _parsed(await response.aread())
            if isinstance(body, dict) and body.get("error"):
                raise failures.of_stream(self._endpoint.scrubbed_json(body))
            raise EndpointRefused(
                f"{self._endpoint.shown} does not stream its answers; "
                "choose another server with /connect."
            )

    def _refusal(self, error: openai.APIStatusError) -> EndpointError:
        body = error.response.text if error.body is None else error.body
        status, headers = error.response.status_code, error.response.headers
        told = self._endpoint.scrubbed_json(body)
        return failures.of_status(self._endpoint, self._model, status, headers, told)


def _parsed(document: bytes) -> object:
    try:
        return json.loads(document)
    except (ValueError, RecursionError):
        return None


def encoded(body: dict[str, Any]) -> bytes:
    """The body as JSON. Half a surrogate pair, which no UTF-8 can hold, becomes a question mark."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _http_client(endpoint: Endpoint) -> httpx2.AsyncClient:
    """A client that sends what the endpoint says and nothing that the environment adds.

    A proxy and a trust store of the machine are used where the endpoint names none, but never
    on the way to this machine itself. A redirect is not followed: a key goes to no other origin.
    """
    _check_headers(endpoint)
    transport = importlib.import_module("httpx2")
    here, ca_file = endpoint.is_loopback, endpoint.ca_file
    # Reading the trust store takes longest of all here, and plain http has no use for it.
    secure = not (here and endpoint.base_url.startswith("http:"))

    async def only_ours(request: httpx2.Request) -> None:
        for name in list(request.headers):
            if name.lower() not in _OUR_HEADERS:
                del request.headers[name]
        if endpoint.api_key:
            request.headers["authorization"] = f"Bearer {endpoint.api_key}"
        for name, value in endpoint.headers:
            request.headers[name] = value

    async def bounded(response: httpx2.Response) -> None:
        bodies.bound(endpoint, response)

    try:
        client: httpx2.AsyncClient = transport.AsyncClient(
            verify=ssl.create_default_context(cafile=ca_file) if ca_file else secure,
            proxy=None if here else endpoint.proxy or None,
            trust_env=not here,
            timeout=transport.Timeout(None, connect=CONNECT_SECONDS),
            follow_redirects=False,
            event_hooks={"request": [only_ours], "response": [bounded]},
        )
        client.build_request("POST", endpoint.base_url)
    except OSError as error:
        raise EndpointUnreachable(
            f"The CA file {ca_file} cannot be used ({error.strerror or error}); check the setting.",
            retryable=False,
        ) from error
    except (ValueError, ImportError, transport.InvalidURL) as error:
        raise EndpointUnreachable(
            f"The address {endpoint.shown} or its proxy is no URL that can be used ({error}); "
            "check them with /connect.",
            retryable=False,
        ) from error
    return client


def _check_headers(endpoint: Endpoint) -> None:
    """A transport would quote an unfit value, key and all, in its own error."""
    for name, value in (("The key", endpoint.api_key), *endpoint.headers):
        if not (value.isascii() and (value.isprintable() or not value)):
            raise EndpointRefused(
                f"{name} for {endpoint.shown} holds characters that no header can carry; "
                "set it again with /connect."
            )


def _broken(
    endpoint: Endpoint, error: openai.APIConnectionError, *, streaming: bool
) -> EndpointError:
    """What a transport's error means, found in the chain of what caused it."""
    transport = importlib.import_module("httpx2")
    at = endpoint.shown
    causes = list(_chain(error))

    def among(*kinds: type[BaseException]) -> BaseException | None:
        return next((each for each in causes if isinstance(each, kinds)), None)

    if among(transport.ConnectTimeout):
        return EndpointUnreachable(
            f"Nothing answers at {at} within {CONNECT_SECONDS:.0f} s; "
            "check the address with /connect, or the network.",
            retryable=False,
        )
    if among(transport.TimeoutException):
        return EndpointSilent(f"{at} went silent; ask again, or choose another model with /model.")
    if streaming:
        return StreamBroken(f"The connection to {at} broke in the middle of the answer; ask again.")
    if among(socket.gaierror):
        return EndpointUnreachable(
            f"The host name of {at} is not known; check the address with /connect, or the network.",
            retryable=False,
        )
    if fault := among(ssl.SSLError):
        why = getattr(fault, "verify_message", "") or getattr(fault, "reason", "") or "TLS failed"
        return EndpointUnreachable(
            f"No safe connection to {at} ({why}); check the address (http or https), or name "
            "your network's CA file in the settings.",
            retryable=False,
        )
    if among(transport.ProxyError):
        return EndpointUnreachable(
            f"The proxy on the way to {at} refuses; check the proxy in the settings.",
            retryable=False,
        )
    if among(transport.UnsupportedProtocol):
        return EndpointUnreachable(
            f"{at or 'The base URL'} is no http or https address; set it with /connect.",
            retryable=False,
        )
    if among(ConnectionRefusedError):
        return EndpointUnreachable(
            f"No server listens at {at}; start it, or choose another with /connect."
        )
    if among(transport.ConnectError):
        return EndpointUnreachable(f"{at} cannot be reached; check the address with /connect.")
    return EndpointUnreachable(
        f"{at} closed the connection without an answer; ask again, or check the server."
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what caused it, and the members of groups among them."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
