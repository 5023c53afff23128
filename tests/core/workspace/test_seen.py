from __future__ import annotations

from pathlib import Path

import pytest

from shiro_jupyter.core.workspace.seen import KEPT, SHOWN, Seen

FILE = Path("/p/load.py")


@pytest.mark.parametrize(
    ("before", "after", "where", "lines"),
    [
        (b"a\nb\nc\n", b"a\nX\nc\n", "in line 2", "2: X"),
        (b"a\nb\nc\nd\n", b"X\nb\nc\nY\n", "in lines 1 to 4", "1: X\n2: b\n3: c\n4: Y"),
        (b"a\nb\n", b"a\n", "in line 2", ""),
        (b"a\n", b"a\nb\nc\n", "in lines 2 to 3", "2: b\n3: c"),
        (b"a\r\n", b"a\n", "in its line ends or its encoding", ""),
        ("a\né\n".encode("utf-16"), "a\n਍\n".encode("utf-16"), "in line 2", "2: ਍"),
        (b"a", b"a" * (KEPT + 1), "somewhere in it", ""),
        (b"a" * (KEPT + 1), b"a", "somewhere in it", ""),
    ],
)
def test_a_change_since_it_was_read_is_told_with_its_place(
    before: bytes, after: bytes, where: str, lines: str
) -> None:
    seen = Seen()
    seen.note(FILE, before)
    assert seen.knows(FILE)
    changed = seen.changed(FILE, after)
    assert changed and f"was changed {where} since" in str(changed)
    assert changed.excerpt == lines


@pytest.mark.parametrize("data", [b"a\nb\n", b"a" * (KEPT + 1)])
def test_of_a_file_that_is_as_it_was_read_nothing_is_said(data: bytes) -> None:
    seen = Seen()
    seen.note(FILE, data)
    assert seen.changed(FILE, data) is None


def test_of_a_file_that_was_never_read_nothing_is_said() -> None:
    assert not Seen().knows(FILE)
    assert Seen().changed(FILE, b"x") is None


def test_of_a_large_change_the_beginning_is_shown() -> None:
    seen = Seen()
    seen.note(FILE, b"")
    changed = seen.changed(FILE, b"x" * 1_000 + b"\n" + b"y\n" * 100)
    assert changed and "in lines 1 to 101" in str(changed)
    assert len(changed.excerpt.split("\n")) == SHOWN and len(changed.excerpt) < 500
