"""The lines of files that a pattern matches: a program of its own, run as a child.

`re` holds the whole process while it matches, for ever where a pattern backtracks; a child can be
ended, and ends itself after `SECONDS` in one file. It imports nothing that needs more than the
standard library.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from .paths import Within
from .text import decode

SECONDS = 3.0  # of our own work in one file
BYTES = 50_000_000  # looked at of one file
SHOWN = 300  # characters of a line
BEFORE = 100  # of them before the match
_LINE_END = re.compile(r"\r\n|\n|\r")


class TooSlow(Exception):
    """One file took all the time there is for it."""


# `[name, number, text]` for a hit, `[name, note]` before them, `[name]` where the pattern took too
# long in that file.
Row = list[Any]


def main(request: str) -> None:
    """Reads the request (a line of JSON, then names, each behind a NUL), prints rows as JSON."""
    head, *names = Path(request).read_bytes().split(b"\0")
    asked = json.loads(head)
    pattern = re.compile(asked["pattern"], asked["flags"])
    root, alone = Path(asked["root"]), asked["alone"]
    for row in rows(root, names, pattern, asked["limit"], alone, _start_clock):
        sys.stdout.write(json.dumps(row) + "\n")


def rows(
    root: Path,
    names: Sequence[bytes],
    pattern: re.Pattern[str],
    limit: int,
    alone: bool = False,
    start_clock: Callable[[], None] = lambda: None,
) -> Iterator[Row]:
    """What is found in these files below a folder, up to a number of hits; a file that takes too
    long by the clock ends it. `alone`: of what is asked for by name notes are told in any case."""
    reader = Reader(root)
    name = ""
    try:
        for path in names:
            start_clock()
            name = os.fsdecode(path)
            text, note = reader.read(path)
            hits = list(islice(_hits(text, pattern), limit))
            if note and (hits or alone):
                yield [name, note]
            yield from ([name, *hit] for hit in hits)
            if not (limit := limit - len(hits)):
                return
    except TooSlow:
        yield [name]
    finally:
        reader.close()


def _hits(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Number and text of each line that matches."""
    lines = _LINE_END.split(text) if "\r" in text else text.split("\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        if match := pattern.search(line):
            yield number, cut(line, match.start())


def cut(line: str, start: int) -> str:
    """The part of a line around a match, with what was left out."""
    if len(line) <= SHOWN:
        return line
    first = max(0, min(start - BEFORE, len(line) - SHOWN))
    left, right = first, len(line) - first - SHOWN
    before = f"[{left:,} characters cut …] " if left else ""
    after = f" [… {right:,} characters cut]" if right else ""
    return f"{before}{line[first : first + SHOWN]}{after}"


class Reader:
    """Reads regular files below a resolved folder, through no link."""

    def __init__(self, root: Path) -> None:
        self._files = Within(root)

    def read(self, name: bytes) -> tuple[str, str]:
        """The text of a file, and what is to be said of it."""
        data = self._bytes(name)
        text = decode(data)
        if text is None:
            return "", "Binary; not searched."
        if text.encoding.startswith("utf-32"):
            # ripgrep reads none, and the answer is to be the same with and without it.
            return "", "UTF-32; not searched."
        if len(data) == BYTES:
            return text.text, f"Only its first {BYTES // 1_000_000} MB were searched."
        return text.text, text.note

    def _bytes(self, name: bytes) -> bytes:
        with suppress(OSError), self._files.open(name) or nullcontext() as file:
            return file.read(BYTES) if file else b""
        return b""

    def close(self) -> None:
        self._files.close()


def _start_clock() -> None:
    """`re` looks for signals while it matches, so the exception comes out of the middle of it."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGVTALRM, _ring)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)


def _ring(number: int, frame: object) -> None:
    raise TooSlow
