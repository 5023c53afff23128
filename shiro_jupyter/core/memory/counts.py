"""How often each memory was recalled: one person's usage, kept out of the Markdown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from ..errors import StorageError
from ..workspace.files import locked, write_atomic


@dataclass(frozen=True)
class Counts:
    """Counts keyed by folded text, in one JSON file of the user's data folder.

    They only help: a file that cannot be read counts as empty, one that cannot be written
    stays as it is, and nobody is told.
    """

    path: Path

    @classmethod
    def of(cls, data: Path, identity: str) -> Counts:
        name = hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:16]
        return cls(data / "recall" / f"{name}.json")

    def read(self) -> dict[str, int]:
        try:
            stored = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(stored, dict):
            return {}
        return {text: n for text, n in stored.items() if type(n) is int and n > 0}

    def add(self, folded: Collection[str]) -> None:
        if folded:
            self._change(lambda counts: counts.update({t: counts.get(t, 0) + 1 for t in folded}))

    def drop(self, folded: str) -> None:
        if self.path.exists():
            self._change(lambda counts: counts.pop(folded, None))

    def move(self, old: str, new: str) -> None:
        """What took the place of a memory takes over its count."""
        if old != new and self.path.exists():
            self._change(lambda c: c.update({new: c.get(new, 0) + c.pop(old, 0)}))

    def _change(self, change: Callable[[dict[str, int]], object]) -> None:
        try:
            with locked(self.path):
                counts = self.read()
                change(counts)
                kept = {text: n for text, n in counts.items() if n}
                data = json.dumps(kept, ensure_ascii=False, indent=0).encode()
                write_atomic(self.path, data, private=True)
        except StorageError:
            return
