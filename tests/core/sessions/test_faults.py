"""What a process, a disk and a folder may do to a session in the midst of it."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.sessions.lease import Lease, Process, this_process
from shiro_jupyter.core.transcript import User
from tests.support.kills import killed
from tests.support.sessions import ITEMS, Desk

# Writes until the limit of a file's size, then on, then with more room; as a full disk does.
FULL = """
import resource, sys
from pathlib import Path
from shiro_jupyter.core.transcript import User
from tests.support.sessions import Desk
desk = Desk(Path(sys.argv[1]) / "sessions")
opened = desk.filled()
room = opened.log.path.stat().st_size + 1000
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
for turn in range(2, 30):
    opened.session.append(User("x" * 150, turn))
    opened.session.end_turn(turn, "answered")
    opened.log.flush()
assert len(desk.told) == 1 and "File too large" in desk.told[0], desk.told
assert opened.log.path.stat().st_size <= room and opened.log.unsaved
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
opened.session.append(User("after", 30))
opened.session.end_turn(30, "answered")
opened.log.close()
assert desk.told[1:] == ["This session is being saved again."], desk.told
again = desk.open(opened.log.path)
assert again.session.items == opened.session.items and not again.notices, again.notices
"""
# As a user who may not write to the folder, which root always may.
READ_ONLY = """
import os, sys
from pathlib import Path
from shiro_jupyter.core.transcript import User
from tests.support.sessions import ITEMS, Desk
if os.geteuid() == 0:
    os.setuid(65534)
folder = Path(sys.argv[1])
path = next(folder.glob("*.jsonl"))
desk = Desk(folder)
for opened in (desk.new(), desk.open(path)):
    begun = len(opened.session.items)
    assert not opened.notices and begun in (0, len(ITEMS))
    for turn in range(2, 9):
        opened.session.append(User("x", turn))
        opened.log.flush()
    assert len(opened.session.items) == begun + 7, "the turn goes on"
    opened.log.close()
assert len(desk.told) == 2 and all("not being saved" in each for each in desk.told), desk.told
"""


def run(program: str, folder: Path) -> None:
    command = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_process_that_is_killed_at_any_moment_loses_its_last_batch_at_most(
    tmp_path: Path,
) -> None:
    *_, found = killed(tmp_path, 25, seed=6)
    assert found.kills == 25 and found.torn >= 3 and found.items > 100


def test_a_full_disk_is_told_once_and_all_is_saved_when_there_is_room(tmp_path: Path) -> None:
    run(FULL, tmp_path)


def test_a_read_only_folder_is_told_once_and_stops_nothing() -> None:
    folder = Path(tempfile.mkdtemp())  # that of pytest is for its own user only
    try:
        saved = Desk(folder).filled()
        saved.log.close()
        saved.log.path.chmod(0o444)
        folder.chmod(0o555)
        before = saved.log.path.read_bytes()
        run(READ_ONLY, folder)
        assert saved.log.path.read_bytes() == before and len(list(folder.iterdir())) == 1
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_disk_that_becomes_read_only_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path / "sessions")
    opened = desk.filled()
    real = os.open

    def refusing(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return real(path, flags, *more, **named)

    def refused(*more: Any, **named: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refusing)
        patch.setattr(os, "utime", refused)
        for turn in range(2, 6):
            opened.session.append(User("x", turn))
            opened.log.renew()
            opened.log.flush()
        assert len(desk.told) == 1 and "Read-only file system" in desk.told[0]
    opened.session.append(User("after", 6))
    opened.log.flush()
    assert desk.told[1:] == ["This session is being saved again."]
    assert len(desk.load(opened.log.path).session.items) == len(ITEMS) + 5


def test_a_copy_that_cannot_be_made_is_told_once_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another kernel took the session, and the disk is full: both stay whole."""
    desk = Desk(tmp_path / "sessions")
    ours = desk.filled()
    theirs = desk.load(ours.log.path)
    theirs.session.append(User("theirs", 2))
    theirs.log.flush()
    before = theirs.log.path.read_bytes()
    real = os.write

    def full(handle: int, data: bytes) -> int:
        if len(data) > 400:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for _ in range(3):
            ours.session.append(User("ours", 2))
            ours.log.flush()
        assert len(desk.told) == 1 and "No space left" in desk.told[0]
        assert [each.name for each in desk.folder.glob("*.jsonl")] == [theirs.log.path.name]
        assert len(list(desk.folder.iterdir())) == 2, "the log and its lease"
    ours.log.flush()
    assert len(desk.told) == 3 and desk.told[2] == "This session is being saved again."
    assert theirs.log.path.read_bytes() == before
    assert desk.load(ours.log.path).session.items == [*ITEMS, *[User("ours", 2)] * 3]


def test_a_lease_of_a_process_killed_before_it_wrote_anything_is_free(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "sessions")
    opened = desk.filled()
    opened.log.lease.release()
    assert Lease(opened.log.path, Process(this_process().machine, 2**22 + 1, "1")).take()
    assert desk.open(opened.log.path).session.id == opened.session.id
