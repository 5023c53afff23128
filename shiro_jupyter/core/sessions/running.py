"""Which sessions run, and which were this user's: one small file each that says in which process,
and the logs that they leave."""

from __future__ import annotations

import json
import platform
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from ..errors import StorageError
from ..workspace.files import write_atomic

_ID = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True)
class Running:
    """The marks of this user's sessions, in one folder. They only help: one that cannot be
    written is missing, and its session counts as ended. `logs` is the folder of their logs."""

    folder: Path
    logs: Path

    def begin(self, session: str) -> None:
        """This process runs the session from now on."""
        process = psutil.Process()
        mark = {"host": platform.node(), "pid": process.pid, "started": process.create_time()}
        with suppress(StorageError):
            write_atomic(self._file(session), json.dumps(mark).encode(), private=True)

    def end(self, session: str) -> None:
        with suppress(OSError):
            self._file(session).unlink()

    def knows(self, session: str) -> bool:
        """Whether this user had a session of that id, whoever says so."""
        log = self.logs / f"{session}.jsonl"
        return bool(_ID.fullmatch(session)) and (self._file(session).exists() or log.exists())

    def runs(self, session: str) -> bool:
        """Whether a process still runs it. One on another machine is taken to."""
        try:
            mark = json.loads(self._file(session).read_bytes())
            host, pid, started = mark["host"], int(mark["pid"]), float(mark["started"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return False
        if host != platform.node():
            return True
        try:
            return abs(psutil.Process(pid).create_time() - started) < 1
        except (psutil.Error, ValueError, OverflowError):
            return False

    def _file(self, session: str) -> Path:
        return self.folder / f"{session}.json"
