"""Where in a notebook's text its cells and their members stand; linear in its length."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

_BLANK = re.compile(r"[ \t\n\r]*")
_value = json.JSONDecoder().raw_decode
# The value that begins at a place, and where it ends, by the name of its member.
Read = Callable[[str, int], tuple[Any, int]]


class Member(NamedTuple):
    """Of an object: its key is `text[key:key_end]`, its value `text[start:end]`."""

    key: int
    key_end: int
    start: int
    end: int
    value: Any


@dataclass(frozen=True)
class Object:
    """`text[start:end]`, from brace to brace. Of a key that stands there twice the last counts, as
    it does for every reader of JSON; members come in the order in which they stand."""

    start: int
    end: int
    members: dict[str, Member]

    def get(self, key: str) -> Any:
        """None where it is missing."""
        return self.members[key].value if key in self.members else None

    def values(self) -> dict[str, Any]:
        return {key: member.value for key, member in self.members.items()}


def scan(text: str) -> Any:
    """The value of a JSON text. An object comes as an `Object`, whose `cells`, where they are a
    list, are a tuple, with an `Object` for each that is one.

    Raises `ValueError` for what is no JSON, and `RecursionError` for what nests too deep.
    """
    start = blank(text, 0)
    if text[start : start + 1] == "{":
        value, end = _object(text, start, lambda name, at: _of_root(text, name, at))
    else:
        value, end = _value(text, start)
    if (end := blank(text, end)) < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def object_at(text: str, start: int) -> Object:
    """The one that begins there, in a text that has been scanned."""
    return _object(text, start, lambda _, at: _value(text, at))[0]


def blank(text: str, at: int) -> int:
    """The end of the white space that begins there."""
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _of_root(text: str, name: str, at: int) -> tuple[Any, int]:
    return _cells(text, at) if name == "cells" and text[at] == "[" else _value(text, at)


def _cells(text: str, start: int) -> tuple[tuple[Any, ...], int]:
    cells: list[Any] = []
    at, more = _first(text, start, "]")
    while more:
        if text[at : at + 1] == "{":
            cell, end = _object(text, at, lambda _, at: _value(text, at))
        else:
            cell, end = _value(text, at)
        cells.append(cell)
        at, more = _next(text, end, "]")
    return tuple(cells), at


def _object(text: str, start: int, read: Read) -> tuple[Object, int]:
    members: dict[str, Member] = {}
    at, more = _first(text, start, "}")
    while more:
        if text[at : at + 1] != '"':
            raise json.JSONDecodeError("Expecting property name in double quotes", text, at)
        name, key_end = _value(text, at)
        colon = blank(text, key_end)
        if text[colon : colon + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", text, colon)
        begin = blank(text, colon + 1)
        if begin == len(text):
            raise json.JSONDecodeError("Expecting value", text, begin)
        value, end = read(name, begin)
        members.pop(name, None)
        members[name] = Member(at, key_end, begin, end, value)
        at, more = _next(text, end, "}")
    return Object(start, at, members), at


def _first(text: str, start: int, close: str) -> tuple[int, bool]:
    """Where the first item begins, or what has none ends; and whether there is one."""
    at = blank(text, start + 1)
    return (at + 1, False) if text[at : at + 1] == close else (at, True)


def _next(text: str, end: int, close: str) -> tuple[int, bool]:
    """The same of the item after the one that ends there."""
    at = blank(text, end)
    if text[at : at + 1] == close:
        return at + 1, False
    if text[at : at + 1] != ",":
        raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    return blank(text, at + 1), True
