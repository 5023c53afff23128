"""Asks the person by `input()` on the main thread: the way that works in every front end."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import importlib
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ..core.events import ALLOW, ALLOW_SESSION, DENY, Answer, Question
from ..core.numbers import whole_number
from ..views.visible import one_line, visible
from ..views.wording import choices_line, granted
from . import compat
from .main_thread import JobInterrupted, MainThread

_CHOICES = {ALLOW: "[y]es once", DENY: "[n]o, or say why not"}
# The prompt names one word of each; the others are what people type all the same.
_ALLOWING = dict.fromkeys(("y", "yes", "a", "allow", "once", "ok"), ALLOW) | dict.fromkeys(
    ("s", "session"), ALLOW_SESSION
)
_NO = ("n", "no", "d", "deny", "")
WAITS = (
    "A turn in the background waits for your answer: run %shiro to give it, or %shiro /stop to end "
    "the turn."
)
PROMPT_SHOWN = 60  # characters
# What `input()` raises where it turns out that nobody can be asked.
NOBODY = "StdinNotImplementedError"


@dataclass(frozen=True)
class Person:
    """A surface for questions that no page shows. `elsewhere` says whether one shows it; `there`
    whether the turn that asks has a person at all, `owner` and `prompt` whose it is; `waits` is
    called where a question has to wait until a cell can ask it; `interrupted` when the person
    interrupts instead of answering."""

    shell: Any
    main: MainThread
    elsewhere: Callable[[Question], Awaitable[bool]]
    there: Callable[[], bool]
    owner: Callable[[], object]
    prompt: Callable[[], str]
    waits: Callable[[], None]
    interrupted: Callable[[], object]

    async def __call__(self, question: Question) -> Answer | None:
        if await self.elsewhere(question):
            await asyncio.Event().wait()  # until it is answered there, though the page may go
        if not self.there():
            return None
        if not self.main.answerable:  # a turn in the background
            self.waits()
        prompt = self.prompt()
        try:
            said = await self.main.run(
                lambda: self._read(question, prompt), stdin=True, owner=self.owner()
            )
        except JobInterrupted:
            self.interrupted()
            await asyncio.Event().wait()  # until the call that asks is cancelled
        except EOFError:
            said = ""
        except Exception as error:
            if type(error).__name__ != NOBODY:
                raise
            return None
        return answer_of(question, said)

    def _read(self, question: Question, prompt: str) -> str:
        """The view has shown the question, and only the answer is asked for here; but that of a
        turn elsewhere is shown again, so that nobody answers it for the cell at hand."""
        if self.main.foreign:
            encoding = sys.stdout.encoding or "utf-8"
            shown = _shown_again(question, prompt).encode(encoding, "backslashreplace")
            sys.stdout.write(shown.decode(encoding))
        sys.stdout.flush()
        if not compat.in_kernel(self.shell):
            _forget_typed()
        said = input(_prompt(question))
        if question.kind == "approval" and _unclear(said):
            said = input(f"Please say it again. {_prompt(question)}")
        return said


def answer_of(question: Question, said: str) -> Answer:
    """What the person typed, as an answer. For an approval, Enter and any other word deny."""
    said = said.strip()
    if question.kind == "approval":
        choice = _ALLOWING.get(said.lower(), DENY)
        if choice not in question.choices:  # a yes for longer than may be given is one
            choice = ALLOW
        words = said if choice == DENY and said.lower() not in _NO else ""
        return Answer(question.id, choice, words)
    if 1 <= (whole_number(said) or 0) <= len(question.choices):
        said = question.choices[int(said) - 1]
    return Answer(question.id, said) if said in question.choices else Answer(question.id, "", said)


def _unclear(said: str) -> bool:
    """Whether it looks like an allowing word mistyped: that is no reason to refuse."""
    word = said.strip().lower()
    if word in _ALLOWING or word in _NO or len(word.split()) > 1:
        return False
    return bool(difflib.get_close_matches(word, _ALLOWING, 1, cutoff=0.66))


def _prompt(question: Question) -> str:
    if question.kind == "approval":
        said = _CHOICES | {ALLOW_SESSION: f"[s]ession ({granted(question)})"}
        return f"{' / '.join(said[each] for each in question.choices)}: "
    return "a number, or in your own words: " if question.choices else "your answer: "


def _shown_again(question: Question, prompt: str) -> str:
    lines = [f"The background turn “{one_line(prompt, PROMPT_SHOWN)}” asks:"]
    lines.append(f"? {visible(question.title)}")
    if question.preview:
        lines += [f"    {line}" for line in visible(question.preview).rstrip("\n").split("\n")]
    if choices := choices_line(question):
        lines.append(f"  {visible(choices)}")
    return "".join(f"{line}\n" for line in lines)


def _forget_typed() -> None:
    """Keys pressed before a question was there answer nothing."""
    with contextlib.suppress(ImportError, OSError, ValueError, AttributeError):
        termios = importlib.import_module("termios")
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
