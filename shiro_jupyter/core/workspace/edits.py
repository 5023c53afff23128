"""Edits of a text, from text to text: exact, but that any line end stands for any other."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from ..errors import EditRefused
from .nearest import nearest
from .placeholders import placeholder

NAMED, COUNTED = 20, 1_000  # places of a text that a refusal names, and counts

_BREAKS = ("\n", "\r\n", "\r")
_BREAK = re.compile(r"\r\n|\n|\r")
_PART = re.compile(r"\r\n|.", re.DOTALL)


@dataclass(frozen=True)
class Edit:
    """Put `new` where `old` stands: once, or `everywhere`."""

    old: str
    new: str
    everywhere: bool = False


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text after the edits, each made on what the one before left.

    Raises `EditRefused` for the first that cannot be made, naming it where there are several.
    """
    for number, edit in enumerate(edits, start=1):
        try:
            text = _edited(text, edit)
        except EditRefused as error:
            if len(edits) == 1:
                raise
            raise EditRefused(
                f"edit {number} of {len(edits)} cannot be made, so none was: {error}", error.excerpt
            ) from None
    return text


def with_breaks_of(old: str, new: str) -> str:
    """`new` with CRLF or CR for each line end, where `old` has no other and `new` has only LF."""
    kinds = set(_BREAK.findall(old))
    if len(kinds) != 1 or set(_BREAK.findall(new)) != {"\n"}:
        return new
    return new.replace("\n", kinds.pop())


def lines_of(text: str) -> list[str]:
    """The lines as they are numbered for a reader, without their ends."""
    lines = _BREAK.split(text)
    return lines[:-1] if not lines[-1] else lines


def _edited(text: str, edit: Edit) -> str:
    if not edit.old:
        raise EditRefused("old_text is empty; give the text to be replaced.")
    if found := placeholder(edit.new, edit.old):
        raise EditRefused(
            f"new_text holds the placeholder {found!r}, which would be stored as it stands; write "
            "out what belongs there."
        )
    plain, old = _plain(text), _plain(edit.old)
    places = _starts(plain, old, len(old) if edit.everywhere else 1)
    starts = list(places if edit.everywhere else islice(places, COUNTED + 1))
    if not starts:
        raise EditRefused(
            "old_text was found 0 times; give it exactly as the file has it, blanks included.",
            nearest(plain.split("\n"), old.split("\n")),
        )
    if len(starts) > 1 and not edit.everywhere:
        raise EditRefused(
            f"old_text was found {_counted(starts)} times, {_in_lines(plain, starts)}; give more "
            "of the text around it, so that it is found once, or set replace_all."
        )
    changed = _replaced(text, plain, starts, len(old), edit.new)
    if changed == text:
        raise EditRefused("new_text is the same as old_text; nothing would change.")
    return changed


def _replaced(text: str, plain: str, starts: list[int], length: int, new: str) -> str:
    breaks = [match.start() for match in _BREAK.finditer(text)]
    # Where in `plain` one line feed stands for two characters of the text.
    joined, parts, done = list[int](), list[str](), 0
    for at in breaks:
        if text.startswith("\r\n", at):
            joined.append(at - len(joined))
    several = bool(_BREAK.search(new))
    for at in starts:
        start, end = (each + bisect_left(joined, each) for each in (at, at + length))
        ending = _ending(text, breaks, start)
        parts += [text[done:start], _fitted(text[start:end], new, ending) if several else new]
        done = end
    return "".join([*parts, text[done:]])


def _ending(text: str, breaks: list[int], start: int) -> str:
    """The first line end of a span, else the next one, else the last of all."""
    if not breaks:
        return "\n"
    at = breaks[min(bisect_left(breaks, start), len(breaks) - 1)]
    return "\r\n" if text.startswith("\r\n", at) else text[at]


def _fitted(span: str, new: str, ending: str) -> str:
    """What takes the place of a span: `new` with line ends as they are there. What both begin
    and end with stays as it is, so that in a mixed file a line that is only named keeps its end.
    """
    was, parts = _PART.findall(span), _PART.findall(new)
    head = _alike(was, parts)
    tail = min(_alike(was[::-1], parts[::-1]), min(len(was), len(parts)) - head)
    middle = [
        ending if each in ("\n", "\r\n") else each for each in parts[head : len(parts) - tail]
    ]
    return "".join([*was[:head], *middle, *was[len(was) - tail :]])


def _alike(one: list[str], other: list[str]) -> int:
    """How many parts are equal from the start, any line end being like any other."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda p: p[0] == p[1] or {*p} <= {*_BREAKS}, pairs))


def _plain(text: str) -> str:
    return _BREAK.sub("\n", text) if "\r" in text else text


def _starts(plain: str, old: str, step: int) -> Iterator[int]:
    at = plain.find(old)
    while at >= 0:
        yield at
        at = plain.find(old, at + step)


def _counted(starts: list[int]) -> str:
    return f"{len(starts):,}" if len(starts) <= COUNTED else f"more than {COUNTED:,}"


def _in_lines(plain: str, starts: list[int]) -> str:
    """`in lines 4, 9 and 12`"""
    numbers, at, number = list[str](), 0, 1
    for start in starts[:NAMED]:
        number += plain.count("\n", at, start)
        at = start
        numbers.append(str(number))
    named = list(dict.fromkeys(numbers))
    lines = "in lines" if len(named) > 1 else "in line"
    if len(starts) > NAMED:
        return f"{lines} {', '.join(named)} and further on"
    return f"{lines} {' and '.join(filter(None, [', '.join(named[:-1]), named[-1]]))}"
