"""Reading what people edit: plain files of the project, and what is wrong with one in a sentence.

Every function raises `StorageError` with the path, what is the matter and what to do.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import StorageError
from .paths import OPEN_PLAIN
from .project import MARKERS, Project

READABLE = 2_000_000  # bytes; a larger file is no text of ours
CONFLICT = re.compile(r"(<{7}|>{7})( |\r?$)")  # a line that git leaves where a merge failed
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def refuse_nameless(path: Path) -> None:
    """Raises `StorageError` for what no file can be named: the system gets to see no such path."""
    try:
        nameable = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair
        nameable = False
    if not nameable:
        raise StorageError(f"{str(path)!a} is no name of a file; give another.")


def refuse_link(path: Path) -> None:
    """Raises `StorageError` where any part of an absolute path is a link."""
    refuse_nameless(path)
    if Path(os.path.realpath(path)) != path:
        raise StorageError(f"{path} leads elsewhere by a link; take the link away.")


def read_plain(path: Path, *, head: int | None = None, owner: int | None = None) -> bytes | None:
    """All of a regular file, or its first `head` bytes; None where there is no file. `owner` is
    the only user whose file is read, where given."""
    with told("read", path):
        try:
            with opened_plain(path, owner=owner) as file:
                data = file.read(head or READABLE + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
    if len(data) > READABLE:
        size = READABLE // 1_000_000
        raise StorageError(f"{path} is larger than {size} MB; move what it holds to other files.")
    return data


@contextmanager
def opened_plain(path: Path, *, owner: int | None = None) -> Iterator[BinaryIO]:
    """A regular file, however large. Nothing else is opened, which might never end, and no link is
    followed. Raises `OSError` too."""
    _refuse_odd(path, path.lstat(), owner)
    with os.fdopen(os.open(path, OPEN_PLAIN), "rb") as file:
        _refuse_odd(path, os.fstat(file.fileno()), owner)
        yield file


def _refuse_odd(path: Path, known: os.stat_result, owner: int | None) -> None:
    if not stat.S_ISREG(known.st_mode):
        raise StorageError(f"{path} is no plain file; put one in its place, and no link.")
    if owner is not None and known.st_uid != owner:
        raise StorageError(f"{path} belongs to another user; put a file of your own in its place.")


def refuse_no_text(path: Path, data: bytes) -> None:
    """Refuse what no text of ours holds: UTF-16, a NUL. Other bytes that are no UTF-8 pass."""
    if data.startswith(_UTF16):
        raise StorageError(f"{path} is UTF-16; save it as UTF-8.")
    if (at := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise StorageError(f"{path}, line {line}: a NUL byte, which no text holds; take it out.")


def utf8(path: Path, data: bytes) -> str:
    """The text of these bytes, without a byte order mark."""
    refuse_no_text(path, data)
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = data.removeprefix(codecs.BOM_UTF8).count(b"\n", 0, error.start) + 1
        raise StorageError(
            f"{path}, line {line}: bytes that are no UTF-8; mend them, or save the file as UTF-8."
        ) from None


def refuse_foreign(project: Project) -> None:
    """Raises `StorageError` for a project whose marker another user made."""
    if project.store_is_foreign:
        made = next((each for each in MARKERS if os.path.lexists(project.root / each)), MARKERS[0])
        raise StorageError(
            f"{project.root / made} belongs to another user, so memory and notes are neither read "
            "nor written there; work in a folder of your own."
        )


@contextmanager
def told(doing: str, path: Path) -> Iterator[None]:
    """What the system refuses becomes a `StorageError`, and so does what no file can be named."""
    refuse_nameless(path)
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StorageError(f"Cannot {doing} {path}: {reason}; mend that and try again.") from error
