"""The files of notes as they stand."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..errors import StorageError
from ..workspace.plain import CONFLICT, read_plain, refuse_foreign, refuse_link, told, utf8
from ..workspace.project import Project
from .note import Note
from .parse import body_of, front_of, parse

HEAD = 4096  # bytes that hold the front matter of a file that cannot be read whole
_NAME = re.compile(r"\d{4}-\d\d-\d\d-.*-([0-9a-f]{8})\.md", re.DOTALL)


@dataclass(frozen=True)
class Kept:
    """A note's file as it stands. `front` is the note without its texts."""

    path: Path
    raw: bytes
    text: str = field(repr=False)
    front: Note
    whole: bool  # whether its front matter is there

    @cached_property
    def read(self) -> tuple[Note, tuple[str, ...]]:
        """The note, and a sentence for each thing in it that has to be repaired."""
        return parse(self.text, self.front)

    @property
    def body(self) -> str:
        """Title and sections, verbatim."""
        return body_of(self.text)


@dataclass(frozen=True)
class Unread:
    """A note's file that cannot be used, and why. `front` is what its head still tells."""

    path: Path
    fault: str
    id: str
    front: Note | None


def look(project: Project) -> tuple[list[Kept], list[Unread]]:
    """Every note of the project that can be read, and those that cannot. Raises `StorageError`."""
    found, unread = [], []
    for path in _paths(project):
        bare = _bare(path)
        try:
            if (raw := read_plain(path)) is not None:
                text = utf8(path, raw)
                front = front_of(text, bare)
                found.append(Kept(path, raw, text, front or bare, whole=front is not None))
        except StorageError as error:
            unread.append(Unread(path, str(error), bare.id, _head(path, bare)))
    return found, unread


def _paths(project: Project) -> list[Path]:
    folder = project.notes_dir
    refuse_foreign(project)
    refuse_link(folder)
    with told("read", folder), suppress(FileNotFoundError):
        return sorted(each for each in folder.iterdir() if _NAME.fullmatch(each.name))
    return []


def age(kept: Kept) -> tuple[str, str]:
    """Sorts by the last update."""
    return kept.front.updated, kept.path.name


def _bare(path: Path) -> Note:
    """What the name of a note's file tells."""
    named = _NAME.fullmatch(path.name)
    assert named
    return Note(named[1], created=path.name[:10])


def _head(path: Path, bare: Note) -> Note | None:
    try:
        head = read_plain(path, head=HEAD) or b""
    except StorageError:
        return None
    return front_of(head.decode(errors="replace"), bare)


def merge_of(kept: Kept) -> str:
    """The sentence to tell of a merge that was left behind, empty where there is none."""
    for number, line in enumerate(kept.text.split("\n"), 1):
        if CONFLICT.match(line):
            return f"{kept.path}, line {number}: the mark of a merge conflict; settle it."
    return ""
