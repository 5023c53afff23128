"""What differs between two texts, line by line, in time that is bounded."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice, takewhile
from operator import eq

CONTEXT = 3
ROOM, LINES = 29_000, 20  # characters, and new lines, that are kept of a difference
COMPARED = 250_000  # pairs of lines compared in one gap; a larger one counts as replaced
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")

# Lines start to end of the old text became lines start to end of the new one.
Block = tuple[int, int, int, int]


@dataclass(frozen=True)
class Diff:
    """`text` is a unified diff without its head, cut at whole lines, so that `left` lines added or
    removed are not in it; `lines` are the first of those that are new, numbered."""

    text: str
    added: int
    removed: int
    left: int
    lines: tuple[tuple[int, str], ...]

    @property
    def sizes(self) -> str:
        return f"{_lines(self.added)} added, {_lines(self.removed)} removed"

    @property
    def counted(self) -> str:
        """With what is not in the text, to stand before it."""
        if not self.left:
            return self.sizes
        return f"{self.sizes}; {self.left:,} of these {'is' if self.left == 1 else 'are'} NOT shown"


def diff(before: str, after: str) -> Diff:
    old, new = _LINE.findall(before), _LINE.findall(after)
    blocks = list(_blocks(old, new, 0, 0))
    ends = len(_ends(before) | _ends(after)) > 1
    added = sum(end - start for _, _, start, end in blocks)
    removed = sum(end - start for start, end, _, _ in blocks)
    room, shown, changed = ROOM, list[str](), 0
    for line in (line for group in _grouped(blocks) for line in _hunk(group, old, new, ends)):
        if len(line) > room:
            if not shown or not changed:
                shown.append(f"{line[:room]} [… {len(line) - room:,} characters not shown]")
            break
        room -= len(line) + 1
        shown.append(line)
        changed += line[0] in "+-"
    fresh = ((n + 1, _bare(new[n])) for _, _, start, end in blocks for n in range(start, end))
    left = added + removed - changed
    return Diff("\n".join(shown), added, removed, left, tuple(islice(fresh, LINES)))


def _ends(text: str) -> set[str]:
    """The kinds of its line ends."""
    pairs = text.count("\r\n")
    kinds = (("\r\n", pairs), ("\n", text.count("\n") - pairs), ("\r", text.count("\r") - pairs))
    return {kind for kind, count in kinds if count}


def _blocks(old: Sequence[str], new: Sequence[str], at: int, to: int) -> Iterator[Block]:
    """The differences, given where these lines begin in their texts: between lines that are in
    each but once, which are found at once, by comparing each with each."""
    head = _alike(old, new)
    tail = min(_alike(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    at, to = at + head, to + head
    if not old or not new:
        if old or new:
            yield at, at + len(old), to, to + len(new)
    elif len(old) * len(new) <= COMPARED:
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        for kind, start, end, other, other_end in matcher.get_opcodes():
            if kind != "equal":
                yield at + start, at + end, to + other, to + other_end
    else:
        done, to_done, anchors = 0, 0, _anchors(old, new)
        if not anchors:
            yield from _in_place(old, new, at, to)
            return
        for here, there in (*anchors, (len(old), len(new))):
            if done < here or to_done < there:
                gap = old[done:here], new[to_done:there]
                yield from _blocks(*gap, at + done, to + to_done)
            done, to_done = here + 1, there + 1


def _in_place(old: Sequence[str], new: Sequence[str], at: int, to: int) -> Iterator[Block]:
    """Line for line where there are as many, else as one."""
    if len(old) != len(new):
        yield at, at + len(old), to, to + len(new)
        return
    start = None
    for n, same in enumerate([*map(eq, old, new), True]):
        if same and start is not None:
            yield at + start, at + n, to + start, to + n
            start = None
        elif not same and start is None:
            start = n


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Lines that each text has but once, as many as stand in the same order in both."""
    count, count_new = Counter(old), Counter(new)
    places = {line: at for at, line in enumerate(new)}
    pairs = [
        (at, places[line])
        for at, line in enumerate(old)
        if count[line] == 1 and count_new.get(line) == 1
    ]
    # The longest run of rising places: of each length, the one that ends lowest.
    ends: list[int] = []
    best: list[int] = []
    before: list[int] = []
    for n, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place) if ends and ends[-1] >= place else len(ends)
        ends[length : length + 1] = [place]
        before.append(best[length - 1] if length else -1)
        best[length : length + 1] = [n]
    run, n = [], best[-1] if best else -1
    while n >= 0:
        run.append(pairs[n])
        n = before[n]
    return run[::-1]


def _grouped(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Blocks whose contexts touch, together."""
    group: list[Block] = []
    for block in blocks:
        if group and block[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _hunk(
    group: Sequence[Block], old: Sequence[str], new: Sequence[str], ends: bool
) -> Iterator[str]:
    start, to = max(group[0][0] - CONTEXT, 0), max(group[0][2] - CONTEXT, 0)
    end, to_end = min(group[-1][1] + CONTEXT, len(old)), min(group[-1][3] + CONTEXT, len(new))
    yield f"@@ -{_range(start, end)} +{_range(to, to_end)} @@"
    at = start
    for first, last, other, other_last in group:
        yield from (_shown(" ", line, ends) for line in old[at:first])
        yield from (_shown("-", line, ends) for line in old[first:last])
        yield from (_shown("+", line, ends) for line in new[other:other_last])
        at = last
    yield from (_shown(" ", line, ends) for line in old[at:end])


def _range(start: int, end: int) -> str:
    """As `diff` counts: an empty range is named by the line before it."""
    return f"{start + (end > start)}" + ("" if end - start == 1 else f",{end - start}")


def _shown(sign: str, line: str, ends: bool) -> str:
    """Line ends are shown where there are several kinds, and where there is none."""
    bare = _bare(line)
    end = line[len(bare) :]
    if not end:
        return f"{sign}{bare}\n\\ No newline at the end"
    return sign + bare + ("␍" * ("\r" in end) + "␊" * ("\n" in end) if ends else "")


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _lines(number: int) -> str:
    return f"{number:,} line{'' if number == 1 else 's'}"
