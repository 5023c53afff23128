"""The task list: an immutable value, its warnings and its renderings.

A leaf room: events speak of it, sessions keep it, views draw it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

Status = Literal["pending", "in_progress", "done", "blocked"]
STATUSES: tuple[Status, ...] = get_args(Status)
MARKS: dict[Status, str] = {
    "pending": "[ ]",
    "in_progress": "[~]",
    "done": "[x]",
    "blocked": "[!]",
}
BAR_WIDTH = 40


@dataclass(frozen=True)
class Todo:
    """One task. `note` says what blocks it, where it is blocked."""

    text: str
    status: Status = "pending"
    note: str = ""

    def line(self) -> str:
        """`[~] clean the dates`, with the note of a blocked task in brackets."""
        note = f"  ({self.note})" if self.note else ""
        return f"{MARKS[self.status]} {self.text}{note}"


Todos = tuple[Todo, ...]


def count(todos: Todos, status: Status) -> int:
    return sum(todo.status == status for todo in todos)


def progress(todos: Todos) -> str:
    """`1/3 done`."""
    return f"{count(todos, 'done')}/{len(todos)} done"


def lines(todos: Todos) -> str:
    """The whole list, one task a line; empty for an empty list."""
    return "\n".join(todo.line() for todo in todos)


def bar(todos: Todos, width: int = BAR_WIDTH) -> str:
    """`tasks ##########.............................. 1/4  1 blocked`; empty for an empty list."""
    if not todos:
        return ""
    done, blocked = count(todos, "done"), count(todos, "blocked")
    # Half a cell rounds up, so that a first finished task always shows.
    filled = int(width * done / len(todos) + 0.5)
    drawn = "#" * filled + "." * (width - filled)
    return f"tasks {drawn} {done}/{len(todos)}" + (f"  {blocked} blocked" if blocked else "")


def warnings(todos: Todos) -> list[str]:
    """What the model should mend about its list, a sentence each."""
    found = []
    active = count(todos, "in_progress")
    open_tasks = [todo for todo in todos if todo.status != "done"]
    if active > 1:
        found.append(f"{active} tasks are in progress: keep exactly one.")
    if open_tasks and not active and not all(todo.status == "blocked" for todo in open_tasks):
        found.append("No task is in progress while work remains: mark the one you work on.")
    found += [
        f"The blocked task “{todo.text}” has no note: say what blocks it."
        for todo in todos
        if todo.status == "blocked" and not todo.note.strip()
    ]
    return found


def restore(stored: object) -> Todos:
    """A list as it was stored; malformed entries are dropped."""
    return tuple(_restored(stored)) if isinstance(stored, list) else ()


def _restored(stored: list[Any]) -> Iterable[Todo]:
    for entry in stored:
        if not isinstance(entry, dict):
            continue
        text, status, note = entry.get("text"), entry.get("status"), entry.get("note", "")
        if isinstance(text, str) and text.strip() and status in STATUSES and isinstance(note, str):
            yield Todo(text, status, note)
