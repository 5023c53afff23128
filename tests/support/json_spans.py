"""Where in a JSON text each value stands, by another way than the product's: token by token."""

from __future__ import annotations

import json
import re

Path = tuple[str | int, ...]
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


def spans(text: str, depth: int = 3) -> dict[Path, tuple[int, int]]:
    """Start and end of each value by its path, of at most so many parts."""
    found: dict[Path, tuple[int, int]] = {}
    path: list[str | int] = []
    starts: list[int] = []
    key = False

    def end(at: int, to: int) -> None:
        if len(path) <= depth:
            found[tuple(path)] = (at, to)

    def begin(name: str) -> None:
        path[-1] = name
        if (here := tuple(path)) in found:  # the same key again
            for known in [each for each in found if each[: len(here)] == here]:
                del found[known]

    for token in _TOKEN.finditer(text):
        mark, at, to = token[0], token.start(), token.end()
        if mark in "{[":
            starts.append(at)
            path.append("" if mark == "{" else 0)
            key = mark == "{"
        elif mark in "}]":
            path.pop()
            end(starts.pop(), to)
        elif mark == ",":
            key = isinstance(path[-1], str)
            if not key:
                path[-1] = int(path[-1]) + 1
        elif mark == ":":
            key = False
        elif key:
            begin(json.loads(mark))
        else:
            end(at, to)
    return found
