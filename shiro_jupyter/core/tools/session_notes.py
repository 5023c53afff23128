"""session_notes: what is happening now, kept in the session's note."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from ..context.quoting import quoted
from ..errors import InvalidArguments
from ..events import NotesChanged, Notice
from ..notes.budget import Ask
from ..notes.note import Section, fenced
from ..notes.store import Notes
from ..policy.subjects import Access
from ..sessions.session import Session
from ..transcript import User
from ..workspace.threads import in_thread
from .base import Parameters, Tool, ToolContext, ToolResult, bounded


class SessionNotesParameters(Parameters):
    op: Literal["add", "replace", "remove", "show", "done"]
    section: Section | None = Field(None, description="For add, replace and remove.")
    text: str = Field("", max_length=20_000, description="Markdown; for remove: the line to go.")


class SessionNotes(Tool[SessionNotesParameters]):
    """Keep this session's note, one Markdown file that survives compaction and a restart.

    - Current State: where the work stands; ends with the next step
    - Task Specification: what was asked, constraints, acceptance
    - Files and Functions: one path a line, and why it matters
    - Errors & Corrections: what went wrong, how it was fixed, what the person corrected
    - Key Decisions: the choice first, then why
    - Worklog: one line a step, beginning with ✓ done, ✗ failed, → in progress or ↺ reverted

    Write after a block of work, when the person asks ("note the session", "before you forget"),
    and before the conversation is compacted; not for a one-off answer. A correction by the
    person goes to Errors & Corrections before anything else. What is wrong is not just removed:
    its correction is recorded there. Refer to what is already a memory by its id. Worklog and
    Errors & Corrections only grow; add appends, replace takes the whole section. show gives the
    note to be printed as it is; done ("session done", "wrap up") archives it.
    """

    name: ClassVar[str] = "session_notes"
    toolset: ClassVar[str] = "session"
    access: ClassVar[Access] = "session"
    parameters = SessionNotesParameters

    def __init__(self, notes: Notes, merge: Ask | None = None) -> None:
        """`merge` has a model answer a prompt, for a note over its budget."""
        self._notes, self._merge = notes, merge

    def summary(self, parameters: SessionNotesParameters) -> str:
        return " ".join(filter(None, (parameters.op, parameters.section)))

    async def run(self, parameters: SessionNotesParameters, context: ToolContext) -> ToolResult:
        op, section = parameters.op, parameters.section
        if op == "show":
            kept = await in_thread(self._notes.active)
            if kept:
                body = "\n".join(map(quoted, kept.body.split("\n")))
                return ToolResult("ok", fenced(bounded(body)))
            return ToolResult("ok", await in_thread(self._notes.absent))
        if op == "done":
            done = await in_thread(self._notes.done)
            context.emit(NotesChanged(done.note.id))
            return ToolResult("ok", f"Archived session notes (note id: {done.note.id}).")
        if section is None:
            raise InvalidArguments(f"Say which section to {op}: section is missing.")
        updated = await in_thread(
            self._notes.update, op, section, parameters.text, _first_prompt(context.session)
        )
        context.emit(NotesChanged(updated.note.id))
        for sentence in updated.said:
            context.emit(Notice(sentence))
        said = await self._notes.fit(self._merge)
        return ToolResult(
            "ok", "\n".join([f"Updated session notes (note id: {updated.note.id}).", *said])
        )


def _first_prompt(session: Session) -> str:
    return next((item.text for item in session.items if isinstance(item, User)), session.title)
