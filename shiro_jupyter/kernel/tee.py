"""What running code prints: passed on to the cell in batches under a cap, kept bounded.

Passing every write on costs the kernel 47 µs each and floods the page; IPython also keeps
whatever reaches the underlying stream. So writes are joined ten times a second, and what is over
the cap goes to a log file and to the ends kept for the model, and nowhere else.
"""

from __future__ import annotations

import contextvars
import io
import os
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TextIO, cast

from ..core.workspace.output import Filter, Unfiltered
from .hold import held

Channel = Literal["stdout", "stderr"]
CHANNELS: tuple[Channel, ...] = ("stdout", "stderr")

# Characters of one piece of code that reach the cell; the end of the output follows the cap.
FORWARD_LIMIT = 64_000
END_SHOWN = 2_000
BATCH_SECONDS = 0.1
# Characters kept for the model, half of them from the start and half from the end.
KEPT_LIMIT = {"stdout": 12_000, "stderr": 4_000}
LOG_LIMIT = 50_000_000


def new_log() -> Path:
    """An empty file of this user's, in the folder for temporary files."""
    handle, name = tempfile.mkstemp(prefix="shiro-output-", suffix=".log")
    os.close(handle)
    return Path(name)


class Ends:
    """The first and the last characters of a text that is written in pieces."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head: list[str] = []
        self._room = self._half
        self._tail: deque[str] = deque()
        self._tail_length = 0
        self.length = 0

    def add(self, text: str) -> None:
        self.length += len(text)
        if self._room:
            head, text = text[: self._room], text[self._room :]
            self._head.append(head)
            self._room -= len(head)
        if text:
            self._tail.append(text)
            self._tail_length += len(text)
            while self._tail_length - len(self._tail[0]) >= self._half:
                self._tail_length -= len(self._tail.popleft())

    @property
    def cut(self) -> int:
        """How many characters between the ends are gone."""
        return max(self.length - 2 * self._half, 0)

    def end(self, length: int) -> str:
        """The last characters, as far as they are not part of the head."""
        return "".join(self._tail)[-length:] if length else ""

    def text(self, log: str = "") -> str:
        head, tail = "".join(self._head), self.end(self._half)
        left_out = self.cut
        if not left_out:
            return head + tail
        where = f"; all of it is in {log}" if log else ""
        return f"{head}\n[… {left_out:,} characters left out{where} …]\n{tail}"


class Tee:
    """Stands in for `sys.stdout` and `sys.stderr` while one piece of code runs.

    Takes what the main thread writes and the threads that the code starts; threads older than
    the code keep writing to where they wrote. `shown` is told each batch, on any thread.
    """

    def __init__(
        self,
        shown: Callable[[str], None],
        log: Callable[[], Path] = new_log,
        passes: Callable[[], Filter] = Unfiltered,
    ) -> None:
        self.kept: dict[Channel, Ends] = {name: Ends(KEPT_LIMIT[name]) for name in CHANNELS}
        self._shown = shown
        self._new_log = log
        # What is kept goes through one filter each, and what is logged through another.
        self._filters = {name: passes() for name in CHANNELS}
        self._log_filter = passes()
        self._log: TextIO | None = None
        self.log_path = ""
        self._first: list[str] = []  # all that was written, until the cap is reached
        self._seen = 0
        self._pending: list[tuple[Channel, str]] = []
        # Re-entrant: a finalizer may print while its own thread holds them.
        self._lock = threading.RLock()
        self._forwarding = threading.RLock()
        self._ended = threading.Event()
        self._unflushed: set[Channel] = set()
        self._keeping = True
        self._open = True
        self._process = os.getpid()
        self._strangers = {
            thread.ident: thread
            for thread in threading.enumerate()
            if thread is not threading.current_thread()
        }
        self._flusher: threading.Thread | None = None
        self._context = contextvars.copy_context()
        self._under: dict[Channel, Any] = {}
        self._streams: dict[Channel, TeeStream] = {}

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Put back at the end, whatever the code has put there: the person, and the view of the
        turn, go on printing where they printed."""
        before = {name: getattr(sys, name) for name in CHANNELS}
        self._streams = {name: TeeStream(self, name, _real(before[name])) for name in CHANNELS}
        self._under = {name: stream.under for name, stream in self._streams.items()}
        for name, stream in self._streams.items():
            setattr(sys, name, stream)
        try:
            yield
        finally:
            with held():
                for name in CHANNELS:
                    setattr(sys, name, before[name])
                self._close()

    def put_in(self) -> None:
        """Where the code has left None in the place of a stream, which the shell writes to."""
        for name, stream in self._streams.items():
            if getattr(sys, name) is None:
                setattr(sys, name, stream)

    @contextmanager
    def unkept(self) -> Iterator[None]:
        """What is written meanwhile reaches the cell only: it is kept in another form."""
        before, self._keeping = self._keeping, False
        try:
            yield
        finally:
            self._keeping = before

    def takes(self) -> bool:
        """Whether what the calling thread writes now is ours."""
        if not self._open or os.getpid() != self._process:
            return False
        stranger = self._strangers.get(threading.get_ident())
        return stranger is None or not stranger.is_alive()

    def write(self, channel: Channel, text: str) -> None:
        with held(), self._lock:
            if self._keeping:
                self.kept[channel].add(self._filters[channel].feed(text))
            room = FORWARD_LIMIT - self._seen
            self._seen += len(text)
            if len(text) > room:
                self._write_log(text)
            else:
                self._first.append(text)
            if room <= 0:
                return
            self._pending.append((channel, text[:room]))
            if self._flusher is None:
                self._start_flusher()

    def drain(self) -> None:
        """Pass on what waits; afterwards the underlying streams have all of it, in order."""
        with held(), self._forwarding:
            with self._lock:
                pending, self._pending = self._pending, []
            for channel, text in _joined(pending):
                self._under[channel].write(text)
                self._unflushed.add(channel)
                self._shown(text)

    def flush(self, channel: Channel) -> None:
        """A flush of the underlying stream costs a trip to ipykernel's thread: only if due."""
        with held():
            self.drain()
            if channel in self._unflushed:
                self._unflushed.discard(channel)
                self._under[channel].flush()

    def _write_log(self, text: str) -> None:
        if self._log is None:
            path = self._new_log()
            self.log_path = str(path)
            self._log = path.open("w", encoding="utf-8", errors="backslashreplace")
            self._log.write(self._log_filter.feed("".join(self._first)))
            self._first.clear()
        if self._seen <= LOG_LIMIT:
            self._log.write(self._log_filter.feed(text))

    def _start_flusher(self) -> None:
        # In a copy of the cell's context, so that ipykernel finds the cell.
        self._flusher = threading.Thread(
            target=self._context.run, args=(self._flush_batches,), name="shiro-tee", daemon=True
        )
        self._flusher.start()

    def _flush_batches(self) -> None:
        while not self._ended.wait(BATCH_SECONDS):
            self.drain()

    def _close(self) -> None:
        self._open = False
        self._ended.set()
        self.drain()
        for name, kept in self.kept.items():
            kept.add(self._filters[name].end())
        if self._seen > FORWARD_LIMIT:
            left_out = self._seen - FORWARD_LIMIT
            end = self.kept["stdout"].end(min(END_SHOWN, left_out))
            end = end[end.find("\n", 0, END_SHOWN // 2) + 1 :]  # from the start of a line
            left_out -= len(end)
            note = f"\n[… {left_out:,} characters not shown here: {self.log_path} …]\n{end}"
            self._under["stdout"].write(note)
            self._shown(note)
        elif any(ends.cut for ends in self.kept.values()):
            self._write_log("")
        if self._log is not None:
            self._log.write(self._log_filter.end())
            self._log.close()
        if self._flusher is not None:
            self._flusher.join(timeout=1)
        for stream in self._under.values():
            stream.flush()


class TeeStream(io.TextIOBase):
    """A stream that a `Tee` listens to; for all else it is the stream under it.

    Lives on where code has stored it (a logging handler): then it only passes on.
    """

    def __init__(self, tee: Tee, channel: Channel, under: Any) -> None:
        self._tee = tee
        self._channel = channel
        self.under = under

    def write(self, text: str) -> int:
        if not isinstance(text, str) or not self._tee.takes():
            return cast(int, self.under.write(text))
        self._tee.write(self._channel, text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if self._tee.takes():
            self._tee.flush(self._channel)
        else:
            self.under.flush()

    def close(self) -> None:
        """Never closes the stream under it: `io` calls this when the object is collected."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return cast(str, self.under.encoding)

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return cast("str | None", self.under.errors)

    def isatty(self) -> bool:
        return cast(bool, self.under.isatty())

    def fileno(self) -> int:
        return cast(int, self.under.fileno())

    def writable(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self.under, name)


class _Nowhere(io.TextIOBase):
    """In the place of a stream that the person has set to None."""

    def write(self, text: str) -> int:
        return len(text)


def _real(stream: Any) -> Any:
    """The stream under those of earlier pieces of code that were left in place."""
    while isinstance(stream, TeeStream) and not stream._tee._open:
        stream = stream.under
    return _Nowhere() if stream is None else stream


def _joined(pieces: list[tuple[Channel, str]]) -> Iterator[tuple[Channel, str]]:
    """Neighbours of the same channel as one text."""
    run: list[str] = []
    for index, (channel, text) in enumerate(pieces):
        run.append(text)
        if index + 1 == len(pieces) or pieces[index + 1][0] != channel:
            yield channel, "".join(run)
            run.clear()
