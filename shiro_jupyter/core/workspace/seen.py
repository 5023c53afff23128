"""What a session has read of each file, so that nobody's later change is written over unseen."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

KEPT = 1_000_000  # bytes; of a larger file only the hash, which cannot tell where it changed


@dataclass
class Seen:
    """By resolved path: the file's bytes when they were last read or written here."""

    _files: dict[Path, tuple[str, bytes | None]] = field(default_factory=dict)

    def note(self, path: Path, data: bytes) -> None:
        self._files[path] = _hash(data), data if len(data) <= KEPT else None

    def knows(self, path: Path) -> bool:
        return path in self._files

    def changed(self, path: Path, data: bytes) -> str:
        """Where these bytes differ from those seen, in words; empty where they do not, or where
        the file was never read."""
        digest, before = self._files.get(path, ("", None))
        if not digest or digest == _hash(data):
            return ""
        if before is None or len(data) > KEPT:
            return "somewhere in it"
        return _region(before.splitlines(), data.splitlines())


def _region(before: list[bytes], after: list[bytes]) -> str:
    """The lines from the first to the last change, as they are now."""
    if before == after:
        return "in its line endings"
    start = _alike(before, after)
    end = len(after) - min(_alike(before[::-1], after[::-1]), min(len(before), len(after)) - start)
    first, last = start + 1, max(end, start + 1)
    return f"in line {first}" if first == last else f"in lines {first} to {last}"


def _alike(one: list[bytes], other: list[bytes]) -> int:
    """How many lines are equal from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
