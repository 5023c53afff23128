"""The person's variables, within a budget: what is there, and more of one of them."""

from __future__ import annotations

import time
import types
from collections.abc import Callable
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
        every = self.every()
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
        if not self.variables():
            return ""
        return f"Live variables: {self.listing(limit=BRIEF_LIMIT, counting=BRIEF_SECONDS)}"

    def listing(
        self, match: str = "", limit: int = LISTING_LIMIT, counting: float = COUNTING_SECONDS
    ) -> str:
        """One line a variable, tables first; functions, classes and modules in a line each."""
        found = {n: v for n, v in self.variables().items() if match.lower() in n.lower()}
        if not found:
            return f"No variable's name holds {match!r}." if match else "No variables yet."
        look = self._look()
        groups: dict[str, list[str]] = {"functions": [], "classes": [], "modules": []}
        tables: list[str] = []
        others: list[str] = []
        for name, value in found.items():
            if type(value) is types.ModuleType:
                groups["modules"].append(module(name, value))
            elif is_class(value):
                groups["classes"].append(name)
            elif is_function(value):
                groups["functions"].append(name if name in look.closed else signature(name, value))
            elif is_frame(value) or is_lazy(value):
                tables.append(name)
            else:
                others.append(name)
        last = [
            cut(f"{label}: {', '.join(names)}", min(LINE_LIMIT, limit // 8))
            for label, names in groups.items()
            if names
        ]
        room = limit - sum(len(line) + 1 for line in last) - 30  # the head
        longest = min(LINE_LIMIT, max(SHORTEST, room // max(1, len(tables))))
        views = list(map(look.view, (*tables, *others)))
        lines = self._lines(views, found, room, longest, counting)
        head = count(len(tables) + len(others), "variable") + ":"
        return "\n".join([head, *lines, *last] if lines else last)

    def _lines(
        self,
        views: list[View],
        found: dict[str, object],
        room: int,
        longest: int,
        counting: float,
    ) -> list[str]:
        """A line for each while there is room; else the rest as names, then as a count."""
        lines: list[str] = []
        deadline = time.monotonic() + counting
        used = 0
        for view in views:
            line = self._line(view, found[view.name], deadline, longest)
            if used + len(line) + 1 > room:
                break
            used += len(line) + 1
            lines.append(line)
        else:
            return lines
        while lines and used > room - room // 4:
            used -= len(lines.pop()) + 1
        left = [view.name for view in views[len(lines) :]]
        return [*lines, _names_only(left, room - used)]

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
        variables = self.variables()
        if named.root not in variables:
            raise ToolFailed(no_such(named.root, list(variables)))
        value, view = variables[named.root], self.view(named.root)
        try:
            for step in named.steps:
                view.check(value, step)
                value = part_of(value, step, shown)
            details = Details(not view.closed, view.frame, view.lazy)
            with unwarned():
                text = "\n".join(details.of(shown, value))
            return bounded(view.told(text), INSPECT_LIMIT)
        except TABLE_ERRORS as error:
            raise ToolFailed(
                f"{shown} could not be read ({type(error).__name__}); it may be "
                "changing now. Look again, or run code."
            ) from error


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
