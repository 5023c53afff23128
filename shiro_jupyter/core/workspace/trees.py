"""Children as trees: what belongs to one, and ending all of it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

# Marks each child with who started it, so that it is found in whatever session it moved to.
MARK = "SHIRO_CHILD"

GRACE = 0.5  # seconds between asking a tree to end and ending it
POLL = 0.01


@dataclass(eq=False)
class Child:
    """A child and what it started; its group has its `pid`."""

    popen: subprocess.Popen[bytes]
    mark: str
    pipe: str = ""  # what its output goes to, as /proc names it
    running: bool = True
    # What of its group was still alive when it exited.
    left: Sequence[psutil.Process] = ()

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self.popen.returncode

    def wait(self) -> None:
        """Until it exits; then note what of its group goes on. Blocks."""
        self.popen.wait()
        if _group_lives(self.pid):
            self.left = [each for each in psutil.process_iter() if _group_of(each) == self.pid]
        self.running = False

    def living(self) -> set[int]:
        """The processes known to be its own. An id is given away again once its bearer is
        gone, so those of the past do not count."""
        return {self.pid} if self.running else {each.pid for each in self.left if _alive(each)}


def ending(exit_code: int | None) -> str:
    """How a child ended, in words."""
    if exit_code is None:
        return "not to be ended"
    return f"ended by signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"


def groups_of(children: Collection[Child]) -> set[int]:
    return {child.pid for child in children if child.living()}


def end_trees(
    children: Collection[Child], ours: Callable[[str], bool], *, ask: bool = True
) -> None:
    """Ask these children and all that they started to end; end it after the grace, or at once
    where they are not asked."""
    groups = groups_of(children)
    rounds = ((True, GRACE), (False, GRACE / 4), (False, GRACE / 4))
    for gently, seconds in rounds if ask else rounds[1:]:
        living = family(children, groups, ours)
        if not living:
            return
        for group in groups:
            _signal_group(group, gently)
        for process in living:
            if _group_of(process) not in groups:
                with suppress(psutil.Error):
                    process.terminate() if gently else process.kill()
        deadline = time.monotonic() + seconds
        while any(map(_alive, living)) and time.monotonic() < deadline:
            time.sleep(POLL)


def family(
    children: Collection[Child], groups: Collection[int], ours: Callable[[str], bool]
) -> list[psutil.Process]:
    """What lives of these children, of these groups, of what writes to their pipes or carries a
    mark of ours, and of all their descendants: a child may leave its group, lose its parent, and
    drop its environment."""
    known = set().union(*(child.living() for child in children))
    pipes = {child.pipe for child in children if child.pipe}
    living: dict[int, psutil.Process] = {}
    parents: dict[int, int] = {}
    found: set[int] = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid == os.getpid() or not _alive(process):
                continue
            living[process.pid], parents[process.pid] = process, process.ppid()
            if (
                process.pid in known
                or _group_of(process) in groups
                or not pipes.isdisjoint(_outputs_of(process))
                or ours(process.environ().get(MARK, ""))
            ):
                found.add(process.pid)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return [living[pid] for pid in sorted(found)]


def pipe_name(descriptor: int) -> str:
    """A pipe as /proc names it; empty for what is none."""
    known = os.fstat(descriptor)
    return f"pipe:[{known.st_ino}]" if stat.S_ISFIFO(known.st_mode) else ""


def _outputs_of(process: psutil.Process) -> list[str]:
    """What its two streams go to, where there is a /proc and we may look."""
    found = []
    for descriptor in (1, 2):
        with suppress(OSError):
            found.append(str(Path(f"/proc/{process.pid}/fd/{descriptor}").readlink()))
    return found


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _group_of(process: psutil.Process) -> int | None:
    if sys.platform == "win32":
        return None
    try:
        return os.getpgid(process.pid)
    except OSError:
        return None


def _group_lives(group: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def _signal_group(group: int, gently: bool) -> None:
    if sys.platform != "win32":
        with suppress(OSError):
            os.killpg(group, signal.SIGTERM if gently else signal.SIGKILL)
