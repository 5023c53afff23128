"""What code did to the person's variables, in a line: sizes before and after, what is new or gone.

Sizes are those that libraries store: nothing is computed, and nothing of the person's own is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..views.wording import listed
from .describe import class_name, count, library
from .frames import TABLE_ERRORS, frame_of
from .sizes import is_container

COLUMNS = 2_000  # of a table, whose names and types are compared
NAMED = 3  # columns
RESET = frozenset({"In", "Out", "exit", "get_ipython", "quit"})
LONG = 40  # characters of a name
NAMES = 8  # of each kind of change
DETAILED = 4  # names whose change is told in full

Kind = Literal["new", "gone", "bound", "filled"]


@dataclass(frozen=True)
class Size:
    """How large a variable is, as far as that is stored. `columns` are a table's, with their types,
    where they are not too many."""

    kind: str = ""  # its class
    rows: int | None = None  # or items
    width: int | None = None  # how many columns a table has
    columns: dict[str, str] | None = None
    shape: tuple[int, ...] | None = None  # of an array

    def __str__(self) -> str:
        """`12 × 3`, `5 rows`, `3 items`; empty where there is none."""
        if self.shape is not None:
            return " × ".join(f"{each:,}" for each in self.shape)
        if self.rows is None:
            return ""
        return f"{self.rows:,} × {self.width:,}" if self.width is not None else self.long

    @property
    def long(self) -> str:
        """`5 rows`, `3 items`."""
        table = self.width is not None or self.kind.endswith("Series")
        return count(self.rows or 0, "row" if table else "item")


@dataclass(frozen=True)
class Change:
    """Of one name, from before the turn to now; `filled`: its object was changed in place."""

    name: str
    kind: Kind
    before: Size = Size()
    after: Size = Size()


def size_now(value: Any) -> Size:
    """Also of what is being changed just now: then it is of no known size."""
    try:
        return _size(value)
    except TABLE_ERRORS:
        return Size(class_name(type(value)))


def _size(value: Any) -> Size:
    cls = type(value)
    frame = frame_of(value)
    if frame is not None:
        rows, width = frame.shape
        if frame.single:
            return Size(frame.kind, rows)
        columns = None
        if width <= COLUMNS:
            columns = {name: frame.dtype(at) for at, name in enumerate(frame.names())}
        return Size(frame.kind, rows, width, columns)
    if library("numpy").get("ndarray") is cls:
        return Size("ndarray", shape=value.shape)
    if is_container(value):
        return Size(cls.__name__, len(value))
    return Size(class_name(cls))


def told(changes: Iterable[Change]) -> str:
    """`df 10,000 → 9,812 rows, +price_eur · new: total, by_month (12 × 3) · deleted: tmp`; empty
    where there is nothing to tell. Scratch names, which begin with `_`, modules, and what IPython
    binds anew by `%reset` are left out.
    """
    found = sorted(
        (each for each in changes if not each.name.startswith("_") and each.name not in RESET),
        key=lambda each: each.name,
    )
    parts: list[str] = []
    plain: list[Change] = []
    for each in found:
        if each.kind in ("bound", "filled"):
            said = _difference(each)
            if said and len(parts) < DETAILED:
                parts.append(f"{_plain(each.name)} {said}")
            else:
                plain.append(each)
    new = [_new(each) for each in found if each.kind == "new" and each.after.kind != "module"]
    groups = (
        ("new", new),
        ("changed", [_plain(each.name) for each in plain if each.kind == "filled"]),
        ("rebound", [_plain(each.name) for each in plain if each.kind == "bound"]),
        ("deleted", [_plain(each.name) for each in found if each.kind == "gone"]),
    )
    parts += [f"{label}: {listed(names, NAMES)}" for label, names in groups if names]
    return " · ".join(parts)


def _new(change: Change) -> str:
    size = str(change.after)
    name = _plain(change.name)
    return f"{name} ({size})" if size else name


def _plain(name: str) -> str:
    """In quotes where it would break the line or pass for more of it; a long one is cut."""
    short = name if len(name) <= LONG else f"{name[: LONG - 1]}…"
    return short if short.isprintable() and not set(short) & set("·,:→") else repr(short)


def _difference(change: Change) -> str:
    """In what the two differ, as far as that is known."""
    before, after = change.before, change.after
    if before.kind != after.kind:
        size = f" ({after})" if str(after) else ""
        return f"{before.kind} → {after.kind}{size}"
    if before.shape != after.shape:
        return f"{before} → {after}"
    parts: list[str] = []
    if before.rows is not None and before.rows != after.rows:
        parts.append(f"{before.rows:,} → {after.long}")
    return ", ".join([*parts, *_columns(before, after)])


def _columns(before: Size, after: Size) -> list[str]:
    old, new = before.columns, after.columns
    if old is None or new is None:
        if before.width != after.width and before.width is not None and after.width is not None:
            return [f"{before.width:,} → {after.width:,} columns"]
        return []
    other = [name for name in new if name in old and old[name] != new[name]]
    return [
        *_some([f"+{_plain(name)}" for name in new if name not in old], "+{:,} columns"),
        *_some([f"-{_plain(name)}" for name in old if name not in new], "-{:,} columns"),
        *_some(
            [f"{_plain(name)} now {new[name]}" for name in other], "{:,} columns of another type"
        ),
    ]


def _some(said: Sequence[str], many: str) -> Sequence[str]:
    return said if len(said) <= NAMED else [many.format(len(said))]
