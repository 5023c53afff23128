from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import StorageError
from shiro_jupyter.core.workspace import files
from shiro_jupyter.core.workspace.files import (
    LOCK_PATIENCE,
    LOCK_STALE,
    TRIES,
    append,
    ensure_project_store,
    locked,
    remove,
    retried,
    write_atomic,
)
from shiro_jupyter.core.workspace.project import Project


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x"
    path.write_bytes(b"old\n")
    return path


def said(sentence: str) -> AbstractContextManager[object]:
    """A refusal in exactly these words."""
    return pytest.raises(StorageError, match=rf"\A{re.escape(sentence)}\Z")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_write_makes_folders_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "chown"), reason="no owners there")
def test_where_a_file_may_not_be_given_away_it_is_still_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, tried = tmp_path / "a", list[tuple[int, int]]()
    path.write_bytes(b"old")
    theirs = os.stat_result([*path.stat()[:4], 12345, 23456, *path.stat()[6:10]])

    def chown(file: Path, owner: int, group: int) -> None:
        tried.append((owner, group))
        raise PermissionError

    monkeypatch.setattr(Path, "lstat", lambda self: theirs if self == path else os.lstat(self))
    monkeypatch.setattr(os, "chown", chown)
    assert write_atomic(path, b"new", expected=b"old")
    assert tried == [(12345, -1), (-1, 23456)] and path.read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give")
def test_what_root_changes_stays_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.chown(path, 1234, 2345)
    path.chmod(0o4751)
    assert write_atomic(path, b"new", expected=b"old")
    known = path.stat()
    assert (known.st_uid, known.st_gid, stat.S_IMODE(known.st_mode)) == (1234, 2345, 0o4751)


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


def test_a_file_that_nobody_may_write_is_left_alone(path: Path) -> None:
    path.chmod(0o444)
    for expected in (None, b"old\n"):
        with said(f"{path} is read-only; make it writable (chmod u+w) and try again."):
            write_atomic(path, b"new", expected=expected)
    assert path.read_bytes() == b"old\n" and list(path.parent.iterdir()) == [path]


def test_a_failed_write_keeps_the_old_bytes_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with said(f"Cannot write {path}: No space left on device; mend that and try again."):
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
    left = [
        "MEMORY.md",
        ".MEMORY.md.a1.tmp",
        ".MEMORY.md.shiro.lock",
        ".MEMORY.md.shiro.lock.breaking",
    ]
    for name in left:
        write_atomic(project.memory_dir / name, b"")
    seen = subprocess.run(
        ["git", "ls-files", "-o", "--exclude-standard"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert seen == [".shiro/.gitignore", ".shiro/memory/MEMORY.md"]
    assert ensure_project_store(project) == ""


def test_a_store_that_is_no_folder_of_the_user_is_refused(tmp_path: Path) -> None:
    project = Project(tmp_path.resolve())
    with said(f"Cannot make the folder {project.store}: Not a directory; mend that and try again."):
        project.store.touch()
        ensure_project_store(project)
    project.store.unlink()
    (tmp_path / "else").mkdir()
    project.store.symlink_to("else")
    with said(f"{project.store} leads elsewhere by a link; take the link away."):
        ensure_project_store(project)
    with said(
        f"{project.store} belongs to another user, so memory and notes are neither read nor "
        "written there; work in a folder of your own."
    ):
        ensure_project_store(replace(project, passed_over=(project.root,)))
    assert not list((tmp_path / "else").iterdir())


# -- writes that others overtake ----------------------------------------------------------


def test_a_write_is_tried_again_under_one_lock_until_it_holds(tmp_path: Path) -> None:
    path, lock = tmp_path / "x", tmp_path / ".x.shiro.lock"
    tokens, given = [], iter([None, None, ""])

    def attempt() -> str | None:
        tokens.append(lock.read_bytes())
        return next(given)

    assert retried(path, attempt) == ""
    assert len(tokens) == 3 and len(set(tokens)) == 1 and not lock.exists()


def test_saves_that_never_end_are_told(tmp_path: Path) -> None:
    attempts = list[None]()
    with said(f"{tmp_path / 'x'} is being saved over and over; let that end and try again."):
        retried(tmp_path / "x", lambda: attempts.append(None))
    assert len(attempts) == TRIES and not list(tmp_path.iterdir())


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


def test_a_file_that_holds_other_bytes_by_now_is_left_alone(path: Path) -> None:
    second, known = path.with_name("second"), path.stat()
    assert not write_atomic(path, b"new", expected=b"older\n")
    assert os.path.samestat(path.stat(), known)
    os.link(path, second)
    assert not write_atomic(path, b"new", expected=b"older\n")
    assert path.read_bytes() == b"old\n"
    assert write_atomic(path, b"new", expected=b"old\n") and second.read_bytes() == b"new"
    path.unlink()
    assert not write_atomic(path, b"new", expected=b"old\n")
    assert list(path.parent.iterdir()) == [second]


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


def test_a_file_that_has_been_empty_for_long_is_filled_at_once(
    path: Path, moments: Moments
) -> None:
    path.write_bytes(b"")
    os.utime(path, (time.time() - 9, time.time() - 9))
    moments.waits = [partial(pytest.fail, "waited")]
    assert write_atomic(path, b"ours\n", expected=b"")
    assert path.read_bytes() == b"ours\n"


def test_a_save_begun_right_before_the_write_is_put_back(path: Path, moments: Moments) -> None:
    with path.open("r+b", buffering=0) as file:
        moments.before = [partial(file.truncate, 0)]
        moments.waits = [int, int, partial(file.write, b"by "), partial(file.write, b"hand\n")]
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
        pytest.raises(StorageError, match=r"in use by another process.*\.x\.shiro\.lock"),
        locked(path, patience=0.05),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_a_wait_that_a_person_would_notice_is_told_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    with (
        locked(path),
        pytest.raises(StorageError, match="in use"),
        locked(path, patience=0.05, tell=told.append),
    ):
        pass
    assert told == []
    monkeypatch.setattr(files, "LOCK_TOLD", 0.01)
    with (
        locked(path),
        pytest.raises(StorageError, match="in use"),
        locked(path, patience=0.2, tell=told.append),
    ):
        pass
    assert told == [f"Waiting for another process that has {path} in use …"]


def test_the_lock_of_a_dead_process_is_broken_by_the_file_systems_clock(tmp_path: Path) -> None:
    path = tmp_path / "x"
    lock = tmp_path / ".x.shiro.lock"
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
    lock = tmp_path / ".x.shiro.lock"
    lock.write_bytes(b"killed")
    os.utime(lock, (time.time() - LOCK_STALE + 0.5, time.time() - LOCK_STALE + 0.5))
    with locked(tmp_path / "x"):
        assert lock.read_bytes() != b"killed"


KILLED = """
import os, sys
from pathlib import Path
from shiro_jupyter.core.workspace.files import locked, write_atomic
path = Path(sys.argv[1])
os.fsync = lambda handle: os.kill(os.getpid(), 9)
with locked(path if len(sys.argv) == 2 else path.parent):
    write_atomic(path, b"never seen")
"""


def killed(*arguments: Path | str) -> None:
    """A process amid a write."""
    run = [sys.executable, "-c", KILLED, *arguments]
    done = subprocess.run(run, cwd=Path(files.__file__).parents[3], check=False)
    assert done.returncode == -signal.SIGKILL


def aged(*paths: Path) -> None:
    then = time.time() - 60
    for path in paths:
        os.utime(path, (then, then))


def test_what_a_process_killed_amid_a_write_left_goes_with_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_bytes(b"old")
    killed(path)
    lock, (left,) = tmp_path / ".x.md.shiro.lock", tmp_path.glob(".x.md.*.tmp")
    assert left.read_bytes() == b"never seen"
    others = [
        tmp_path / name
        for name in (
            f".x.md.more{left.suffixes[-2]}.tmp",
            f".x.md.more.md{left.suffixes[-2]}.tmp",
            f".xomd{left.suffixes[-2]}.tmp",
            ".x.md.draft.tmp",
            "x.md.0123456789ab.tmp",
        )
    ]
    probe = (
        tmp_path / "..x.md.shiro.lock.0123456789ab.tmp"
    )  # of one killed as it looked at the lock
    for each in (probe, *others):
        each.touch()
    aged(lock, probe, *others)
    # A young one may be a living writer's, and its lock with it.
    with pytest.raises(StorageError, match="in use"), locked(path, patience=0.05):
        pass
    assert lock.exists() and left.exists()
    aged(left)
    with locked(path, patience=0.05):
        assert sorted(tmp_path.iterdir()) == sorted([path, lock, *others])
    assert path.read_bytes() == b"old"


def test_the_lock_of_a_folder_has_what_was_written_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    killed(folder / "a.md", "folder")
    (left,) = folder.iterdir()
    (folder / "b.md").touch()
    aged(left, tmp_path / ".notes.shiro.lock")
    with locked(folder, patience=0.05):
        assert [each.name for each in folder.iterdir()] == ["b.md"]
    assert list(tmp_path.iterdir()) == [folder]


def test_a_writer_taken_for_dead_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop that was shut amid a write: the lock is another's now, and the temporary gone."""
    path, real = tmp_path / "x", os.fsync

    def shut(handle: int) -> None:
        real(handle)
        monkeypatch.setattr(os, "fsync", real)
        aged(*tmp_path.iterdir())
        with locked(path):
            assert [each.name for each in tmp_path.iterdir()] == [".x.shiro.lock"]

    monkeypatch.setattr(os, "fsync", shut)
    with locked(path):
        assert not write_atomic(path, b"new", expected=b"")
        assert write_atomic(path, b"new", expected=b"")
    assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]


def test_a_person_s_own_lock_file_is_none_of_ours(tmp_path: Path) -> None:
    theirs = tmp_path / "Pipfile.lock"
    theirs.write_bytes(b"{}")
    os.utime(theirs, (time.time() - 60, time.time() - 60))
    with locked(tmp_path / "Pipfile", patience=0.05):
        assert theirs.read_bytes() == b"{}"
    assert list(tmp_path.iterdir()) == [theirs]


def test_a_name_as_long_as_names_may_be_has_room_for_what_is_added(tmp_path: Path) -> None:
    path = tmp_path / ("名" * 85)
    with locked(path):
        assert write_atomic(path, b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_a_lock_lost_meanwhile_is_not_taken_from_its_new_owner(tmp_path: Path) -> None:
    path = tmp_path / "x"
    lock = tmp_path / ".x.shiro.lock"
    with locked(path):
        lock.write_bytes(b"another")
    assert lock.read_bytes() == b"another"


def test_a_file_is_removed_only_as_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is saved at that moment stays: to the file itself, or to one in its place."""
    path = tmp_path / "a"
    assert not remove(path, b"")
    for late, expected in (("aside", b"late"), ("path", b"newer"), ("", None)):
        path.write_bytes(b"known")

        def saved(seconds: float, late: str = late) -> None:
            if late == "aside":
                next(tmp_path.glob(".a.*.tmp")).write_bytes(b"late")
            elif late == "path":
                next(tmp_path.glob(".a.*.tmp")).write_bytes(b"late")
                path.write_bytes(b"newer")

        with monkeypatch.context() as patch:
            patch.setattr("shiro_jupyter.core.workspace.files.time.sleep", saved)
            assert remove(path, b"known") == (expected is None)
        assert [each.read_bytes() for each in tmp_path.iterdir()] == [expected] * bool(expected)
    path.write_bytes(b"other")
    assert not remove(path, b"known") and path.read_bytes() == b"other"
