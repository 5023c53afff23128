"""Both clients over real HTTP: what goes out, and the one sentence for all that can go wrong."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import httpx2
import pytest

from shiro_jupyter.core.errors import (
    EndpointBusy,
    EndpointError,
    EndpointRefused,
    EndpointUnreachable,
    StreamBroken,
)
from shiro_jupyter.core.models import failures, sdk
from shiro_jupyter.core.models.base import Finished, Heartbeat, ModelClient, TextPiece
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.profiles import Api, Profile
from shiro_jupyter.core.transcript import Call, User
from tests.support.raw_servers import Answer, Writer, reply, serving
from tests.support.steps import Outcome, asked, outcome_of, step
from tests.support.streams import broken_event, chat_stream, responses_stream
from tests.support.strict_endpoint import Reply, ScriptedCall, StrictEndpoint

KEY = "sk-very-secret-0123456789"
# Events of a stream up to its first piece of text.
FIRST_TEXT: dict[Api, int] = {"chat": 2, "responses": 3}
both = pytest.mark.parametrize("api", ["chat", "responses"])


@both
def test_nothing_of_the_environment_leaks_into_a_request(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "OPENAI_API_KEY": "leak-key",
        "OPENAI_ADMIN_KEY": "leak-admin",
        "OPENAI_BASE_URL": "http://leak.invalid/v1",
        "OPENAI_ORG_ID": "leak-organisation",
        "OPENAI_PROJECT_ID": "leak-project",
        "OPENAI_CUSTOM_HEADERS": "X-Leak: yes\nAuthorization: Bearer leak",
        "HTTP_PROXY": "http://leak.invalid:1",
        "ALL_PROXY": "http://leak.invalid:1",
    }.items():
        monkeypatch.setenv(name, value)
    with StrictEndpoint([Reply("ok"), Reply("ok")]) as server:
        assert step(Endpoint(server.base_url), api).text == "ok"
        keyed = Endpoint(server.base_url, KEY, headers=(("X-Team", "tea"),))
        assert step(keyed, api).text == "ok"
    bare, full = ({k.lower(): v for k, v in each.headers.items()} for each in server.requests)
    assert "leak" not in str(bare) + str(full)
    assert "authorization" not in bare
    assert (full["authorization"], full["x-team"]) == (f"Bearer {KEY}", "tea")
    assert not [name for name in full if name.startswith("x-stainless")]


@both
def test_the_key_is_the_one_that_opens(api: Api) -> None:
    with StrictEndpoint([Reply("in")], key=KEY) as server:
        refused = step(Endpoint(server.base_url, "sk-wrong-key"), api)
        assert "refused the key (401)" in refused.sentence
        assert "sk-wrong" not in refused.sentence
        assert "wants a key, and none is set" in step(Endpoint(server.base_url), api).sentence
        assert step(Endpoint(server.base_url, KEY), api).text == "in"


@both
def test_text_that_no_utf8_can_hold_goes_out_all_the_same(api: Api) -> None:
    with StrictEndpoint([Reply("ok")]) as server:
        assert step(Endpoint(server.base_url), api, asked(User("half \ud800 pair"))).text == "ok"
        server.check()
    assert "half ? pair" in str(server.bodies[0])


FAULTS: dict[str, tuple[Reply, type[EndpointError], bool, str]] = {
    "bad request": (
        Reply(status=400, message="temperature is too high."),
        EndpointRefused,
        False,
        "refused the request (400: temperature is too high)",
    ),
    "not allowed": (Reply(status=403), EndpointRefused, False, "does not allow this key"),
    "no such model": (
        Reply(status=404, message="The model `tiny` does not exist.", code="model_not_found"),
        EndpointRefused,
        False,
        "has no model “tiny”",
    ),
    "no such path": (
        Reply(status=404, message="Not Found"),
        EndpointRefused,
        False,
        "is not the base URL of a model API",
    ),
    "too long": (
        Reply(status=400, code="context_length_exceeded", message="8192 tokens at most"),
        EndpointRefused,
        False,
        "too long for tiny (8192 tokens at most); begin a new one with /clear",
    ),
    "too long for llama.cpp": (
        Reply(status=400, code="exceed_context_size_error", message="n_ctx is 4096"),
        EndpointRefused,
        False,
        "too long for tiny",
    ),
    "too large": (Reply(status=413), EndpointRefused, False, "too long for tiny"),
    "no quota": (
        Reply(status=429, code="insufficient_quota"),
        EndpointRefused,
        False,
        "no quota left",
    ),
    "busy": (Reply(status=429, message="slow down"), EndpointBusy, True, "asked too often (429"),
    "broken": (Reply(status=500), EndpointBusy, True, "has trouble (500"),
    "overloaded": (Reply(status=503), EndpointBusy, True, "has trouble (503"),
    "a page": (Reply(page=True), EndpointUnreachable, False, "web page (200), not with a model"),
    "an error page": (
        Reply(page=True, status=502),
        EndpointUnreachable,
        False,
        "web page (502), not with a model",
    ),
    "elsewhere": (
        Reply(status=307, headers={"location": "https://other.example/v1?key=1"}),
        EndpointUnreachable,
        False,
        "sends us on to https://other.example/v1; set that",
    ),
    "dropped": (Reply(drop=True), EndpointUnreachable, True, "closed the connection without"),
    "cut": (Reply("abc def ghi", cut_after=300), StreamBroken, True, "broke in the middle"),
    "ended early": (
        Reply("abc def ghi", cut_after=300, clean_cut=True),
        StreamBroken,
        True,
        "ended before the model had",
    ),
    "corrupt": (Reply("abc", corrupt_after=1), StreamBroken, True, "not JSON of its API"),
    "error in a 200": (
        Reply("abc", error_after=1, message="boiler on fire"),
        StreamBroken,
        True,
        "server_error: boiler on fire",
    ),
    "refusal in a 200": (
        Reply("abc", error_after=2, code="context_length_exceeded"),
        EndpointRefused,
        False,
        "too long",
    ),
}


@both
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_one_error_with_one_sentence(fault: str, api: Api) -> None:
    reply, kind, retryable, words = FAULTS[fault]
    with StrictEndpoint([reply]) as server:
        outcome = step(Endpoint(server.base_url, KEY), api)
        server.check()
    assert type(outcome.error) is kind
    assert outcome.error.retryable is retryable
    assert words in outcome.sentence
    assert KEY not in outcome.sentence
    assert not [piece for piece in outcome.pieces if isinstance(piece, Finished)]
    # One sentence, with a next step.
    assert outcome.sentence.endswith(".")
    assert outcome.sentence.count(". ") == 0
    assert ";" in outcome.sentence


def test_a_context_that_is_too_long_has_one_code() -> None:
    for code in ("context_length_exceeded", "exceed_context_size_error"):
        with StrictEndpoint([Reply(status=400, code=code)]) as server:
            error = step(Endpoint(server.base_url), "chat").error
        assert error is not None
        assert error.code == EndpointError.TOO_LONG


@both
def test_what_an_endpoint_echoes_is_free_of_our_secrets(api: Api) -> None:
    words = f"no such key {KEY}, nor header h-4711-tea"
    for echo in (Reply(status=400, message=words), Reply(error_after=0, message=words)):
        with StrictEndpoint([echo]) as server:
            endpoint = Endpoint(server.base_url, KEY, headers=(("X-Key", "h-4711-tea"),))
            assert "no such key …, nor header …" in step(endpoint, api).sentence


@both
@pytest.mark.parametrize("key", [KEY, KEY.upper()])
def test_a_secret_goes_before_the_words_are_cut_to_length(api: Api, key: str) -> None:
    for before in range(failures.QUOTED - len(KEY), failures.QUOTED, 4):
        words = f"{'x' * before} {key}"
        refused = {"error": {"message": words}}
        for answer in (
            reply(refused, status="403 No"),
            reply(words, status="403 No", kind="text/plain"),
            reply(refused),
            EVENT_STREAM + f"data: {json.dumps(refused)}\n\n".encode(),
            EVENT_STREAM + f"event: error\ndata: {json.dumps(refused)}\n\n".encode(),
            EVENT_STREAM + failed_event(words),
        ):
            sentence = outcome_from(answer, api, KEY).sentence.lower()
            assert KEY[:5] not in sentence


def failed_event(words: str) -> bytes:
    return broken_event("responses", Reply(message=words))


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:{closed}/v1", "No server listens at http://127.0.0.1:{closed}/v1"),
        ("https://127.0.0.1:{plain}/v1", "No safe connection to https://127.0.0.1:{plain}/v1 ("),
        ("http://no-such-host.invalid/v1", "host name of http://no-such-host.invalid/v1 is not"),
        ("ftp://files.example/v1", "ftp://files.example/v1 is no http or https address"),
        ("", "The base URL is no http or https address"),
        ("127.0.0.1:{plain}", "is no http or https address"),
        ("http://[::1/v1", "is no URL that can be used"),
        ("http://me:hidden-word@127.0.0.1:{closed}/v1", "listens at http://127.0.0.1:{closed}"),
    ],
)
def test_an_address_that_leads_nowhere(
    url: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    with StrictEndpoint() as server:
        ports = {"closed": closed_port(), "plain": server.port}
        if "invalid" in url:  # no resolver is asked
            monkeypatch.setattr(socket, "getaddrinfo", unknown)
        outcome = step(Endpoint(url.format(**ports)), "chat")
    assert isinstance(outcome.error, EndpointUnreachable)
    assert words.format(**ports) in outcome.sentence
    assert "/connect" in outcome.sentence or "settings" in outcome.sentence
    assert "hidden-word" not in outcome.sentence


@pytest.mark.parametrize("key", ["sk-ключ", "sk-abc\n", "sk-\x00"])
def test_a_key_that_no_header_can_carry_is_not_quoted(key: str) -> None:
    outcome = step(Endpoint("http://127.0.0.1:1/v1", key), "chat")
    assert "characters that no header can carry" in outcome.sentence
    assert key not in outcome.sentence


def test_a_proxy_is_used_for_others_and_never_for_this_machine() -> None:
    with StrictEndpoint([Reply("straight")]) as server:
        proxy = f"http://me:hidden-word@127.0.0.1:{server.port}"
        outcome = step(Endpoint("http://models.example/v1", KEY, proxy=proxy), "chat")
        assert server.requests[0].path == "http://models.example/v1/chat/completions"
        assert "hidden-word" not in outcome.sentence
        assert step(Endpoint(server.base_url, proxy="http://127.0.0.1:1"), "chat").text
    bad = Endpoint("http://models.example/v1", proxy="nope://me:hidden-word@x")
    assert "no URL that can be used" in step(bad, "chat").sentence
    assert "hidden-word" not in step(bad, "chat").sentence


def test_a_proxy_that_cannot_tunnel_is_named() -> None:
    with StrictEndpoint() as server:
        proxy = f"http://127.0.0.1:{server.port}"
        outcome = step(Endpoint("https://models.example/v1", proxy=proxy), "chat")
    assert "The proxy on the way to https://models.example/v1 refuses" in outcome.sentence


def test_a_ca_file_is_needed_and_enough(tmp_path: Path) -> None:
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
    ]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run(
        [*made, "subjectAltName=DNS:localhost,IP:127.0.0.1", *files],
        check=True,
        capture_output=True,
    )
    with StrictEndpoint(
        [Reply("safe")], certificate=tmp_path / "cert.pem", private_key=tmp_path / "key.pem"
    ) as server:
        refused = step(Endpoint(server.base_url), "chat")
        assert "self-signed certificate" in refused.sentence
        assert "CA file" in refused.sentence
        trusted = Endpoint(server.base_url, ca_file=str(tmp_path / "cert.pem"))
        assert step(trusted, "chat").text == "safe"
    missing = Endpoint("https://models.example/v1", ca_file=str(tmp_path / "none.pem"))
    assert "none.pem cannot be used (No such file" in step(missing, "chat").sentence


@both
def test_a_server_that_lingers_after_the_model_has_finished_is_not_waited_for(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk, "AFTER_DONE", 0.05)
    stream, end = canned(api)
    with StrictEndpoint([Reply(raw=stream[:end], linger=True)]) as server:
        assert step(Endpoint(server.base_url), api).finished.reason == "calls"
        assert server.disconnected.wait(5)


@both
def test_a_server_that_goes_on_after_the_model_has_finished_is_left(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk, "AFTER_DONE", 0.2)
    stream, end = canned(api)

    async def answer(_: str, writer: Writer) -> None:
        writer.write(EVENT_STREAM + stream[:end])
        while not writer.is_closing():
            writer.write(b'data: {"choices": []}\n\n')
            await writer.drain()
            await asyncio.sleep(0.01)  # the server's pace

    assert outcome_from(answer, api).finished.reason == "calls"


def endless(head: bytes, piece: bytes) -> Answer:
    async def answer(_: str, writer: Writer) -> None:
        writer.write(head)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()

    return answer


def head(status: str, kind: str, more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}\r\n".encode()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (endless(head("400 No", "text/plain"), b"x" * 65_536), "refused the request (400: xxx"),
        (endless(head("200 OK", "application/json"), b" " * 65_536), "does not stream"),
        (endless(head("200 OK", "text/event-stream"), b"x" * 65_536), "too large to be one"),
        (
            endless(head("200 OK", "text/event-stream"), b": still here\n" * 5_000),
            "too large to be one",
        ),
        (head("200 OK", "text/plain") + b"<!doctype html><p>login", "answers with a web page"),
    ],
)
def test_an_answer_is_read_no_further_than_it_can_matter(
    answer: bytes | Answer, words: str
) -> None:
    assert words in outcome_from(answer).sentence


@pytest.mark.parametrize(
    ("status", "words"), [("400 No", "refused the request (400"), ("200 OK", "does not stream")]
)
def test_a_small_answer_that_unpacks_to_a_huge_one_takes_little_memory(
    status: str, words: str
) -> None:
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = b"".join(pack.compress(b" " * 1_000_000) for _ in range(400)) + pack.flush()
    more = f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n"
    tracemalloc.start()
    try:
        sentence = outcome_from(head(status, "application/json", more) + body).sentence
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert words in sentence
    assert most < 200_000_000


def test_long_events_and_long_streams_are_read_whole() -> None:
    """An event as large as it may be, cut into chunks anywhere, between small ones."""
    parts = ["a" * 3_000_000, "b" * 10, "c" * 5_000_000]
    deltas: list[Any] = [{"choices": [{"delta": {"content": part}}]} for part in parts]
    deltas.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    events = b"".join(b"data: " + json.dumps(delta).encode() + b"\n\n" for delta in deltas)
    assert outcome_from(EVENT_STREAM + events).text == "".join(parts)


EVENT_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def outcome_from(answer: bytes | Answer, api: Api = "chat", key: str = "") -> Outcome:
    """What one step comes to where the server answers so."""

    async def run() -> Outcome:
        async with serving(answer) as port:
            endpoint = Endpoint(f"http://127.0.0.1:{port}/v1", key)
            client = client_for(endpoint, Profile(model="tiny", api=api))
            try:
                return await asyncio.wait_for(outcome_of(client, asked()), 30)
            finally:
                await client.close()

    return asyncio.run(run())


def canned(api: Api) -> tuple[bytes, int]:
    """A small stream, and the byte at which the model has finished."""
    reply = Reply("ab", calls=[ScriptedCall("look", {"path": "ü"})], chunk=12)
    make = {"chat": chat_stream, "responses": responses_stream}[api]
    done = {"chat": b'"finish_reason": "tool_calls"', "responses": b'"response.completed"'}[api]
    stream = b"".join(make(reply, "tiny"))
    return stream, stream.index(b"\n\n", stream.rindex(done)) + 2


async def check_cut(client: ModelClient, whole: bool) -> None:
    outcome = await outcome_of(client, asked())
    ends = [piece for piece in outcome.pieces if isinstance(piece, Finished)]
    assert len(ends) + (outcome.error is not None) == 1
    assert bool(ends) is whole
    assert "ab".startswith(outcome.text)
    assert not outcome.error or isinstance(outcome.error, StreamBroken | EndpointUnreachable)
    if whole:
        assert ends[0].items[1:] == (Call("call_10abc", "look", '{"path": "ü"}', 1, 1, ANY),)


class Cut(httpx2.AsyncByteStream):
    """A body that ends, or breaks, where it is cut."""

    def __init__(self, body: bytes, breaks: bool) -> None:
        self.body, self.breaks = body, breaks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.body
        if self.breaks:
            raise httpx2.RemoteProtocolError("peer closed connection")


@both
@pytest.mark.parametrize("breaks", [True, False])
def test_a_stream_cut_at_every_byte_ends_in_one_finish_or_one_error(
    api: Api, breaks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, end = canned(api)
    at = 0

    def answer(request: httpx2.Request) -> httpx2.Response:
        kind = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=kind, stream=Cut(stream[:at], breaks))

    transport = httpx2.MockTransport(answer)
    monkeypatch.setattr(sdk, "_http_client", lambda _: httpx2.AsyncClient(transport=transport))

    async def run() -> None:
        nonlocal at
        client = client_for(Endpoint("http://model.example/v1"), Profile(model="tiny", api=api))
        for at in range(0, len(stream) + 1, 7 if breaks else 1):
            await check_cut(client, at >= end)
        await client.close()

    asyncio.run(run())


@both
@pytest.mark.parametrize("clean", [True, False])
def test_a_stream_cut_on_the_network_ends_in_one_finish_or_one_error(api: Api, clean: bool) -> None:
    stream, end = canned(api)
    places = [*range(1, len(stream), 61), end - 1, end, end + 1, len(stream)]
    replies = [Reply(raw=stream, cut_after=at, clean_cut=clean) for at in places]

    async def run() -> None:
        client = client_for(Endpoint(server.base_url), Profile(model="tiny", api=api))
        for at in places:
            await check_cut(client, at >= end)
        await client.close()

    with StrictEndpoint(replies) as server:
        asyncio.run(run())
        server.check()


@both
def test_cancelling_in_the_middle_closes_the_response(api: Api) -> None:
    with StrictEndpoint(
        [Reply("one two three", silent_after=FIRST_TEXT[api]), Reply("again")]
    ) as server:

        async def run() -> str:
            client = client_for(Endpoint(server.base_url), Profile(model="tiny", api=api))
            task = asyncio.create_task(outcome_of(client, asked()))
            await asyncio.to_thread(server.held.wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.disconnected.wait, 5)
            again = await outcome_of(client, asked())
            await client.close()
            return again.text

        assert asyncio.run(run()) == "again"


@both
def test_a_reader_that_stops_closes_the_response_at_once(api: Api) -> None:
    with StrictEndpoint([Reply("one two three", silent_after=FIRST_TEXT[api])]) as server:

        async def run() -> None:
            client = client_for(Endpoint(server.base_url), Profile(model="tiny", api=api))
            async with aclosing(client.stream(asked())) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    if isinstance(piece, TextPiece):
                        break
            assert await asyncio.to_thread(server.disconnected.wait, 5)
            await client.close()

        asyncio.run(run())


@both
def test_closing_the_client_closes_its_sockets_and_leaves_no_thread(api: Api) -> None:
    before = set(threading.enumerate())
    with StrictEndpoint([Reply("one"), Reply("two")]) as server:

        async def run() -> None:
            client = client_for(Endpoint(server.base_url), Profile(model="tiny", api=api))
            for _ in range(2):
                await outcome_of(client, asked())
            assert len(server.connections) == 1  # kept alive between steps
            await client.close()
            await client.close()
            assert {each for each in threading.enumerate() if "Thread-" not in each.name} <= before

        asyncio.run(run())
        assert server.all_gone(5)


def test_arguments_that_stream_are_a_sign_of_life() -> None:
    reply = Reply(calls=[ScriptedCall("look", {"path": "x" * 70})])
    with StrictEndpoint([reply]) as server:
        pieces = step(Endpoint(server.base_url), "chat").pieces
    assert sum(isinstance(piece, Heartbeat) for piece in pieces) > 10
    assert not any(isinstance(piece, TextPiece) for piece in pieces)


def test_the_sdk_is_not_imported_before_a_client_is_made() -> None:
    code = (
        "import sys; from shiro_jupyter.core.models import clients; "
        "sys.exit('openai' in sys.modules or 'httpx2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
