"""`%remember`, `%recall`, `%forget`: they need no model, no network and no settings.

The handlers take the rest of the line as it was typed and return what to print.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from IPython.core.magic import no_var_expand

from ..core.errors import MemoryClose, ShiroError, UsageError
from ..core.events import Event, MemoryChanged
from ..core.memory.index import KINDS, Kind
from ..core.memory.store import Memory, Scope
from ..views.visible import visible
from .memory_tables import memories_table, place
from .said import Said, say

About = Mapping[str, Sequence[str]]

REMEMBER_USAGE = f"%remember [{'|'.join(KINDS)}] [--global] [--replaces ID|--keep-both] TEXT"
RECALL_USAGE = "%recall QUERY [--why]"
FORGET_USAGE = "%forget [--global] TEXT"

# What IPython's own %recall takes: line numbers and ranges, also of earlier sessions.
_HISTORY = re.compile(r"[~\d/][~\d/:\s-]*")
_KIND = re.compile(rf"\(?({'|'.join(KINDS)})\)?:?(?:\s+|$)")


def remember_line(
    memory: Memory, text: str, about: Callable[[str], About] = lambda text: {}
) -> tuple[str, Event | None]:
    """Record what follows the flags and the kind; what was taken, and the event of a change.

    `about` tells what is being worked on, of which a handful is kept beside the text.
    """
    taken = _taken(text)
    scope, rest = taken.scope, taken.text
    if not rest:
        raise UsageError(f"Say what to remember: {REMEMBER_USAGE}")
    try:
        done = memory.remember(
            rest,
            taken.kind,
            scope,
            about=about(rest),
            replaces=taken.replaces,
            keep_both=taken.keep_both,
        )
    except MemoryClose as close:
        raise UsageError(
            f"Not recorded: {close.id} says “{close.text}”. Begin with --replaces {close.id} to "
            "put the new text in its place, or with --keep-both where both are true."
        ) from None
    entry, old = done.entry, done.replaced
    label = entry.kind if scope == "project" else f"{entry.kind} about you, for all projects"
    said = f"Remembered as {label}:"
    if not done.stored:
        said = f"Already recorded: [{entry.stamp}] ({entry.kind})"
    lines = [f"{said} {entry.said}", f"  in {place(memory, memory.path(scope))}"]
    lines += [f"  in place of: {old.said}"] if old else []
    lines += [f"  {note}" for note in done.notes]
    changed = MemoryChanged(scope, entry.text, old.text if old else "")
    return visible("\n".join(lines)), changed if done.stored or old else None


def recall_line(memory: Memory, text: str, tables: About | None = None) -> Said:
    """The memories that match, best first, a row each."""
    query, why = re.subn(r"(?:^|(?<=\s))--why(?=\s|$)", " ", text)
    if unknown := re.match(r"\s*(--\w\S*)", query):
        raise UsageError(f"%recall has no flag {unknown[1]}: {RECALL_USAGE}")
    if not query.strip():
        raise UsageError(f"Say what to recall: {RECALL_USAGE}. (A number or a range is IPython's.)")
    found = memory.recall(query, tables=tables)
    if not found:
        if not memory.entries():
            return "Nothing recorded yet. Record with %remember TEXT."
        return visible(
            f"No memory matches “{query.strip()}”: try other words, or list all with %shiro /notes."
        )
    return [memories_table(found, memory.clock.now(), why=bool(why))]


def forget_line(memory: Memory, text: str) -> tuple[str, Event]:
    """Remove one memory by its text, a part of it, or its id; never more than one."""
    is_global, rest = _flag(text, "--global")
    if re.match(r"--\w", rest):
        raise UsageError(f"%forget has no flag {rest.split()[0]}: {FORGET_USAGE}")
    if not rest:
        raise UsageError(f"Say which memory to forget: {FORGET_USAGE}")
    gone = memory.forget(rest, "global" if is_global else None)
    again = f" ({gone.lines} lines said so)" if gone.lines > 1 else ""
    said = f"Forgotten: {gone.entry.said}{again}\n  from {place(memory, gone.path)}"
    return visible(said), MemoryChanged(gone.scope, "", gone.entry.text)


def is_history(text: str, lines: int) -> bool:
    """Whether a `%recall` is meant for IPython: a line number or a range. A number beyond the
    lines there are, like a year, is a word."""
    text = text.strip()
    return bool(_HISTORY.fullmatch(text)) and not (text.isdecimal() and int(text) > lines)


class MemoryMagics:
    """The three magics. `about` tells what is being worked on, `tables` which are at hand with
    their columns; `emit` takes the event of a change."""

    def __init__(
        self,
        memory: Memory,
        about: Callable[[str], About] = lambda text: {},
        tables: Callable[[], About] = dict,
        emit: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self._memory, self._about, self._tables, self._emit = memory, about, tables, emit
        self._shell: Any = None
        self._history: Callable[[str], object] | None = None

    def register(self, shell: Any) -> None:
        """Take the three names. IPython's own `%recall` must stand in its place then."""
        # Not read from the table: newer IPythons keep a stand-in there that would find ours.
        self._history = shell.find_line_magic("recall")
        self._shell = shell
        for name in ("remember", "recall", "forget"):
            shell.register_magic_function(getattr(self, name), "line", name)

    @no_var_expand
    def remember(self, line: str) -> None:
        """%remember [fact|decision|gotcha|command] [--global] [--replaces ID|--keep-both] TEXT

        Record one line for good, in this project's .shiro/memory/MEMORY.md, or with --global
        about you for all projects. Words like #orders at the end are tags; -- ends the flags.
        """
        self._run(lambda: remember_line(self._memory, line, self._about))

    @no_var_expand
    def recall(self, line: str) -> None:
        """%recall QUERY [--why]

        What was recorded about something, best match first; --why tells what matched. A number
        or a range (%recall 4, %recall 2-5) is IPython's own %recall.
        """
        if self._history is not None and is_history(line, self._shell.execution_count):
            self._history(line)
            return
        self._run(lambda: (recall_line(self._memory, line, self._tables()), None))

    @no_var_expand
    def forget(self, line: str) -> None:
        """%forget [--global] TEXT

        Remove one memory: its text, a part that only it holds, or its id from %recall.
        """
        self._run(lambda: forget_line(self._memory, line))

    def _run(self, handler: Callable[[], tuple[Said, Event | None]]) -> None:
        try:
            said, event = handler()
        except ShiroError as error:
            sys.stderr.write(f"{visible(str(error))}\n")
            return
        say(self._shell, said)
        if event:
            self._emit(event)


class _Taken(NamedTuple):
    text: str
    scope: Scope = "project"
    kind: Kind | None = None
    replaces: str = ""
    keep_both: bool = False


def _taken(text: str) -> _Taken:
    """Flags and kind in any order before the text; `--` ends them, so that a text may begin
    with the name of a kind."""
    given: dict[str, Any] = {}
    rest = text.strip()
    while True:
        word, _, after = rest.partition(" ")
        after = after.strip()
        if word == "--":
            return _Taken(after, **given)
        if word == "--global":
            given["scope"], rest = "global", after
        elif word == "--keep-both":
            given["keep_both"], rest = True, after
        elif word == "--replaces":
            given["replaces"], _, rest = after.partition(" ")
        elif re.match(r"--\w", word):
            raise UsageError(f"%remember has no flag {word}: {REMEMBER_USAGE}")
        elif "kind" not in given and (found := _KIND.match(rest)):
            given["kind"], rest = found[1], rest[found.end() :]
        else:
            return _Taken(rest, **given)


def _flag(text: str, flag: str) -> tuple[bool, str]:
    """Whether the text begins with the flag, and what follows it."""
    first, _, rest = text.strip().partition(" ")
    return (True, rest.strip()) if first == flag else (False, text.strip())
