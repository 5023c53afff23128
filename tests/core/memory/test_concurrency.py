"""Several kernels on one store, some of them killed: nothing acknowledged is lost."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

import pytest

from shiro_jupyter.core.memory import index_file
from shiro_jupyter.core.memory.index import Index, parse_line
from shiro_jupyter.core.memory.own import hash_of
from shiro_jupyter.core.memory.store import Caps
from shiro_jupyter.core.workspace.files import locked, write_atomic
from tests.support.memories import MakeMemory

ROOT = Path(__file__).parents[3]
WRITERS, WRITES = 8, 100
# Only the lock file may keep them apart: `flock` is refused, as some file systems do, or missing.
WRITER = """
import sys
from functools import partial
from pathlib import Path
try:
    import fcntl
    def refused(*arguments):
        raise OSError(95, "Operation not supported")
    fcntl.flock = fcntl.lockf = refused
except ImportError:
    pass
root, name = Path(sys.argv[1]), sys.argv[2]
if name in "aceg":
    sys.modules["fcntl"] = None
from shiro_jupyter.core.workspace import files
# What a killed writer leaves is taken for dead sooner than a person would have it.
files.locked = partial(files.locked, stale=1.0, patience=60)
from shiro_jupyter.core.memory.store import Caps, Memory
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.core.workspace.folders import Folders
from shiro_jupyter.core.workspace.project import Project
folders = Folders(root / "config", root / "data", root)
memory = Memory(Project(root), folders, SystemClock(), Caps(entries=1000))
for number in range(int(sys.argv[3])):
    done = memory.remember(f"writer {name} number {number}", keep_both=True)
    assert done.stored and not any("by others" in note for note in done.notes), done
    print(done.entry.text, flush=True)
"""


class Writer:
    """A process, and what it said to have stored; killed at once after so many."""

    def __init__(self, root: Path, name: str, killed_after: int | None = None) -> None:
        self.acknowledged: list[str] = []
        self._killed_after = killed_after
        run = [sys.executable, "-c", WRITER, str(root), name, str(WRITES)]
        self.process = subprocess.Popen(run, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self._thread = threading.Thread(target=self._listen, args=(self.process.stdout,))
        self._thread.start()

    def _listen(self, lines: IO[str]) -> None:
        with lines:
            for line in lines:
                self.acknowledged.append(line.removesuffix("\n"))
                if len(self.acknowledged) == self._killed_after:
                    self.process.kill()

    def wait(self) -> int:
        self._thread.join()
        return self.process.wait()


def test_eight_processes_of_which_three_are_killed_lose_nothing(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    root = tmp_path.resolve()
    path = root / ".shiro" / "memory" / "MEMORY.md"
    chance = random.Random()  # another one each run: what is asserted holds for any
    killed = dict(zip("bdg", (chance.randrange(1, WRITES // 2) for _ in range(3)), strict=True))
    writers = {name: Writer(root, name, killed.get(name)) for name in "abcdefgh"}
    while not path.exists() and any(each.process.poll() is None for each in writers.values()):
        pass
    with locked(path):  # a person who saves from an editor takes no lock; here none may be late
        path.write_bytes(b"# by hand\n" + path.read_bytes())
    codes = {name: each.wait() for name, each in writers.items()}
    assert [code for name, code in codes.items() if name not in killed] == [0] * 5
    lines = path.read_bytes().decode().split("\n")
    assert lines[0] == "# by hand" and lines[-1] == ""
    entries = [parse_line(line) for line in lines[1:-1]]
    stored = [each.text for each in entries if each]
    assert len(stored) == len(entries) == len(set(stored)), "a torn line, or one written twice"
    acknowledged = [text for each in writers.values() for text in each.acknowledged]
    assert set(acknowledged) <= set(stored)
    # A killed writer may have stored one more than it could say.
    assert len(stored) - len(acknowledged) <= len(killed), killed
    (accepted,) = (root / "data" / "accepted").glob("*.txt")
    known = set(accepted.read_text().split())
    own = [line for line in lines if (each := parse_line(line)) and each.text in acknowledged]
    assert known >= set(map(hash_of, own))
    # Nobody who comes later is refused because of the dead, and nothing is left of them.
    age = time.time() - 60
    for left in [*path.parent.iterdir(), *accepted.parent.iterdir()]:
        os.utime(left, (age, age))
    assert make_memory(".", Caps(entries=1000)).remember("plots are saved as svg").stored
    assert [*path.parent.iterdir(), *accepted.parent.iterdir()] == [path, accepted]


def test_a_lock_that_a_dead_process_holds_is_taken_over(make_memory: MakeMemory) -> None:
    memory = make_memory()
    path = memory.remember("use pnpm").path
    dead = (
        "import os, sys; from pathlib import Path; "
        "from shiro_jupyter.core.workspace.files import locked; "
        "taken = locked(Path(sys.argv[1])); taken.__enter__(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", dead, str(path)], cwd=ROOT, check=False)
    (lock,) = path.parent.glob("*.lock")
    age = time.time() - 60
    os.utime(lock, (age, age))
    assert memory.remember("plots are saved as svg").stored
    assert memory.forget("use pnpm").lines == 1
    assert sorted(each.name for each in path.parent.iterdir()) == ["MEMORY.md"]


def test_a_writer_that_slept_through_its_lock_overwrites_nobody(
    make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop that was shut while one kernel held the lock: another took it over and wrote."""
    memory, other = make_memory(), make_memory()
    path = memory.remember("use pnpm").path
    slept: list[bool] = []

    def late(target: Path, data: bytes, **options: object) -> bool:
        if not slept:
            slept.append(True)
            lock = path.with_name(".MEMORY.md.shiro.lock")
            os.utime(lock, (time.time() - 60, time.time() - 60))
            assert other.remember("plots are saved as svg").stored
        return write_atomic(target, data, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(index_file, "write_atomic", late)
    assert memory.remember("dates are day-first").stored
    assert [each.text for each in Index(path.read_bytes()).entries] == [
        "use pnpm", "plots are saved as svg", "dates are day-first",
    ]  # fmt: skip
    assert not list(path.parent.glob("*.lock*"))
