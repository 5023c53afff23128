"""The notes of a project: one Markdown file each, one active note a session.

The file is the truth and people edit it: every operation reads it again, and a write happens
under a lock, to a temporary file, and only if nobody saved the file meanwhile.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import NoteRefused, StorageError
from ..workspace.clock import Clock
from ..workspace.files import ensure_project_store, retried, write_atomic
from ..workspace.plain import read_plain
from ..workspace.project import Project
from ..workspace.text import is_visible
from ..workspace.threads import in_thread
from . import budget
from .kept import Kept, Unread, age, look, merge_of
from .note import Edit, Note, Section, edited, slug_of, title_of

STAMP = "%Y-%m-%d %H:%M:%S"
_IGNORES_NOTES = re.compile(r"\s*/?(notes|\*\*?)(/\*{0,2})?\s*")

Record = dict[str, Any]


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

    `session` is its id, which changes where its log goes on in a copy; `alive` tells whether
    another session still runs, `ours` whether it is this user's at all; `record` takes each update
    for the log.
    """

    def __init__(
        self,
        project: Project,
        session: Callable[[], str],
        clock: Clock,
        *,
        alive: Callable[[str], bool] = lambda session: False,
        ours: Callable[[str], bool] = lambda session: True,
        record: Callable[[Record], None] = lambda record: None,
        new_id: Callable[[], str] = lambda: secrets.token_hex(4),
    ) -> None:
        self.project, self._session, self.clock = project, session, clock
        self._alive, self._ours = alive, ours
        self._record, self._new_id = record, new_id
        self._last = ""  # id of what was written last: found also without its front matter
        self._unmerged: str | None = None  # decisions that could not be: not tried again

    @property
    def session(self) -> str:
        return self._session()

    # -- reading -------------------------------------------------------------------------

    def active(self) -> Kept | None:
        """This session's active note; where it has had none yet, the newest that a session on
        the same notebook left when it died. Raises `StorageError`, also where its file cannot be
        used: another one is not begun in silence."""
        return self._active(*look(self.project))

    def closed(self) -> Kept | None:
        """This session's note that was archived last. Raises `StorageError`."""
        mine = (each for each in self.all() if self._is_mine(each))
        return next((each for each in mine if each.front.status == "archived"), None)

    def absent(self) -> str:
        """What there is to say where no note is active. Raises `StorageError`."""
        said = "This session has no note yet."
        if closed := self.closed():
            said = f"This session's note {closed.path.name} is archived; the next update makes one."
        return "\n".join([said, *self.problems()])

    def all(self) -> list[Kept]:
        """Every note of the project, the one updated last first. Raises `StorageError`."""
        return sorted(look(self.project)[0], key=age, reverse=True)

    def of_others(self) -> list[Kept | Unread]:
        """Those that no session of this user wrote. Raises `StorageError`."""
        everything, unread = look(self.project)
        found: list[Kept | Unread] = [each for each in everything if not self._is_mine(each)]
        found += unread
        return [each for each in found if not (each.front and self._ours(each.front.session))]

    def passed_over(self) -> list[str]:
        """The names of those that would be gone on with, if others had not written them."""
        found = (each for each in self.of_others() if each.front and self._is_open_here(each.front))
        return [each.path.name for each in found]

    def problems(self) -> list[str]:
        """What is wrong with the files, a sentence each; never raises."""
        try:
            everything, unread = look(self.project)
        except StorageError as error:
            return [str(error)]
        cut = [
            f"{each.path} has lost its front matter and is no session's note; put back the lines "
            "between --- and ---, or remove it."
            for each in everything
            if not each.whole
        ]
        return [
            *(each.fault for each in unread),
            *cut,
            *map(merge_of, filter(merge_of, everything)),
        ]

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
        self._last = ""
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
            everything, unread = look(self.project)
            kept = self._active(everything, unread)
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
            if not kept:
                said += self._beside(unread)
            elif merge := merge_of(kept):
                said.append(merge)
            if repairs:
                said.append(f"The note {path.name} was repaired: {' '.join(repairs)}")
            return Updated(note, path, tuple(said))

        return retried(self._folder, attempt)

    def _beside(self, unread: list[Unread]) -> list[str]:
        """What to know of where a note was begun: one that may be what went before it, a
        `.gitignore` of the person's own."""
        said = [
            f"Another note was begun beside one that cannot be used: {each.fault}"
            for each in unread
            if not each.front or self._is_left(each.front)
        ]
        ignore = self.project.store / ".gitignore"
        lines = (read_plain(ignore) or b"").decode(errors="replace").split("\n")
        if not any(_IGNORES_NOTES.fullmatch(line) for line in lines):
            said.append(f"Git would take the notes: add the line notes/ to {ignore}.")
        return said

    def _active(self, everything: list[Kept], unread: list[Unread]) -> Kept | None:
        mine = [each for each in everything if self._is_mine(each)]
        found = [each for each in mine if each.front.status == "active"]
        if fault := next((each.fault for each in unread if self._is_open(each)), ""):
            if not found:
                raise StorageError(fault)
        elif not mine:
            found = [each for each in everything if each.whole and self._is_left(each.front)]
        return max(found, key=age, default=None)

    def _is_open(self, unread: Unread) -> bool:
        """Whether it is this session's active note, as far as can be told."""
        if unread.front is None:
            return unread.id == self._last
        return unread.front.session == self.session and unread.front.status == "active"

    def _is_left(self, front: Note) -> bool:
        """Whether a session of this user on the same notebook left it open when it died."""
        return self._is_open_here(front) and self._ours(front.session)

    def _is_open_here(self, front: Note) -> bool:
        return (
            front.notebook == self._notebook
            and front.status == "active"
            and not self._alive(front.session)
        )

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

    def _stamp(self) -> str:
        return self.clock.now().strftime(STAMP)

    def _log(self, note: Note, op: str, section: str = "", text: str = "") -> None:
        told = {"id": note.id, "op": op, "section": section, "text": text}
        self._record({"note": {key: value for key, value in told.items() if value}})
