"""A session gone on with from another one, or from an earlier turn of it, in a file of its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from ..errors import UsageError
from ..transcript import Result, to_json
from ..workspace.files import write_atomic
from .records import DAMAGE, FORMAT, items_of, line_of, parsed, read, records_of, restored, stamp
from .session import Record, Session, new_id

ELSEWHERE = "Not known here: it ran in another kernel when this copy of the session was made."


def fork(
    path: Path,
    now: datetime,
    *,
    turn: int | None = None,
    size: int | None = None,
    live: bool = False,
    session: str = "",
) -> Path:
    """The file of a new session beside that of another one, with all of it to the end of `turn`
    where given: items, task list and totals are as they were then.

    Lines are copied as they are, so that what a later version wrote stays; of damaged ones, what
    is good. Of the old file `size` bytes count; `live` closes what goes on elsewhere; `session` is
    the new id. Raises `StorageError`, and `UsageError` where there is no such turn.
    """
    data = read(path)[:size]
    stored = parsed(path, data)
    source = restored(stored)
    if turn is not None and not 1 <= turn <= source.turn:
        there = f"its turns are 1 to {source.turn}" if source.turn else "it has none"
        raise UsageError(f"The session has no turn {turn}; {there}.")
    session, made = session or new_id(), stamp(now)
    header = {"shiro_session": FORMAT, **stored.header, "id": session, "created": made}
    header |= {"updated": made, "forked_from": source.id}
    lines = [line_of(header), *_copied(data, turn)]
    if stored.damaged:  # the copy is whole, and cannot tell
        lines.append(line_of({"at": made, "set": "tainted", "value": [DAMAGE]}))
    if live:
        lines += [line_of({"at": made, **record}) for record in _closing(source)]
    target = path.with_name(f"{session}.jsonl")
    write_atomic(target, b"".join(lines), private=True)
    return target


def _copied(data: bytes, turn: int | None) -> Iterator[bytes]:
    for line in data.split(b"\n"):
        found, damaged = records_of(line)
        for record in found:
            if turn is not None and any(item.turn > turn for item in items_of(record)):
                return
            # The copy has no damaged lines, and another header.
            if "shiro_session" not in record and record.get("set") != "damaged":
                alone = len(found) == 1 and not damaged
                yield line.strip() + b"\n" if alone else line_of(record)


def _closing(source: Session) -> Iterator[Record]:
    """What ends, in the copy, the turn that goes on elsewhere."""
    for call in source.open_calls():
        result = Result(call.call_id, "skipped", ELSEWHERE, call.turn, call.step)
        yield {"item": to_json(result)}
    if source.ended < source.turn:
        ended = {"turn": source.turn, "outcome": "interrupted", "title": source.title}
        yield {"set": "ended", "value": ended}
