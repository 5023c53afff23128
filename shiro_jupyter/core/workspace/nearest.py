"""Where a text has nearly the lines that were looked for, and in what they differ."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from heapq import nlargest

SHOWN, LINE_SHOWN = 24, 200  # lines, and characters of each
LOOKED = 400_000  # lines looked at
COMPARED, LONG = 2_000, 500  # lines that are compared character by character, and of what length
PIECES = 8  # of a line, by which those are chosen
PLACES = 20  # that a line may stand at to be of help

LEGEND = "The nearest lines, `-` as the file has them, `+` as they were given:"

# What writers put for one another.
_ALIKE = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--")
_UNSEEN = re.compile(r"[\s\u00a0\u200b-\u200f\ufeff]+")


def nearest(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """The lines likest to those wanted, `-` before what the text has and `+` before what was
    looked for instead; empty where nothing is like them. Blanks are shown where they matter.
    """
    total, lines, wanted = len(lines), lines[:LOOKED], wanted[:SHOWN]
    folded, sought = [*map(_fold, lines)], [*map(_fold, wanted)]
    starts = _starts(folded, sought)
    far = f"(Only the first {LOOKED:,} of {total:,} lines were searched for like ones.)"
    far = far if total > LOOKED else ""
    if not starts:
        return far
    start = max(starts, key=lambda at: _likeness(folded[at : at + len(sought)], sought))
    return "\n".join(
        [
            LEGEND,
            *_compared(lines[start : start + len(wanted)], wanted, start + 1),
            *([far] if far else []),
        ]
    )


def _fold(line: str) -> str:
    if line.isascii():
        return "".join(line.split()).lower()
    return _UNSEEN.sub("", line.translate(_ALIKE)).casefold()


def _starts(folded: Sequence[str], sought: Sequence[str]) -> list[int]:
    """Where the window may begin: by lines that are equal but for blanks, else by one that holds
    one sought, else by the likest."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(folded):
        places[line].append(at)
    by_length = sorted(range(len(sought)), key=lambda n: -len(sought[n]))
    longest = sought[by_length[0]]
    found = [(n, places[sought[n]]) for n in by_length if sought[n] in places and sought[n]]
    found = [(n, at) for n, at in found if len(at) <= PLACES]
    if not found and longest:
        holding = [at for at, line in enumerate(folded) if longest in line][:PLACES]
        likest = holding or [
            at for line in get_close_matches(longest, _comparable(places, longest), 3)
            for at in places[line][:PLACES]
        ]  # fmt: skip
        found = [(by_length[0], likest)]
    return [max(at - n, 0) for n, ats in found for at in ats]


def _comparable(lines: Iterable[str], wanted: str) -> list[str]:
    """Those of about its length that hold most pieces of it, wherever they stand: what is compared
    character by character takes its time."""
    about = (each for each in lines if len(wanted) < 2 * len(each) < 4 * len(wanted) < 4 * LONG)
    size = max(3, len(wanted) // PIECES)
    pieces = {wanted[at : at + size] for at in range(0, max(len(wanted) - size, 0) + 1, size)}
    return nlargest(COMPARED, about, lambda line: sum(each in line for each in pieces))


def _likeness(window: Sequence[str], sought: Sequence[str]) -> int:
    return sum(1 for here, there in zip(window, sought, strict=False) if here == there)


def _compared(window: Sequence[str], wanted: Sequence[str], first: int) -> Iterator[str]:
    blanks = {_fold(each) for each in window} & {_fold(each) for each in wanted}
    matcher = SequenceMatcher(None, window, wanted, autojunk=False)
    for kind, start, end, other, other_end in matcher.get_opcodes():
        for at in range(start, end):
            line = window[at]
            sign = " " if kind == "equal" else "-"
            yield f"{sign}{first + at}: {_shown(line, sign == '-' and _fold(line) in blanks)}"
        if kind != "equal":
            for line in wanted[other:other_end]:
                yield f"+{' ' * len(str(first))}  {_shown(line, _fold(line) in blanks)}"


def _shown(line: str, spelled: bool) -> str:
    """`spelled` as Python writes a string, where the difference cannot be seen."""
    text = repr(line) if spelled else line
    return text if len(text) <= LINE_SHOWN else f"{text[:LINE_SHOWN]}…"
