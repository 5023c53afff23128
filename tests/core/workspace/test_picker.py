from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.workspace.picker import (
    Candidates,
    Paths,
    beside,
    picked,
    query,
    with_folders,
)
from tests.support.agents import MadeClock

NAMES = ("vendor/src/legacy.ts", "src/app.ts", "src/", "lib/resrc/a.ts", "README.md")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @src/ses", "src/ses"),
        ("@", ""),
        ("(@a", "a"),
        ('look at @"with bl', "with bl"),
        ("看看@数", "数"),
        ("user@host", None),
        ("user@", None),
        ("a@b.c @d.e", "d.e"),
        ("@src/app.ts ", None),
        ("@src/app.ts is", None),
        ("a @@b", None),
        ("", None),
    ],
)
def test_what_is_typed_behind_an_at_is_asked_for(text: str, found: str | None) -> None:
    assert query(text) == found


def test_what_begins_with_it_comes_before_what_only_holds_it() -> None:
    ranked = Candidates(NAMES).rank("src/")
    assert ranked == ["src/app.ts", "vendor/src/legacy.ts", "lib/resrc/a.ts"]
    assert Candidates(NAMES).rank("SRC") == ["src/", *ranked]
    assert Candidates(NAMES).rank("app") == ["src/app.ts"]
    assert Candidates(NAMES).rank("nothing") == []


def test_all_are_offered_for_nothing_typed_those_above_first() -> None:
    assert Candidates(NAMES).rank("", 3) == ["src/", "README.md", "src/app.ts"]


@given(st.lists(st.text("abA/é", min_size=1, max_size=6)), st.text("abA/", max_size=3))
def test_what_is_ranked_holds_the_query_each_once_and_no_more_than_wanted(
    names: list[str], sought: str
) -> None:
    every = Candidates(names).rank(sought, 1000)
    assert sorted(every) == sorted(
        {n for n in names if sought.lower() in n.lower() and n != sought}
    )
    assert Candidates(names).rank(sought, 3) == every[:3]
    begins = [each.lower().startswith(sought.lower()) for each in every]
    assert begins == sorted(begins, reverse=True)


@pytest.mark.parametrize(
    ("text", "name", "after"),
    [
        ("look at @src/ses", "src/session.py", "look at @src/session.py "),
        ("look at @s", "src/", "look at @src/"),
        ("@w", "with blanks.csv", '@"with blanks.csv" '),
        ('@"with b', "with blanks/", '@"with blanks/'),
        ("none", "src/", "none"),
    ],
)
def test_what_is_picked_stands_in_the_place_of_what_was_typed(
    text: str, name: str, after: str
) -> None:
    assert picked(text, name) == after
    if after.endswith("/"):
        assert query(after) == name


def test_folders_are_offered_with_their_files() -> None:
    assert sorted(with_folders([b"a/b/c.py", b"a/d.py", b"e.py", b"a/\xff"])) == [
        *("a/", "a/\\xff", "a/b/", "a/b/c.py", "a/d.py", "e.py")
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("src/app.py", "src/inner/deep.py", "src/app.pyc", "source.txt", "out/x", "Src.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / ".gitignore").write_text("*.pyc\nout/\n")
    return tmp_path.resolve()


def test_one_folder_is_looked_into_without_a_listing(root: Path) -> None:
    assert beside(root, "s") == ["src/", "Src.md", "source.txt"]
    assert beside(root, "src/") == ["src/app.py", "src/inner/"]
    assert beside(root, "src/inn") == ["src/inner/"]
    assert beside(root, "src/", ignore=("inner",)) == ["src/app.py"]
    assert beside(root, "o") == []  # ignored
    for nothing in ("missing/", "source.txt/", "../", "/", "/etc/", "src/../", "a\0/"):
        assert beside(root, nothing) == []


def test_a_folder_through_a_link_is_not_looked_into(root: Path) -> None:
    (root / "link").symlink_to(root.parent, target_is_directory=True)
    assert beside(root, "link/") == []


class Lister:
    def __init__(self) -> None:
        self.names: list[bytes] | Exception = [b"a/b.py"]
        self.times = 0
        self.gate = asyncio.Event()

    async def __call__(self) -> list[bytes]:
        self.times += 1
        await self.gate.wait()
        if isinstance(self.names, Exception):
            raise self.names
        return self.names


def test_a_listing_is_made_in_the_background_and_again_when_it_is_old() -> None:
    async def run() -> None:
        lister, clock = Lister(), MadeClock()
        paths = Paths(lister, clock)
        assert paths.known.rank("") == [] and paths.known.rank("") == []
        lister.gate.set()
        assert (await paths.complete()).rank("") == ["a/", "a/b.py"]
        assert lister.times == 1
        lister.names = [b"c.py"]
        assert (await paths.complete()).rank("") == ["a/", "a/b.py"]  # as it is fresh
        clock.advance(60)
        assert paths.known.rank("") == ["a/", "a/b.py"]  # at once, and begins another one
        assert (await paths.complete()).rank("") == ["c.py"]
        assert lister.times == 2
        clock.advance(60)
        lister.names = ToolFailed("It takes too long.")
        assert (await paths.complete()).rank("") == ["c.py"]

    asyncio.run(run())


def test_a_listing_that_runs_is_ended_with_its_kernel() -> None:
    async def run() -> None:
        lister = Lister()
        paths = Paths(lister, MadeClock())
        assert paths.known.rank("") == []
        await asyncio.sleep(0)
        paths.close()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


def test_names_that_are_no_text_can_be_picked(root: Path) -> None:
    (root / os.fsdecode(b"bad\xff.csv")).touch()
    assert beside(root, "bad") == ["bad\\xff.csv"]
