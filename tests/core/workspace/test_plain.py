from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.errors import StorageError
from shiro_jupyter.core.workspace.files import write_atomic
from shiro_jupyter.core.workspace.plain import (
    READABLE,
    read_plain,
    refuse_foreign,
    refuse_link,
    utf8,
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


def test_a_plain_file_is_read_or_its_head(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert read_plain(path) is None and read_plain(path / "below") is None
    path.write_bytes(b"a\r\n\0\xff")
    assert read_plain(path / "below") is None
    assert read_plain(path) == b"a\r\n\0\xff" == read_plain(path, owner=os.getuid())
    assert read_plain(path, head=2) == b"a\r"


def test_a_file_as_large_as_is_read_and_one_byte_more(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x" * READABLE)
    assert len(read_plain(path) or b"") == READABLE
    path.write_bytes(b"x" * (READABLE + 1))
    with said(f"{path} is larger than 2 MB; move what it holds to other files."):
        read_plain(path)
    assert read_plain(path, head=1) == b"x"


def test_what_is_no_plain_file_is_never_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("opened"))
    for path in (tmp_path, tmp_path / "link", tmp_path / "loop", tmp_path / "pipe"):
        with said(f"{path} is no plain file; put one in its place, and no link."):
            read_plain(path)
    path = tmp_path / "file"
    with said(f"{path} belongs to another user; put a file of your own in its place."):
        read_plain(path, owner=os.getuid() + 1)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (os.mkfifo, "{} is no plain file; put one in its place, and no link."),
        (
            partial(os.symlink, __file__),
            "Cannot read {}: Too many levels of symbolic links; mend that and try again.",
        ),
    ],
    ids=["pipe", "link"],
)
def test_what_took_the_place_of_a_plain_file_is_not_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], reason: str
) -> None:
    real = os.open

    def swapped(*arguments: Any) -> int:
        path.unlink()
        make(path)
        return real(*arguments)

    monkeypatch.setattr(os, "open", swapped)
    with said(reason.format(path)):
        read_plain(path)


def test_a_link_anywhere_in_a_path_is_refused(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "real").mkdir()
    refuse_link(root / "real" / "missing.md")
    (root / "link").symlink_to("real")
    for path in (root / "link", root / "link" / "missing.md"):
        with said(f"{path} leads elsewhere by a link; take the link away."):
            refuse_link(path)


@pytest.mark.parametrize("name", ["a\0b", "half \ud83d"])
def test_what_no_file_can_be_named_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for work in (read_plain, refuse_link, partial(write_atomic, data=b"x")):
        with said(f"{str(path)!a} is no name of a file; give another."):
            work(path)
    assert list(tmp_path.iterdir()) == []


NO_UTF8 = "bytes that are no UTF-8; mend them, or save the file as UTF-8."


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"one\ntwo\ncaf\xe9\n", f", line 3: {NO_UTF8}"),
        (b"\xef\xbb\xbfcaf\xe9", f", line 1: {NO_UTF8}"),
        (b"one\nnul \0 here\n\0", ", line 2: a NUL byte, which no text holds; take it out."),
        ("one".encode("utf-16"), " is UTF-16; save it as UTF-8."),
    ],
)
def test_bytes_that_are_no_text_are_told_by_what_and_where(
    path: Path, data: bytes, what: str
) -> None:
    with said(f"{path}{what}"):
        utf8(path, data)


def test_text_is_read_without_its_mark(path: Path) -> None:
    assert utf8(path, "\ufeffgröße\r\n".encode()) == "größe\r\n"


def test_the_marker_of_another_user_is_named(tmp_path: Path) -> None:
    refuse_foreign(Project(tmp_path))
    for made in (".git", ".shiro"):  # the first of the markers is the one that was passed over
        (tmp_path / made).mkdir()
        with said(
            f"{tmp_path / made} belongs to another user, so memory and notes are neither read nor "
            "written there; work in a folder of your own."
        ):
            refuse_foreign(Project(tmp_path, passed_over=(tmp_path,)))
