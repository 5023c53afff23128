"""The notes of a project: one Markdown file each, one active note a session.

The file is the truth and people edit it: every operation reads it again, and a write happens
under a lock, to a temporary file, and only if nobody saved the file meanwhile.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import NoteRefused, StorageError
from ..workspace.clock import Clock
from ..workspace.files import (
    ensure_project_store,
    read_plain,
    refuse_link,
    retried,
    told,
    write_atomic,
)
from ..workspace.project import Project
from ..workspace.text import decode, is_visible
from ..workspace.threads import in_thread
from . import budget
from .note import Edit, Note, Section, edited, slug_of, title_of
from .parse import body_of, front_of, parse

STAMP = "%Y-%m-%d %H:%M:%S"
_NAME = re.compile(r"\d{4}-\d\d-\d\d-.*-([0-9a-f]{8})\.md", re.DOTALL)

Record = dict[str, Any]


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
class Updated:
    """A note as written; `said` are sentences to tell the person."""

    note: Note
    path: Path
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """One update of a note, as the session's log has it."""

    at: str
    note_id: str
    op: str
    section: str = ""
    text: str = ""


class Notes:
    """The notes of one session and what is beside them.

    `alive` tells whether another session still runs; `record` takes each update for the log.
    """

    def __init__(
        self,
        project: Project,
        session: str,
        clock: Clock,
        *,
        alive: Callable[[str], bool] = lambda session: False,
        record: Callable[[Record], None] = lambda record: None,
        new_id: Callable[[], str] = lambda: secrets.token_hex(4),
    ) -> None:
        self.project, self.session, self.clock = project, session, clock
        self._alive, self._record, self._new_id = alive, record, new_id
        self._last = ""  # id of what was written last: found also without its front matter
        self._unmerged: str | None = None  # decisions that could not be: not tried again

    # -- reading -------------------------------------------------------------------------

    def active(self) -> Kept | None:
        """This session's active note; where it has had none yet, the newest that a session on
        the same notebook left when it died. Raises `StorageError`."""
        return self._active(self._all())

    def all(self) -> list[Kept]:
        """Every note of the project, the one updated last first. Raises `StorageError`."""
        return sorted(self._all(), key=_age, reverse=True)

    def problems(self) -> list[str]:
        """What is wrong with the files, a sentence each; never raises."""
        found = []
        try:
            for path in self._paths():
                try:
                    if (kept := self._read(path)) and not kept.whole:
                        found.append(
                            f"{path} has lost its front matter and is no session's note; put "
                            "back the lines between --- and ---, or remove it."
                        )
                except StorageError as error:
                    found.append(str(error))
        except StorageError as error:
            found.append(str(error))
        return found

    # -- writing -------------------------------------------------------------------------

    def update(self, edit: Edit, section: Section, text: str, prompt: str = "") -> Updated:
        """Edit one section; the first edit makes the note, its title from `prompt`.

        Raises `NoteRefused` for what may not be written, `StorageError` where the file cannot
        be used.
        """
        first = Note("", title=title_of(prompt))
        updated = self._write(lambda note: edited(note, edit, section, text), first)
        self._log(updated.note, edit, section, text)
        return updated

    def done(self) -> Updated:
        """Archive the active note, its body byte for byte as it is; the next update starts
        another one. Raises `NoteRefused` where there is none."""

        def current() -> Kept:
            if kept := self.active():
                return kept
            raise NoteRefused("This session has no active note; the next update makes one.")

        def attempt() -> Updated | None:
            kept = current()
            note = self._archived(kept)
            return Updated(note, kept.path) if note else None

        current()  # else a folder would be made for nothing
        done = retried(self._folder, attempt)
        self._log(done.note, "done")
        return done

    async def fit(self, ask: budget.Ask | None) -> tuple[str, ...]:
        """Bring a note over its budget back under it; sentences on what was done or not.

        `ask` has a model answer a prompt. What could not be merged is not tried again before
        the decisions change.
        """
        kept = await in_thread(self.active)
        if not kept:
            return ()
        note = kept.read[0]
        decisions = note.text("Key Decisions")
        fitted = await budget.fit(note, ask, tried=decisions == self._unmerged)
        if fitted.said and fitted.note.text("Key Decisions") == decisions:
            self._unmerged = decisions
        if fitted.note == note:
            return fitted.said

        def shortened(now: Note) -> Note:
            if now != note:
                raise NoteRefused("The note was changed meanwhile; update it again.")
            return fitted.note

        try:
            updated = await in_thread(self._write, shortened, note)
        except NoteRefused:
            return ()  # the next update looks again
        self._log(updated.note, "fit")
        return fitted.said

    @staticmethod
    def history(records: Iterable[Record]) -> list[Change]:
        """The updates among a log's records, oldest first."""
        found = []
        for record in records:
            note = record.get("note")
            if isinstance(note, dict):
                values = (note.get(key) for key in ("id", "op", "section", "text"))
                found.append(Change(*(str(v or "") for v in (record.get("at"), *values))))
        return found

    # -- files ---------------------------------------------------------------------------

    @property
    def _folder(self) -> Path:
        return self.project.notes_dir

    @property
    def _notebook(self) -> str:
        notebook, root = self.project.notebook, self.project.root
        if not notebook:
            return ""
        inside = notebook.relative_to(root) if notebook.is_relative_to(root) else notebook
        return "".join(each if is_visible(each) else "?" for each in inside.as_posix())

    def _write(self, change: Callable[[Note], Note], first: Note) -> Updated:
        """Replace the active note by what `change` makes of it, or of `first` where there is
        none; called again on the newer text where a person saved the file meanwhile."""
        kept = self.active()
        change(kept.read[0] if kept else first)  # what is refused makes no file
        place = ensure_project_store(self.project)

        def attempt() -> Updated | None:
            everything = self._all()
            kept = self._active(everything)
            note, repairs = kept.read if kept else (self._begun(first, everything), ())
            note = replace(
                change(note),
                session=self.session,
                notebook=self._notebook,
                updated=self._stamp(),
            )
            if kept and not self._archive_others(everything, kept):
                return None
            path = kept.path if kept else self._path(note)
            data = note.render().encode()
            if not write_atomic(path, data, expected=kept.raw if kept else b""):
                return None
            self._last = note.id
            said = [place] if place else []
            if repairs:
                said.append(f"The note {path.name} was repaired: {' '.join(repairs)}")
            return Updated(note, path, tuple(said))

        return retried(self._folder, attempt)

    def _active(self, everything: list[Kept]) -> Kept | None:
        mine = [each for each in everything if self._is_mine(each)]
        candidates = mine or [
            each
            for each in everything
            if each.whole
            and each.front.notebook == self._notebook
            and each.front.status == "active"
            and not self._alive(each.front.session)
        ]
        active = [each for each in candidates if each.front.status == "active"]
        return max(active, key=_age, default=None)

    def _is_mine(self, kept: Kept) -> bool:
        if kept.whole:
            return kept.front.session == self.session
        return kept.front.id == self._last

    def _archive_others(self, everything: list[Kept], kept: Kept) -> bool:
        """Archive the older active notes of the session that has `kept`; False where a person
        saved one of them meanwhile."""
        return all(
            self._archived(each) is not None
            for each in everything
            if each.front.session == kept.front.session
            and each.front.status == "active"
            and each.whole
            and each.path != kept.path
        )

    def _archived(self, kept: Kept) -> Note | None:
        """The note archived, its body untouched; None where the file was saved meanwhile."""
        note = replace(kept.read[0], status="archived", updated=self._stamp())
        note = replace(note, session=note.session or self.session)
        data = (note.front + kept.body).encode()
        return note if write_atomic(kept.path, data, expected=kept.raw) else None

    def _begun(self, first: Note, everything: list[Kept]) -> Note:
        taken = {each.front.id for each in everything}
        fresh = next(each for each in iter(self._new_id, None) if each not in taken)
        return replace(first, id=fresh, created=self._stamp())

    def _path(self, note: Note) -> Path:
        return self._folder / f"{note.created[:10]}-{slug_of(note.title)}-{note.id}.md"

    def _paths(self) -> list[Path]:
        folder = self._folder
        if self.project.store_is_foreign:
            return []
        refuse_link(folder)
        with told("read", folder), suppress(FileNotFoundError):
            return sorted(each for each in folder.iterdir() if _NAME.fullmatch(each.name))
        return []

    def _all(self) -> list[Kept]:
        """Every note that can be read; `problems` tells the others."""
        found = []
        for path in self._paths():
            with suppress(StorageError):
                if kept := self._read(path):
                    found.append(kept)
        return found

    def _read(self, path: Path) -> Kept | None:
        raw = read_plain(path)
        if raw is None:
            return None
        decoded = decode(raw)
        if decoded is None or decoded.lossy:
            raise StorageError(f"{path} is no text; save it as UTF-8.")
        named = _NAME.fullmatch(path.name)
        assert named
        bare = Note(named[1], created=path.name[:10])
        front = front_of(decoded.text, bare)
        return Kept(path, raw, decoded.text, front or bare, whole=front is not None)

    def _stamp(self) -> str:
        return self.clock.now().strftime(STAMP)

    def _log(self, note: Note, op: str, section: str = "", text: str = "") -> None:
        told = {"id": note.id, "op": op, "section": section, "text": text}
        self._record({"note": {key: value for key, value in told.items() if value}})


def _age(kept: Kept) -> tuple[str, str]:
    return kept.front.updated, kept.path.name
