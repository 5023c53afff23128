"""Jobs: commands that outlive the call that started them, each with its output in a file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import ToolFailed
from .output import Filter, News
from .trees import Child, ending

FIRST = 0.5  # seconds that a start waits for the first output, or for the end
NEWS = 10_000  # characters of output that one look gives
# Seconds between two reads of a flood that its file has no more room for.
SLOWED = 0.01


class Job:
    """`over` is set once its command has exited; what that started may still run and write."""

    id: int
    child: Child

    def __init__(self, command: str, file: Path, passes: Callable[[], Filter]) -> None:
        self.command = command
        self.over = threading.Event()
        self.stopped = False  # it was told to end before it was over
        self._news = News(NEWS, file, passes)
        self._started = time.monotonic()
        self._ended = 0.0

    def look(self) -> str:
        """Its output since the last look, both ends of it where that is long."""
        return self._news.look()

    @property
    def told(self) -> str:
        """Where its output is; empty where no file could be written."""
        return self._news.file.told

    @property
    def state(self) -> str:
        if not self.over.is_set():
            return f"running for {time.monotonic() - self._started:,.0f} s"
        code = self.child.exit_code
        how = "stopped" if self.stopped and code is not None and code < 0 else ending(code)
        return f"{how} after {self._ended - self._started:,.0f} s"

    # -- on the thread that reads its pipe -------------------------------------------------

    def feed(self, data: bytes) -> None:
        """What its command wrote."""
        self._news.feed(data)
        if self._news.file.full:
            time.sleep(SLOWED)

    def exited(self) -> None:
        if not self.over.is_set():
            self._ended = time.monotonic()
            self.over.set()

    def rest(self, data: bytes) -> None:
        """What others write to its pipe after that; empty once nobody can."""
        if data:
            self.feed(data)
        else:
            self._news.close()


class Jobs:
    """All jobs that were started, the ended too, numbered from 1."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []

    def __iter__(self) -> Iterator[Job]:
        return iter(list(self._jobs))

    def add(self, job: Job) -> None:
        self._jobs.append(job)
        job.id = len(self._jobs)

    def find(self, number: int) -> Job:
        """Raises `ToolFailed` naming those there are."""
        for job in self:
            if job.id == number:
                return job
        numbers = ", ".join(str(job.id) for job in self)
        there = f"there are {numbers}" if numbers else "none was started"
        raise ToolFailed(f"There is no job {number}; {there}.")
