"""Paths that a model gives: resolved with links, held inside the folders tools may touch."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import PathRefused, ToolFailed
from .names import named
from .project import Project

TRIES = 20  # to open a file that is replaced meanwhile

# How to open a regular file and nothing else. What Windows does not have it does not need: opening
# never follows into a FIFO or a device file there.
OPEN_PLAIN = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
# How to open a folder that is only gone through.
_FOLDER = (
    getattr(os, "O_PATH", os.O_RDONLY)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
# Parts that no name below a folder has.
_OUT = frozenset({b"", b".", b".."})


def resolve(project: Project, given: str) -> Path:
    """The real path of what the model wrote, which need not exist.

    Relative paths start at the project folder; a name may be given as `printable` shows it. Raises
    `PathRefused` for what leaves the project and the allowed folders, links followed, the last
    component included.
    """
    if not given.strip():
        raise PathRefused("The path is empty; give a path relative to the project folder.")
    if "\0" in given or given.startswith("~"):
        raise PathRefused(f"{given!r} is no path; give one relative to the project folder.")
    given = _meant(project, given)
    try:
        path = (project.root / given).resolve()
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except UnicodeEncodeError:
        raise PathRefused(f"{given!r} is no path: it holds half a character.") from None
    except (OSError, RuntimeError):  # a loop of links is a RuntimeError before Python 3.13
        raise PathRefused(f"{given} cannot be resolved: too long, or a loop of links.") from None
    if not _within(project, path):
        raise PathRefused(
            f"{given} is outside the project folder {project.root}; only files inside it may be "
            "touched."
        )
    return path


def _meant(project: Project, given: str) -> str:
    """A name as it was shown stands for the file of which it was, unless one has it itself."""
    real = named(given)
    is_other = real != given and not os.path.lexists(project.root / given)
    return real if is_other and os.path.lexists(project.root / real) else given


def resolve_target(project: Project, given: str) -> Path:
    """As `resolve`, of a file to be written: a link to nothing is refused, as what it would make
    is not what its name says."""
    path = resolve(project, given)
    given, dangling = _meant(project, given), False
    with suppress(OSError):  # of a folder that may not be looked into the write tells
        dangling = (project.root / given).is_symlink() and not path.exists()
    if dangling:
        raise PathRefused(f"{given} is a link to nothing; name the file itself.")
    return path


def recheck(project: Project, path: Path) -> None:
    """Just before a write: `path` still means what `resolve` said. Raises `PathRefused`."""
    try:
        same = path.resolve() == path
    except (OSError, RuntimeError):
        same = False
    if not same or not _within(project, path):
        raise PathRefused(f"{shown(project, path)} has changed into a link; nothing was touched.")


def open_regular(project: Project, path: Path) -> BinaryIO:
    """A resolved path opened for reading; what is no regular file is refused without blocking.

    Raises `PathRefused`, and `ToolFailed` for a file that is missing or unreadable.
    """
    name = shown(project, path)
    for _ in range(TRIES):
        if (opened := _opened(project, path, name)) is not None:
            return opened
    raise PathRefused(f"{name} is being replaced over and over; let that end and try again.")


def _opened(project: Project, path: Path, name: str) -> BinaryIO | None:
    """None where another file stands there by now: an editor saved it, or a folder on the way was
    a link for a moment."""
    try:
        before = path.lstat()
        _refuse_irregular(before.st_mode, name)
        recheck(project, path)
        handle = os.open(path, OPEN_PLAIN)
    except (FileNotFoundError, NotADirectoryError):
        raise ToolFailed(f"There is no file {name}.") from None
    except OSError as error:
        raise ToolFailed(f"{name} cannot be read: {error.strerror}.") from None
    try:
        opened = os.fstat(handle)
        _refuse_irregular(opened.st_mode, name)
        recheck(project, path)
        if os.path.samestat(opened, path.lstat()):
            return os.fdopen(handle, "rb")
    except BaseException as error:
        os.close(handle)
        if isinstance(error, OSError):
            raise ToolFailed(f"{name} vanished while it was opened.") from None
        raise
    os.close(handle)
    return None


class Within:
    """Opens regular files below a resolved folder, through no link, and nothing else whatever is
    moved or linked meanwhile: each folder on the way is opened in the one before."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = b""
        self._handle = -1

    def open(self, name: bytes) -> BinaryIO | None:
        """By its path from the folder, with `/`; None where no such file is there."""
        *folders, file = name.split(b"/")
        if not _OUT.isdisjoint((*folders, file)):
            return None
        try:
            handle = self._opened(b"/".join(folders), os.fsdecode(file))
        except OSError:
            return None
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return os.fdopen(handle, "rb")
        os.close(handle)
        return None

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1

    def _opened(self, folder: bytes, file: str) -> int:
        path = self._root / os.fsdecode(folder)
        if os.open not in os.supports_dir_fd:
            if path.resolve() != path:
                raise OSError(f"{path} is a link")
            return os.open(path / file, OPEN_PLAIN)
        if folder != self._folder or self._handle < 0:
            self.close()
            self._folder, self._handle = folder, _folder_handle(path)
        return os.open(file, OPEN_PLAIN, dir_fd=self._handle)


@contextmanager
def opened_folder(path: Path) -> Iterator[Path | int]:
    """What to list for a resolved folder: it, opened through no link, where that can be."""
    if os.scandir not in os.supports_fd or os.open not in os.supports_dir_fd:
        yield path
        return
    through = _folder_handle(path)
    try:
        handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=through)
    finally:
        os.close(through)
    try:
        yield handle
    finally:
        os.close(handle)


def _folder_handle(path: Path) -> int:
    """An absolute path opened as a folder, through no link."""
    handle = os.open(path.anchor, _FOLDER)
    try:
        for part in path.parts[1:]:
            inner = os.open(part, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
    except OSError:
        os.close(handle)
        raise
    return handle


def shown(project: Project, path: Path) -> str:
    """Relative to the project with `/`, else absolute: what rules match and people read."""
    if path.is_relative_to(project.root):
        return path.relative_to(project.root).as_posix()
    return path.as_posix()


def _within(project: Project, path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in (project.root, *project.allowed))


def _refuse_irregular(mode: int, name: str) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise PathRefused(f"{name} is a folder; list it instead.")
    raise PathRefused(f"{name} is no regular file; pipes, sockets and devices are not opened.")
