"""Which lines and topics of a memory, and which lines of AGENTS.md, this user wrote or accepted.

That is kept where no checkout reaches.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..workspace.files import append, locked, make_folder
from ..workspace.plain import told

_HASH = re.compile(rb"[0-9a-f]{64}")


@dataclass(frozen=True)
class Own:
    """Hashes of lines and of topics, one each line of a file in the user's data folder.

    Of the whole line, and not of the folded text: a commit may change the pointer, the tags or
    the comment alone, and they decide what is loaded and when. Without the ends of lines, which
    git converts. A topic, and a line of AGENTS.md, goes by its `claim`, which no line of a memory
    can be: it holds a line feed.
    The file is only ever added to: what is broken in it counts for nothing and stays.
    """

    path: Path

    @classmethod
    def of(cls, data: Path, identity: str) -> Own:
        name = hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:16]
        return cls(data / "accepted" / f"{name}.txt")

    def read(self) -> frozenset[str]:
        """The hashes; none where the file cannot be read."""
        try:
            stored = self.path.read_bytes()
        except OSError:
            return frozenset()
        return frozenset(each.decode() for each in stored.split(b"\n") if _HASH.fullmatch(each))

    def known(self) -> Callable[[str], bool]:
        """Tells, as it stands now, whether a line or a claim is this user's."""
        hashes = self.read()
        return lambda text: hash_of(text) in hashes

    def add(self, texts: Iterable[str]) -> int:
        """How many were not there yet. Raises `StorageError` where they cannot be recorded."""
        wanted = dict.fromkeys(map(hash_of, texts))
        if not wanted.keys() - self.read():
            return 0
        make_folder(self.path.parent, private=True)
        with locked(self.path):
            known = self.read()
            fresh = [each for each in wanted if each not in known]
            # A writer that was killed may have left half a line.
            start = "" if self._ends() else "\n"
            data = start + "".join(f"{each}\n" for each in fresh)
            append(self.path, data.encode(), private=True)
        return len(fresh)

    def _ends(self) -> bool:
        with told("read", self.path), suppress(FileNotFoundError):
            return self.path.read_bytes()[-1:] in (b"", b"\n")
        return True


def hash_of(text: str) -> str:
    """Of a line without its end, or a claim."""
    return hashlib.sha256(text.encode()).hexdigest()
