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
from typing import BinaryIO, Protocol

# One ceiling for the text of every result of a tool, in characters.
OUTPUT_LIMIT = 30_000
# Seconds between two batches of live output; longer once much has been shown, so that a
# flood cannot fill the list of events.
INTERVAL, FLOOD_INTERVAL = 0.05, 1.0
FLOOD = 100_000
# Characters of one batch.
BATCH = 4_000
# Bytes of one file, and seconds after which an old one is removed.
FILE_LIMIT = 100_000_000
FILE_AGE = 7 * 24 * 3600
# What files of any project are called, as seen from beside its folder.
OURS = f"*/{'[0-9a-f]' * 16}.*.txt"


class Filter(Protocol):
    """What output passes on its way to a person, a model or a file."""

    def feed(self, text: str) -> str:
        """What can be told by now of all that came."""

    def settle(self) -> str:
        """What can be told of a line begun."""

    def end(self) -> str:
        """All the rest."""


class Unfiltered:
    """Passes on all of it, at once."""

    def feed(self, text: str) -> str:
        return text

    def settle(self) -> str:
        return ""

    end = settle


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


def bounded(text: str, limit: int = OUTPUT_LIMIT, hint: str = "") -> str:
    """Head and tail of a text over the limit, with what was left out between them.

    Never longer than `limit` characters plus the one line that says so.
    """
    kept = HeadAndTail(limit)
    kept.add(text)
    return kept.text(hint)


class OutputFile:
    """A new file, private to this user, for what a child writes; made by the first write.

    It holds `FILE_LIMIT` bytes at most; a full disk costs the file, never the command.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: BinaryIO | None = None
        self._room = FILE_LIMIT

    def write(self, data: bytes) -> None:
        if self.full:
            return
        try:
            if self._stream is None:
                self._stream = _opened(self._path)
            self._stream.write(data[: self._room])
            self._stream.flush()
            self._room -= len(data)
        except OSError:
            self._room = -1

    def close(self) -> None:
        if self._stream:
            with suppress(OSError):
                self._stream.close()

    @property
    def full(self) -> bool:
        return self._room < 0

    @property
    def path(self) -> Path | None:
        """None where nothing is written."""
        return self._path if self._stream else None

    @property
    def told(self) -> str:
        """Where the output is; empty where it is in no file."""
        part = "its beginning" if self.full else "all of it"
        if self.path and not self.path.exists():
            return f"{part} was in {self.path}, which somebody has removed"
        return f"{part} is in {self.path}" if self.path else ""


class Output:
    """What a child writes. `feed` may come from any thread; `live` is called on the loop.

    `file` is written only when the output outgrows `limit`, then with all of it, as it came
    through the filter.
    """

    def __init__(
        self,
        limit: int,
        file: Path,
        live: Callable[[str], None],
        passes: Callable[[], Filter] = Unfiltered,
    ) -> None:
        self._live = live
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._decoder = decoder()
        self._filter = passes()
        self._kept = HeadAndTail(limit)
        self._batch = HeadAndTail(BATCH)
        self._early = b""
        self._file = OutputFile(file)
        self._shown = 0
        self._timer: asyncio.TimerHandle | None = None
        self._announced = self._closed = False

    def feed(self, data: bytes) -> None:
        with self._lock:
            if self._closed:
                return
            self._add(self._filter.feed(self._decoder.decode(data)))
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
            self._add(self._filter.feed(self._decoder.decode(b"", final=True)))
            self._add(self._filter.end())
            self._file.close()
        if self._timer:
            self._timer.cancel()
        self._flush()

    @property
    def path(self) -> Path | None:
        """The file with the output; None where `text` is all of it."""
        return self._file.path

    def text(self) -> str:
        return self._kept.text(self._file.told)

    def _add(self, text: str) -> None:
        data, text = _told(text)
        self._kept.add(text)
        self._batch.add(text)
        self._save(data)

    def _schedule(self) -> None:
        if not self._closed:
            interval = INTERVAL if self._shown < FLOOD else FLOOD_INTERVAL
            self._timer = self._loop.call_later(interval, self._flush)

    def _flush(self) -> None:
        with self._lock:
            if not self._closed:
                self._add(self._filter.settle())
            text, self._batch = self._batch.text(), HeadAndTail(BATCH)
            self._announced = False
        if text:
            self._shown += len(text)
            self._live(text)

    def _save(self, data: bytes) -> None:
        if self._kept.left_out:
            data, self._early = self._early + data, b""
            self._file.write(data)
        else:
            self._early += data


class News:
    """What a child writes, told bit by bit: each look gives what came since the last one.

    All of it goes to `file` as it comes through the filter. Any thread may call.
    """

    def __init__(self, limit: int, file: Path, passes: Callable[[], Filter] = Unfiltered) -> None:
        self.file = OutputFile(file)
        self._limit = limit
        self._lock = threading.Lock()
        self._decoder = decoder()
        self._filter = passes()
        self._kept = HeadAndTail(limit)

    def feed(self, data: bytes) -> None:
        with self._lock:
            self._add(self._filter.feed(self._decoder.decode(data)))

    def look(self) -> str:
        with self._lock:
            if text := self._filter.settle():
                self._add(text)
            kept, self._kept = self._kept, HeadAndTail(self._limit)
        return kept.text()

    def close(self) -> None:
        with self._lock:
            self._add(self._filter.feed(self._decoder.decode(b"", final=True)))
            self._add(self._filter.end())
            self.file.close()

    def _add(self, text: str) -> None:
        data, text = _told(text)
        self._kept.add(text)
        self.file.write(data)


def decoder() -> codecs.IncrementalDecoder:
    """Of UTF-8; what is none comes back byte by byte from `_told`."""
    return codecs.getincrementaldecoder("utf-8")("surrogateescape")


def _told(text: str) -> tuple[bytes, str]:
    """Decoded text as the bytes it was, and as it can be shown."""
    data = text.encode("utf-8", "surrogateescape")
    return data, data.decode("utf-8", "replace")


def _opened(file: Path) -> BinaryIO:
    """The new file, private to this user; files of past weeks make room for it."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in file.parent.parent.glob(OURS):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > FILE_AGE:
                old.unlink()
    return open(file, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))
