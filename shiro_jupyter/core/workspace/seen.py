"""What a session has read of each file, so that nobody's later change is written over unseen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from ..errors import EditRefused
from .edits import lines_of
from .text import decode

KEPT = 1_000_000  # bytes; of a larger file only the hash, which cannot tell where it changed
SHOWN, LINE_SHOWN = 24, 200  # lines, and characters of each


@dataclass
class _File:
    """Its bytes, and which of its so many lines were shown whole."""

    digest: str
    data: bytes | None
    lines: int = 0
    shown: set[int] = field(default_factory=set)


@dataclass
class Seen:
    """By resolved path: the file's bytes when they were last read or written here."""

    _files: dict[Path, _File] = field(default_factory=dict)

    def note(self, path: Path, data: bytes, lines: int = 0, shown: Iterable[int] = ()) -> None:
        """`shown`: the numbers of those of its `lines` that were shown whole, which add up with
        what was shown of the same bytes before. What was written here needs no showing."""
        file = self._files.get(path)
        digest = _hash(data)
        if not file or file.digest != digest:
            file = _File(digest, data if len(data) <= KEPT else None, lines)
            self._files[path] = file
        file.shown.update(shown)

    def note_edit(self, path: Path, data: bytes, more: int) -> None:
        """An edit made here, which left so many more lines: what was not shown yet still was not.
        Of a file that was never read nothing is noted."""
        if self.knows(path):
            shown, lines = self.shown(path)
            self._files.pop(path)
            self.note(path, data, lines + more if shown < lines else 0)

    def shown(self, path: Path) -> tuple[int, int]:
        """How many lines of a known file were shown whole, of how many; both 0 for one that was
        written here."""
        file = self._files[path]
        return len(file.shown), file.lines

    def knows(self, path: Path) -> bool:
        return path in self._files

    def changed(self, path: Path, data: bytes) -> EditRefused | None:
        """What to say where these bytes differ from those seen, with the lines that do as they
        are now; None where they do not, or where the file was never read."""
        file = self._files.get(path)
        if not file or file.digest == _hash(data):
            return None
        if file.data is None or len(data) > KEPT:
            return _refusal("somewhere in it")
        return _region(_lines(file.data), _lines(data))


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
