"""A part of a variable, as far as it is there without running anything."""

from __future__ import annotations

import ast
import re
import types
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..core.errors import ToolFailed
from .describe import count, cut, derives, kind, mro_of, no_such
from .frames import frame_of, lazy_column, lazy_of

_RAW = re.compile(r"\b[rR][\"']")
_ESCAPE = re.compile(r"\\([\n\\'\"abfnrtvxNuU0-7]?)")


@dataclass(frozen=True)
class Named:
    """The name of a part of a variable, as far as it is known how to get there."""

    root: str
    steps: tuple[str | int, ...] = ()


def copy_of(mapping: dict[Any, object], first: int | None = None) -> list[tuple[Any, object]]:
    """The items, or the first of them, as they are now; another thread may be adding to them."""
    for _ in range(20):
        try:
            return list(islice(dict.items(mapping), first))
        except RuntimeError:  # changed size meanwhile
            continue
    return []


def parsed(expression: str) -> Named:
    """`df`, `config.a`, `df["x"]`, `rows[0]` and their chains; nothing that would run."""
    wrong = ToolFailed(
        f"{expression[:200]!r} is no variable: give a name, an attribute such as config.path or an "
        'item such as df["price"] or rows[0]; for anything else run code.'
    )
    steps: list[str | int] = []
    try:
        node: ast.expr = ast.parse(_with_known_escapes(expression.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise wrong from None
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.append(f".{node.attr}")
        elif isinstance(node, ast.Subscript):
            try:
                key = ast.literal_eval(node.slice)
            except (ValueError, TypeError, RecursionError, MemoryError):
                raise wrong from None
            if type(key) is not str and type(key) is not int:
                raise wrong
            steps.append(f"[{key}" if isinstance(key, str) else key)
        else:
            raise wrong
        node = node.value
    return Named(node.id, tuple(reversed(steps)))


def _with_known_escapes(expression: str) -> str:
    """The same expression; Python would warn, in the person's cell, of a backslash by itself."""
    if _RAW.search(expression):
        return expression
    return _ESCAPE.sub(lambda found: found[0] if found[1] else "\\\\", expression)


def part_of(value: Any, step: str | int, shown: str) -> Any:
    """One step inward. A text step keeps its first character: `.attribute` or `[key`. `shown` is
    what an error calls the whole."""
    frame = frame_of(value)
    key: str | int = step if isinstance(step, int) else step[1:]
    if frame is not None and isinstance(key, str):
        names = frame.names()
        if key not in names:
            raise ToolFailed(no_such(key, names, "column"))
        return frame.select(names.index(key))
    if (lazy := lazy_of(value)) is not None and lazy.columns is not None:
        column = lazy_column(lazy, str(key))
        if column is None:
            raise ToolFailed(no_such(str(key), [name for name, _ in lazy.columns], "column"))
        return column
    if isinstance(step, str) and step.startswith("."):
        stored = stored_in(value)
        if key in stored:
            return stored[str(key)]
        raise ToolFailed(
            f"{shown}: {kind(value)} stores no {cut(str(key), 100)!r}; if it computes it, run code."
        )
    if derives(value, dict):
        # Not by its hash, which a key of the person's class may have, too, and be compared.
        for each, item in dict.items(value):
            if type(each) is type(key) and each == key:
                return item
        raise ToolFailed(f"{shown}: there is no key {cut(str(key), 100)!r}.")
    for base in (list, tuple):
        if derives(value, base) and isinstance(key, int):
            length = base.__len__(value)
            if -length <= key < length:
                return base.__getitem__(value, key)
            raise ToolFailed(f"{shown}: there are only {count(length, 'item')}.")
    raise ToolFailed(f"{shown}: an item of {kind(value)} has to be computed; run code.")


def stored_in(value: object) -> dict[str, object]:
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
        found |= {name: item for name, item in copy_of(own[0]) if type(name) is str}
    return found
