"""The person's variables, within a budget: what is there, and more of one of them."""

from __future__ import annotations

import time
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import ToolFailed
from ..core.tools.base import bounded
from .arrays import unwarned
from .describe import (
    count,
    cut,
    is_class,
    is_function,
    kind,
    module,
    no_such,
    one_line,
    signature,
)
from .details import COLUMNS, Details, line_of
from .frames import SLOW_ROWS, TABLE_ERRORS, Frame, Lazy, is_frame, is_lazy
from .parts import copy_of, parsed, part_of
from .privacy import Look, Privacy, View, columns_of

# Characters of a listing, of one of its lines, and of one variable inspected.
LISTING_LIMIT = 8_000
LINE_LIMIT = 1_200
# A line of a table, however many share the room.
SHORTEST = 200
INSPECT_LIMIT = 8_000
# What the line on what was left out of one takes at most.
LEFT_OUT = 60
# Seconds that counting in a listing and objects' own words may take, and words of one object.
COUNTING_SECONDS = 0.1
WORDS_SECONDS = 0.03
# The same of the listing that goes with every request.
BRIEF_LIMIT = 1_500
BRIEF_SECONDS = 0.02


@dataclass(frozen=True)
class Namespace:
    """The variables of a shell, as far as `privacy` lets the model know of them. All methods are
    safe on any thread, while code runs too."""

    shell: Any
    privacy: Privacy = field(default_factory=Privacy)

    # -- all of them -----------------------------------------------------------------------

    def variables(self) -> dict[str, object]:
        """A copy of what the person has defined, in the order they did, without what is private."""
        return self._shown(self.every())

    def _shown(self, every: dict[str, object]) -> dict[str, object]:
        """Those of all variables that are not private."""
        if not self.privacy.private.any:
            return every
        hidden = self.privacy.hidden(every)
        return {name: value for name, value in every.items() if name not in hidden}

    def every(self) -> dict[str, object]:
        """The same with what is private; for no model."""
        hidden = self.shell.user_ns_hidden
        return {
            name: value
            for name, value in copy_of(self.shell.user_ns)
            if type(name) is str
            and name.isidentifier()
            and not name.startswith("_")
            and not (name in hidden and hidden[name] is value)
        }

    def tells(self, name: str) -> bool:
        """Whether the model may know of a variable by that name, there or not."""
        return not self.privacy.private.name(name) and name not in self.privacy.hidden(self.every())

    def withholds(self, expression: str) -> bool:
        """Whether it names a variable, or a column of one, that is there and kept from the model;
        for the person."""
        every = self.every()
        try:
            named = parsed(expression)
        except ToolFailed:
            return False
        if named.root not in every or named.root not in self.variables():
            return named.root in every
        value = every[named.root]
        try:
            for step in named.steps[:1]:
                self.view(named.root).check(value, step)
        except ToolFailed:  # as for one that is not there
            return str(named.steps[0])[1:] in columns_of(value)
        return False

    def closed(self) -> frozenset[str]:
        """Those of which no value is told."""
        return self._look().closed

    def _look(self) -> Look:
        return self.privacy.look(self.every())

    def view(self, name: str) -> View:
        """What may be told of one of the variables."""
        return self._look().view(name)

    def columns(self, name: str, value: object) -> list[str]:
        """Those of a table in memory, without what is private; empty where it is none."""
        with suppress(*TABLE_ERRORS):
            frame = self.view(name).frame(value)
            return frame.names() if frame and not frame.single else []
        return []

    def schema(self, name: str, value: object) -> str:
        """One line of any value, and nothing of what it holds."""
        view = self._look().view(name, closed=True)
        return self._line(view, value, time.monotonic() + BRIEF_SECONDS, LINE_LIMIT)

    def brief(self) -> str:
        """The listing cut short, for every request; empty where there are no variables."""
        every = self.every()
        if not (shown := self._shown(every)):
            return ""
        listing = self._listing(shown, self.privacy.look(every), BRIEF_LIMIT, BRIEF_SECONDS)
        return f"Live variables: {listing}"

    def listing(self, match: str = "", counting: float = COUNTING_SECONDS) -> str:
        """One line a variable, tables first; functions, classes and modules in a line each."""
        every = self.every()
        found = {n: v for n, v in self._shown(every).items() if match.lower() in n.lower()}
        if not found:
            return f"No variable's name holds {match!r}." if match else "No variables yet."
        return self._listing(found, self.privacy.look(every), LISTING_LIMIT, counting)

    def _listing(self, found: dict[str, object], look: Look, limit: int, counting: float) -> str:
        groups: dict[str, list[str]] = {group: [] for group in _TOLD}
        known: dict[int, str] = {}  # by type, since there may be very many names
        for name, value in found.items():
            key = id(type(value))
            if key not in known:
                known[key] = _group(value)
            groups[known[key]].append(name)
        tables, others = groups.pop("tables"), groups.pop("others")
        longest = min(LINE_LIMIT, limit // 8)
        last = [
            _as_long(f"{group}: ", (_told(group, name, found, look) for name in names), longest)
            for group, names in groups.items()
            if names
        ]
        room = limit - sum(len(line) + 1 for line in last) - 30  # the head
        longest = min(LINE_LIMIT, max(SHORTEST, room // max(1, len(tables))))
        lines = self._lines([*tables, *others], look, found, room, longest, counting)
        head = count(len(tables) + len(others), "variable") + ":"
        return "\n".join([head, *lines, *last] if lines else last)

    def _lines(
        self,
        names: list[str],
        look: Look,
        found: dict[str, object],
        room: int,
        longest: int,
        counting: float,
    ) -> list[str]:
        """A line for each while there is room; else the rest as names, then as a count."""
        lines: list[str] = []
        deadline = time.monotonic() + counting
        used = 0
        for name in names:
            line = self._line(look.view(name), found[name], deadline, longest)
            if used + len(line) + 1 > room:
                break
            used += len(line) + 1
            lines.append(line)
        else:
            return lines
        while lines and used > room - room // 4:
            used -= len(lines.pop()) + 1
        return [*lines, _names_only(names[len(lines) :], room - used)]

    def _line(self, view: View, value: object, deadline: float, longest: int) -> str:
        name = view.name
        try:
            if (frame := view.frame(value)) is not None:
                return view.told(_columns(name, frame, deadline, longest))
            if (lazy := view.lazy(value)) is not None and lazy.columns:
                return view.told(_lazy_columns(name, lazy, longest))
            left = deadline - time.monotonic()
            text = f"{name}: {line_of(value, not view.closed, min(WORDS_SECONDS, left))}"
        except TABLE_ERRORS:
            text = f"{name}: {kind(value)}, which cannot be read now"
        return view.told(cut(text, 300))

    # -- one of them -----------------------------------------------------------------------

    def inspect(self, expression: str) -> str:
        """More of one variable, or of a part of it that is there without running anything.

        Raises `ToolFailed` where there is none, or where it would have to be computed.
        """
        shown = cut(one_line(expression.strip()), 200)
        named = parsed(expression)
        every = self.every()
        variables = self._shown(every)
        if named.root not in variables:
            raise ToolFailed(no_such(named.root, list(variables)))
        value, view = variables[named.root], self.privacy.look(every).view(named.root)
        try:
            for step in named.steps:
                view.check(value, step)
                value = part_of(value, step, shown)
            details = Details(not view.closed, view.frame, view.lazy)
            with unwarned():
                text = "\n".join(details.of(shown, value))
            return bounded(view.told(text), INSPECT_LIMIT - LEFT_OUT)
        except TABLE_ERRORS as error:
            raise ToolFailed(
                f"{shown} could not be read ({type(error).__name__}); it may be "
                "changing now. Look again, or run code."
            ) from error


# What a listing groups variables by, in its order at the end; a line each of the first three.
_TOLD = ("functions", "classes", "modules", "tables", "others")


def _group(value: object) -> str:
    """By its type alone."""
    if type(value) is types.ModuleType:
        return "modules"
    if is_class(value):
        return "classes"
    if is_function(value):
        return "functions"
    return "tables" if is_frame(value) or is_lazy(value) else "others"


def _told(group: str, name: str, found: dict[str, object], look: Look) -> str:
    if group == "modules":
        return module(name, found[name])
    plain = group == "classes" or name in look.closed
    return name if plain else signature(name, found[name])


def _as_long(head: str, pieces: Iterator[str], longest: int) -> str:
    """As many as the line holds; the others are not even made."""
    line = head + next(pieces)
    for piece in pieces:
        line += f", {piece}"
        if len(line) > longest:
            break
    return cut(line, longest)


def _columns(name: str, frame: Frame, deadline: float, longest: int) -> str:
    rows, width = frame.shape
    return _fitting(
        f"{name}: {frame.headline()}",
        width,
        lambda index: f"{one_line(frame.name(index))} ({_column(frame, index, rows, deadline)})",
        longest,
    )


def _lazy_columns(name: str, lazy: Lazy, longest: int) -> str:
    columns = lazy.columns or ()
    return _fitting(
        f"{name}: {lazy.headline()}",
        len(columns),
        lambda index: f"{one_line(columns[index][0])} ({columns[index][1]})",
        longest,
    )


def _fitting(head: str, width: int, told: Callable[[int], str], longest: int) -> str:
    """The columns as far as a line of this length holds them."""
    said: list[str] = []
    used = len(head)
    for index in range(width):
        piece = told(index) if index < COLUMNS else ""
        used += len(piece) + 2
        if used > longest - (30 if index + 1 < width else 0) or not piece:
            more = "more " if said else ""
            said.append(f"… and {count(width - index, f'{more}column')}")
            break
        said.append(piece)
    return f"{cut(head, longest)}: {', '.join(said)}"


def _column(frame: Frame, index: int, rows: int, deadline: float) -> str:
    """Its type, and how many values are missing where there is time to count them."""
    missing: int | None = None
    if time.monotonic() < deadline:
        counts = frame.cheap and not (frame.slow(index) and rows > SLOW_ROWS)
        missing = frame.missing(index) if counts else frame.stored_missing(index)
    return frame.dtype(index) + (f", {missing:,} missing" if missing else "")


def _names_only(names: list[str], room: int) -> str:
    said = f"and {count(len(names), 'more variable')}: "
    for index, name in enumerate(names):
        if len(said) + len(name) + 30 > room:  # what the count of the others takes
            return f"{said}… and {len(names) - index:,} others"
        said += name + (", " if index + 1 < len(names) else "")
    return said
