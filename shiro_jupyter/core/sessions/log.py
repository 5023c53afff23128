"""A session on disk: one append-only JSON Lines file, the first line its format and origin.

Records are written in batches, since a tool loop must not wait for the disk at each step, and at
once when a turn ends, an approval waits or something was interrupted. What is damaged in a file
is set aside; everything else loads.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from .. import todos
from ..errors import StorageError
from ..events import ApprovalRequested, Event, ToolFinished, TurnEnded, Usage
from ..policy.secrets import redact
from ..transcript import from_json
from ..workspace.clock import Clock
from ..workspace.files import append
from ..workspace.project import Project
from .session import Record, Session

FORMAT = 1
BATCH_SECONDS = 0.4
# How each of our records begins; inside a JSON string its quotes would be escaped.
_RECORD_START = '{"at": "'
_BLANK = re.compile(r"\s*")
# Opaque to us, and useless to the endpoint once changed.
_NOT_REDACTED = frozenset({"encrypted", "provider_id", "origin", "call_id", "kind"})


@dataclass
class SessionLog:
    """The file that a session's records go to; it appears with the first batch.

    Where it cannot be written that is told once, the records are kept for a later try, and the
    turn goes on.
    """

    path: Path
    header: Record
    clock: Clock
    tell: Callable[[str], None]
    begun: bool = False
    torn: bool = False  # the file's last line has no end: ours must start on a new one
    redacted: Callable[[str], str] = redact

    def __post_init__(self) -> None:
        self._pending: list[bytes] = []
        self._since = 0.0
        self._failing = False
        self._scheduled_on: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()  # the main thread flushes at exit

    def record(self, record: Record) -> None:
        """Take a record for the next batch; secrets go no further than this."""
        line = _line({"at": _stamp(self.clock.now()), **self._without_secrets(record)})
        with self._lock:
            if not self._pending:
                self._since = self.clock.monotonic()
            self._pending.append(line)
            due = self.clock.monotonic() - self._since >= BATCH_SECONDS
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if due and not self._failing:
            self.flush()
        elif loop and self._scheduled_on is not loop:
            self._scheduled_on = loop
            loop.call_later(BATCH_SECONDS, self._on_timer)

    def flush(self) -> None:
        """Write what is pending; never raises for a file that cannot be written."""
        said = ""
        with self._lock:
            if not self._pending:
                return
            begun = self.begun and self.path.exists()  # it may have been deleted meanwhile
            data = b"".join([*([] if begun else [_line(self.header)]), *self._pending])
            try:
                append(self.path, b"\n" * self.torn + data, private=True)
            except StorageError as error:
                self.torn = True
                if not self._failing:
                    said = f"This session is not being saved: {error}"
                self._failing = True
            else:
                if self._failing:
                    said = "This session is being saved again."
                self.begun, self.torn, self._failing = True, False, False
                self._pending.clear()
        if said:
            self.tell(said)

    def heard(self, event: Event) -> None:
        """The moments that must not be lost; a host passes every event here."""
        match event:
            case ApprovalRequested() | TurnEnded() | ToolFinished(outcome="interrupted"):
                self.flush()

    def _without_secrets(self, value: Any, key: str = "") -> Any:
        match value:
            case str():
                return value if key in _NOT_REDACTED else self.redacted(value)
            case dict():
                return {name: self._without_secrets(each, name) for name, each in value.items()}
            case list() | tuple():
                return [self._without_secrets(each, key) for each in value]
            case _:
                return value

    def _on_timer(self) -> None:
        self._scheduled_on = None
        self.flush()


@dataclass(frozen=True)
class Opened:
    """A session and its log; `notices` are sentences to tell the person."""

    session: Session
    log: SessionLog
    notices: tuple[str, ...] = ()


@dataclass
class Stored:
    """What a file holds. `damaged` counts lines of which something could not be read."""

    path: Path
    header: Record = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    damaged: int = 0
    torn: bool = False
    empty: bool = False


def open_session(
    folder: Path,
    *,
    project: Project,
    clock: Clock,
    tell: Callable[[str], None],
    cwd: Path | None = None,
    model: str = "",
    provider: str = "",
    redacted: Callable[[str], str] = redact,
) -> Opened:
    """A new session, its file to be in `folder` once something is said. `tell` hears, during
    the session, that it cannot be saved."""
    session = Session(model=model)
    created = _stamp(clock.now())
    header: Record = {
        "shiro_session": FORMAT,
        "id": session.id,
        "created": created,
        "updated": created,
        "cwd": str(cwd or project.root),
        "project": str(project.root),
        "notebook": str(project.notebook or ""),
        "provider": provider,
        "model": model,
    }
    log = SessionLog(folder / f"{session.id}.jsonl", header, clock, tell, redacted=redacted)
    session.record = log.record
    return Opened(session, log)


def load_session(
    path: Path,
    *,
    clock: Clock,
    tell: Callable[[str], None],
    redacted: Callable[[str], str] = redact,
) -> Opened:
    """A session as its file holds it: items, task list, totals, title, model.

    Raises `StorageError` where it cannot be read or a later version wrote it.
    """
    stored = read_log(path)
    session = Session(id=str(stored.header.get("id") or path.stem))
    session.model = str(stored.header.get("model") or "")
    told = 0
    for record in stored.records:
        if item := from_json(record.get("item")):
            session.items.append(item)
        elif record.get("set") == "damaged" and isinstance(record.get("value"), int):
            told = record["value"]
        else:
            _apply(record, session)
    header = stored.header or {"shiro_session": FORMAT, "id": session.id}
    begun = not stored.empty
    log = SessionLog(path, header, clock, tell, begun, stored.torn, redacted)
    session.record = log.record
    notices: tuple[str, ...] = ()
    if stored.damaged > told:
        lines = "line was" if stored.damaged == 1 else "lines were"
        notices = (
            f"{stored.damaged} damaged {lines} left out of {path}; all else of the session is "
            "restored.",
        )
        log.record({"set": "damaged", "value": stored.damaged})
    return Opened(session, log, notices)


def read_log(path: Path) -> Stored:
    """Every good record of a file, whatever happened to the rest."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StorageError(f"Cannot read {path}: {error.strerror}.") from None
    stored = Stored(path, torn=bool(data) and not data.endswith(b"\n"), empty=not data)
    for line in data.split(b"\n"):
        found, damaged = records_of(line)
        stored.damaged += damaged
        stored.records += found
    for record in stored.records:
        version = record.get("shiro_session")
        if isinstance(version, int) and version > FORMAT:
            raise StorageError(
                f"{path} was written by a later version of shiro; upgrade to open it."
            )
    headers = [record for record in stored.records if "shiro_session" in record]
    stored.header = headers[0] if headers else {}
    stored.records = [record for record in stored.records if "shiro_session" not in record]
    return stored


def records_of(line: bytes) -> tuple[list[Record], bool]:
    """The records in one line, and whether anything else was in it.

    A lost block reads as NULs, a record cut short may have the next one right behind it.
    """
    found: list[Record] = []
    pieces = [piece for piece in re.split(rb"\0+", line) if piece.strip()]
    damaged = b"\0" in line
    for piece in pieces:
        try:
            text = piece.decode("utf-8")
        except UnicodeDecodeError:
            text, damaged = piece.decode("utf-8", "replace"), True
        text = text.strip()
        position = 0
        while 0 <= position < len(text):
            try:
                value, end = json.JSONDecoder().raw_decode(text, position)
            except (ValueError, RecursionError):
                damaged = True
                position = text.find(_RECORD_START, position + 1)
                continue
            if isinstance(value, dict):
                found.append(value)
            else:
                damaged = True
            blank = _BLANK.match(text, end)
            position = blank.end() if blank else end
    return found, damaged


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
        case "usage", [int(), int(), int(), int()]:
            session.usage = Usage(*value)


def _stamp(now: datetime) -> str:
    return now.isoformat(timespec="milliseconds")


def _line(record: Record) -> bytes:
    text = json.dumps(record, ensure_ascii=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate, out of a file name or a broken encoding
        return (json.dumps(record) + "\n").encode()
