"""Output of any length in flat memory: both ends kept, streamed on, all of it in a file."""

from __future__ import annotations

import asyncio
import codecs
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

# Seconds between two batches of live output; longer once much has been shown, so that a
# flood cannot fill the list of events.
INTERVAL, FLOOD_INTERVAL = 0.05, 1.0
FLOOD = 100_000
# Characters of one batch.
BATCH = 4_000
# Bytes of one file, and seconds after which an old one is removed.
FILE_LIMIT = 100_000_000
FILE_AGE = 7 * 24 * 3600


class HeadAndTail:
    """The first and the last characters of a text of any length, `limit` of them together."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._length = 0
        self._head = ""
        self._tail: deque[str] = deque()
        self._tail_length = 0

    def add(self, text: str) -> None:
        self._length += len(text)
        room = self.limit - self.limit // 2 - len(self._head)
        self._head += text[:room]
        if rest := text[room:]:
            self._tail.append(rest)
            self._tail_length += len(rest)
        while self._tail and self._tail_length - len(self._tail[0]) >= self.limit // 2:
            self._tail_length -= len(self._tail.popleft())

    @property
    def left_out(self) -> int:
        return max(0, self._length - self.limit)

    def text(self, hint: str = "") -> str:
        """At most `limit` characters, plus the one line that says what was left out."""
        tail = "".join(self._tail)
        if not self.left_out:
            return self._head + tail
        note = f"\n[… {self.left_out:,} characters left out{f': {hint}' if hint else ''} …]\n"
        return self._head + note + tail[len(tail) - self.limit // 2 :]


class Output:
    """What a child writes. `feed` may come from any thread; `live` is called on the loop.

    `file` is written only when the output outgrows `limit`, then with all of it, as it came.
    """

    def __init__(self, limit: int, file: Path, live: Callable[[str], None]) -> None:
        self.file = file
        self._limit = limit
        self._live = live
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = HeadAndTail(limit)
        self._batch = HeadAndTail(BATCH)
        self._early = b""
        self._stream: BinaryIO | None = None
        self._room = FILE_LIMIT  # bytes that the file may still take
        self._shown = 0
        self._timer: asyncio.TimerHandle | None = None
        self._announced = self._closed = False

    def feed(self, data: bytes) -> None:
        with self._lock:
            if self._closed:
                return
            self._add(self._decoder.decode(data))
            self._save(data)
            announce, self._announced = not self._announced, True
        if announce:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(self._schedule)

    def close(self) -> None:
        """Show the last batch; what comes later is dropped. On the loop."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._add(self._decoder.decode(b"", final=True))
            if self._stream:
                self._stream.close()
        if self._timer:
            self._timer.cancel()
        self._flush()

    @property
    def path(self) -> Path | None:
        """The file with the output; None where `text` is all of it."""
        return self.file if self._stream else None

    def text(self) -> str:
        part = "all of it" if self._room > 0 else "its beginning"
        return self._kept.text(f"{part} is in {self.path}" if self.path else "")

    def _add(self, text: str) -> None:
        self._kept.add(text)
        self._batch.add(text)

    def _schedule(self) -> None:
        if not self._closed:
            interval = INTERVAL if self._shown < FLOOD else FLOOD_INTERVAL
            self._timer = self._loop.call_later(interval, self._flush)

    def _flush(self) -> None:
        with self._lock:
            text, self._batch = self._batch.text(), HeadAndTail(BATCH)
            self._announced = False
        if text:
            self._shown += len(text)
            self._live(text)

    def _save(self, data: bytes) -> None:
        if not self._kept.left_out:
            self._early += data
            return
        if self._room <= 0:
            return
        try:
            if self._stream is None:
                data, self._early = self._early + data, b""
                self._stream = _opened(self.file)
            self._stream.write(data[: self._room])
            self._room -= len(data)
        except OSError:  # a full disk costs the file, never the command
            self._room = 0


def _opened(file: Path) -> BinaryIO:
    """The new file, private to this user; files of past weeks make room for it."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in file.parent.glob(f"*{file.suffix}"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > FILE_AGE:
                old.unlink()
    return open(file, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))
