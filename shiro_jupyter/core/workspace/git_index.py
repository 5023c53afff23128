"""What git tracks, read from the index file itself: no git is needed, and no config obeyed.

Only the base of a split index is missed.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path

from .git import Repository, is_outside, none_outside

INDEX_LIMIT = 500_000_000  # bytes
_CONFIG_LIMIT = 1_000_000
_LINK, _FOLDER = 0o160000, 0o040000
# Looks through the whole index, before it is taken apart.
LOOKS = 8


@dataclass
class Tracked:
    """What git tracks in a repository, by its path from the top; nothing where there is none."""

    repository: Repository | None = None

    def __post_init__(self) -> None:
        self._looks = LOOKS

    def holds(self, path: bytes, is_folder: bool) -> bool:
        """Whether git tracks it, or something in it."""
        within = path + b"/"
        if self._looks and not self._is_compressed:
            # Most often it is nowhere in the index, which need not be taken apart to see that.
            self._looks -= 1
            ends = rb"[/\0]" if is_folder else rb"\0"
            if not re.search(re.escape(path) + ends, self._data):
                return False
        if not is_folder:
            return path in self._files
        return path in self.links or any(True for _ in self._below(within))

    def below(self, path: bytes) -> list[bytes]:
        """All that git tracks in a folder."""
        return list(self._below(path + b"/")) if self.holds(path, True) else []

    def _below(self, within: bytes) -> Iterator[bytes]:
        place = bisect_left(self._sorted, within)
        return takewhile(lambda name: name.startswith(within), islice(self._sorted, place, None))

    @property
    def made_up(self) -> bytes:
        """A name that is in no real index, empty where there is none; looked for in the base of a
        split index, too, where alone an entry may have no name."""
        names = [name for _, name in self._all]
        for base in sorted(self.repository.own.glob("sharedindex.*")) if self.repository else ():
            names += [name for _, name in self._read_from(_content(base))]
        return next((name for name in names if name and is_outside(name)), b"")

    @cached_property
    def links(self) -> frozenset[bytes]:
        """Repositories inside this one that it knows of."""
        if struct.pack(">L", _LINK) not in self._data:
            return frozenset()
        return frozenset(name for mode, name in self._entries if mode == _LINK)

    @cached_property
    def _files(self) -> frozenset[bytes]:
        return frozenset(name for mode, name in self._entries if mode not in (_LINK, _FOLDER))

    @cached_property
    def _sorted(self) -> list[bytes]:
        return sorted(name for mode, name in self._entries if mode != _FOLDER)

    @cached_property
    def _entries(self) -> list[tuple[int, bytes]]:
        if none_outside(b"".join(name + b"\0" for _, name in self._all)):
            return self._all
        return [(mode, name) for mode, name in self._all if not is_outside(name)]

    @cached_property
    def _all(self) -> list[tuple[int, bytes]]:
        return self._read_from(self._data)

    def _read_from(self, data: bytes) -> list[tuple[int, bytes]]:
        """Up to where the index is torn, if it is."""
        found: list[tuple[int, bytes]] = []
        with suppress(ValueError, IndexError, struct.error):
            hash_size = 32 if self.repository and is_sha256(self.repository) else 20
            for entry in _read(data, hash_size):
                found.append(entry)
        return found

    @cached_property
    def _data(self) -> bytes:
        return _content(self.repository.own / "index") if self.repository else b""

    @property
    def _is_compressed(self) -> bool:
        """Whether names are stored without what they begin with like the one before."""
        return self._data[4:8] == b"\0\0\0\4"


def is_sha256(repository: Repository) -> bool:
    """Whether the repository names its objects by SHA-256."""
    with suppress(OSError):
        config = repository.common / "config"
        if config.is_file():
            with config.open("rb") as stream:
                text = stream.read(_CONFIG_LIMIT)
            return bool(re.search(rb"(?im)^\s*objectformat\s*=\s*sha256\b", text))
    return False


def _content(index: Path) -> bytes:
    with suppress(OSError):
        if index.is_file() and index.stat().st_size <= INDEX_LIMIT:
            return index.read_bytes()
    return b""


def _read(data: bytes, hash_size: int) -> Iterator[tuple[int, bytes]]:
    """Mode and path of each entry, of the versions 2 to 4."""
    signature, version, count = struct.unpack_from(">4sLL", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return
    at, name = 12, b""
    head = 40 + hash_size
    for _ in range(count):
        start = at
        (mode,) = struct.unpack_from(">L", data, at + 24)
        (flags,) = struct.unpack_from(">H", data, at + head)
        at += head + (4 if flags & 0x4000 else 2)
        if version == 4:
            at, dropped = _number(data, at)
            end = data.index(b"\0", at)
            name = name[: len(name) - dropped] + data[at:end]
            at = end + 1
        else:
            end = data.index(b"\0", at)
            name = data[at:end]
            at = start + (end - start + 8) // 8 * 8
        yield mode, name


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Where a number of variable length ends, and the number."""
    value = data[at] & 127
    while data[at] & 128:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 127)
    return at + 1, value
