"""What git tracks, read from the index file itself: no git is needed, and no config obeyed."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from mmap import ACCESS_READ, mmap

from .git import Repository

INDEX_LIMIT = 500_000_000  # bytes
_CONFIG_LIMIT = 1_000_000
_LINK, _FOLDER = 0o160000, 0o040000
_NONE: tuple[frozenset[bytes], frozenset[bytes]] = frozenset(), frozenset()


@dataclass(frozen=True)
class Tracked:
    """Tracked files and repositories by their paths from the top, read when first asked for."""

    read: Callable[[], tuple[frozenset[bytes], frozenset[bytes]]] = lambda: _NONE

    @cached_property
    def _found(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        return self.read()

    @property
    def files(self) -> frozenset[bytes]:
        return self._found[0]

    @property
    def links(self) -> frozenset[bytes]:
        """Repositories inside this one that it knows of."""
        return self._found[1]

    @cached_property
    def _folders(self) -> frozenset[bytes]:
        found: set[bytes] = set(self.links)
        for path in (*self.files, *self.links):
            while (cut := path.rfind(b"/")) >= 0 and (path := path[:cut]) not in found:
                found.add(path)
        return frozenset(found)

    def holds(self, path: bytes, is_folder: bool) -> bool:
        """Whether git tracks it, or something in it."""
        return path in (self._folders if is_folder else self.files)


def read_index(repository: Repository) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """The tracked files, and the repositories among them; none where the index cannot be read.

    Only the base of a split index is missed.
    """
    files: set[bytes] = set()
    links: set[bytes] = set()
    with suppress(OSError, ValueError, IndexError, struct.error):
        index = repository.own / "index"
        if not index.is_file() or index.stat().st_size > INDEX_LIMIT:
            return _NONE
        for mode, name in _entries(index.read_bytes(), 32 if is_sha256(repository) else 20):
            if mode != _FOLDER:
                (links if mode == _LINK else files).add(name)
    return frozenset(files), frozenset(links)


def may_have_links(repository: Repository) -> bool:
    """Whether it is worth reading the index for the repositories in it: a quick look."""
    index = repository.own / "index"
    with suppress(OSError, ValueError):  # an empty file cannot be mapped
        if index.is_file():
            with index.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                return data.find(struct.pack(">L", _LINK)) >= 0
    return False


def is_sha256(repository: Repository) -> bool:
    """Whether the repository names its objects by SHA-256."""
    with suppress(OSError):
        config = repository.common / "config"
        if config.is_file():
            with config.open("rb") as stream:
                text = stream.read(_CONFIG_LIMIT)
            return bool(re.search(rb"(?im)^\s*objectformat\s*=\s*sha256\b", text))
    return False


def _entries(data: bytes, hash_size: int) -> Iterator[tuple[int, bytes]]:
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
