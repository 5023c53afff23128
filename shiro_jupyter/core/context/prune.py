"""What of a long conversation still goes out. The conversation itself is never shortened.

A cut is made rarely and deep, since what a provider has cached ends at the first byte that
differs; between two cuts every request extends the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ..transcript import Call, Item, Note, Reasoning, Result
from .render import result_text
from .repair import without_reasoning
from .tokens import Vocabulary, estimate_item

GAIN = 0.2  # of the room: what a cut leaves free at least
KEPT_STEPS, LEAST_STEPS = 4, 1  # the newest, whose results stay; where nothing else helps
STUB = "[{size:,} characters, no longer shown; call {name} again if you need them]"


@dataclass(frozen=True, order=True)
class Cut:
    """Positions among the items, each only ever moved on: turns before `turns` are gone, results
    before `results` are stubs, reasoning before `reasoning` is left out."""

    turns: int = 0
    results: int = 0
    reasoning: int = 0


def shown(items: Sequence[Item], cut: Cut) -> tuple[Item, ...]:
    """The items that go out. What is appended later only extends them."""
    names = {item.call_id: item.name for item in items if isinstance(item, Call)}
    gone = [_gone(items[: cut.turns])] if cut.turns else []
    rest = [
        _stub(item, names) if isinstance(item, Result) and at < cut.results else item
        for at, item in enumerate(items[cut.turns :], start=cut.turns)
    ]
    old = {id(item) for item in items[cut.turns : cut.reasoning] if isinstance(item, Reasoning)}
    if not old:
        return (*gone, *rest)
    return (*gone, *without_reasoning(rest, lambda item: id(item) in old))


class Pruner:
    """Finds the cut of a growing conversation. The size of each item is estimated once."""

    def __init__(self, cut: Cut = Cut(), vocabulary: Vocabulary = "qwen3") -> None:
        self.cut = cut
        self._vocabulary = vocabulary
        self._sizes: list[int] = []

    def size(self, items: Sequence[Item]) -> int:
        """Tokens of what is shown of the items, by estimate."""
        self._measure(items)
        return self._size(items, self.cut)

    def prune(self, items: Sequence[Item], room: int) -> bool:
        """Move the cut on where the items are larger than `room` tokens; whether less is shown.

        Results go first, the oldest first, those of the newest steps last of all; then the
        reasoning of earlier turns, then earlier turns whole. What still does not fit then stays.
        """
        size = self.size(items)
        if size <= room:
            return False
        cut, least, target = self.cut, size, int(room * (1 - GAIN))
        for moved in self._moves(items):
            self.cut = moved
            if (now := self._size(items, moved)) < least:
                cut, least = moved, now
            if least <= target:
                break
        self.cut = cut  # what moved without a gain would only cost what is cached
        return least < size

    def _moves(self, items: Sequence[Item]) -> Iterator[Cut]:
        """Ever deeper cuts, each a step or a turn further."""
        steps = [*_starts(items, lambda item: (item.turn, getattr(item, "step", 0))), len(items)]
        turns = [*_starts(items, lambda item: item.turn)]
        now = turns[-1] if turns else 0  # where the turn at hand begins
        yield from self._further("results", steps[: -KEPT_STEPS or None])
        yield replace(self.cut, reasoning=max(self.cut.reasoning, now))
        yield from self._further("turns", turns)
        yield from self._further("results", steps[: -LEAST_STEPS or None])

    def _further(self, what: str, places: Sequence[int]) -> Iterator[Cut]:
        for place in places:
            if place > getattr(self.cut, what):
                yield replace(self.cut, **{what: place})

    def _size(self, items: Sequence[Item], cut: Cut) -> int:
        names = {item.call_id: item.name for item in items[: cut.results] if isinstance(item, Call)}
        total = estimate_item(_gone(items[: cut.turns]), self._vocabulary) if cut.turns else 0
        for at in range(cut.turns, len(items)):
            item = items[at]
            if at < cut.results and isinstance(item, Result):
                total += min(self._sizes[at], estimate_item(_stub(item, names), self._vocabulary))
            elif not (at < cut.reasoning and isinstance(item, Reasoning)):
                total += self._sizes[at]
        return total

    def _measure(self, items: Sequence[Item]) -> None:
        fresh = items[len(self._sizes) :]
        self._sizes += [estimate_item(item, self._vocabulary) for item in fresh]


def _starts(items: Sequence[Item], part: Callable[[Item], object]) -> Iterator[int]:
    """Where each run of items of one part begins."""
    for _, run in groupby(range(len(items)), key=lambda at: part(items[at])):
        yield next(run)


def _stub(result: Result, names: dict[str, str]) -> Result:
    name = names.get(result.call_id, "the tool")
    text = STUB.format(size=len(result_text(result)), name=name)
    return replace(result, text=text) if len(text) < len(result.text) else result


def _gone(items: Sequence[Item]) -> Note:
    first, last = items[0].turn, items[-1].turn
    which = f"Turn {first} is" if first == last else f"Turns {first} to {last} are"
    return Note(f"[{which} no longer shown.]", last)
