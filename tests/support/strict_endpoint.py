"""A real HTTP server on loopback that speaks both model APIs, plays a script and refuses what
the real one refuses. Usable without pytest:

    with StrictEndpoint([Reply(calls=[ScriptedCall("list_dir")]), Reply("Three files.")]) as server:
        ...  # Endpoint(server.base_url)
    server.check()
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from shiro_jupyter.core.models.scripted import ScriptedCall
from tests.support.streams import Reply, broken_event, chat_stream, responses_stream
from tests.support.strict_rules import Kind, code_of, refusal

__all__ = ["Received", "Reply", "ScriptedCall", "StrictEndpoint", "refusal"]

# A web page where an API was expected.
PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in</body></html>"


@dataclass(frozen=True)
class Received:
    """One request as it came, and why it was refused, if it was."""

    path: str
    headers: Mapping[str, str]
    body: Any = None
    refused: str | None = None


@dataclass
class StrictEndpoint:
    """Answers each request with the next reply, or with what `replies` makes of its body.

    With `key`, requests must carry it; `models` are the only ones it knows.
    """

    replies: Sequence[Reply] | Callable[[dict[str, Any]], Reply] = ()
    key: str = ""
    models: Sequence[str] = ("tiny",)
    window: int = 8192
    # Files of a certificate and its key: speaks https.
    certificate: Path | None = None
    private_key: Path | None = None
    requests: list[Received] = field(default_factory=list)
    # Set when a client went away in the middle of a reply that was held back.
    disconnected: threading.Event = field(default_factory=threading.Event)
    # Set when a reply is being held back, so that a test can act at that point.
    held: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.played = 0
        self.issued: dict[str, str] = {}
        self.connections: set[socket.socket] = set()
        self.stopping = threading.Event()
        self.lock = threading.Lock()

    def __enter__(self) -> StrictEndpoint:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.endpoint = self
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate, self.private_key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        with self.lock:
            for connection in self.connections:
                _shut(connection)
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the requests for a model step."""
        return [each.body for each in self.requests if each.body is not None]

    @property
    def leftover(self) -> list[Reply]:
        return [] if callable(self.replies) else list(self.replies[self.played :])

    def check(self) -> None:
        """Raises `AssertionError` on a refused request or a leftover reply."""
        refused = [each.refused for each in self.requests if each.refused]
        if refused:
            raise AssertionError(f"refused: {refused}")
        if self.leftover:
            raise AssertionError(f"{len(self.leftover)} replies were left over: {self.leftover}")

    def all_gone(self, seconds: float) -> bool:
        """Whether every client has closed its connections, waiting so long for it."""
        deadline = time.monotonic() + seconds
        while self.connections and time.monotonic() < deadline:
            time.sleep(0.01)
        return not self.connections

    def next_reply(self, body: dict[str, Any]) -> Reply:
        with self.lock:
            if callable(self.replies):
                return self.replies(body)
            if self.played == len(self.replies):
                return Reply(status=500, message="The script of the test has no reply left.")
            self.played += 1
            return self.replies[self.played - 1]


class _Server(ThreadingHTTPServer):
    # Its threads are waited for at the end, so that a test leaves none.
    daemon_threads = False
    block_on_close = True
    endpoint: StrictEndpoint

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        with self.server.endpoint.lock:
            self.server.endpoint.connections.add(self.connection)

    def finish(self) -> None:
        with self.server.endpoint.lock:
            self.server.endpoint.connections.discard(self.connection)
        super().finish()

    def log_message(self, *_: Any) -> None:
        """Nothing on the terminal."""

    def do_GET(self) -> None:
        endpoint = self.server.endpoint
        refused = self._refused_key()
        endpoint.requests.append(Received(self.path, dict(self.headers), None, refused))
        if refused:
            self._fail(401, refused, "invalid_api_key")
        elif self.path == "/v1/models":
            meta = {"n_ctx": endpoint.window}
            known = [{"id": name, "object": "model", "meta": meta} for name in endpoint.models]
            self._json(200, {"object": "list", "data": known})
        else:
            self._fail(404, f"Invalid URL (GET {self.path})", None)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        kinds: dict[str, Kind] = {"/v1/chat/completions": "chat", "/v1/responses": "responses"}
        kind = kinds.get(self.path)
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        endpoint = self.server.endpoint
        refused = self._refused_key()
        if refused or kind is None:
            endpoint.requests.append(Received(self.path, dict(self.headers), body, refused))
            if refused:
                self._fail(401, refused, "invalid_api_key")
            else:
                self._fail(404, f"Invalid URL (POST {self.path})", None)
            return
        refused = refusal(kind, body, endpoint.issued)
        endpoint.requests.append(Received(self.path, dict(self.headers), body, refused))
        if refused:
            self._fail(400, refused, code_of(refused))
        elif body["model"] not in endpoint.models:
            words = f"The model `{body['model']}` does not exist or you do not have access to it."
            self._fail(404, words, "model_not_found")
        else:
            self._play(kind, body, endpoint.next_reply(body))

    def _refused_key(self) -> str | None:
        key = self.server.endpoint.key
        if not key or self.headers.get("authorization") == f"Bearer {key}":
            return None
        return f"Incorrect API key provided: {self.headers.get('authorization', '')[7:]}."

    def _fail(
        self, status: int, words: str, code: str | None, headers: Mapping[str, str] | None = None
    ) -> None:
        error = {"message": words, "type": "invalid_request_error", "param": None, "code": code}
        self._json(status, {"error": error}, headers)

    def _json(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        self._whole(status, json.dumps(body).encode(), "application/json", headers)

    def _whole(
        self, status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _play(self, kind: Kind, body: dict[str, Any], reply: Reply) -> None:
        if reply.drop:
            self.close_connection = True
            _shut(self.connection)
        elif reply.page:
            self._whole(reply.status, PAGE.encode(), "text/html; charset=utf-8", reply.headers)
        elif reply.status != 200:
            words = reply.message or "The server had an error while processing your request."
            self._fail(reply.status, words, reply.code, reply.headers)
        elif body.get("stream") is not True:
            self._json(200, {"object": "chat.completion", "choices": []})
        else:
            self._stream(kind, body["model"], reply)

    def _stream(self, kind: Kind, model: str, reply: Reply) -> None:
        make = chat_stream if kind == "chat" else responses_stream
        number = len(self.server.endpoint.requests)
        events = make(reply, model, number, self.server.endpoint.issued)
        if reply.raw:
            events = iter([reply.raw])
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        room = reply.cut_after
        for event in self._faulty(kind, reply, events):
            part = event if room is None else event[:room]
            if part:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            if room is not None:
                room -= len(part)
                if room == 0:
                    break
        if reply.linger:
            self._hold(reply.release)
        if room == 0 and not reply.clean_cut:
            self.close_connection = True
            _shut(self.connection)
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _faulty(self, kind: Kind, reply: Reply, events: Iterator[bytes]) -> Iterator[bytes]:
        """The events with the reply's faults among them."""
        for number, event in enumerate(events):
            if number == reply.silent_after and not self._hold(reply.release):
                return
            if number == reply.corrupt_after:
                yield b'data: {"choices": [{"del\n\n'
            if number == reply.error_after:
                yield broken_event(kind, reply)
                return
            yield event

    def _hold(self, release: threading.Event | None) -> bool:
        """Wait for the release. False where the client went away or the test is over."""
        endpoint = self.server.endpoint
        endpoint.held.set()
        self.connection.settimeout(0.02)
        while not endpoint.stopping.is_set():
            if release is not None and release.is_set():
                self.connection.settimeout(None)
                return True
            try:
                gone = not self.connection.recv(1, socket.MSG_PEEK)
            except TimeoutError:
                continue
            except OSError:
                gone = True
            if gone:
                endpoint.disconnected.set()
                break
        self.close_connection = True
        return False


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the client may be faster
        connection.shutdown(socket.SHUT_RDWR)
