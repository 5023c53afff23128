"""The pipe of a child, read until nobody can write to it any more."""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from .trees import Child

DROP = 0.01  # seconds between two reads of what is dropped: a flood shall cost us nothing
READ_SIZE = 1 << 20


def dropped(data: bytes) -> None:
    if data:
        time.sleep(DROP)


def follow(
    start: Callable[[int], Child],
    feed: Callable[[bytes], None],
    finished: Callable[[], None],
    rest: Callable[[bytes], None] = dropped,
) -> tuple[Child, threading.Thread]:
    """Start a child on a pipe and read it to its end, on the thread returned.

    `finished` is called once all that the child wrote was fed. The pipe outlives it where
    something in the background holds it. So the end of the child is itself written into the
    pipe, behind all that the child wrote: a mark that nobody else can know. What comes after it
    is read too, since a full or closed pipe would stop what still writes to it; `rest` gets
    that, and nothing at last.
    """
    reading, writing = os.pipe()
    try:
        child = start(writing)
    except BaseException:
        os.close(reading)
        os.close(writing)
        raise
    end = secrets.token_bytes(16)

    def wait() -> None:
        child.wait()
        with suppress(OSError):
            os.write(writing, end)
        os.close(writing)

    def read() -> None:
        held = b""
        ended = False
        while chunk := os.read(reading, READ_SIZE):
            if ended:
                rest(chunk)
                continue
            before, found, after = (held + chunk).partition(end)
            ended = bool(found)
            before, held = (before, b"") if ended else _without_start_of(end, before)
            if before:
                feed(before)
            if ended:
                finished()
            if after:
                rest(after)
        os.close(reading)
        finished()
        rest(b"")

    threading.Thread(target=wait, name="shiro-wait", daemon=True).start()
    reader = threading.Thread(target=read, name="shiro-read", daemon=True)
    reader.start()
    return child, reader


def _without_start_of(end: bytes, data: bytes) -> tuple[bytes, bytes]:
    """`data` in two: what is certainly before the mark, and what may be the mark's start."""
    for size in range(min(len(end) - 1, len(data)), 0, -1):
        if end.startswith(data[-size:]):
            return data[:-size], data[-size:]
    return data, b""
