"""The only module that writes files: atomically, or by appending, under a lock where asked.

Every function raises `StorageError` with the path, the system's reason and what to do.
"""

from __future__ import annotations

import errno
import os
import random
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from io import FileIO
from pathlib import Path
from typing import TypeVar

from ..errors import StorageError
from .plain import refuse_foreign, refuse_link, told
from .project import Project

T = TypeVar("T")
Tell = Callable[[str], object]  # takes a sentence for a person

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
LOCK_PATIENCE, LOCK_TOLD = 10.0, 1.0  # seconds to wait for another process, and in silence
# A lock this old, by the file system's own clock, has lost its owner; less than the patience, so
# that nobody is refused for the lock of a process that was killed.
LOCK_STALE = 5.0
# A person's editor may save in place: it truncates the file, then writes. An empty file may be one
# half saved, and whoever had a file open when it was replaced still writes to the one nobody sees.
EMPTY_PATIENCE, LATE_PATIENCE = 0.5, 0.003  # seconds to wait for either
TRIES = 20  # of a write that a person's own saves keep overtaking
# What git passes over in `.shiro`: notes, and what a killed process leaves behind.
IGNORED = b"notes/\n.*.tmp\n*.lock*\n*.bak\n"
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # of a pipe, which would wait for its other end


def write_atomic(
    path: Path, data: bytes, *, private: bool = False, expected: bytes | None = None
) -> bool:
    """Replace or create a file in one step: a reader sees the old bytes or the new ones.

    Missing folders are made. Mode, owner and group of an existing file are kept, as far as we may;
    a link is replaced, never written through. A file with several names is rewritten in place, so
    that all of them see the new bytes. With `expected`, nothing is written and False returned where
    the file holds other bytes by now (a missing file holds none): a person saved it meanwhile.
    Where a save in place and the write come across each other, the file holds what was saved, and
    False is returned; what is appended at that moment is kept. An empty file is filled in place.
    One that nobody may write is refused: our way needs no right on the file itself, but says who
    set that.
    """
    with told("write", path):
        make_folder(path.parent, private=private)
        try:
            known = path.lstat()
        except FileNotFoundError:
            known = None
        regular = known if known and stat.S_ISREG(known.st_mode) else None
        if regular and not regular.st_mode & 0o222:
            raise StorageError(f"{path} is read-only; make it writable (chmod u+w) and try again.")
        if regular and expected == b"":
            return _fill(path, data, private, time.time() - regular.st_mtime)
        if regular and regular.st_nlink > 1:
            if not _holds(path, expected):
                return False
            _rewrite(path, data)
            return True
        temporary = _temporary(path)
        mode = PRIVATE_FILE if private or regular else 0o666
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
        try:
            try:
                _write_all(handle, data)
                os.fsync(handle)
            finally:
                os.close(handle)
            if regular:
                _give(temporary, regular)
                temporary.chmod(stat.S_IMODE(regular.st_mode))
            with _open_old(path, expected) or nullcontext() as old:
                appeared = not (known or expected is None) and path.exists()
                if appeared or not _holds(path, expected):
                    temporary.unlink(missing_ok=True)
                    return False
                temporary.replace(path)
                _sync_folder(path.parent)
                return not (old and expected) or _keep_late(old, path, data, expected)
        except BaseException as error:
            temporary.unlink(missing_ok=True)
            if isinstance(error, FileNotFoundError) and expected is not None:
                return False  # who took our lock for a dead one's took it for what that left
            raise


def append(path: Path, data: bytes, *, private: bool = False) -> None:
    """Add to the end of a file, all or nothing where the file system lets us take back. What is
    no plain file is refused."""
    with told("write", path):
        make_folder(path.parent, private=private)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | _BINARY | _NOFOLLOW | _NONBLOCK
        handle = os.open(path, flags, PRIVATE_FILE if private else 0o666)
        try:
            known = os.fstat(handle)
            if not stat.S_ISREG(known.st_mode):
                raise StorageError(f"{path} is no plain file; put one in its place, and no link.")
            start = known.st_size
            try:
                _write_all(handle, data)
            except OSError:
                # Only our own bytes are taken back; another writer's are not ours to cut.
                if os.fstat(handle).st_size - start < len(data):
                    with suppress(OSError):
                        os.ftruncate(handle, start)
                raise
        finally:
            os.close(handle)


def remove(path: Path, expected: bytes) -> bool:
    """Remove a file that holds these bytes; False where it holds others by now, and stays."""
    with told("remove", path):
        aside = _temporary(path)
        try:
            path.rename(aside)  # so that a save from now on makes a file of its own
        except FileNotFoundError:
            return False
        removed = False
        try:
            time.sleep(LATE_PATIENCE)  # for who writes to it still
            removed = aside.read_bytes() == expected
        finally:
            if removed or path.exists():  # a save since is newer
                aside.unlink()
            else:
                aside.rename(path)
        return removed


def make_folder(path: Path, *, private: bool = False) -> None:
    """The folder and its parents; those made here are the user's alone where `private`."""
    with told("make the folder", path):
        missing = []
        for folder in (path, *path.parents):
            if folder.exists():
                break
            missing.append(folder)
        for folder in reversed(missing):
            folder.mkdir(PRIVATE_FOLDER if private else 0o777, exist_ok=True)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def ensure_project_store(project: Project) -> str:
    """Make `.shiro` ready for a first write; the sentence to tell, empty where it was ready."""
    store = project.store
    refuse_foreign(project)
    refuse_link(store)
    make_folder(store)
    ignore = store / ".gitignore"
    with told("use", store):
        if ignore.exists():
            return ""
    write_atomic(ignore, IGNORED)
    return f"Keeping this project's memory and notes in {store} (git ignores notes/ there)."


def retried(path: Path, attempt: Callable[[], T | None], tell: Tell | None = None) -> T:
    """What `attempt` makes of a file, or of those in a folder, under its lock.

    It reads, and writes what it read only if that stands yet; where a person's save came first
    it gives None, and is called again. `tell` takes a sentence where the lock is waited for.
    """
    with locked(path, tell=tell):
        for _ in range(TRIES):
            if (done := attempt()) is not None:
                return done
    raise StorageError(f"{path} is being saved over and over; let that end and try again.")


@contextmanager
def locked(
    path: Path,
    *,
    patience: float = LOCK_PATIENCE,
    stale: float = LOCK_STALE,
    sleep: Callable[[float], None] = time.sleep,
    tell: Tell | None = None,
) -> Iterator[None]:
    """Hold the lock of `path` against other threads, processes and machines. A wait that a person
    would notice is told, once.

    `path` is a file, or a folder for all files in it. A lock file made with O_EXCL, which NFS
    honours, rather than `flock`, which it may not. Hold it for one read and write, never while
    waiting for a person.
    """
    lock = _lock_of(path)
    token = secrets.token_hex(8).encode()
    with told("write to the folder of", path):
        make_folder(path.parent)
        next_look = time.monotonic()
        deadline, silent = next_look + patience, next_look + LOCK_TOLD
        while not _create(lock, token):
            now = time.monotonic()
            if now >= next_look:  # a look makes a file: rarely
                next_look = now + 1.0
                if are_stale([lock], stale):
                    _break(path, lock, stale)
                    continue
            if now > deadline:
                raise StorageError(
                    f"{path} is in use by another process; try again, or remove {lock} if "
                    "nothing runs."
                )
            if tell and now > silent:
                tell(f"Waiting for another process that has {path} in use …")
                tell = None
            sleep(random.uniform(0.001, 0.02))
    try:
        yield
    finally:
        with suppress(OSError):
            if lock.read_bytes() == token:  # not so when it was broken as stale meanwhile
                lock.unlink()


def clear_left(path: Path) -> None:
    """Remove what a process that was killed left beside a file, where that can be done."""
    lock = _lock_of(path)
    with suppress(OSError):
        if are_stale([lock], LOCK_STALE):
            _break(path, lock, LOCK_STALE)


def _lock_of(path: Path) -> Path:
    """A name that is nobody else's: `Pipfile.lock` is not the lock of `Pipfile`."""
    return path.with_name(f".{_short(path)}.shiro.lock")


def _short(path: Path) -> str:
    """As much of its name as leaves room for what is added; counted in bytes, as systems do."""
    return os.fsencode(path.name)[:200].decode(errors="ignore")


def _create(lock: Path, token: bytes) -> bool:
    try:
        handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, PRIVATE_FILE)
    except FileExistsError:
        return False
    try:
        os.write(handle, token)
    finally:
        os.close(handle)
    return True


def are_stale(files: Sequence[Path], stale: float) -> bool:
    """Judged by a file made just now beside them: clocks of two machines may differ."""
    try:
        then = max(each.lstat().st_mtime for each in files)
    except FileNotFoundError:
        return False
    probe = _temporary(files[0])
    probe.touch(PRIVATE_FILE)
    try:
        return probe.stat().st_mtime - then > stale
    finally:
        probe.unlink(missing_ok=True)


def _break(path: Path, lock: Path, stale: float) -> None:
    """Remove a stale lock, and what its owner was about to rename when it died.

    One breaker at a time: judged again under a lock of its own, so that a lock taken since by
    another process is not removed in its stead. What is still being written is no dead one's.
    """
    breaking = lock.with_name(lock.name + ".breaking")
    if not _create(breaking, b""):
        if are_stale([breaking], stale):
            breaking.unlink(missing_ok=True)
        return
    try:
        left = [lock, *_temporaries(path)]
        if are_stale(left, stale):
            for each in reversed(left):
                each.unlink(missing_ok=True)
    finally:
        breaking.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{_short(path)}.{secrets.token_hex(6)}.tmp")


def _temporaries(path: Path) -> list[Path]:
    """Of a file and its locks, or of all files in a folder."""
    folder, name = (path, ".*") if path.is_dir() else (path.parent, re.escape(_short(path)))
    lock = rf"\.\.{name}\.shiro\.lock(\.breaking)?"
    mine = re.compile(rf"(\.{name}|{lock})\.[0-9a-f]{{12}}\.tmp", re.DOTALL)
    return [each for each in folder.iterdir() if mine.fullmatch(each.name)]


def _holds(path: Path, expected: bytes | None) -> bool:
    if expected is None:
        return True
    try:
        return path.read_bytes() == expected
    except FileNotFoundError:
        return expected == b""


def _fill(path: Path, data: bytes, private: bool, age: float) -> bool:
    """Write to an empty file once it has stayed so; in place, since an editor slower than that
    still writes to this file, not to one put in its stead. `age`: seconds that it has been so."""
    deadline = time.monotonic() + EMPTY_PATIENCE - max(0, age)
    while _holds(path, b""):
        if time.monotonic() >= deadline:
            append(path, data, private=private)
            return True
        time.sleep(LATE_PATIENCE)
    return False


def _open_old(path: Path, expected: bytes | None) -> FileIO | None:
    """The file about to be replaced, to see who writes to it yet; none on Windows, where no file
    is replaced that anyone has open."""
    if expected and os.name != "nt":
        with suppress(FileNotFoundError):
            return FileIO(path)
    return None


def _give(path: Path, like: os.stat_result) -> None:
    """To the owner and the group of the old file, as far as we may."""
    if sys.platform != "win32":
        known = path.stat()
        for owner, group in ((like.st_uid, -1), (-1, like.st_gid)):
            if owner not in (-1, known.st_uid) or group not in (-1, known.st_gid):
                with suppress(OSError):
                    os.chown(path, owner, group)


def _keep_late(old: FileIO, path: Path, data: bytes, expected: bytes) -> bool:
    """Bring what was written to the replaced file to the new one: lines appended go to its end;
    for any other text, which did not know of `data`, it makes room, and False is returned."""
    late, before = _late(old), expected
    deadline = time.monotonic() + EMPTY_PATIENCE
    while (late != before or not late) and time.monotonic() < deadline:  # in the midst of a save
        late, before = _late(old), late
    if late.startswith(expected):
        if len(late) > len(expected):
            append(path, late[len(expected) :])
        return True
    write_atomic(
        path, late, expected=data
    )  # not so where `path` was saved once more: that is newer
    return False


def _late(old: FileIO) -> bytes:
    time.sleep(LATE_PATIENCE)
    old.seek(0)
    return old.read()


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _rewrite(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | _BINARY | _NOFOLLOW)
    try:
        _write_all(handle, data)
        os.ftruncate(handle, len(data))
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable; some file systems and Windows cannot."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
