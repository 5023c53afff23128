"""The prompts that wait for the turn that runs.

A prompt is in exactly one place: the input it was typed into, here, or the transcript. It leaves
for a turn of its own, into the turn that runs (*steered*), back to its input, or for good where
the person removes it. Nothing is stored: one that ran at the next start, on a workspace that has
changed, would be worse than a lost one.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

from .errors import UsageError
from .events import Event, QueueChanged, TurnEnded, Waiting

TAKEN_OFF = TurnEnded(0, "interrupted", "The prompt was taken off the queue.")
GONE = "That prompt no longer waits: its turn has begun, or it was taken off the queue."
NO_PROMPT = "That is no prompt, and has no words to change: remove it, or let it wait."
BLANK = "There are no words left: type some, or remove the prompt."


@dataclass(eq=False)
class _Entry:
    """`wake` is done when it has reached the front, or `ended` without a turn of its own."""

    waiting: Waiting
    wake: asyncio.Future[None]
    ended: TurnEnded | None = None

    def end(self, ended: TurnEnded) -> None:
        self.ended = ended
        self.call()

    def call(self) -> None:
        if not self.wake.done():
            self.wake.set_result(None)


class Queue:
    """Who may run a turn, one at a time and in order; all on one loop."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._ids = itertools.count(1)
        self._entries: list[_Entry] = []
        self._runs = False  # a turn does, or `_next` is about to
        self._next: _Entry | None = None
        self._steered: list[_Entry] = []  # in the turn that runs, whose end is theirs

    @property
    def runs(self) -> bool:
        """Whether a turn or other work does, or is about to."""
        return self._runs

    @property
    def waiting(self) -> tuple[Waiting, ...]:
        return tuple(entry.waiting for entry in self._entries)

    # -- for whoever runs the turns ----------------------------------------------------------

    async def turn(
        self, text: str, source: str = "", *, now: bool = False, work: bool = False
    ) -> str | TurnEnded:
        """Wait for one's turn: the words to run, as they stand by then, or how it ended without.

        After words, `done` has to be called. A caller that is cancelled takes its prompt along.
        """
        if not self._runs:
            self._runs = True
            return text
        waiting = Waiting(next(self._ids), text, source, work=work)
        entry = _Entry(waiting, asyncio.get_running_loop().create_future())
        self._entries.append(entry)
        if now:
            self._hurry(entry)
        self._tell()
        try:
            await entry.wake
        except asyncio.CancelledError:
            if entry in self._entries:
                self._take(entry)
            raise
        if entry.ended:
            return entry.ended
        self._next = None
        self._take(entry)
        return entry.waiting.text

    def done(self, ended: TurnEnded | None) -> None:
        """The turn has ended, and so have those that were sent into it; on to the next."""
        steered, self._steered = self._steered, []
        for entry in steered:
            entry.end(ended or TAKEN_OFF)
        self._advance()

    def steered(self) -> tuple[Waiting, ...]:
        """Take those that were sent into the turn that runs."""
        taken = [each for each in self._entries if each.waiting.now and not each.waiting.work]
        if taken:
            self._steered += taken
            self._entries = [entry for entry in self._entries if entry not in taken]
            self._tell()
        return tuple(entry.waiting for entry in taken)

    # -- for the person; each raises `UsageError` where the prompt no longer waits -------------

    def edit(self, number: int, text: str) -> None:
        entry = self._find(number)
        if not text.strip():
            raise UsageError(BLANK)
        if entry.waiting.work:
            raise UsageError(NO_PROMPT)
        entry.waiting = replace(entry.waiting, text=text)
        self._tell()

    def remove(self, number: int) -> Waiting:
        entry = self._find(number)
        self._take(entry)
        entry.end(TAKEN_OFF)
        return entry.waiting

    def steer(self, number: int) -> Waiting:
        """Send it into the turn that runs, before its next step; where there is none, it is the
        next turn."""
        entry = self._find(number)
        self._hurry(entry)
        self._tell()
        return entry.waiting

    def clear(self) -> tuple[Waiting, ...]:
        """Hand all of them back."""
        entries, self._entries = self._entries, []
        back = tuple(entry.waiting for entry in entries)
        for entry in entries:
            entry.end(TAKEN_OFF)
        if back:
            self._tell(back)
        if self._next in entries:
            self._advance()
        return back

    # -- inside --------------------------------------------------------------------------------

    def _find(self, number: int) -> _Entry:
        for entry in self._entries:
            if entry.waiting.id == number:
                return entry
        raise UsageError(GONE)

    def _hurry(self, entry: _Entry) -> None:
        """Ahead of all but those that were sent before it."""
        entry.waiting = replace(entry.waiting, now=True)
        self._entries.remove(entry)
        before = sum(each.waiting.now for each in self._entries)
        self._entries.insert(before, entry)

    def _take(self, entry: _Entry) -> None:
        self._entries.remove(entry)
        self._tell()
        if entry is self._next:
            self._advance()

    def _advance(self) -> None:
        self._next = self._entries[0] if self._entries else None
        self._runs = self._next is not None
        if self._next:
            self._next.call()

    def _tell(self, back: tuple[Waiting, ...] = ()) -> None:
        self._emit(QueueChanged(self.waiting, back))
