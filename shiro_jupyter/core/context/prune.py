"""What of a long conversation still goes out. The conversation itself is never shortened.

A cut is made rarely and deep, since what a provider has cached ends at the first byte that
differs; between two cuts every request extends the one before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..transcript import Call, Cut, Item, Note, Reasoning, Result
from .render import result_text
from .repair import without_reasoning
from .summary import is_summary, newest, standing
from .tokens import Measure

WHOLE = Cut()
GAIN = 0.2  # of the room: what a cut leaves free at least
KEPT_STEPS, LEAST_STEPS = 4, 1  # the newest, whose results stay; where nothing else helps
STUB = "[{size:,} characters, no longer shown; call {name} again if you need them]"


def shown(items: Sequence[Item], cut: Cut) -> tuple[Item, ...]:
    """The items that go out. What is appended later only extends them, until a summary comes."""
    at = newest(items)
    turns = min(cut.turns, len(items))  # of a file that lost some, or of a fork, there are fewer
    begin = max(at + 1, turns)
    head = list(standing(items, at))
    if turns > at + 1:
        head.append(_gone(items[at + 1], items[turns - 1]))
    names: dict[str, str] = {}
    rest: list[Item] = []
    for place, item in enumerate(items[begin:], start=begin):
        if isinstance(item, Call):
            names[item.call_id] = item.name
        elif isinstance(item, Result) and place < cut.results:
            item = _stub(item, names)
        rest.append(item)
    old = {id(item) for item in items[begin : cut.reasoning] if isinstance(item, Reasoning)}
    kept = without_reasoning(rest, lambda item: id(item) in old) if old else rest
    return (*head, *kept)


def enough(room: int) -> int:
    """Tokens that a cut is to come to, for a room of so many."""
    return int(room * (1 - GAIN))


class Pruner:
    """Finds the cut of a growing conversation. Each item is measured once, and no cut is tried
    twice: what comes later adds the same to all of them."""

    def __init__(self, cut: Cut = WHOLE, measure: Measure | None = None) -> None:
        self.cut = self._tried = cut
        self._measure = measure or Measure()
        # Of the items before each position: all whole, all with stubs for results, reasoning.
        self._whole, self._stubs, self._thought = [0], [0], [0]
        self._steps: list[int] = []  # where each begins
        self._turns: list[int] = []
        self._names: dict[str, str] = {}
        self._begin = 0  # behind the newest summary
        self._head = 0  # tokens of what stands for all before that

    def size(self, items: Sequence[Item]) -> int:
        """Tokens of what is shown of the items, by estimate."""
        self._take_in(items)
        return self._size(items, self.cut)

    def prune(self, items: Sequence[Item], room: int) -> bool:
        """Move the cut on where the items are larger than `room` tokens; whether less is shown.

        Results go first, the oldest first, those of the newest steps last of all; then the
        reasoning of earlier turns, then earlier turns whole. What still does not fit then stays.
        """
        size = least = self.size(items)
        if size <= room:
            return False
        for moved in self._moves(len(items)):
            self._tried = moved
            if (now := self._size(items, moved)) < least:
                self.cut, least = moved, now
            if least <= enough(room):
                break
        return least < size  # what moved without a gain would only cost what is cached

    def _moves(self, end: int) -> Iterator[Cut]:
        """Ever deeper cuts, each a step or a turn further than those that were tried."""
        steps = [*self._steps, end]
        now = self._turns[-1] if self._turns else 0  # where the turn at hand begins
        yield from self._further("results", steps[: -KEPT_STEPS or None])
        if now > self._tried.reasoning:
            yield replace(self._tried, reasoning=now)
        yield from self._further("turns", self._turns)
        yield from self._further("results", steps[: -LEAST_STEPS or None])

    def _further(self, what: str, places: Sequence[int]) -> Iterator[Cut]:
        for place in places[bisect_right(places, getattr(self._tried, what)) :]:
            yield replace(self._tried, **{what: place})

    def _size(self, items: Sequence[Item], cut: Cut) -> int:
        end = len(self._whole) - 1
        begin = min(max(self._begin, cut.turns), end)
        results, reasoning = (min(max(begin, at), end) for at in (cut.results, cut.reasoning))
        total = self._head + self._stubs[results] - self._stubs[begin]
        total += self._whole[end] - self._whole[results]
        total -= self._thought[reasoning] - self._thought[begin]
        if begin > self._begin:
            gone = _gone(items[self._begin], items[begin - 1])
            total += self._measure.item(gone)
        return total

    def _take_in(self, items: Sequence[Item]) -> None:
        fresh = len(self._whole) - 1
        begin = max(newest(items) + 1, self.cut.turns) if fresh < len(items) else 0
        for at in range(fresh, len(items)):
            item, before = items[at], items[at - 1] if at else None
            if before is None or _step(before) != _step(item):
                self._steps.append(at)
            if before is None or before.turn != item.turn:
                self._turns.append(at)
            if isinstance(item, Call):
                self._names[item.call_id] = item.name
            size, stub = self._sizes(item, at) if at >= begin else (0, 0)
            self._whole.append(self._whole[-1] + size)
            self._stubs.append(self._stubs[-1] + stub)
            self._thought.append(self._thought[-1] + size * isinstance(item, Reasoning))
            if is_summary(item):
                self._begin = at + 1
                self._head = sum(map(self._measure.item, standing(items, at)))

    def _sizes(self, item: Item, at: int) -> tuple[int, int]:
        """Of an item whole and as a stub. Of what goes out as a stub already only that counts."""
        short = _stub(item, self._names) if isinstance(item, Result) else item
        stub = self._measure.item(short)
        if short is item or at < self.cut.results:
            return stub, stub
        size = self._measure.item(item)
        return size, min(size, stub)


def _step(item: Item) -> tuple[int, int]:
    return item.turn, getattr(item, "step", 0)


def _stub(result: Result, names: dict[str, str]) -> Result:
    name = names.get(result.call_id, "the tool")
    text = STUB.format(size=len(result_text(result)), name=name)
    return replace(result, text=text) if len(text) < len(result.text) else result


def _gone(first: Item, last: Item) -> Note:
    one = first.turn == last.turn
    which = f"Turn {first.turn} is" if one else f"Turns {first.turn} to {last.turn} are"
    return Note(f"[{which} no longer shown.]", last.turn)
