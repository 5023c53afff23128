"""What a session has read of each file, so that nobody's later change is written over unseen."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from ..errors import EditRefused
from .edits import lines_of
from .text import decode

KEPT = 1_000_000  # bytes; of a larger file only the hash, which cannot tell where it changed
SHOWN, LINE_SHOWN = 24, 200  # lines, and characters of each


@dataclass
class Seen:
    """By resolved path: the file's bytes when they were last read or written here."""

    _files: dict[Path, tuple[str, bytes | None]] = field(default_factory=dict)

    def note(self, path: Path, data: bytes) -> None:
        self._files[path] = _hash(data), data if len(data) <= KEPT else None

    def knows(self, path: Path) -> bool:
        return path in self._files

    def changed(self, path: Path, data: bytes) -> EditRefused | None:
        """What to say where these bytes differ from those seen, with the lines that do as they
        are now; None where they do not, or where the file was never read."""
        digest, before = self._files.get(path, ("", None))
        if not digest or digest == _hash(data):
            return None
        if before is None or len(data) > KEPT:
            return _refusal("somewhere in it")
        return _region(_lines(before), _lines(data))


def _lines(data: bytes) -> list[str]:
    text = decode(data)
    return lines_of(text.text if text else data.decode("latin-1"))


def _region(before: list[str], after: list[str]) -> EditRefused:
    """The lines from the first to the last change."""
    if before == after:
        return _refusal("in its line ends or its encoding")
    start = _alike(before, after)
    end = len(after) - min(_alike(before[::-1], after[::-1]), min(len(before), len(after)) - start)
    first, last = start + 1, max(end, start + 1)
    numbered = [f"{n}: {line[:LINE_SHOWN]}" for n, line in enumerate(after[start:end], start=first)]
    where = f"in line {first}" if first == last else f"in lines {first} to {last}"
    return _refusal(where, "\n".join(numbered[:SHOWN]))


def _refusal(where: str, excerpt: str = "") -> EditRefused:
    return EditRefused(
        f"the file was changed {where} since this session read it; read it again first.", excerpt
    )


def _alike(one: list[str], other: list[str]) -> int:
    """How many lines are equal from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
