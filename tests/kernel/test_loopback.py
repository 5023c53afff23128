"""The kernel's request to itself, against a shell channel that is slow to notice it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import zmq.asyncio
from jupyter_client.session import Session
from zmq.utils.monitor import recv_monitor_message

from shiro_jupyter.kernel import loopback

KEY = "a-key"


class Shell:
    """A kernel's shell channel that reads nothing until so many have connected."""

    def __init__(self, connections: int) -> None:
        self.connected = 0
        self.served: list[dict[str, Any]] = []
        self._awaited = connections
        self._socket = zmq.asyncio.Context.instance().socket(zmq.ROUTER)
        self._socket.linger = 0
        self.port = self._socket.bind_to_random_port("tcp://127.0.0.1")
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)

    async def serve(self) -> None:
        while self.connected < self._awaited:
            await recv_monitor_message(self._monitor)
            self.connected += 1
        session = Session(key=KEY.encode())
        idents, frames = session.feed_identities(await self._socket.recv_multipart())
        request = session.deserialize(frames)
        self.served.append(request["content"])
        reply = session.msg("execute_reply", {"status": "ok"}, parent=request["header"])
        await self._socket.send_multipart(idents + session.serialize(reply))

    def close(self) -> None:
        self._socket.disable_monitor()
        self._monitor.close()
        self._socket.close()


@asynccontextmanager
async def listening(folder: Path, connections: int) -> AsyncIterator[tuple[Shell, str]]:
    shell = Shell(connections)
    ports = dict.fromkeys(("iopub_port", "stdin_port", "control_port", "hb_port"), 1)
    stated = folder / "kernel.json"
    where = {"transport": "tcp", "ip": "127.0.0.1", "key": KEY, "shell_port": shell.port}
    stated.write_text(json.dumps({**where, **ports, "signature_scheme": "hmac-sha256"}))
    serving = asyncio.create_task(shell.serve())
    try:
        yield shell, str(stated)
    finally:
        serving.cancel()
        shell.close()


@pytest.mark.parametrize("connections", [1, 3])
def test_it_connects_again_until_its_request_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connections: int
) -> None:
    async def asked() -> None:
        async with asyncio.timeout(30), listening(tmp_path, connections) as (shell, stated):
            asking = loopback.Loopback(
                lambda: stated, lambda: False, lambda: not shell.served, refused.append
            )
            asking.ask()
            assert asking._task
            await asking._task
            assert [content["code"] for content in shell.served] == [loopback.CODE]
            assert shell.served[0]["silent"] and shell.connected == connections

    monkeypatch.setattr(loopback, "NUDGE_SECONDS", 0.05)
    refused: list[str] = []
    asyncio.run(asked())
    assert refused == []
