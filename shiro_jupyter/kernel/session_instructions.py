"""AGENTS.md as a session of this kernel uses it: told at its start, accepted when asked."""

from __future__ import annotations

from dataclasses import replace

from ..core.context.instructions import (
    NAME,
    OPENING,
    AgentsFile,
    Instructions,
    read_instructions,
)
from ..core.memory.own import Own
from ..core.policy.secrets import redact
from ..core.sessions.session import Session
from ..core.workspace.project import Project

CHANGED = f"{NAME} has changed since this session began: read it, what it says now counts."
TAINT = NAME  # what a session is tainted by that was told lines of others


class SessionInstructions:
    """Methods are for any thread."""

    def __init__(self, project: Project, own: Own) -> None:
        self._project, self._own = project, own
        self._session, self._told = Session(), Instructions()
        self.later: tuple[str, ...] = ()  # what is to be told at each step

    def begin(self, session: Session) -> str:
        """The block that every request of the session carries; empty where there is none. One that
        is resumed goes on with what it carried."""
        self._session, self._told = session, read_instructions(self._project)
        if self._of_others(self._told):
            session.taint(TAINT)
        text = redact(self._told.text(self._own.known()))
        carried = text in session.system if text else OPENING not in session.system
        self.later = (CHANGED,) if session.system and not carried else ()
        return text

    @property
    def notices(self) -> tuple[str, ...]:
        """What there is to say of what the session was told, in sentences."""
        of_others = self._of_others(self._told)
        number = sum(len(each.lines) for each in of_others)
        if not of_others:
            return self._told.problems
        names = " and ".join(each.name for each in of_others)
        return (
            f"Until you accept it, what stands in {names} counts as written by others, even if you "
            f"typed it (lines: {number}): %shiro /trust agents shows it.",
            *self._told.problems,
        )

    def unaccepted(self) -> list[AgentsFile]:
        """The files as they are now, of each only the lines of others."""
        return self._of_others(read_instructions(self._project))

    def accept(self, file: AgentsFile) -> None:
        """Take these lines as the user's own, exactly as they were shown. Raises `StorageError`."""
        self._own.add(map(file.claim, file.lines))
        if not self._of_others(self._told):
            self._session.tainted.discard(TAINT)

    def _of_others(self, instructions: Instructions) -> list[AgentsFile]:
        own = self._own.known()
        parts = [replace(file, lines=file.unaccepted(own)) for file in instructions.files]
        return [part for part in parts if part.lines]
