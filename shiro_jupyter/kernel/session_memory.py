"""Memory and notes as a session of this kernel uses them: loaded, recorded, told meanwhile; and
the instructions beside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core.context.quoting import quoted
from ..core.context.sources import memory_of
from ..core.errors import StorageError
from ..core.memory.block import TAINT, shown
from ..core.memory.found import Found
from ..core.memory.index import STAMP, Entry, Index, parse_line
from ..core.memory.signal import TaskSignal
from ..core.memory.since import gone, replaced
from ..core.memory.stale import Files
from ..core.memory.store import SCOPES, Memory
from ..core.notes.budget import Ask
from ..core.notes.refresh import refreshed
from ..core.notes.store import Notes
from ..core.sessions.lease import Leases
from ..core.sessions.session import Session
from ..core.tools.base import Tool
from ..core.tools.forget import Forget
from ..core.tools.recall import Recall
from ..core.tools.remember import Remember
from ..core.tools.session_notes import SessionNotes
from ..core.workspace.clock import Clock
from ..core.workspace.processes import Processes
from .memory_tables import of_others
from .namespace import Namespace
from .session_instructions import SessionInstructions
from .task_signal import about, tables_of, task_signal

TAINT_BY_NOTES = "notes"
# Where words of others may stand, as calls and results name it.
_MEMORIES = re.compile(r"\.shiro(?![/\\]+notes)|MEMORY\.md", re.IGNORECASE)
_NOTES = re.compile(r"\.shiro(?![/\\]+memory)", re.IGNORECASE)
LATER = 10  # memories of a kind that are told at each step, the newest


class SessionMemory:
    """`namespace` tells the live variables; `answer` has a model answer a prompt. Methods are for
    any thread."""

    def __init__(
        self,
        memory: Memory,
        processes: Processes,
        clock: Clock,
        leases: Leases,
        namespace: Callable[[], Namespace],
        answer: Ask | None = None,
    ) -> None:
        self.memory = memory
        self.instructions = SessionInstructions(memory.project, memory.own)
        self._notices: tuple[str, ...] = ()  # what the memory has to say of itself
        self._processes, self._clock, self._leases = processes, clock, leases
        self._namespace, self._answer = namespace, answer
        self._on = False
        self._begun = ""  # when the block was built
        self._begun_here: set[str] = set()  # sessions
        self._shown: tuple[Entry, ...] = ()
        self._recalled: dict[Entry, None] = {}  # it stays in the transcript
        self._session = Session()
        self.notes = self._notes(self._session)

    def signal(self, prompt: str = "") -> TaskSignal:
        environment = self._processes.child_environment()
        return task_signal(self.memory.project, self._namespace(), environment, prompt)

    def about(self, text: str, source: str = "user") -> dict[str, Sequence[str]]:
        """What is being worked on, to keep beside a new memory."""
        exists = Files(self.memory.project.root).exists
        return about(self.signal(), self.tables(), text, source, exists)

    def tables(self) -> dict[str, list[str]]:
        """Those at hand with their columns, by which a memory may be stale."""
        return tables_of(self._namespace())

    def tools(self, on: bool) -> tuple[Tool[Any], ...]:
        """Those of the memory are there where it is `on`."""
        memory = self.memory
        remember = Remember(memory, lambda text: self.about(text, "agent"))
        durable = (remember, Recall(memory, self.tables, self._told), Forget(memory)) if on else ()
        return (*durable, SessionNotes(self.notes, self._answer))

    def begin(self, session: Session, prompt: str, *, on: bool) -> str:
        """The block that every request of the session carries, empty where memory is not `on`. One
        that is resumed goes on with what it carried, and is told what changed; unless memory was
        switched since, which makes its system text anew."""
        self.notes, self._session = self._notes(session), session
        self._on, self._recalled = on, {}
        self._notices = self._about_notes()
        self._begun_here.add(session.id)
        if on != bool(session.begun or memory_of(session.system)):
            session.set_system("")
        if not on:
            if session.begun:
                session.set_memories("", ())
            return ""
        if session.system:
            self._begun = session.begun
            self._shown = tuple(filter(None, map(parse_line, session.memories)))
            return ""
        self._begun = self._clock.now().strftime(STAMP)
        block = self.memory.block(self.signal(prompt))
        self._shown = block.shown
        session.set_memories(self._begun, [entry.line() for entry in block.shown])
        if unaccepted := self._unaccepted():
            if {each.entry for each in unaccepted} & set(block.shown):
                session.taint(TAINT)
            self._notices += (
                f"{of_others(unaccepted)} of this project's memory came from others: %shiro /trust "
                "memory shows them, and accepts them as yours.",
            )
        return block.text

    @property
    def notices(self) -> tuple[str, ...]:
        """Whose words the session was told, in sentences."""
        return *self._notices, *self.instructions.notices

    def accept(self, found: Sequence[Found]) -> None:
        """Take lines and topics of others as the user's own, as they were shown."""
        self.memory.accept(found)
        if not self._unaccepted():
            self._notices = ()
            self._session.tainted.discard(TAINT)

    def words_of_others(self, text: str) -> list[str]:
        """What of others a call brings in, by its arguments and its result: those that name a file
        of the store may show all of it."""
        found = []
        if _MEMORIES.search(text) and self._unaccepted():
            found.append(TAINT)
        if _NOTES.search(text) and self._notes_of_others():
            found.append(TAINT_BY_NOTES)
        return found

    async def refreshed(self, ask: Ask) -> tuple[str, Sequence[str]]:
        """Have the session's note say what is new, before the conversation is compacted."""
        return await refreshed(self.notes, ask, self._session.title)

    def later(self) -> str:
        """What is to be told at each step: what became of memories since the block was built, the
        note."""
        parts = [*(self._changes() if self._on else []), *self.instructions.later]
        try:
            if kept := self.notes.active():
                parts.append(f"This session's note is {kept.path.name}; session_notes shows it.")
        except StorageError:
            pass
        return "\n".join(parts)

    def _changes(self) -> list[str]:
        """Of what the model was told, what holds no more; and what is new. Words of others are not
        told here: they would come in without a notice."""
        try:
            now = {scope: self.memory.index(scope) for scope in SCOPES}
        except StorageError:
            return []
        own = {*now["global"].entries, *self._own_entries(now["project"])}
        told = dict.fromkeys((*self._shown, *self._recalled))
        lost = gone(told, [entry for index in now.values() for entry in index.entries])
        fresh = [each for each in own if each.stamp >= self._begun and each not in self._shown]
        fresh.sort(key=lambda each: each.stamp, reverse=True)
        news = replaced(lost, self.memory.swaps, own)
        withdrawn = [shown(entry) for entry in lost if entry not in news]
        swapped = [f"{shown(old)} → {quoted(new.pointed)}" for old, new in news.items()]
        recorded = [shown(each) for each in fresh if each not in news.values()]
        return [
            *_told("Withdrawn since the session began, no longer to be relied on:", withdrawn),
            *_told("Replaced since the session began, old → new:", swapped),
            *_told("Recorded since the session began:", recorded),
        ]

    def _own_entries(self, index: Index) -> list[Entry]:
        own = self.memory.own.known()
        found = zip(index.entries, index.memory_lines(), strict=True)
        return [entry for entry, line in found if own(line)]

    def _told(self, found: Iterable[Found]) -> None:
        self._recalled |= dict.fromkeys(each.entry for each in found)

    def _unaccepted(self) -> list[Found]:
        try:
            return self.memory.unaccepted()
        except StorageError:
            return []

    def _notes_of_others(self) -> bool:
        try:
            return bool(self.notes.of_others())
        except StorageError:
            return False

    def _about_notes(self) -> tuple[str, ...]:
        try:
            names = ", ".join(map(quoted, self.notes.passed_over()))
        except StorageError:
            names = ""
        said = (
            f"No session of yours wrote the note on this notebook ({names}), so it is not gone on "
            "with; look at it, and tell what of it holds."
        )
        return (said,) if names else ()

    def _notes(self, session: Session) -> Notes:
        return Notes(
            self.memory.project,
            lambda: session.id,
            self._clock,
            alive=self._lives,
            ours=self._leases.knows,
            record=lambda record: session.record(record),
        )

    def _lives(self, session: str) -> bool:
        """Whether a session keeps its note: one that was left by /clear does, here."""
        return session in self._begun_here or self._leases.lives(session)


def _told(heading: str, lines: Sequence[str]) -> list[str]:
    more = len(lines) - LATER
    rest = [f"and {more} more; recall finds what there is"] if more > 0 else []
    return [heading, *lines[:LATER], *rest] if lines else []
