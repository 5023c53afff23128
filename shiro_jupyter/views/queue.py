"""The prompts that wait: in short for the view of a turn, whole for the list of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.events import Waiting
from .visible import one_line

SHOWN = 3  # entries of the short form
# Characters of a prompt that a page may edit: more is not sent to it.
EDITABLE = 20_000


def queue_lines(waiting: Sequence[Waiting]) -> list[str]:
    """A visible line an entry, a few at most."""
    lines = [f"{_place(each)}: {one_line(each.text)}" for each in waiting[:SHOWN]]
    more = len(waiting) - SHOWN
    return lines + ([f"… {more} more"] if more > 0 else [])


def come(before: Sequence[Waiting], waiting: Sequence[Waiting]) -> list[Waiting]:
    """Those that were not there before."""
    known = {each.id for each in before}
    return [each for each in waiting if each.id not in known]


def back_lines(back: Sequence[Waiting]) -> list[str]:
    """What was handed back, in the words of those that have no input to go to."""
    return [f"Taken off the queue, not run: {each.text}" for each in back if not each.source]


def queue_model(waiting: Sequence[Waiting]) -> list[dict[str, Any]]:
    """What a page lists; `text` is null where it is too long to be edited there."""
    return [
        {
            "id": each.id,
            "line": one_line(each.text),
            "text": sendable(each.text) if len(each.text) <= EDITABLE else None,
            "source": each.source,
            "now": each.now,
        }
        for each in waiting
    ]


def sendable(text: str) -> str:
    """The text as it stands, but for halves of surrogate pairs, which no message can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _place(waiting: Waiting) -> str:
    return "at the next step" if waiting.now else "next"
