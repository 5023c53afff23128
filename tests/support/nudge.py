"""Connects to kernels over and over while tests wait for them.

ipykernel 7.0 to 7.3 may leave a request unread until somebody connects (its issue 1554); the
tests are about what we do, not about that.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import zmq

SECONDS = 1.0


@contextmanager
def nudged(folder: Path) -> Iterator[None]:
    """Meanwhile, connect to the shell channels of kernels whose connection files are there."""
    ended = threading.Event()
    thread = threading.Thread(target=_nudge, args=(folder, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _nudge(folder: Path, ended: threading.Event) -> None:
    with zmq.Context() as context:
        context.linger = 0
        while not ended.wait(SECONDS):
            sockets = []
            for stated in folder.glob("kernel*.json"):
                with suppress(OSError, ValueError, KeyError):  # being written, or just gone
                    where = json.loads(stated.read_text("utf-8"))
                    sockets.append(context.socket(zmq.DEALER))
                    sockets[-1].connect(f"tcp://{where['ip']}:{where['shell_port']}")
            ended.wait(SECONDS)
            for socket in sockets:
                socket.close()
