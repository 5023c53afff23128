"""One memory in the place of another: what it takes over, and the lines of the file."""

from __future__ import annotations

from dataclasses import replace

from ..errors import MemoryRefused
from .index import ABOUT, Entry, Index, Kind


def in_place_of(old: Entry, new: Entry, kind: Kind) -> Entry:
    """With what the new one does not say anew, and what a person wrote into the comment."""
    parts = [part.strip() for part in old.about.split(";")]
    by_hand = [part for part in parts if part.partition(":")[0].strip() not in ABOUT]
    return replace(
        new,
        kind=kind,
        tags=new.tags or old.tags,
        topic=new.topic or old.topic,
        about="; ".join(filter(None, [new.about, *by_hand])),
    )


def swapped(index: Index, old: Entry, new: Entry | None) -> tuple[Index, list[int]]:
    """With the new entry, if any, in the last place of the old one, which a merge may have left
    several times; and where the others were. Raises `MemoryRefused` where there is none."""
    numbers = [number for number, each in index.found if each.folded == old.folded]
    if not numbers:
        raise MemoryRefused(
            f"“{old.text}” was removed meanwhile; nothing was changed. See what there is with "
            "%shiro /notes or recall."
        )
    if new:
        index = index.swap(numbers.pop(), new)
    for number in reversed(numbers):
        index = index.remove(number)
    return index, numbers
