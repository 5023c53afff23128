"""Where a conversation that was summarised goes on from. The items before it stay, and go out no
more."""

from __future__ import annotations

from collections.abc import Sequence

from ..transcript import Item, Summary, User


def newest(items: Sequence[Item]) -> int:
    """The position of the newest summary, -1 where there is none."""
    for at in range(len(items) - 1, -1, -1):
        if is_summary(items[at]):
            return at
    return -1


def is_summary(item: Item) -> bool:
    """A blank one, out of a damaged file, would stand for nothing."""
    return isinstance(item, Summary) and bool(item.text.strip())


def standing(items: Sequence[Item], at: int) -> tuple[Item, ...]:
    """What goes out in place of all before and with the summary at this position: itself, then the
    prompts of the last turn before it word for word, which are one but where the person steered."""
    return (items[at], *last_prompts(items[:at])) if at >= 0 else ()


def last_prompts(items: Sequence[Item]) -> tuple[User, ...]:
    """What the person said in the newest turn of these in which they said anything."""
    prompts: list[User] = []
    for item in reversed(items):
        if prompts and item.turn != prompts[0].turn:
            break
        if isinstance(item, User):
            prompts.append(item)
    return tuple(reversed(prompts))
