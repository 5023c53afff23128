"""Edits of a text, from text to text: exact, but that any line end stands for any other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from ..errors import EditRefused
from .nearest import nearest
from .placeholders import placeholder

NAMED, COUNTED = 20, 1_000  # places of a text that a refusal names, and counts

_BREAK = re.compile(r"\r\n|\n|\r")


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
    lines = _Lines.of(text)
    for number, edit in enumerate(edits, start=1):
        try:
            lines.make(edit)
        except EditRefused as error:
            if len(edits) == 1:
                raise
            raise EditRefused(
                f"edit {number} of {len(edits)} cannot be made, so none was: {error}", error.excerpt
            ) from None
    return lines.text()


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


@dataclass
class _Lines:
    """A text with a line feed for each line end, and the line ends themselves in their order; all
    are `only`, unless that is empty."""

    plain: str
    ends: list[str]
    only: str

    @classmethod
    def of(cls, text: str) -> _Lines:
        if "\r" not in text:
            return cls(text, [], "\n")
        pairs = text.count("\r\n")
        if pairs == text.count("\r"):
            only = "\r\n" if pairs == text.count("\n") else ""
        else:
            only = "" if "\n" in text else "\r"
        return cls(_plain(text), [] if only else _BREAK.findall(text), only)

    def text(self) -> str:
        if self.only:
            return self.plain if self.only == "\n" else self.plain.replace("\n", self.only)
        parts = self.plain.split("\n")
        return "".join([part + end for part, end in zip(parts, [*self.ends, ""], strict=True)])

    def make(self, edit: Edit) -> None:
        """Raises `EditRefused`."""
        if not edit.old:
            raise EditRefused("old_text is empty; give the text to be replaced.")
        if found := placeholder(edit.new, edit.old):
            raise EditRefused(
                f"new_text holds the placeholder {found!r}, which would be stored as it stands; "
                "write out what belongs there."
            )
        old = _plain(edit.old)
        at = self._found(old, edit)
        if self.only and {*_BREAK.findall(edit.new)} <= {"\n", "\r\n"}:
            new, before = _plain(edit.new), self.plain
            if edit.everywhere:
                self.plain = before.replace(old, new)
            else:
                self.plain = f"{before[:at]}{new}{before[at + len(old) :]}"
            changed = old != new
        else:
            changed = self._make(old, edit.new)
        if not changed:
            raise EditRefused("new_text is the same as old_text; nothing would change.")

    def _found(self, old: str, edit: Edit) -> int:
        """Where it is found first, as often as it may be."""
        places = _starts(self.plain, old)
        starts = list(islice(places, 1 if edit.everywhere else COUNTED + 1))
        if not starts:
            raise EditRefused(
                "old_text was found 0 times; give it exactly as the file has it, blanks included.",
                nearest(self.plain.split("\n"), old.split("\n")),
            )
        if len(starts) > 1:
            raise EditRefused(
                f"old_text was found {_counted(starts)} times, {_in_lines(self.plain, starts)}; "
                "give more of the text around it, so that it is found once, or set replace_all."
            )
        return starts[0]

    def _make(self, old: str, new: str) -> bool:
        """Whether it changes anything. What both texts begin and end with stays as it is, so that
        in a mixed file a line that is only named keeps its end; between, line ends are as they are
        there."""
        plain, given = _plain(new), _BREAK.findall(new)
        head = _alike(old, plain)
        tail = min(_alike(old[::-1], plain[::-1]), min(len(old), len(plain)) - head)
        first, last = plain.count("\n", 0, head), plain.count("\n", len(plain) - tail)
        count, middle = old.count("\n"), given[first : len(given) - last]
        if self.only:
            self.ends, self.only = [self.only] * self.plain.count("\n"), ""
        parts, ends = self.plain.split(old), list[str]()
        at = 0
        for part in parts[:-1]:
            upto = at + part.count("\n")
            ending = self.ends[min(upto, len(self.ends) - 1)] if self.ends else "\n"
            ends += self.ends[at : upto + first]
            ends += [ending if each in ("\n", "\r\n") else each for each in middle]
            ends += self.ends[upto + count - last : upto + count]
            at = upto + count
        ends += self.ends[at:]
        changed = (plain, self.ends) != (old, ends)
        self.plain, self.ends = plain.join(parts), ends
        return changed


def _alike(one: str, other: str) -> int:
    """How many characters are equal from the start."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _starts(plain: str, old: str) -> Iterator[int]:
    at = plain.find(old)
    while at >= 0:
        yield at
        at = plain.find(old, at + 1)


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
