from __future__ import annotations

from pathlib import Path

import pytest

from shiro_jupyter.core.workspace.seen import KEPT, Seen

FILE = Path("/p/load.py")


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        (b"a\nb\n", b"a\nb\n", ""),
        (b"a\nb\nc\n", b"a\nX\nc\n", "in line 2"),
        (b"a\nb\nc\nd\n", b"X\nb\nc\nY\n", "in lines 1 to 4"),
        (b"a\nb\n", b"a\n", "in line 2"),
        (b"a\n", b"a\nb\nc\n", "in lines 2 to 3"),
        (b"a\r\n", b"a\n", "in its line endings"),
        (b"a", b"a" * (KEPT + 1), "somewhere in it"),
        (b"a" * (KEPT + 1), b"a", "somewhere in it"),
        (b"a" * (KEPT + 1), b"a" * (KEPT + 1), ""),
    ],
)
def test_a_change_since_it_was_read_is_told_with_its_place(
    before: bytes, after: bytes, where: str
) -> None:
    seen = Seen()
    seen.note(FILE, before)
    assert seen.knows(FILE)
    assert seen.changed(FILE, after) == where


def test_of_a_file_that_was_never_read_nothing_is_said() -> None:
    assert not Seen().knows(FILE)
    assert Seen().changed(FILE, b"x") == ""
