"""The records of a session's file: one JSON object a line, read back whatever happened to it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from pathlib import Path

from .. import todos
from ..errors import StorageError
from ..events import Cost, Usage
from ..transcript import Item, from_json
from ..workspace.plain import opened_plain, told
from .session import Record, Session, Spent

FORMAT = 1
# How each of our records begins; inside a JSON string its quotes would be escaped.
_STARTS = re.compile(r'(?={"at": ")')
_BLANK = re.compile(r"\s*")
# What a session is tainted by of which a part cannot be read: that part may have said by what.
DAMAGE = "a damaged part of the session"
LARGEST = 10**15  # of what is counted, in tokens, turns or dollars; more is no count


@dataclass
class Stored:
    """What a file holds. `damaged` counts lines of which something could not be read."""

    path: Path
    header: Record = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    damaged: int = 0
    told: int = 0  # how many of these the person knows of
    torn: bool = False
    size: int = 0  # bytes


def read_log(path: Path) -> Stored:
    """Every good record of a file, whatever happened to the rest.

    Raises `StorageError` where it cannot be read, or a later version wrote it.
    """
    return parsed(path, read(path))


def read(path: Path) -> bytes:
    """All of a plain file of this user: what another one put there is not gone on with."""
    with told("read", path), opened_plain(path) as file:
        if is_foreign(os.fstat(file.fileno())):
            raise StorageError(
                f"{path} belongs to another user; make it yours (chown) to go on with it."
            )
        return file.read()


def is_foreign(known: os.stat_result) -> bool:
    """Whether the file belongs to another user, who is not root: that one need not ask us."""
    return hasattr(os, "getuid") and known.st_uid not in (os.getuid(), 0)


def is_later(record: Record) -> bool:
    """Whether this is the first line of a file that a later version wrote."""
    version = record.get("shiro_session")
    return isinstance(version, int) and version > FORMAT


def parsed(path: Path, data: bytes) -> Stored:
    """What these bytes of a file hold. Raises `StorageError` where a later version wrote them."""
    stored = Stored(path, torn=bool(data) and not data.endswith(b"\n"), size=len(data))
    for line in data.split(b"\n"):
        found, damaged = records_of(line)
        stored.damaged += damaged
        for record in found:
            if is_later(record):
                raise StorageError(
                    f"{path} was written by a later version of shiro; upgrade to open it."
                )
            if "shiro_session" not in record:
                stored.records.append(record)
            elif not stored.header:
                stored.header = record
            if record.get("set") == "damaged" and isinstance(record.get("value"), int):
                stored.told = record["value"]
    return stored


def records_of(line: bytes) -> tuple[list[Record], bool]:
    """The records in one line, and whether anything else was in it.

    A lost block reads as NULs, a record cut short may have the next one right behind it.
    """
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return _records_in(line)
    return ([value], False) if isinstance(value, dict) else ([], True)


def _records_in(line: bytes) -> tuple[list[Record], bool]:
    """Of a line that is no record alone."""
    found: list[Record] = []
    pieces = [piece for piece in re.split(rb"\0+", line) if piece.strip()]
    damaged = b"\0" in line
    for piece in pieces:
        try:
            text = piece.decode("utf-8")
        except UnicodeDecodeError:
            text, damaged = piece.decode("utf-8", "replace"), True
        for part in _STARTS.split(text.strip()):
            damaged |= _decode(part, found)
    return found, damaged


def _decode(text: str, found: list[Record]) -> bool:
    """Add the records of a text to those found, up to what is none; whether anything was none.
    It is given the text from one beginning of a record to the next, so that each is read once."""
    position, damaged = 0, False
    while position < len(text):
        try:
            value, end = json.JSONDecoder().raw_decode(text, position)
        except (ValueError, RecursionError):
            return True
        if isinstance(value, dict):
            found.append(value)
        else:
            damaged = True
        blank = _BLANK.match(text, end)
        position = blank.end() if blank else end
    return damaged


def items_of(record: Record) -> list[Item]:
    """The items that a record holds: one, or those that came at once."""
    held = record.get("items")
    stored = held if isinstance(held, list) else [record.get("item")]
    return [item for each in stored if (item := from_json(each))]


def stamp(now: datetime) -> str:
    return now.isoformat(timespec="milliseconds")


def line_of(record: Record) -> bytes:
    text = json.dumps(record, ensure_ascii=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate, out of a file name or a broken encoding
        return (json.dumps(record) + "\n").encode()


def restored(stored: Stored) -> Session:
    """The session as its records made it. What is of no kind known stays in the file alone."""
    session = Session(id=stored.path.stem)  # a header may have been copied with its file
    if stored.damaged:
        session.tainted.add(DAMAGE)
    session.model = str(stored.header.get("model") or "")
    counted = 0  # items when the totals of a turn were written
    for record in stored.records:
        if items := items_of(record):
            session.items += items
        else:
            _apply(record, session)
            if record.get("set") == "usage":
                counted = len(session.items)
    # Before turns recorded their end, their totals came last, and no call was left open.
    if not session.ended and counted == len(session.items) and not session.open_calls():
        session.ended = session.turn
    # Of a file that lost items the places are too far on, yet the newest turn always goes out.
    newest = sum(1 for _ in takewhile(lambda i: i.turn == session.turn, reversed(session.items)))
    turns, *others = (min(place, len(session.items)) for place in session.cut)
    session.cut = (min(turns, len(session.items) - newest), *others)
    return session


def _apply(record: Record, session: Session) -> None:
    value = record.get("value")
    match record.get("set"), value:
        case "title", str():
            session.title = value
        case "model", str():
            session.model = value
        case "tainted", list():
            session.tainted.update(map(str, value))
        case "todos", _:
            session.todos = todos.restore(value)
        case "usage", [int(), int(), int(), int()] if _are_counts(value):
            session.usage = Usage(*value)
        case "spent", _:
            _spent(session, value)
        case "system", str():
            session.system = value
        case "memories", {"begun": str(begun), "lines": list(lines)}:
            session.begun, session.memories = begun, tuple(map(str, lines))
        case "cut", [int(), int(), int()] if min(value) >= 0:
            session.cut = tuple(value)
        case "asked", str():
            session.asked = value
        case "ended", {"turn": int(turn)}:
            session.ended = turn


def _spent(session: Session, stored: object) -> None:
    match stored:
        case {
            "turn": int(turn),
            "model": str(model),
            "usage": [int(), int(), int(), int()] as usage,
            "cost": int() | float() as dollars,
            "calls": [int(), int(), int()] as calls,
        } if _are_counts([turn, dollars, *usage, *calls]):
            session.spent.append(Spent(turn, model, Usage(*usage), Cost(dollars, *calls)))
            session.cost += session.spent[-1].cost


def _are_counts(values: Sequence[float]) -> bool:
    return all(0 <= each <= LARGEST for each in values)  # NaN is none either
