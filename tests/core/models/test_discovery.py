from __future__ import annotations

import asyncio
import http.server
import json
import socket
import time
from contextlib import AsyncExitStack
from typing import Any

import psutil
import pytest

from shiro_jupyter.core.models.discovery import (
    Found,
    Served,
    discover,
    is_served_by_user,
    listens,
    model_list,
)
from shiro_jupyter.core.models.local_http import MAX_BYTES
from tests.support.raw_servers import Answer, Writer, models, reply, serving

# A busy machine is no reason to miss a server of a test.
SECONDS = 5.0


def looked_for(*answers: bytes | Answer, ours: Any = None, **how: Any) -> tuple[Any, ...]:
    """What is found among servers that answer so, and their ports."""

    async def run() -> tuple[Any, ...]:
        async with AsyncExitStack() as stack:
            ports = [await stack.enter_async_context(serving(each)) for each in answers]
            found, notices = await discover(
                ports, **{"seconds": SECONDS, **how}, is_ours=ours or (lambda port: True)
            )
            return found, notices, ports

    return asyncio.run(run())


def test_servers_are_found_in_the_order_of_the_ports() -> None:
    async def late(request: str, writer: Writer) -> None:
        await asyncio.sleep(0.05)
        writer.write(reply(models("first")))

    found, notices, ports = looked_for(late, reply(models("second", "third")))
    assert found == [
        Found(f"http://127.0.0.1:{ports[0]}/v1", (Served("first"),)),
        Found(f"http://127.0.0.1:{ports[1]}/v1", (Served("second"), Served("third"))),
    ]
    assert notices == []


def test_the_request_asks_for_the_list_and_carries_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    heard = []

    async def note(request: str, writer: Writer) -> None:
        heard.append(request)
        writer.write(reply(models("a")))

    found, _, ports = looked_for(note)
    assert len(found) == 1
    lines = heard[0].lower().splitlines()
    assert lines[0] == "get /v1/models http/1.1"
    assert f"host: 127.0.0.1:{ports[0]}" in lines
    assert "authorization" not in heard[0].lower() and "sk-secret" not in heard[0]


def test_a_server_of_another_user_is_said_and_not_taken() -> None:
    answers = reply(models("mine")), reply(models("theirs")), reply("<html>", kind="text/html")
    asked: list[int] = []

    def ours(port: int) -> bool:
        asked.append(port)
        return len(asked) == 1

    found, notices, ports = looked_for(*answers, ours=ours)
    assert [each.models[0].name for each in found] == ["mine"]
    assert len(notices) == 1
    assert f"http://127.0.0.1:{ports[1]}/v1" in notices[0]
    assert "not known to be yours" in notices[0] and "/connect" in notices[0]
    assert asked == ports[:2]  # what is no model server is nobody's business


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        reply("<!doctype html><title>hub</title>", kind="text/html"),
        reply({"error": "no"}, status="404 Not Found"),
        reply(models("a"), status="401 Unauthorized"),
        reply("", status="302 Found", headers="Location: http://127.0.0.1:1/v1/models\r\n"),
        reply("not json"),
        reply("[" * 100_000),
        reply(["a"]),
        reply({"data": "a"}),
        reply({"data": []}),
        reply({"data": [{"id": 3}, {"name": "b"}, None]}),
        reply(models("a"))[:-5],  # cut
        b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 1_000 + b"\r\n",
        b"\xff" * 1000,
    ],
)
def test_what_is_no_model_list_is_passed_over(answer: bytes) -> None:
    assert looked_for(answer)[:2] == ([], [])


def test_a_huge_answer_is_read_no_further_than_the_bound() -> None:
    sent = 0

    async def flood(request: str, writer: Writer) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(10_000):
            writer.write(b" " * 65_536)
            sent += 65_536
            await writer.drain()

    assert looked_for(flood)[:2] == ([], [])
    assert sent < 20 * MAX_BYTES


def test_a_silent_and_a_dripping_server_cost_no_more_than_their_seconds() -> None:
    async def silent(request: str, writer: Writer) -> None:
        await asyncio.sleep(60)

    async def drip(request: str, writer: Writer) -> None:
        while True:
            writer.write(b"H")
            await writer.drain()
            await asyncio.sleep(0.02)

    started = time.monotonic()
    found, _, _ = looked_for(silent, drip, silent, drip, seconds=0.3)
    assert found == []
    assert time.monotonic() - started < 5  # one after another and without end: 60 and more


def test_a_server_that_keeps_the_connection_open_is_found_at_the_deadline() -> None:
    async def run() -> list[Found]:
        async with serving(reply(models("a")), closes=False) as port:
            return (await discover([port], seconds=0.5, is_ours=lambda port: True))[0]

    assert asyncio.run(run())[0].models == (Served("a"),)


def test_a_chunked_answer_is_read() -> None:
    body = json.dumps(models("a")).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (1, body[i : i + 1]) for i in range(len(body)))
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert looked_for(head + chunks + b"0\r\n\r\n")[0][0].models == (Served("a"),)


def test_nothing_listening_is_nothing_found() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and deaf
        port = taken.getsockname()[1]
        assert asyncio.run(discover([port], seconds=SECONDS)) == ([], [])
    assert asyncio.run(discover([])) == ([], [])


def test_our_own_socket_is_known_to_be_ours() -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        port = server.server_address[1]
        assert is_served_by_user(port)
        assert listens(psutil.Process(), port)
    assert not is_served_by_user(port)


def test_a_connection_is_no_listener() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        assert not is_served_by_user(client.getsockname()[1])


def test_of_a_socket_that_the_system_hides_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hidden(self: psutil.Process, kind: str = "inet") -> list[Any]:
        raise psutil.AccessDenied(self.pid)

    monkeypatch.setattr(psutil.Process, "net_connections", hidden)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not is_served_by_user(server.getsockname()[1])


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"meta": {"n_ctx": 8192, "n_ctx_train": 32768}}, 8192),
        ({"meta": {"n_ctx_train": 32768}}, 0),
        ({"max_model_len": 4096}, 4096),
        ({"context_length": 128_000}, 128_000),
        ({"meta": None, "max_context_length": 2048}, 2048),
        ({"max_model_len": "4096"}, 0),
        ({"max_model_len": True}, 0),
        ({"max_model_len": -1}, 0),
        ({}, 0),
    ],
)
def test_the_window_is_what_the_server_says(entry: dict[str, Any], window: int) -> None:
    assert model_list({"data": [{"id": "m", **entry}]}) == (Served("m", window),)


def test_only_models_that_converse_are_listed_where_there_are_any() -> None:
    body = models("nomic-embed-text:latest", "qwen", "whisper-1", "llama", "qwen")
    assert [each.name for each in model_list(body)] == ["qwen", "llama"]
    assert [each.name for each in model_list(models("my-embedder"))] == ["my-embedder"]


def test_names_that_no_line_can_show_are_left_out() -> None:
    body = models("bad\x1b[2J", "", "x" * 300, "two\nlines", "fine/name:8b")
    assert [each.name for each in model_list(body)] == ["fine/name:8b"]
