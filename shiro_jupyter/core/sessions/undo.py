"""What the tools of a session's turns changed in files, kept so that it can be put back.

A folder for each turn, private: for each file that the turn changed one entry, written before the
change, and the bytes that were there, as they were. The entry names what the turn left by its hash,
so that what anyone else changed since is never touched.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from ..errors import StorageError
from ..workspace.files import clear_left, remove, retried, write_atomic
from ..workspace.paths import OPEN_PLAIN
from ..workspace.plain import read_plain, refuse_link, told

LARGEST = 20_000_000  # bytes of a file that are kept
TURNS = 20  # of a session, the newest, that are kept
DAYS = 30  # that they are kept after a session's last change
FORMAT = 1

SINCE = "it was changed since"
DELETED = "it was deleted since"
MODE = "its permissions were changed since"
SAME = "it is as it was before the turn"
LARGE = f"it held more than {LARGEST // 1_000_000} MB, which are not kept"
UNKEPT = "what it was could not be kept"
DAMAGED = "what was kept of it is damaged"
EARLIER = "it was changed by others during the turn: what the turn did to it before that stays"

_HASH = re.compile(r"[0-9a-f]{64}")

Write = Callable[[], bool]
State = Literal["restored", "removed", "kept", "failed"]


@dataclass(frozen=True)
class Writing:
    """A file's bytes before (None: there is no file) and after, and the folders made for it."""

    path: Path
    before: bytes | None
    after: bytes
    made: Sequence[Path] = ()


@dataclass(frozen=True)
class Undone:
    """What became of one file, and why it was not put back, or not as the turn found it; then
    `before` is where its bytes of before the turn are still."""

    path: Path
    state: State
    why: str = ""
    before: Path | None = None


@dataclass
class _Entry:
    """One file of one turn. States are hashes, None where there is no file.

    `before` is what the turn found and `after` what it left; while a change is `pending`, it may
    also be at `was` still. `mode` is that of a file the turn made.
    """

    path: str
    before: str | None
    after: str | None
    was: str | None = None
    pending: bool = False
    kept: bool = True
    mode: int | None = None
    made: list[str] = field(default_factory=list)
    earlier: bool = False  # others changed it between two changes of the turn
    tried: bool = False  # it could not be put back once
    settled: bool = False  # an undo has passed it over for good
    format: int = FORMAT

    def is_left(self, digest: str | None) -> bool:
        return digest == self.after or (self.pending and digest == self.was)


class FileUndo:
    """The changes of one session, in a folder of its own. Methods block, and run on any thread.

    What cannot be kept is told, once, and holds nothing up.
    """

    def __init__(self, folder: Path, tell: Callable[[str], object]) -> None:
        self._folder, self._tell = folder, tell
        self._unkept: dict[int, set[str]] = {}
        self._lock = threading.Lock()

    def turns(self) -> list[int]:
        """Those that can be undone, newest first."""
        stored = [turn for turn in self._stored() if self._open(turn) or self._damaged(turn)]
        return sorted({*stored, *self._unkept}, reverse=True)

    def files(self, turn: int) -> list[Undone]:
        """What an undo of that turn would come to now."""
        return self._each(turn, lambda folder, entry: _judged(entry)[0])

    def undo(self, turn: int) -> list[Undone]:
        """Put back what that turn changed: each file for itself."""
        done = self._each(turn, self._put_back)
        self._unkept.pop(turn, None)
        self._remove_made(turn, {each.path for each in done if each.state == "removed"})
        folder = self._folder_of(turn)
        done = [_settled(folder, each) for each in done]
        left = self._entries(turn)
        needed = [_bytes_of(folder, entry) for entry in left]
        unneeded = [each for each in folder.glob("*.bytes") if each not in needed]
        for stored in (*self._damaged(turn), *unneeded):
            with suppress(OSError):
                stored.unlink()
        with suppress(OSError):
            folder.rmdir()
        return done

    # -- before and after a change -------------------------------------------------------------

    def around(self, turn: int, writing: Writing, write: Write) -> bool:
        """Make a change of that turn, once what it undoes is kept. Where that raises, it may have
        been made."""
        path = str(writing.path)
        with self._lock:
            try:
                entry = self._keep(turn, writing)
            except StorageError as error:
                entry = None
                if not self._unkept:
                    self._tell(f"Changes of files cannot be undone for now: {error}")
                self._unkept.setdefault(turn, set()).add(path)
        wrote = write()
        if entry is not None:
            with self._lock, suppress(StorageError):  # it stays pending, which is no less true
                self._made_or_not(turn, entry, wrote)
        return wrote

    def _keep(self, turn: int, writing: Writing) -> _Entry:
        folder = self._folder_of(turn)
        if not folder.exists():
            self._forget_old()
        now = _digest(writing.before)
        entry = _read(_file(folder, writing.path))
        if entry and entry.settled:
            entry = None
        if entry is None or not entry.is_left(now):
            kept = writing.before is None or len(writing.before) <= LARGEST
            made, earlier = (entry.made, True) if entry else ([], False)
            entry = _Entry(str(writing.path), now, now, kept=kept, made=made, earlier=earlier)
            if writing.before is not None and kept:
                write_atomic(_bytes_of(folder, entry), writing.before, private=True)
        entry.made += [str(each) for each in writing.made if str(each) not in entry.made]
        entry.was, entry.after, entry.pending = now, _digest(writing.after), True
        _write(folder, entry)
        return entry

    def _made_or_not(self, turn: int, entry: _Entry, wrote: bool) -> None:
        folder, path = self._folder_of(turn), Path(entry.path)
        entry.pending = False
        if not wrote:
            entry.after = entry.was
        elif entry.before is None:
            with suppress(OSError):
                entry.mode = stat.S_IMODE(path.lstat().st_mode)
        if entry.after == entry.before and not entry.earlier:
            _drop(folder, entry)
        else:
            _write(folder, entry)

    def _forget_old(self) -> None:
        """Make room for one turn more, and for one session."""
        for old in sorted(self._stored())[: -(TURNS - 1)]:
            shutil.rmtree(self._folder_of(old), ignore_errors=True)
        with suppress(OSError):
            for session in self._folder.parent.iterdir():
                if time.time() - session.stat().st_mtime > DAYS * 86_400:
                    shutil.rmtree(session, ignore_errors=True)

    # -- putting back --------------------------------------------------------------------------

    def _each(self, turn: int, work: Callable[[Path, _Entry], Undone]) -> list[Undone]:
        unkept = self._unkept.get(turn, set())
        folder, done = self._folder_of(turn), []
        for entry in self._open(turn):
            path = Path(entry.path)
            if entry.path in unkept:
                continue
            try:
                done.append(work(folder, entry))
            except StorageError as error:
                done.append(Undone(path, "failed", str(error)))
        done += [Undone(each, "kept", DAMAGED) for each in self._damaged(turn)]
        return done + [Undone(Path(each), "kept", UNKEPT) for each in sorted(unkept)]

    def _put_back(self, folder: Path, entry: _Entry) -> Undone:
        def attempt() -> Undone | None:
            judged, data = _judged(entry)
            if judged.state == "kept" or data is None:
                return judged
            if judged.state == "removed":
                done = remove(judged.path, data)
            else:
                done = write_atomic(judged.path, _kept(folder, entry), expected=data)
            return judged if done else None

        judged, _ = _judged(entry)
        if judged.state == "kept":  # beside what is not touched no lock is put either
            clear_left(judged.path)  # of an undo that was killed once the file was put back
            return judged
        return retried(judged.path, attempt)

    def _remove_made(self, turn: int, removed: set[Path]) -> None:
        """The folders that were made for files which are gone again, where they are empty."""
        entries = [each for each in self._open(turn) if Path(each.path) in removed]
        for folder in sorted({each for entry in entries for each in entry.made}, reverse=True):
            with suppress(OSError, StorageError):
                refuse_link(Path(folder))
                Path(folder).rmdir()

    # -- what is stored ------------------------------------------------------------------------

    def _folder_of(self, turn: int) -> Path:
        return self._folder / str(turn)

    def _stored(self) -> list[int]:
        with suppress(OSError):
            return [int(each.name) for each in self._folder.iterdir() if each.name.isdecimal()]
        return []

    def _open(self, turn: int) -> list[_Entry]:
        return [each for each in self._entries(turn) if not each.settled]

    def _damaged(self, turn: int) -> list[Path]:
        stored = self._folder_of(turn).glob("*.json")
        return [each for each in stored if not each.is_dir() and _read(each) is None]

    def _entries(self, turn: int) -> list[_Entry]:
        """By path; one that cannot be read is passed over."""
        found = map(_read, self._folder_of(turn).glob("*.json"))
        return sorted((each for each in found if each), key=lambda each: each.path)


def _settled(folder: Path, done: Undone) -> Undone:
    """What was not put back stays kept; what failed is tried again, once."""
    entry = _read(_file(folder, done.path))
    if entry is None:
        return done
    if done.state in ("restored", "removed") or done.why == SAME:
        _drop(folder, entry)
        return done
    entry.settled = done.state == "kept" or entry.tried
    entry.tried = True
    with suppress(StorageError):
        _write(folder, entry)
    before = _bytes_of(folder, entry)
    return replace(done, before=before if before.exists() else None)


def _judged(entry: _Entry) -> tuple[Undone, bytes | None]:
    """What is to become of a file as it is now, and its bytes."""
    path, why = Path(entry.path), EARLIER if entry.earlier else ""
    refuse_link(path)
    data, mode = _now(path)
    digest = _digest(data)
    state: State = "kept"
    if digest == entry.before:
        why = why or SAME
    elif not entry.is_left(digest):
        why = DELETED if data is None else SINCE
    elif entry.before is None and entry.mode not in (None, mode):
        why = MODE
    elif not entry.kept:
        why = LARGE
    else:
        state = "removed" if entry.before is None else "restored"
    return Undone(path, state, why), data


def _file(folder: Path, path: Path) -> Path:
    return folder / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"


def _write(folder: Path, entry: _Entry) -> None:
    # Only ASCII: the name of a file need not be UTF-8.
    data = json.dumps(asdict(entry)).encode()
    write_atomic(_file(folder, Path(entry.path)), data, private=True)


def _read(file: Path) -> _Entry | None:
    """None where there is none, or what is there is not as we write it."""
    try:
        entry = _Entry(**json.loads(read_plain(file) or b""))
        return entry if _is_sound(entry, file) else None
    except (StorageError, ValueError, TypeError, RecursionError):
        return None


def _is_sound(entry: _Entry, file: Path) -> bool:
    states = (entry.before, entry.after, entry.was)
    flags = (entry.pending, entry.kept, entry.earlier, entry.tried, entry.settled)
    return (
        entry.format == FORMAT
        and _file(file.parent, Path(entry.path)) == file
        and all(each is None or _HASH.fullmatch(each) for each in states)
        and all(type(each) is bool for each in flags)
        and (entry.mode is None or type(entry.mode) is int)
        and type(entry.made) is list
        and all(type(each) is str for each in entry.made)
    )


def _drop(folder: Path, entry: _Entry) -> None:
    with suppress(OSError):
        _file(folder, Path(entry.path)).unlink()


def _bytes_of(folder: Path, entry: _Entry) -> Path:
    return folder / f"{entry.before}.bytes"


def _kept(folder: Path, entry: _Entry) -> bytes:
    path = _bytes_of(folder, entry)
    data, _ = _now(path)
    if data is None or _digest(data) != entry.before:
        raise StorageError(f"{path} is damaged: {entry.path} cannot be put back from it.")
    return data


def _now(path: Path) -> tuple[bytes | None, int]:
    """A file's bytes and permissions; None where there is no file."""
    with told("read", path):
        try:
            if not stat.S_ISREG(path.lstat().st_mode):
                raise StorageError(f"{path} is no plain file any more; look at it yourself.")
            with os.fdopen(os.open(path, OPEN_PLAIN), "rb") as file:
                return file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return None, 0


def _digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()
