"""Memories and session notes as tables that a person likes to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from ..core.memory.index import STAMP
from ..core.memory.store import Found
from ..views.document import Block, Table

_UNITS = (("y", 365 * 86_400), ("mo", 30 * 86_400), ("d", 86_400), ("h", 3_600), ("min", 60))


def memories_table(found: Sequence[Found], now: datetime, *, why: bool = False) -> list[Block]:
    """Id, kind, age, recalls and text; why, and what is amiss, where there is any."""
    columns: dict[str, list[str]] = {
        "id": [each.entry.id for each in found],
        "kind": [each.entry.kind for each in found],
        "age": [age(each.entry.stamp, now) for each in found],
        "used": [str(each.count or "") for each in found],
        "scope": [each.scope if each.scope == "global" else "" for each in found],
        "note": [note_of(each) for each in found],
        "why": [", ".join(each.why) if why else "" for each in found],
        # The longest comes last: a terminal wraps it.
        "memory": [each.entry.said for each in found],
    }
    shown = {head: cells for head, cells in columns.items() if any(cells)}
    return [Table(tuple(shown), tuple(zip(*shown.values(), strict=True)))]


def note_of(found: Found) -> str:
    """What to know before relying on it."""
    notes = (
        "" if found.own_line else "of others",
        "" if found.own_topic else "topic of others",
        f"stale: {found.stale}" if found.stale else "",
        f"no topic {found.entry.topic}" if found.dangling else "",
    )
    return "; ".join(filter(None, notes))


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
