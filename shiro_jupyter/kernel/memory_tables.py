"""Memories and session notes as tables that a person likes to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from ..core.memory.index import STAMP
from ..core.memory.store import Found, Memory
from ..views.document import Block, Folded, Table

_UNITS = (("y", 365 * 86_400), ("mo", 30 * 86_400), ("d", 86_400), ("h", 3_600), ("min", 60))
UNFOLDED = 50  # rows of a table


def nothing_yet(unusable: Sequence[str]) -> str:
    """What to say where no memory is to be listed."""
    if unusable:
        return "No memory could be looked at."
    return "Nothing recorded yet. Record with %remember TEXT."


def memories_table(found: Sequence[Found], now: datetime, *, why: bool = False) -> Table:
    """Id, kind, age, recalls and text; what to know of them, and why, where there is any."""
    columns: dict[str, list[str]] = {
        "id": [each.entry.id for each in found],
        "kind": [each.entry.kind for each in found],
        "age": [age(each.entry.stamp, now) for each in found],
        "used": [str(each.count or "") for each in found],
        "memory": [each.entry.said for each in found],
        "note": ["; ".join(each.notes) for each in found],
        "why": [", ".join(each.why) if why else "" for each in found],
    }
    shown = {head: cells for head, cells in columns.items() if any(cells)}
    rows = tuple(zip(*shown.values(), strict=True))
    return Table(tuple(shown), rows, list(shown).index("memory"))


def folding(found: Sequence[Found], now: datetime) -> list[Block]:
    """The first of many memories, and the others folded."""
    blocks: list[Block] = [memories_table(found[:UNFOLDED], now)]
    if rest := found[UNFOLDED:]:
        blocks.append(Folded(f"{len(rest)} more, older", (memories_table(rest, now),)))
    return blocks


def known_of(found: Iterable[Found]) -> str:
    """`; global: 2, stale: 1`: of how many there is what to know."""
    kinds = Counter(note.partition(":")[0] for each in found for note in each.notes)
    told = ", ".join(f"{kind}: {number}" for kind, number in kinds.items())
    return f"; {told}" if told else ""


def of_others(found: Iterable[Found]) -> str:
    """`2 lines and 1 topic`: how much of it is of others; empty where all is accepted."""
    every = list(found)
    numbers = {
        "line": len({each.line for each in every if not each.own_line}),
        "topic": len({each.topic.name for each in every if each.topic and not each.own_topic}),
    }
    said = [f"{n} {name}{'s' if n > 1 else ''}" for name, n in numbers.items() if n]
    return " and ".join(said)


def age(stamp: str, now: datetime) -> str:
    """`3 d`: how long ago a stamp in local time was."""
    try:
        seconds = (now.replace(tzinfo=None) - datetime.strptime(stamp, STAMP)).total_seconds()
    except ValueError:
        return ""
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


def place(memory: Memory, path: Path) -> str:
    """A path for people: from the project's root on, where it is in there."""
    root = memory.project.root
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
