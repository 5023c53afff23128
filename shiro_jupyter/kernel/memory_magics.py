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
from ..core.memory.index import KINDS, Kind, plain
from ..core.memory.store import SCOPES, Memory, Scope
from ..core.numbers import whole_number
from ..core.workspace.files import Tell
from ..views.document import Line
from ..views.visible import visible
from . import compat
from .memory_tables import memories_table, nothing_yet, place
from .said import Said, say

About = Mapping[str, Sequence[str]]

REMEMBER_USAGE = f"%remember [{'|'.join(KINDS)}] [--global] [--replaces ID|--keep-both] TEXT"
RECALL_USAGE = "%recall QUERY [--why]"
FORGET_USAGE = "%forget [--global] TEXT"
OFF = (
    "Memory is off by the setting `memory` (SHIRO_MEMORY, or memory in a config.toml), so nothing "
    "was changed; set it to true and run this again."
)

# What IPython's own %recall takes: line numbers and ranges, also of earlier sessions.
_HISTORY = re.compile(r"[~\d/][~\d/:\s-]*")
_NAMES = "|".join(KINDS)
_KIND = re.compile(
    rf"(?:(?:\((?P<round>{_NAMES})\)|\[(?P<square>{_NAMES})\]):?"
    rf"|(?P<marked>{_NAMES})(?::|\s+[-–—](?=\s))"  # “Decision: …”, “gotcha - …”
    rf"|(?P<bare>(?-i:{_NAMES}|{_NAMES.upper()})))(?:\s+|$)",  # “Decision trees …” is a text
    re.IGNORECASE,
)
_MEMORY = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(\S+)")
_AT_END = re.compile(
    r"(?:^|\s)(--(?:global|keep-both|replaces(?:\s+(?:\"[^\"]*\"|“[^”]*”|\S+))?))$"
)


def remember_line(
    memory: Memory,
    text: str,
    about: Callable[[str], About] = lambda text: {},
    tell: Tell | None = None,
) -> tuple[str, Event | None]:
    """Record what follows the flags and the kind; what was taken, and the event of a change.

    `about` tells what is being worked on, of which a handful is kept beside the text; `tell`
    takes a sentence where another process is waited for.
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
            tell=tell,
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
    lines = [f"{said} {entry.said}"]
    marks = [f"tags: {', '.join(entry.tags)}"] if entry.tags else []
    marks += [f"detail in {entry.topic}"] if entry.topic else []
    lines += [f"  {'; '.join(marks)}"] if marks else []
    lines += [f"  in {place(memory, memory.path(scope))}"]
    lines += [f"  in place of: {old.said}"] if old else []
    lines += [f"  {note}" for note in done.notes]
    changed = MemoryChanged(scope, entry.text, old.text if old else "")
    return visible("\n".join(lines)), changed if done.stored or old else None


def recall_line(memory: Memory, text: str, tables: About | None = None) -> Said:
    """The memories that match, best first, a row each."""
    query, why = re.subn(r"(?:^|(?<=\s))--why(?=\s|$)", " ", text)
    query, literal = re.subn(r"^\s*--\s", "", query)
    if not literal:
        _refuse_unknown("%recall", query.strip(), RECALL_USAGE)
    if not query.strip():
        raise UsageError(f"Say what to recall: {RECALL_USAGE}. (A number or a range is IPython's.)")
    found = memory.recall(query, tables=tables)
    amiss = memory.unusable()
    if found:
        return [memories_table(found, memory.clock.now(), why=bool(why)), *map(Line, amiss)]
    said = f"No memory matches “{query.strip()}”: try other words, or list all with %shiro /notes."
    if not memory.entries():
        said = nothing_yet(amiss)
    return visible("\n".join([said, *amiss]))


def forget_line(memory: Memory, text: str, tell: Tell | None = None) -> tuple[str, Event]:
    """Remove one memory by its text, a part of it, or its id; never more than one."""
    word, _, after = text.strip().partition(" ")
    is_global = word == "--global"
    rest = after.strip() if is_global else text.strip()
    if re.match(r"--(\s|$)", rest):
        rest = rest[2:].strip()
    else:
        _refuse_unknown("%forget", rest, FORGET_USAGE)
        _refuse_at_end("%forget", rest)
    if not rest:
        raise UsageError(f"Say which memory to forget: {FORGET_USAGE}")
    gone = memory.forget(rest, "global" if is_global else None, tell=tell)
    again = f" ({gone.lines} lines said so)" if gone.lines > 1 else ""
    lines = [f"Forgotten: {gone.entry.said}{again}", f"  from {place(memory, gone.path)}"]
    lines += [f"  {note}" for note in gone.notes]
    return visible("\n".join(lines)), MemoryChanged(gone.scope, "", gone.entry.text)


def is_history(text: str, lines: int) -> bool:
    """Whether a `%recall` is meant for IPython: a line number or a range. A number beyond the
    lines there are, like a year, is a word."""
    text = text.strip()
    if text.isdecimal():
        number = whole_number(text)
        return number is not None and number <= lines
    return bool(_HISTORY.fullmatch(text))


class MemoryMagics:
    """The three magics. `about` tells what is being worked on, `tables` which are at hand with
    their columns; `emit` takes the event of a change; `on` tells whether memory may be written."""

    def __init__(
        self,
        memory: Memory,
        about: Callable[[str], About] = lambda text: {},
        tables: Callable[[], About] = dict,
        emit: Callable[[Event], None] = lambda event: None,
        on: Callable[[], bool] = lambda: True,
    ) -> None:
        self._memory, self._about, self._tables, self._emit = memory, about, tables, emit
        self._on = on
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
        --replaces takes an id, or the whole text in quotes.
        """
        self._write(lambda: remember_line(self._memory, line, self._about, _tell))

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

        Remove one memory: its text, a part that only it holds, or its id from %recall; -- ends the
        flags. Run again, it removes no other one.
        """
        self._write(lambda: forget_line(self._memory, line, _tell))

    def _write(self, handler: Callable[[], tuple[str, Event | None]]) -> None:
        before = self._state()
        try:
            if self._on():
                self._run(handler)
            else:
                _tell(OFF)
        except KeyboardInterrupt as error:
            said = "Interrupted; nothing was changed."
            if self._state() != before:
                said = "Interrupted; see with %shiro /notes whether it was done."
            raise compat.terminate_quietly(error, f"KeyboardInterrupt: {said}") from None

    def _state(self) -> list[tuple[int, int, int] | None]:
        """By which a file that was written is another one."""
        state: list[tuple[int, int, int] | None] = []
        for scope in SCOPES:
            try:
                known = self._memory.path(scope).stat()
                state.append((known.st_ino, known.st_mtime_ns, known.st_size))
            except OSError:
                state.append(None)
        return state

    def _run(self, handler: Callable[[], tuple[Said, Event | None]]) -> None:
        try:
            said, event = handler()
        except ShiroError as error:
            _tell(str(error))
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
            named = _MEMORY.match(after)
            given["replaces"] = "".join(filter(None, named.groups())) if named else ""
            rest = after[named.end() :].strip() if named else ""
        elif rest != (pasted := plain(rest)):
            rest = pasted
        elif "kind" not in given and (found := _KIND.match(rest)):
            given["kind"] = next(filter(None, found.groups())).lower()
            rest = rest[found.end() :]
        else:
            _refuse_unknown("%remember", rest, REMEMBER_USAGE)
            _refuse_at_end("%remember", rest)
            return _Taken(rest, **given)


def _refuse_unknown(magic: str, text: str, usage: str) -> None:
    if unknown := re.match(r"--\w\S*", text):
        raise UsageError(f"{magic} has no flag {unknown[0]}: {usage}; -- ends the flags.")


def _refuse_at_end(magic: str, text: str) -> None:
    """A flag there may be part of a command that is to be kept."""
    if found := _AT_END.search(text):
        raise UsageError(
            f"“{found[1]}” stands at the end: flags come first ({magic} {found[1]} TEXT); begin "
            "with -- where the text ends so."
        )


def _tell(sentence: str) -> None:
    sys.stderr.write(f"{visible(sentence)}\n")
    sys.stderr.flush()
