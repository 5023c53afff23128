"""A session on disk: one append-only JSON Lines file, the first line its format and origin.

Records are written in batches, since a tool loop must not wait for the disk at each step, and at
once when a turn ends, an approval waits or something was interrupted. One process at a time writes
to a file: who finds that another one does goes on in a copy.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import StorageError
from ..events import ApprovalDecided, ApprovalRequested, Event, ToolFinished, TurnEnded
from ..policy.secrets import redact
from ..workspace.clock import Clock
from ..workspace.files import append
from ..workspace.project import Project
from .fork import fork
from .found import notices_of
from .lease import Lease
from .records import FORMAT, line_of, read_log, restored, stamp
from .session import Record, Session, new_id

BATCH_SECONDS = 0.4
# Opaque to us, and useless to the endpoint once changed.
_NOT_REDACTED = frozenset({"encrypted", "provider_id", "origin", "call_id", "kind"})


@dataclass
class SessionLog:
    """The file that a session's records go to; it appears with the first batch.

    Where it cannot be written that is told once, the records are kept for a later try, and the
    turn goes on. Where another process took the session meanwhile, as it may when our machine
    slept, the log goes on in a copy, tells so, and hands its id to `moved`.
    """

    path: Path
    header: Record
    clock: Clock
    tell: Callable[[str], None]
    redacted: Callable[[str], str] = redact
    size: int = 0  # bytes of the file as we know it; none where there is no file yet
    torn: bool = False  # the file's last line has no end: ours must start on a new one
    moved: Callable[[str], None] = lambda session: None
    standing: Callable[[], Sequence[Record]] = tuple  # what a file that is begun anew has to say
    lease: Lease = field(init=False)

    def __post_init__(self) -> None:
        self.lease = Lease(self.path)
        self._pending: list[bytes] = []
        self._since = 0.0
        self._failing = False
        self._written = False  # anything, by us
        self._scheduled_on: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()  # the main thread flushes at exit

    def record(self, record: Record) -> None:
        """Take a record for the next batch; secrets go no further than this."""
        line = line_of({"at": stamp(self.clock.now()), **self._without_secrets(record)})
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
        said = []
        with self._lock:
            if not self._pending:
                return
            try:
                if not self._is_ours():
                    said.append(self._move())
                self._append()
            except StorageError as error:
                if not self._failing:
                    said.append(f"This session is not being saved: {error}")
                self._failing = True
            else:
                if self._failing:
                    said.append("This session is being saved again.")
                self._failing = False
        for sentence in said:
            self.tell(sentence)

    @property
    def unsaved(self) -> bool:
        return bool(self._pending)

    def renew(self) -> None:
        """Keep the session ours while nothing is written; call it every `RENEW_SECONDS`. That it
        is ours no more shows at the next write."""
        with self._lock, suppress(StorageError):
            self.lease.renew()

    def close(self) -> None:
        """Write what is pending, and leave the session to others."""
        self.flush()
        with self._lock:
            self.lease.release()

    def heard(self, event: Event) -> None:
        """The moments that must not be lost, and the call that a question waits for; a host
        passes every event here."""
        match event:
            case ApprovalRequested(question) if question.call_id:
                self.record({"set": "asked", "value": question.call_id})
            case ApprovalDecided():
                self.record({"set": "asked", "value": ""})
        match event:
            # A call that was allowed may end the process: then it must not seem to wait still.
            case ApprovalRequested() | ApprovalDecided() | TurnEnded():
                self.flush()
            case ToolFinished(outcome="interrupted"):
                self.flush()

    def _is_ours(self) -> bool:
        """Whether nobody took the session from us, or whoever did wrote nothing."""
        return self.lease.renew() or (self.lease.take() and _size(self.path) <= self.size)

    def _move(self) -> str:
        """Go on in a copy of what is ours of the file; the sentence to tell."""
        left, session = self.path, new_id()
        path = left.with_name(f"{session}.jsonl")
        lease = Lease(path)
        lease.take()
        try:
            if self.size:
                fork(left, self.clock.now(), size=self.size, session=session)
        except BaseException:
            lease.release()
            raise
        self.lease.release()
        self.header = {**self.header, "id": session, "forked_from": left.stem}
        self.path, self.lease, self.size, self.torn = path, lease, _size(path), False
        self.moved(session)
        return (
            "Another kernel has gone on with this session meanwhile: from here on this one is "
            f"saved as a copy, {session}."
        )

    def _append(self) -> None:
        begun = _size(self.path) > 0
        data = b"".join([*([] if begun else self._first_lines()), *self._pending])
        try:
            append(self.path, b"\n" * (self.torn and begun) + data, private=True)
        except StorageError:
            self.torn = True
            raise
        finally:
            self.size = _size(self.path)
        self.torn, self._written = False, True
        self._pending.clear()

    def _first_lines(self) -> list[bytes]:
        """Of a new file, or of one that takes the place of ours, which was deleted meanwhile."""
        lines = [line_of(self.header)]
        if self._written or self.size:
            at = stamp(self.clock.now())
            again = (self._without_secrets(record) for record in self.standing())
            lines += [line_of({"at": at, **record}) for record in again]
        return lines

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

    def __post_init__(self) -> None:
        self.session.record = self.log.record
        self.log.moved = partial(setattr, self.session, "id")
        self.log.standing = self.session.standing


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
    created = stamp(clock.now())
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
    log = SessionLog(folder / f"{session.id}.jsonl", header, clock, tell, redacted)
    _taken(log.lease)
    return Opened(session, log)


def load_session(
    path: Path,
    *,
    clock: Clock,
    tell: Callable[[str], None],
    redacted: Callable[[str], str] = redact,
) -> Opened:
    """A session as its file holds it, or a copy where it is open already. Nothing is run or closed;
    the notices tell what was damaged, and what went on when it stopped.

    Raises `StorageError` where it cannot be read or a later version wrote it.
    """
    log = SessionLog(path, {}, clock, tell, redacted)
    if not _taken(log.lease):
        copy = fork(path, clock.now(), live=True)
        opened = load_session(copy, clock=clock, tell=tell, redacted=redacted)
        held = f"The session is open already: this is a copy of it, {copy.stem}."
        return replace(opened, notices=(held, *opened.notices))
    try:
        stored = read_log(path)
        session = restored(stored)
        opened = Opened(session, log, notices_of(stored, session))
    except BaseException:
        log.lease.release()
        raise
    log.header = {"shiro_session": FORMAT, **stored.header, "id": session.id}
    log.size, log.torn = stored.size, stored.torn
    if stored.damaged > stored.told:
        log.record({"set": "damaged", "value": stored.damaged})
    return opened


def _taken(lease: Lease) -> bool:
    """Whether a session is not somebody else's. Where no lease can be written nothing else can,
    which the first batch tells."""
    try:
        return lease.take()
    except StorageError:
        return True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
