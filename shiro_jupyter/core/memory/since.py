"""What became of memories that a model was told, by what is said now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from .index import Entry


def gone(told: Iterable[Entry], now: Iterable[Entry]) -> list[Entry]:
    """Those told that nothing says any more; a line that only got other tags still says it."""
    said = set(map(_said, now))
    return [entry for entry in told if _said(entry) not in said]


def replaced(
    lost: Iterable[Entry], swaps: Mapping[Entry, Entry], now: Collection[Entry]
) -> Mapping[Entry, Entry]:
    """By what is gone: what stands in its place, at last; `swaps` are old and new ones."""
    found = dict[Entry, Entry]()
    for entry in lost:
        new, passed = swaps.get(entry), {entry}
        while new and new not in now and new not in passed:
            passed.add(new)
            new = swaps.get(new)
        if new and new in now:
            found[entry] = new
    return found


def _said(entry: Entry) -> str:
    """As the model was told it."""
    return f"{entry.label}{entry.pointed}"
