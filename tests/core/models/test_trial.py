from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from shiro_jupyter.core.errors import EndpointRefused, EndpointSilent, EndpointUnreachable
from shiro_jupyter.core.models.discovery import Served
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.profiles import Profile
from shiro_jupyter.core.models.trial import served_at, try_call
from tests.support.raw_servers import Answer, Writer, models, reply, serving
from tests.support.strict_endpoint import Reply, StrictEndpoint


def at(answer: bytes | Answer, work: Callable[[Endpoint], Awaitable[Any]], key: str = "") -> Any:
    async def run() -> Any:
        async with serving(answer) as port:
            return await work(Endpoint(f"http://127.0.0.1:{port}/v1", key))

    return asyncio.run(run())


async def never(request: str, writer: Writer) -> None:
    await asyncio.sleep(60)


def test_an_endpoint_lists_its_models_with_their_windows() -> None:
    body = {"data": [{"id": "a", "max_model_len": 4096}, {"id": "text-embedding-3"}, {"id": "b"}]}
    assert at(reply(body), served_at) == (Served("a", 4096), Served("b"))


@pytest.mark.parametrize(
    "answer",
    [
        reply({"error": "no"}, status="404 Not Found"),
        reply("no", status="405 Method Not Allowed", kind="text/plain"),
        reply("not json"),
        reply({"models": []}),
    ],
)
def test_an_endpoint_without_a_list_lists_none(answer: bytes) -> None:
    assert at(answer, served_at) == ()


def test_a_refused_key_and_a_web_page_are_told() -> None:
    error = {"error": {"message": "Incorrect API key provided: sk-abcdef"}}
    with pytest.raises(EndpointRefused, match="refused the key") as told:
        at(reply(error, status="401 Unauthorized"), served_at, "sk-abcdef")
    assert "sk-abcdef" not in str(told.value)
    forbidden = reply({"error": {"message": "not for sk-abcdef"}}, status="403 Forbidden")
    with pytest.raises(EndpointRefused) as told:
        at(forbidden, served_at, "sk-abcdef")
    assert "sk-abcdef" not in str(told.value)
    for status in ("200 OK", "404 Not Found", "503 Unavailable"):
        page = reply("<!doctype html><p>Sign in", kind="text/html", status=status)
        with pytest.raises(EndpointUnreachable, match="web page"):
            at(page, served_at)


def test_a_redirect_is_not_followed() -> None:
    moved = reply("", status="302 Found", headers="Location: http://127.0.0.1:9/v1/models\r\n")
    with pytest.raises(EndpointUnreachable, match=r"sends us on to http://127\.0\.0\.1:9"):
        at(moved, served_at, "sk-abcdef")


def test_silence_has_an_end() -> None:
    def listing(endpoint: Endpoint) -> Coroutine[Any, Any, Any]:
        return served_at(endpoint, seconds=0.2)

    def trying(endpoint: Endpoint) -> Coroutine[Any, Any, Any]:
        return try_call(endpoint, Profile("m"), seconds=0.2)

    for work in (listing, trying):
        with pytest.raises(EndpointSilent, match=r"in 0\.2 s"):
            at(never, work)


def test_one_short_call_is_made_and_cut_off_at_the_first_sign_of_an_answer() -> None:
    with StrictEndpoint([Reply("Hello " * 10_000)]) as server:
        asyncio.run(try_call(Endpoint(server.base_url), Profile("tiny")))
        [request] = server.requests
    assert request.body["stream"] is True and "tools" not in request.body


def test_the_key_is_sent_with_both() -> None:
    with StrictEndpoint([Reply("Hello.")], key="sk-abcdef") as server:
        endpoint = Endpoint(server.base_url, "sk-abcdef")
        assert asyncio.run(served_at(endpoint)) == (Served("tiny", 8192),)
        asyncio.run(try_call(endpoint, Profile("tiny")))
        keys = [each.headers["authorization"] for each in server.requests]
    assert keys == ["Bearer sk-abcdef"] * 2


def test_models_of_a_real_list_shape() -> None:
    assert at(reply(models("a", "b")), served_at) == (Served("a"), Served("b"))
