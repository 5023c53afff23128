"""One MEMORY.md on disk: every operation reads it again, since people edit it by hand.

A write happens under a lock, to a temporary file, and only if nobody saved the file meanwhile.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import StorageError
from ..workspace.files import ensure_project_store, locked, make_folder, write_atomic
from ..workspace.project import Project
from .index import Index

READABLE = 2_000_000  # bytes; a larger file is no index
TRIES = 20  # of a write that a person's own saves keep overtaking


@dataclass(frozen=True)
class IndexFile:
    """Of a project's memory, or without a project the user's own."""

    path: Path
    project: Project | None = None

    def read(self) -> Index:
        """Empty where there is no file. Raises `StorageError` for one that cannot be used."""
        path = self.path
        if self.project and self.project.store_is_foreign:
            return Index()
        try:
            if self.project and path.resolve() != path:
                raise StorageError(f"{path} leads elsewhere by a link; make it a plain file.")
            known = path.stat()
            if not stat.S_ISREG(known.st_mode) or known.st_size > READABLE:
                raise StorageError(f"{path} is no memory index: no plain file, or far too large.")
            raw = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return Index()
        except (OSError, RuntimeError) as error:
            raise StorageError(f"{path} cannot be read: {error}.") from error
        if b"\0" in raw or raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise StorageError(f"{path} is not UTF-8 text; save it as UTF-8.")
        return Index(raw)

    def edit(self, change: Callable[[Index], Index]) -> list[str]:
        """Replace the index by what `change` makes of it; sentences to tell.

        `change` is called again on the newer text where a person saved the file meanwhile.
        """
        path, project = self.path, self.project
        if project and project.store_is_foreign:
            raise StorageError(f"{project.store} belongs to another user; nothing is written.")
        before = self.read()
        if change(before) is before:
            return []
        if project:
            notes = [ensure_project_store(project)]
        else:
            notes = []
            make_folder(path.parent, private=True)
            path = path.resolve()  # a person may link their own file from elsewhere
        with locked(path):
            for _ in range(TRIES):
                before = self.read()
                after = change(before)
                if after is before or write_atomic(
                    path, after.raw, private=project is None, expected=before.raw
                ):
                    return [note for note in notes if note]
        raise StorageError(f"{path} is being saved over and over; try again.")
