"""The person's variables, within a budget: what is there, and more of one of them."""

from __future__ import annotations

import ast
import time
import types
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from ..core.errors import ToolFailed
from ..core.tools.base import bounded
from .describe import (
    array_facts,
    count,
    derives,
    is_class,
    is_function,
    item_kinds,
    kind,
    module,
    mro_of,
    no_such,
    plain,
    signature,
    summary,
)
from .frames import CELL_LIMIT, TABLE_ERRORS, Facts, Frame, cell, frame_of, is_frame, lazy

# Characters of a listing, of one of its lines, and of one variable inspected.
LISTING_LIMIT = 8_000
LINE_LIMIT = 1_200
INSPECT_LIMIT = 8_000
# Columns and items of one variable, and seconds that counting in a listing may take.
COLUMNS = 100
ITEMS = 50
ROWS = 3
COUNTING_SECONDS = 0.3
# The same of the listing that goes with every request.
BRIEF_LIMIT = 1_500
BRIEF_SECONDS = 0.02


@dataclass(frozen=True)
class Named:
    """The name of a part of a variable, as far as it is known how to get there."""

    root: str
    steps: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Namespace:
    """The variables of a shell. All methods are safe on any thread, while code runs too.

    `show_values` is false in schema-only mode. `denied` are patterns of names never shown.
    """

    shell: Any
    show_values: bool = True
    denied: Collection[str] = ()

    # -- all of them -----------------------------------------------------------------------

    def variables(self) -> dict[str, object]:
        """A copy of what the person has defined, in the order they did."""
        hidden = self.shell.user_ns_hidden
        return {
            name: value
            for name, value in _copy(self.shell.user_ns)
            if type(name) is str
            and not name.startswith("_")
            and not (name in hidden and hidden[name] is value)
            and not any(fnmatchcase(name, pattern) for pattern in self.denied)
        }

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
        groups: dict[str, list[str]] = {"functions": [], "classes": [], "modules": []}
        tables: list[str] = []
        others: list[str] = []
        for name, value in found.items():
            if type(value) is types.ModuleType:
                groups["modules"].append(module(name, value))
            elif is_class(value):
                groups["classes"].append(name)
            elif is_function(value):
                groups["functions"].append(signature(name, value))
            elif is_frame(value):
                tables.append(name)
            else:
                others.append(name)
        last = [
            bounded(f"{label}: {', '.join(names)}", LINE_LIMIT)
            for label, names in groups.items()
            if names
        ]
        room = limit - sum(map(len, last)) - 100  # the head, and the last line's own words
        lines = self._lines([*tables, *others], found, room, counting)
        head = count(len(tables) + len(others), "variable") + ":"
        return "\n".join([head, *lines, *last] if lines else last)

    def _lines(
        self, names: list[str], found: dict[str, object], room: int, counting: float
    ) -> list[str]:
        """A line for each while there is room; else the rest as names, then as a count."""
        lines: list[str] = []
        deadline = time.monotonic() + counting
        used = 0
        for name in names:
            line = self._line(name, found[name], deadline)
            used += len(line) + 1
            if used > room:
                break
            lines.append(line)
        else:
            return lines
        while lines and used > room - room // 4:
            used -= len(lines.pop()) + 1
        return [*lines, _names_only(names[len(lines) :], room - used)]

    def _line(self, name: str, value: object, deadline: float) -> str:
        try:
            frame = frame_of(value)
            if frame is not None:
                return f"{name}: {self._columns(frame, deadline)}"
            text = f"{name}: {lazy(value) or summary(value, self.show_values)}"
        except TABLE_ERRORS:
            return f"{name}: {kind(value)}, which cannot be read now"
        return text if len(text) <= 300 else text[:299] + "…"

    def _columns(self, frame: Frame, deadline: float) -> str:
        counted = frame.cheap and time.monotonic() < deadline
        said = [f"{frame.headline()}: "]
        names = frame.names()
        for index, column in enumerate(names):
            missing = frame.missing(index) if counted else frame.stored_missing(index)
            more = f", {missing:,} missing" if missing else ""
            piece = f"{', ' if index else ''}{column} ({frame.dtype(index)}{more})"
            if sum(map(len, said)) + len(piece) > LINE_LIMIT or index == COLUMNS:
                said.append(f", … and {count(len(names) - index, 'more column')}")
                break
            said.append(piece)
        return "".join(said)

    # -- one of them -----------------------------------------------------------------------

    def inspect(self, expression: str) -> str:
        """More of one variable, or of a part of it that is there without running anything.

        Raises `ToolFailed` where there is none, or where it would have to be computed.
        """
        named = _parsed(expression)
        variables = self.variables()
        if named.root not in variables:
            raise ToolFailed(no_such(named.root, list(variables)))
        value = variables[named.root]
        for step in named.steps:
            value = _part(value, step, expression)
        try:
            return bounded("\n".join(self._details(expression.strip(), value)), INSPECT_LIMIT)
        except TABLE_ERRORS as error:
            raise ToolFailed(
                f"{expression} could not be read ({type(error).__name__}: {error}); it may be "
                "changing now. Look again, or run code."
            ) from error

    def _details(self, name: str, value: Any) -> Iterator[str]:
        frame = frame_of(value)
        if frame is not None:
            yield from self._table(name, frame)
            return
        if is_function(value) or is_class(value):
            yield f"{name}: class" if is_class(value) else f"{signature(name, value)}: function"
            return
        yield f"{name}: {lazy(value) or summary(value, self.show_values)}"
        if derives(value, str) and self.show_values:
            yield bounded(str.__str__(value), 4_000)
        elif derives(value, dict):
            yield from self._items(name, value)
        elif derives(value, list) or derives(value, tuple):
            base = list if derives(value, list) else tuple
            yield from self._elements(islice(base.__iter__(value), ITEMS), base.__len__(value))
        elif derives(value, set) or derives(value, frozenset):
            yield item_kinds(
                islice((set if derives(value, set) else frozenset).__iter__(value), ITEMS)
            )
        elif self.show_values and (figures := array_facts(value, CELL_LIMIT)):
            yield figures
        else:
            yield from self._attributes(value)

    def _table(self, name: str, frame: Frame) -> Iterator[str]:
        try:
            duplicates = frame.duplicates() if frame.cheap else None
        except TABLE_ERRORS:
            duplicates = None
        repeated = f", {count(duplicates, 'duplicate row')}" if duplicates is not None else ""
        yield f"{name}: {frame.headline()}{repeated}"
        names = frame.names()
        missing_in_all: int | None = 0
        for index, column in enumerate(names[:COLUMNS]):
            start = f"- {column}: {frame.dtype(index)}"
            if frame.cheap:
                missing: int | None = None
                try:
                    facts = frame.facts(index, self.show_values)
                    missing = facts.missing
                    yield f"{start}, {_facts(facts)}"
                except TABLE_ERRORS as error:
                    yield f"{start}, cannot be counted ({type(error).__name__})"
            else:
                missing = frame.stored_missing(index)
                yield start if missing is None else f"{start}, {missing:,} missing"
            if missing_in_all is not None:
                missing_in_all = None if missing is None else missing_in_all + missing
        if len(names) > COLUMNS:
            yield f"… and {count(len(names) - COLUMNS, 'more column')}"
        elif missing_in_all is not None:
            yield f"{count(missing_in_all, 'missing value')} in all."
        if not frame.cheap:
            yield f"No figures: over {CELL_LIMIT:,} cells; compute them with code."
        if self.show_values and frame.single:
            yield f"It begins {', '.join(cell(row[0]) for row in frame.rows(2 * ROWS))}"
        elif self.show_values and len(names) <= ITEMS:
            rows = frame.shape[0]
            shown = f"First {ROWS} of {rows:,} rows" if rows > ROWS else "All rows"
            yield f"{shown}, as {' | '.join(names)}:"
            for row in frame.rows(ROWS):
                yield " | ".join(map(cell, row))

    def _items(self, name: str, value: Any) -> Iterator[str]:
        if not self.show_values:
            yield item_kinds(dict.values(value))
            return
        for key, item in islice(_copy(value), ITEMS):
            yield f"- {plain(key) or kind(key)}: {self._brief(item)}"
        if dict.__len__(value) > ITEMS:
            yield f"… and {dict.__len__(value) - ITEMS:,} more"

    def _elements(self, items: Iterator[object], length: int) -> Iterator[str]:
        if not self.show_values:
            return
        for index, item in enumerate(list(items)):
            yield f"[{index}] {self._brief(item)}"
        if length > ITEMS:
            yield f"… and {length - ITEMS:,} more"

    def _attributes(self, value: object) -> Iterator[str]:
        """What the object itself stores; what its class would compute is not asked for."""
        stored = _stored(value)
        for name, item in islice(stored.items(), ITEMS):
            if not name.startswith("_"):
                yield f"- .{name}: {self._brief(item)}"

    def _brief(self, value: object) -> str:
        try:
            frame = frame_of(value)
            text = frame.headline() if frame else lazy(value) or summary(value, self.show_values)
        except TABLE_ERRORS:
            return f"{kind(value)}, which cannot be read now"
        return text if len(text) <= 200 else text[:199] + "…"


def _copy(mapping: dict[Any, object]) -> list[tuple[Any, object]]:
    """The items as they are now; another thread may be adding to them."""
    for _ in range(20):
        try:
            return list(dict.items(mapping))
        except RuntimeError:  # changed size meanwhile
            continue
    return []


def _parsed(expression: str) -> Named:
    """`df`, `config.a`, `df["x"]`, `rows[0]` and their chains; nothing that would run."""
    wrong = ToolFailed(
        f"{expression!r} is no variable: give a name, an attribute such as config.path or an "
        'item such as df["price"] or rows[0]; for anything else run code.'
    )
    steps: list[str | int] = []
    try:
        node: ast.expr = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise wrong from None
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.append(f".{node.attr}")
        elif isinstance(node, ast.Subscript):
            try:
                key = ast.literal_eval(node.slice)
            except ValueError:
                raise wrong from None
            if type(key) is not str and type(key) is not int:
                raise wrong
            steps.append(f"[{key}" if isinstance(key, str) else key)
        else:
            raise wrong
        node = node.value
    return Named(node.id, tuple(reversed(steps)))


def _part(value: Any, step: str | int, expression: str) -> Any:
    """One step inward. A text step keeps its first character: `.attribute` or `[key`."""
    frame = frame_of(value)
    key: str | int = step if isinstance(step, int) else step[1:]
    if frame is not None and isinstance(key, str):
        names = frame.names()
        if key not in names:
            raise ToolFailed(no_such(key, names, "column"))
        return frame.select(names.index(key))
    if isinstance(step, str) and step.startswith("."):
        stored = _stored(value)
        if key in stored:
            return stored[str(key)]
        raise ToolFailed(
            f"{expression}: {kind(value)} stores no {key!r}; if it computes it, run code."
        )
    if derives(value, dict):
        for each, item in _copy(value):
            if type(each) is type(key) and each == key:
                return item
        raise ToolFailed(f"{expression}: there is no key {key!r}.")
    for base in (list, tuple):
        if derives(value, base) and isinstance(key, int):
            length = base.__len__(value)
            if -length <= key < length:
                return base.__getitem__(value, key)
            raise ToolFailed(f"{expression}: there are only {count(length, 'item')}.")
    raise ToolFailed(f"{expression}: an item of {kind(value)} has to be computed; run code.")


def _stored(value: object) -> dict[str, object]:
    """The attributes in the object's own dictionary and slots, read past its class."""
    found: dict[str, object] = {}
    own: list[object] = []
    for cls in mro_of(type(value)):
        for name, member in type.__dict__["__dict__"].__get__(cls).items():
            if type(name) is not str:
                continue
            slot = type(member) is types.MemberDescriptorType
            if name == "__dict__":  # the first one counts; one that a class computes is not asked
                native = slot or type(member) is types.GetSetDescriptorType
                own.append(member.__get__(value) if native and not own else None)
            elif slot:
                try:
                    found.setdefault(name, member.__get__(value))
                except AttributeError:  # a slot that is empty
                    continue
    if own and type(own[0]) is dict:
        found |= {name: item for name, item in _copy(own[0]) if type(name) is str}
    return found


def _facts(facts: Facts) -> str:
    parts = [f"{facts.missing:,} missing"]
    if facts.distinct is not None:
        parts.append(f"{facts.distinct:,} distinct")
    parts += [f"{word} {text}" for word, text in _extremes(facts) if text]
    said = ", ".join(parts)
    if facts.top and facts.top[0][1] == 1:
        said += ", such as " + ", ".join(text for text, _ in facts.top[:3])
    elif facts.top:
        said += ": " + ", ".join(f"{text} ({times:,})" for text, times in facts.top)
    return said


def _extremes(facts: Facts) -> tuple[tuple[str, str], ...]:
    return ("min", facts.low), ("max", facts.high), ("mean", facts.mean)


def _names_only(names: list[str], room: int) -> str:
    said = f"and {count(len(names), 'more variable')}: "
    for index, name in enumerate(names):
        if len(said) + len(name) + 30 > room:
            return f"{said}… and {len(names) - index:,} others"
        said += name + (", " if index + 1 < len(names) else "")
    return said
