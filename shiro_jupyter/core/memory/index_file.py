"""One MEMORY.md on disk: every operation reads it again, since people edit it by hand.

A write happens under a lock, to a temporary file, and only if nobody saved the file meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..workspace.files import Tell, ensure_project_store, make_folder, retried, write_atomic
from ..workspace.plain import read_plain, refuse_foreign, refuse_link, refuse_no_text
from ..workspace.project import Project
from .index import Index


@dataclass(frozen=True)
class IndexFile:
    """Of a project's memory, or without a project the user's own."""

    path: Path
    project: Project | None = None

    def read(self) -> Index:
        """Empty where there is no file. Raises `StorageError` for one that cannot be used."""
        if self.project:
            refuse_foreign(self.project)
            refuse_link(self.path)
        raw = read_plain(self._real) or b""
        refuse_no_text(self.path, raw)
        return Index(raw)

    def edit(self, change: Callable[[Index], Index], tell: Tell | None = None) -> list[str]:
        """Replace the index by what `change` makes of it; sentences to tell.

        `change` is called again on the newer text where a person saved the file meanwhile. `tell`
        takes a sentence where another process is waited for.
        """
        before = self.read()
        if change(before) is before:
            return []
        notes = [ensure_project_store(self.project)] if self.project else []
        private = self.project is None
        make_folder(self.path.parent, private=private)
        path = self._real

        def attempt() -> list[str] | None:
            before = self.read()
            after = change(before)
            written = after is before or write_atomic(
                path, after.raw, private=private, expected=before.raw
            )
            return [note for note in notes if note] if written else None

        return retried(path, attempt, tell)

    @property
    def _real(self) -> Path:
        """A person may link their own file from elsewhere; in a project no link is followed."""
        return self.path if self.project else Path(os.path.realpath(self.path))
