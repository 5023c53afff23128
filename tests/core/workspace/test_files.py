from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import StorageError
from shiro_jupyter.core.workspace import files
from shiro_jupyter.core.workspace.files import (
    LATE_PATIENCE,
    LOCK_PATIENCE,
    LOCK_STALE,
    append,
    ensure_project_store,
    locked,
    write_atomic,
)
from shiro_jupyter.core.workspace.project import Project


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_write_makes_folders_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_modes_are_kept_and_private_is_private(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.touch()
    script.chmod(0o750)
    write_atomic(script, b"#!")
    assert mode_of(script) == 0o750
    secret = tmp_path / "deep" / "er" / "key"
    write_atomic(secret, b"k", private=True)
    assert mode_of(secret) == 0o600 and mode_of(secret.parent) == 0o700
    assert mode_of(secret.parent.parent) == 0o700
    log = tmp_path / "log" / "x.jsonl"
    append(log, b"1\n", private=True)
    assert mode_of(log) == 0o600 and mode_of(log.parent) == 0o700


def test_a_link_is_replaced_and_a_second_name_kept(tmp_path: Path) -> None:
    target, link, second = tmp_path / "t", tmp_path / "l", tmp_path / "s"
    target.write_bytes(b"longer than new")
    link.symlink_to(target)
    os.link(target, second)
    write_atomic(link, b"mine")
    assert (link.read_bytes(), target.read_bytes()) == (b"mine", b"longer than new")
    write_atomic(second, b"new")
    assert target.read_bytes() == b"new" and target.samefile(second)


def test_a_failed_write_keeps_the_old_bytes_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"Cannot write .*x: No space left on device"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_an_append_that_fails_half_way_takes_its_bytes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    append(path, b"good\n")
    real = os.write

    def half(handle: int, data: bytes) -> int:
        if len(data) < 4:
            raise OSError(28, "No space left on device")
        return real(handle, data[: len(data) - 3])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(StorageError, match="No space"):
        append(path, b"this one is cut\n")
    assert path.read_bytes() == b"good\n"


def test_the_first_write_of_a_project_says_where(tmp_path: Path) -> None:
    project = Project(tmp_path)
    said = ensure_project_store(project)
    assert str(project.store) in said
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    left = ["MEMORY.md", ".MEMORY.md.a1.tmp", "MEMORY.md.lock", "MEMORY.md.lock.breaking"]
    for name in left:
        write_atomic(project.memory_dir / name, b"")
    seen = subprocess.run(
        ["git", "ls-files", "-o", "--exclude-standard"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert seen == [".shiro/.gitignore", ".shiro/memory/MEMORY.md"]
    assert ensure_project_store(project) == ""


def test_a_store_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    (tmp_path / ".shiro").symlink_to(tmp_path / "else")
    with pytest.raises(StorageError, match="link or a file"):
        ensure_project_store(Project(tmp_path))


def add(path: Path, line: bytes) -> None:
    with locked(path):
        while not write_atomic(path, (old := path.read_bytes()) + line, expected=old):
            pass


@dataclass
class Moments:
    """What somebody else does right before a file is replaced, and at each wait of the writer."""

    before: list[Callable[[], object]] = field(default_factory=list)
    waits: list[Callable[[], object]] = field(default_factory=list)


@pytest.fixture
def moments(monkeypatch: pytest.MonkeyPatch) -> Moments:
    moments, real = Moments(), Path.replace

    def take(steps: list[Callable[[], object]]) -> None:
        if steps:
            steps.pop(0)()

    def replace(path: Path, target: Path) -> Path:
        take(moments.before)
        return real(path, target)

    monkeypatch.setattr(Path, "replace", replace)
    monkeypatch.setattr(time, "sleep", lambda seconds: take(moments.waits))
    return moments


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x"
    path.write_bytes(b"old\n")
    return path


def test_a_file_in_the_midst_of_a_save_is_waited_for(path: Path, moments: Moments) -> None:
    with path.open("wb", buffering=0) as file:
        moments.waits = [partial(file.write, b"by hand\n")]
        assert not write_atomic(path, b"ours\n", expected=b"")
    assert path.read_bytes() == b"by hand\n"


def test_an_empty_file_is_filled_so_that_a_slow_save_is_not_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "EMPTY_PATIENCE", 0)
    with path.open("wb", buffering=0) as slow:
        assert write_atomic(path, b"ours\n", expected=b"")
        assert path.read_bytes() == b"ours\n"
        slow.write(b"by hand\n")
    assert path.read_bytes() == b"by hand\n"


def test_a_save_begun_right_before_the_write_is_put_back(path: Path, moments: Moments) -> None:
    with path.open("r+b", buffering=0) as file:
        moments.before = [partial(file.truncate, 0)]
        moments.waits = [int, partial(file.write, b"by "), partial(file.write, b"hand\n")]
        add(path, b"ours\n")
    assert path.read_bytes() == b"by hand\nours\n"
    assert list(path.parent.iterdir()) == [path]


def test_a_save_made_since_is_not_overwritten_by_one_put_back(path: Path, moments: Moments) -> None:
    with path.open("r+b", buffering=0) as file:
        moments.before = [partial(file.truncate, 0)]
        moments.waits = [
            partial(file.write, b"by hand\n"),
            partial(path.write_bytes, b"by hand, again\n"),
        ]
        assert not write_atomic(path, b"old\nours\n", expected=b"old\n")
    assert path.read_bytes() == b"by hand, again\n"


def test_what_is_appended_right_after_the_write_goes_to_the_new_file(
    path: Path, moments: Moments
) -> None:
    with path.open("ab", buffering=0) as file:
        moments.waits = [partial(file.write, b"by hand\n")]
        assert write_atomic(path, b"old\nours\n", expected=b"old\n")
    assert path.read_bytes() == b"old\nours\nby hand\n"


def test_a_file_that_a_save_empties_once_more_is_not_taken_for_empty(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer read it at one save, and comes to write at the next."""
    real = os.fsync

    def saved_again(handle: int) -> None:
        real(handle)
        os.truncate(path, 0)

    monkeypatch.setattr(os, "fsync", saved_again)
    assert not write_atomic(path, b"ours\n", expected=b"")


def test_a_file_that_somebody_is_making_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "x", os.fsync

    def made_meanwhile(handle: int) -> None:
        real(handle)
        path.touch()

    monkeypatch.setattr(os, "fsync", made_meanwhile)
    assert not write_atomic(path, b"ours\n", expected=b"")
    assert list(tmp_path.iterdir()) == [path]


class Busy:
    """A thread that adds line after line; `acknowledged` are those it has come back from."""

    def __init__(self, path: Path) -> None:
        self.path, self.acknowledged = path, list[bytes]()
        self._news, self._ended = threading.Condition(), False

    def run(self) -> None:
        while not self._ended:
            line = b"ours %d\n" % len(self.acknowledged)
            add(self.path, line)
            with self._news:
                self.acknowledged.append(line)
                self._news.notify()

    def comes_back(self, times: int) -> None:
        with self._news:
            wanted = len(self.acknowledged) + times
            assert self._news.wait_for(lambda: len(self.acknowledged) >= wanted, 30)

    @classmethod
    @contextmanager
    def on(cls, path: Path) -> Iterator[Busy]:
        self = cls(path)
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield self
        finally:
            self._ended = True
            thread.join()


def test_no_save_in_place_and_no_acknowledged_write_is_lost(path: Path) -> None:
    saves, unseen = [b"by hand %d\n" % number for number in range(20)], set[bytes]()
    with Busy.on(path) as busy:
        for line in saves:
            # A write begun after a save that has ended leaves no doubt on either.
            busy.comes_back(2)
            before = len(busy.acknowledged)
            text = path.read_bytes()
            with path.open("wb", buffering=0) as file:
                # What came between reading and saving is the editor's to drop.
                unseen.update(busy.acknowledged[before:], [b"ours %d\n" % len(busy.acknowledged)])
                time.sleep(0.005)  # so slow is the editor
                file.write(text + line)
        busy.comes_back(2)
    kept = path.read_bytes().splitlines(keepends=True)
    assert [line for line in kept if line in saves] == saves
    assert set(busy.acknowledged) - unseen <= set(kept)


def test_no_line_appended_meanwhile_is_lost(path: Path) -> None:
    promised = set[bytes]()
    with Busy.on(path) as busy:
        for number in range(300):
            line = b"by hand %d\n" % number
            start = time.monotonic()
            with path.open("ab", buffering=0) as file:
                file.write(line)
            if time.monotonic() - start < LATE_PATIENCE:  # and not put to sleep in between
                promised.add(line)
            if number % 10 == 0:
                busy.comes_back(1)
    assert len(promised) > 100
    kept = path.read_bytes().splitlines(keepends=True)
    assert promised <= set(kept) and set(busy.acknowledged) <= set(kept)
    assert len(kept) == len(set(kept))


COUNT = """
import sys
from pathlib import Path
from shiro_jupyter.core.workspace.files import locked, write_atomic
path = Path(sys.argv[1])
for _ in range(25):
    with locked(path):
        write_atomic(path, str(int(path.read_text()) + 1).encode())
"""


def test_four_processes_lose_no_update(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    run = [sys.executable, "-c", COUNT, str(path)]
    processes = [subprocess.Popen(run, cwd=Path(files.__file__).parents[3]) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0, 0, 0, 0]
    assert path.read_text() == "100"
    assert list(tmp_path.iterdir()) == [path]


def test_threads_exclude_each_other(tmp_path: Path) -> None:
    path, inside, most = tmp_path / "x", [0], [0]

    def work() -> None:
        for _ in range(10):
            with locked(path):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.001)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_a_lock_in_use_is_waited_for_then_told(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with (
        locked(path),
        pytest.raises(StorageError, match=r"in use by another process.*x\.lock"),
        locked(path, patience=0.05),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_the_lock_of_a_dead_process_is_broken_by_the_file_systems_clock(tmp_path: Path) -> None:
    path = tmp_path / "x"
    lock = tmp_path / "x.lock"
    lock.write_bytes(b"someone")
    os.utime(lock, (time.time() - 60, time.time() - 60))
    with locked(path, patience=0.5):
        assert lock.read_bytes() != b"someone"
    # A lock as young as the file system says is no dead one, whatever our own clock says.
    lock.write_bytes(b"someone")
    with pytest.raises(StorageError), locked(path, patience=0.05):
        pass
    assert lock.read_bytes() == b"someone"
    assert list(tmp_path.iterdir()) == [lock]


def test_the_lock_of_a_killed_process_refuses_nobody(tmp_path: Path) -> None:
    assert LOCK_STALE < LOCK_PATIENCE
    lock = tmp_path / "x.lock"
    lock.write_bytes(b"killed")
    os.utime(lock, (time.time() - LOCK_STALE + 0.5, time.time() - LOCK_STALE + 0.5))
    with locked(tmp_path / "x"):
        assert lock.read_bytes() != b"killed"


def test_a_lock_lost_meanwhile_is_not_taken_from_its_new_owner(tmp_path: Path) -> None:
    path = tmp_path / "x"
    lock = tmp_path / "x.lock"
    with locked(path):
        lock.write_bytes(b"another")
    assert lock.read_bytes() == b"another"
