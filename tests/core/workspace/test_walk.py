from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from shiro_jupyter.core.workspace.ignore import Extra
from shiro_jupyter.core.workspace.walk import Entry, walk


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("xx")


def names(root: Path, depth: int | None = None) -> list[str]:
    return [entry.name for entry in walk(root, Extra(root), depth)]


def test_it_goes_breadth_first_and_sorted(tmp_path: Path) -> None:
    make(tmp_path, "b/z", "b/a/deep", "a.txt", "c/x", "Z")
    assert names(tmp_path) == ["Z", "a.txt", "b", "c", "b/a", "b/z", "c/x", "b/a/deep"]
    assert names(tmp_path, 1) == ["Z", "a.txt", "b", "c"]
    assert names(tmp_path, 2)[-1] == "c/x"


def test_entries_say_what_they_are(tmp_path: Path) -> None:
    make(tmp_path, "file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    assert list(walk(tmp_path, Extra(tmp_path))) == [
        Entry("dangling", "link", target="nowhere"),
        Entry("file", "file", 2),
        Entry("folder", "folder"),
        Entry("pipe", "other", target="no regular file"),
    ]


def test_loops_of_links_end(tmp_path: Path) -> None:
    make(tmp_path, "sub/file")
    (tmp_path / "sub/up").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    assert names(tmp_path) == ["self", "sub", "sub/file", "sub/up"]


def test_rules_hold_on_every_level(tmp_path: Path) -> None:
    make(tmp_path, "a.log", "sub/a.log", "sub/b.log", "sub/node_modules/x", ".git/HEAD", "out/x")
    (tmp_path / ".gitignore").write_text("*.log\nout/\n")
    (tmp_path / "sub/.gitignore").write_text("!b.log\n")
    assert names(tmp_path) == [".gitignore", "sub", "sub/.gitignore", "sub/b.log"]


def test_what_cannot_be_opened_is_told_and_the_walk_goes_on(tmp_path: Path) -> None:
    make(tmp_path, "a/x", "b/y")
    entries = walk(tmp_path, Extra(tmp_path))
    first = list(islice(entries, 2))
    (tmp_path / "a/x").unlink()
    (tmp_path / "a").rmdir()
    assert [entry.name for entry in first] == ["a", "b"]
    assert list(entries) == [
        Entry("a", "unreadable", target="No such file or directory"),
        Entry("b/y", "file", 2),
    ]


def test_a_folder_that_is_swapped_for_a_link_meanwhile_is_not_listed(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "project"
    make(root, "a", "d/inside")
    make(tmp_path, "out/OUTSIDE")
    entries = walk(root, Extra(root))
    assert [entry.name for entry in islice(entries, 2)] == ["a", "d"]
    (root / "d").rename(root / "e")
    (root / "d").symlink_to(tmp_path / "out")
    assert [(entry.name, entry.kind) for entry in entries] == [("d", "unreadable")]
