"""One variable, or a part of one, in words: a line of it, and all there is to tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..core.tools.base import bounded
from .arrays import array_facts, array_summary
from .describe import (
    comes_from,
    count,
    cut,
    derives,
    is_class,
    is_function,
    item_kinds,
    kind,
    one_line,
    plain,
    signature,
    summary,
)
from .frames import CELL_LIMIT, TABLE_ERRORS, Facts, Frame, Lazy, cell, frame_of, lazy_of
from .own_words import own_words
from .parts import copy_of, stored_in

# Columns and items of one variable, and rows of a table, that are shown.
COLUMNS = 100
ITEMS = 50
ROWS = 3
# Seconds and characters of an object's own words.
WORDS_SECONDS = 1.0
WORDS_LIMIT = 2_000


def line_of(value: object, show_values: bool, seconds: float) -> str:
    """What a listing says of what is no table in memory; `seconds` are for its own words."""
    found = lazy_of(value)
    if found is not None:
        return found.headline()
    words = own_words(value, seconds) if show_values else ""
    if words:
        return f"{kind(value)} = {' '.join(words[:WORDS_LIMIT].split())}"
    return _array(value, show_values) or summary(value, show_values)


def _array(value: object, show_values: bool) -> str:
    """Names of fields, dimensions and variables may be values."""
    said = array_summary(value)
    named = comes_from(type(value), "xarray") or "structured" in said
    return said if show_values or not named else kind(value)


@dataclass(frozen=True)
class Details:
    """Tells of one variable at length; no values where `show_values` is false. `frame` and `lazy`
    tell what of a table may be known."""

    show_values: bool
    frame: Callable[[object], Frame | None] = frame_of
    lazy: Callable[[object], Lazy | None] = lazy_of

    def of(self, name: str, value: Any) -> Iterator[str]:
        if (frame := self.frame(value)) is not None:
            yield from self._table(name, frame)
        elif (lazy := self.lazy(value)) is not None:
            yield from _lazy(name, lazy)
        elif is_function(value) or is_class(value):
            yield f"{name}: class" if is_class(value) else f"{signature(name, value)}: function"
        else:
            words = own_words(value, WORDS_SECONDS) if self.show_values else ""
            head = _array(value, self.show_values) or summary(value, self.show_values)
            yield f"{name}: {kind(value) if words else head}"
            if words:
                yield bounded(words, WORDS_LIMIT)
            yield from self._contents(value)

    def _contents(self, value: Any) -> Iterator[str]:
        if derives(value, str) and self.show_values:
            yield bounded(str.__str__(value), 4_000)
        elif derives(value, dict):
            yield from self._items(value)
        elif derives(value, list) or derives(value, tuple):
            base = list if derives(value, list) else tuple
            yield from self._elements(islice(base.__iter__(value), ITEMS), base.__len__(value))
        elif derives(value, set) or derives(value, frozenset):
            yield item_kinds(
                islice((set if derives(value, set) else frozenset).__iter__(value), ITEMS)
            )
        elif self.show_values and (figures := array_facts(value, CELL_LIMIT)):
            yield figures
        elif self.show_values:  # names of attributes may be values
            yield from self._attributes(value)

    # -- tables ----------------------------------------------------------------------------

    def _table(self, name: str, frame: Frame) -> Iterator[str]:
        try:
            duplicates = frame.duplicates() if frame.cheap else None
        except TABLE_ERRORS:
            duplicates = None
        repeated = f", {count(duplicates, 'duplicate row')}" if duplicates is not None else ""
        yield f"{name}: {frame.headline()}{repeated}"
        yield from self._columns(frame)
        if not frame.cheap:
            yield f"No figures: over {CELL_LIMIT:,} cells; compute them with code."
        if self.show_values:
            yield from _first_rows(frame)

    def _columns(self, frame: Frame) -> Iterator[str]:
        width = frame.shape[1]
        missing_in_all: int | None = 0
        for index in range(min(width, COLUMNS)):
            start = f"- {one_line(frame.name(index))}: {frame.dtype(index)}"
            missing: int | None = None
            if frame.cheap:
                try:
                    facts = frame.facts(index, self.show_values)
                    missing = facts.missing
                    yield ", ".join([start, *_facts(facts)])
                except TABLE_ERRORS as error:
                    missing = _missing(frame, index)
                    known = "" if missing is None else f"{missing:,} missing, its values "
                    yield f"{start}, {known}cannot be counted ({type(error).__name__})"
            else:
                missing = frame.stored_missing(index)
                yield start if missing is None else f"{start}, {missing:,} missing"
            if missing_in_all is not None:
                missing_in_all = None if missing is None else missing_in_all + missing
        if width > COLUMNS:
            yield f"… and {count(width - COLUMNS, 'more column')}"
        elif missing_in_all is not None:
            yield f"{count(missing_in_all, 'missing value')} in all."

    # -- what a builtin container or an object holds ------------------------------------------

    def _items(self, value: Any) -> Iterator[str]:
        if not self.show_values:
            yield item_kinds(dict.values(value))
            return
        for key, item in copy_of(value, ITEMS):
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
        for name, item in islice(stored_in(value).items(), ITEMS):
            if not name.startswith("_"):
                yield f"- .{cut(one_line(name), 100)}: {self._brief(item)}"

    def _brief(self, value: object) -> str:
        try:
            frame = self.frame(value)
            text = frame.headline() if frame else line_of(value, self.show_values, 0)
        except TABLE_ERRORS:
            return f"{kind(value)}, which cannot be read now"
        return text if len(text) <= 200 else text[:199] + "…"


def _missing(frame: Frame, index: int) -> int | None:
    try:
        return frame.missing(index)
    except TABLE_ERRORS:
        return None


def _lazy(variable: str, lazy: Lazy) -> Iterator[str]:
    yield f"{variable}: {lazy.headline()}"
    columns = lazy.columns or ()
    yield from (f"- {one_line(name)}: {dtype}" for name, dtype in columns[:COLUMNS])
    if len(columns) > COLUMNS:
        yield f"… and {count(len(columns) - COLUMNS, 'more column')}"
    yield "Nothing of it was computed by looking."


def _first_rows(frame: Frame) -> Iterator[str]:
    rows, width = frame.shape
    if frame.single:
        yield f"It begins {', '.join(cell(row[0]) for row in frame.rows(2 * ROWS))}"
    elif width <= ITEMS:
        shown = f"First {ROWS} of {rows:,} rows" if rows > ROWS else "All rows"
        yield f"{shown}, as {' | '.join(map(one_line, frame.names()))}:"
        for row in frame.rows(ROWS):
            yield " | ".join(map(cell, row))


def _facts(facts: Facts) -> list[str]:
    parts = [] if facts.missing is None else [f"{facts.missing:,} missing"]
    if facts.distinct is not None:
        parts.append(f"{facts.distinct:,} distinct")
    extremes = (("min", facts.low), ("max", facts.high), ("mean", facts.mean))
    parts += [f"{word} {text}" for word, text in extremes if text]
    if facts.top and facts.top[0][1] == 1:
        parts.append("such as " + ", ".join(text for text, _ in facts.top[:3]))
    elif facts.top and parts:
        parts[-1] += ": " + ", ".join(f"{text} ({times:,})" for text, times in facts.top)
    return parts
