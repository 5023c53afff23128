"""`%remember`, `%recall`, `%forget`: they need no model, no network and no settings.

The handlers take the rest of the line as it was typed and return what to print.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

from IPython.core.magic import no_var_expand

from ..core.errors import ShiroError, UsageError
from ..core.events import Event, MemoryChanged
from ..core.memory.index import KINDS, Kind
from ..core.memory.store import Found, Memory, Scope
from ..core.workspace.git import repository_of
from ..views.visible import visible
from .frames import TABLE_ERRORS, frame_of, is_frame

REMEMBER_USAGE = f"%remember [{'|'.join(KINDS)}] [--global] TEXT"
RECALL_USAGE = "%recall QUERY [--why]"
FORGET_USAGE = "%forget [--global] TEXT"

# What IPython's own %recall takes: line numbers and ranges, also of earlier sessions.
_HISTORY = re.compile(r"[~\d/][~\d/:\s-]*")
_KIND = re.compile(rf"\(?({'|'.join(KINDS)})\)?:?(?:\s+|$)")

# Tables looked at for their columns.
TABLES = 20


def remember_line(
    memory: Memory, text: str, namespace: Mapping[str, object] | None = None
) -> tuple[str, Event | None]:
    """Record what follows the flags and the kind; what was taken, and the event of a change.

    `namespace` are the live variables, which tell what is being worked on.
    """
    scope, kind, rest = _taken(text)
    if not rest:
        raise UsageError(f"Say what to remember: {REMEMBER_USAGE}")
    done = memory.remember(rest, kind, scope, about=_about(memory, rest, namespace or {}))
    entry = done.entry
    if not done.stored:
        said = f"Already recorded: [{entry.stamp}] ({entry.kind}) {entry.said}"
        return visible(f"{said}\n  in {_place(memory, scope)}"), None
    label = entry.kind if scope == "project" else f"{entry.kind} about you, for all projects"
    lines = [f"Remembered as {label}: {entry.said}", f"  in {_place(memory, scope)}"]
    lines += [f"  {note}" for note in done.notes]
    return visible("\n".join(lines)), MemoryChanged(scope, entry.text)


def recall_line(memory: Memory, text: str) -> str:
    """The memories that match, best first, one line each."""
    query, why = re.subn(r"(?:^|(?<=\s))--why(?=\s|$)", " ", text)
    if not query.strip():
        raise UsageError(f"Say what to recall: {RECALL_USAGE}. (A number or a range is IPython's.)")
    found = memory.recall(query)
    if not found:
        if not memory.entries():
            return "Nothing recorded yet. Record with %remember TEXT."
        return visible(f"No memory matches “{query.strip()}”.")
    return visible("\n".join(_row(each, bool(why)) for each in found))


def forget_line(memory: Memory, text: str) -> tuple[str, Event]:
    """Remove one memory by its text, a part of it, or its id; never more than one."""
    is_global, rest = _flag(text, "--global")
    if not rest:
        raise UsageError(f"Say which memory to forget: {FORGET_USAGE}")
    gone = memory.forget(rest, "global" if is_global else None)
    again = f" ({gone.lines} lines said so)" if gone.lines > 1 else ""
    said = f"Forgotten: {gone.entry.said}{again}\n  from {_place(memory, gone.scope)}"
    return visible(said), MemoryChanged(gone.scope, gone.entry.text)


def is_history(text: str) -> bool:
    """Whether a `%recall` is meant for IPython: a line number or a range."""
    return bool(_HISTORY.fullmatch(text.strip()))


class MemoryMagics:
    """The three magics over a memory that is made at first use.

    `emit` takes the event of a change where a feed exists.
    """

    def __init__(
        self, memory: Callable[[], Memory], emit: Callable[[Event], None] = lambda event: None
    ) -> None:
        self._memory, self._emit = memory, emit
        self._namespace: Mapping[str, object] = {}
        self._history: Callable[[str], object] | None = None

    def register(self, shell: Any) -> None:
        """Take the three names. IPython's own `%recall` must stand in its place then."""
        # Not read from the table: newer IPythons keep a stand-in there that would find ours.
        self._history = shell.find_line_magic("recall")
        self._namespace = shell.user_ns
        for name in ("remember", "recall", "forget"):
            shell.register_magic_function(getattr(self, name), "line", name)

    @no_var_expand
    def remember(self, line: str) -> None:
        """%remember [fact|decision|gotcha|command] [--global] TEXT

        Record one line for good, in this project's .shiro/memory/MEMORY.md, or with --global
        about you for all projects. Words like #orders at the end are tags; -- ends the flags.
        """
        self._run(lambda: remember_line(self._memory(), line, self._namespace))

    @no_var_expand
    def recall(self, line: str) -> None:
        """%recall QUERY [--why]

        What was recorded about something, best match first; --why tells what matched. A number
        or a range (%recall 4, %recall 2-5) is IPython's own %recall.
        """
        if is_history(line) and self._history is not None:
            self._history(line)
            return
        self._run(lambda: (recall_line(self._memory(), line), None))

    @no_var_expand
    def forget(self, line: str) -> None:
        """%forget [--global] TEXT

        Remove one memory: its text, a part that only it holds, or its id from %recall.
        """
        self._run(lambda: forget_line(self._memory(), line))

    def _run(self, handler: Callable[[], tuple[str, Event | None]]) -> None:
        try:
            text, event = handler()
        except ShiroError as error:
            sys.stderr.write(f"{visible(str(error))}\n")
            return
        sys.stdout.write(f"{text}\n")
        if event:
            self._emit(event)


def _taken(text: str) -> tuple[Scope, Kind, str]:
    """Flags and kind in either order before the text; `--` ends them, so that a text may begin
    with the name of a kind."""
    scope: Scope = "project"
    kind: Kind | None = None
    rest = text.strip()
    while True:
        if re.match(r"--(\s|$)", rest):
            return scope, kind or "fact", rest[2:].strip()
        is_global, rest = _flag(rest, "--global")
        if is_global:
            scope = "global"
            continue
        if re.match(r"--\w", rest):
            raise UsageError(f"%remember has no flag {rest.split()[0]}: {REMEMBER_USAGE}")
        found = _KIND.match(rest) if kind is None else None
        if not found:
            return scope, kind or "fact", rest
        kind = next(each for each in KINDS if each == found[1])
        rest = rest[found.end() :]


def _flag(text: str, flag: str) -> tuple[bool, str]:
    """Whether the text begins with the flag, and what follows it."""
    first, _, rest = text.strip().partition(" ")
    return (True, rest.strip()) if first == flag else (False, text.strip())


def _about(memory: Memory, text: str, namespace: Mapping[str, object]) -> dict[str, Sequence[str]]:
    """Of all that is at hand, what the text names comes first: only a handful is kept."""
    notebook, repository = memory.project.notebook, repository_of(memory.project.root)
    words = set(re.findall(r"\w+", text))
    shown = {name: value for name, value in namespace.items() if not name.startswith("_")}
    modules = [value.__name__ for value in shown.values() if type(value) is ModuleType]
    tables = [name for name in reversed(shown) if is_frame(shown[name])][:TABLES]
    tables.sort(key=lambda name: name not in words)
    columns = [column for name in tables for column in _columns(shown[name])]
    return {
        "notebook": [notebook.name] if notebook else [],
        "modules": list(dict.fromkeys(name.partition(".")[0] for name in modules)),
        "columns": sorted(dict.fromkeys(columns), key=lambda name: name not in words),
        "branch": [repository.branch()] if repository else [],
        "source": ["user"],
    }


def _columns(value: object) -> list[str]:
    with suppress(*TABLE_ERRORS):
        frame = frame_of(value)
        return frame.names() if frame and not frame.single else []
    return []


def _place(memory: Memory, scope: Scope) -> str:
    path = memory.path(scope)
    root = memory.project.root
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _row(found: Found, why: bool) -> str:
    entry = found.entry
    where = " (global)" if found.scope == "global" else ""
    reasons = f"\n        because of {', '.join(found.why)}" if why and found.why else ""
    return f"{entry.id}  {entry.stamp[:16]}  {entry.kind:<8}  {entry.said}{where}{reasons}"
