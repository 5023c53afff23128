"""One writer a session: a small file beside its log says which process that is.

Its owner touches it every ten seconds. On the same machine a dead process frees its sessions at
once; of another machine, whose pids mean nothing here, a lease counts until it was not touched
for a minute by the clock of the file system, the only one that both share.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psutil

from ..errors import StorageError
from ..workspace.files import are_stale, locked, make_folder, write_atomic
from ..workspace.plain import read_plain, told
from .session import ID

RENEW_SECONDS, STALE_SECONDS = 10.0, 60.0

Holder = Literal["", "here", "elsewhere"]


@dataclass(frozen=True)
class Process:
    """One process among all that may see the file. `machine` is a boot of a system and the space
    in which its pids are counted; `started` tells apart processes that had the same pid."""

    machine: str
    pid: int
    started: str

    @property
    def lives(self) -> bool:
        """Of one on this machine."""
        return bool(self.started) and _started(self.pid) == self.started


def this_process() -> Process:
    return Process(_machine(), os.getpid(), _started(os.getpid()))


@dataclass
class Lease:
    """The right to write to one log, as one opener of it has it. Safe to use from any thread that
    holds the log's lock."""

    log: Path
    process: Process = field(default_factory=this_process)

    def __post_init__(self) -> None:
        self._token = secrets.token_hex(16)

    @property
    def path(self) -> Path:
        return lease_of(self.log)

    def take(self) -> bool:
        """Whether the session is ours, now if not before; of several takers one wins. Raises
        `StorageError`."""
        if self.renew():
            return True
        if _owner(self.path):
            return False
        make_folder(self.path.parent, private=True)
        with locked(self.path):
            if _owner(self.path):
                return False
            stored = {**vars(self.process), "token": self._token}
            return write_atomic(self.path, json.dumps(stored).encode(), private=True)

    def renew(self) -> bool:
        """Whether it is still ours; then it is so for another minute. Raises `StorageError`."""
        if not self._is_ours():
            return False
        with told("write", self.path), suppress(FileNotFoundError):
            os.utime(self.path)  # without times: a server sets its own
            return True
        return False

    def release(self) -> None:
        """Leave the session to others. What cannot be removed is freed by our end."""
        with suppress(OSError, StorageError):
            if self._is_ours():
                self.path.unlink()

    def _is_ours(self) -> bool:
        return (_stored(self.path) or {}).get("token") == self._token


@dataclass(frozen=True)
class Leases:
    """Which sessions live, and which were this user's; `folder` is that of their logs."""

    folder: Path

    def knows(self, session: str) -> bool:
        """Whether this user had a session of that id, whoever says so."""
        log = self._log(session)
        return bool(ID.fullmatch(session)) and (log.exists() or lease_of(log).exists())

    def lives(self, session: str) -> bool:
        """Whether a process still runs it."""
        return bool(ID.fullmatch(session)) and bool(holder(self._log(session)))

    def _log(self, session: str) -> Path:
        return self.folder / f"{session}.jsonl"


def lease_of(log: Path) -> Path:
    return log.with_suffix(".lease")


def holder(log: Path) -> Holder:
    """Where a session is open: in this process, in another one, or nowhere. One that cannot be
    looked at is taken to be open elsewhere."""
    try:
        owner = _owner(lease_of(log))
    except StorageError:
        return "elsewhere"
    if owner is None:
        return ""
    return "here" if owner == this_process() else "elsewhere"


def _owner(path: Path) -> Process | None:
    """The process that has the lease, None where it is free."""
    stored = _stored(path)
    if stored is None:
        return None
    try:
        owner = Process(str(stored["machine"]), int(stored["pid"]), str(stored["started"]))
        here = owner.machine == _machine()
        free = not owner.lives if here else are_stale([path], STALE_SECONDS)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None  # no mark of ours
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"Cannot look at {path}: {error.strerror}.") from None
    return None if free else owner


def _stored(path: Path) -> dict[str, Any] | None:
    data = read_plain(path)
    if data is None:
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _machine() -> str:
    """This boot of this machine, and the space in which its pids are counted."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = platform.node()
    try:
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return boot


def _started(pid: int) -> str:
    """When a process began, by a clock that nobody sets where there is one; empty where it has
    ended, though its parent may not have noticed yet."""
    if Path("/proc/self/stat").exists():
        try:
            told = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            return ""
        fields = told.rpartition(b")")[2].split()
        return "" if fields[0] in (b"Z", b"X") else fields[19].decode()
    try:
        process = psutil.Process(pid)
        ended = process.status() == psutil.STATUS_ZOMBIE
        return "" if ended else f"{process.create_time():.1f}"
    except (psutil.Error, ValueError, OverflowError):
        return ""
