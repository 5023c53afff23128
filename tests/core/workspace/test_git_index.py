from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from shiro_jupyter.core.workspace.git import Repository, repository_of
from shiro_jupyter.core.workspace.git_index import LOOKS, Tracked, is_sha256

FILES = ("a", "b/c", "b/c.d", "é", "long/" + "x" * 200, "deep/er/and/deeper", "with space", "new\n")


def git(*arguments: str | Path) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def made(root: Path, *options: str) -> Repository:
    git("init", "-q", *options, root)
    for name in FILES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    git("-C", root, "add", "-A")
    repository = repository_of(root)
    assert repository
    return repository


def looked_through(repository: Repository) -> Tracked:
    tracked = Tracked(repository)
    for _ in range(LOOKS):
        assert not tracked.holds(b"nowhere at all", False)
    return tracked


def version(number: int) -> Callable[[Path], None]:
    return lambda root: git("-C", root, "update-index", "--index-version", str(number))


def extended(root: Path) -> None:
    git("-C", root, "update-index", "--skip-worktree", "a", "b/c.d")


@pytest.mark.parametrize("change", [version(2), version(3), version(4), extended])
@pytest.mark.parametrize("options", [(), ("--object-format=sha256",)])
def test_what_git_tracks_is_read_from_its_index(
    tmp_path: Path, options: tuple[str, ...], change: Callable[[Path], None]
) -> None:
    repository = made(tmp_path, *options)
    change(tmp_path)
    assert is_sha256(repository) == bool(options)
    # Each by a quick look, and by taking the index apart.
    for tracked in (Tracked(repository), looked_through(repository)):
        for name in FILES:
            assert tracked.holds(name.encode(), False)
            assert not tracked.holds(name.encode(), True)
            assert not tracked.holds(name.encode()[:-1], False)
        for folder in (b"b", b"long", b"deep", b"deep/er", b"deep/er/and"):
            assert tracked.holds(folder, True) and not tracked.holds(folder, False)
        for other in (b"dee", b"er", b"er/and", b"b/c"):
            assert not tracked.holds(other, True)
        assert not tracked.links


def test_a_repository_inside_is_told_from_a_file(tmp_path: Path) -> None:
    repository = made(tmp_path)
    inner = tmp_path / "sub/inner"
    git("init", "-q", inner)
    git("-C", inner, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty",
        "-m", "x")  # fmt: skip
    git("-C", tmp_path, "add", "sub/inner")
    for tracked in (Tracked(repository), looked_through(repository)):
        assert tracked.links == {b"sub/inner"}
        assert tracked.holds(b"sub/inner", True) and tracked.holds(b"sub", True)
        assert not tracked.holds(b"sub/inner", False)


@pytest.mark.parametrize("name", [b"../xyz", b"/xy/xyz", b".git/xy", b"xy/../x", b"y/.GIT/"])
def test_a_name_that_leads_out_of_the_work_tree_is_dropped_and_told(
    tmp_path: Path, name: bytes
) -> None:
    repository = made(tmp_path)
    assert not Tracked(repository).made_up
    path = tmp_path / "xxxxxxx"[: len(name)]
    path.touch()
    git("-C", tmp_path, "add", path)
    index = repository.own / "index"
    length = bytes([len(name)])
    known = length + os.fsencode(path.name)
    assert index.read_bytes().count(known) == 1
    index.write_bytes(index.read_bytes().replace(known, length + name))
    tracked = looked_through(repository)
    assert tracked.made_up == name
    assert not tracked.holds(name, False) and tracked.holds(b"a", False)
    assert tracked.below(name.partition(b"/")[0]) == []
    index.rename(repository.own / "sharedindex.1")
    assert Tracked(repository).made_up == name


def test_a_split_or_sparse_index_is_not_taken_for_made_up(tmp_path: Path) -> None:
    repository = made(tmp_path)
    git("-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
    git("-C", tmp_path, "update-index", "--split-index")
    (tmp_path / "a").write_text("x")
    git("-C", tmp_path, "add", "a")
    assert list(repository.own.glob("sharedindex.*")) and not Tracked(repository).made_up
    git("-C", tmp_path, "update-index", "--no-split-index")
    git("-C", tmp_path, "sparse-checkout", "set", "--sparse-index", "b")
    assert b"long/" in (repository.own / "index").read_bytes()
    assert not Tracked(repository).made_up


@pytest.mark.parametrize(
    "data",
    [b"", b"DIRC", b"DIRC\0\0\0\2\xff\xff\xff\xff", b"NONE" + b"\0" * 80, b"DIRC\0\0\0\5\0\0\0\1"],
)
def test_a_broken_index_tracks_nothing(tmp_path: Path, data: bytes) -> None:
    repository = made(tmp_path)
    (repository.own / "index").write_bytes(data)
    for tracked in (Tracked(repository), looked_through(repository), Tracked()):
        assert not tracked.holds(b"a", False) and not tracked.holds(b"b", True)
        assert not tracked.links
    (repository.own / "index").unlink()
    assert not Tracked(repository).holds(b"a", False)


def test_of_a_torn_index_what_came_before_the_tear_is_known(tmp_path: Path) -> None:
    repository = made(tmp_path)
    whole = (repository.own / "index").read_bytes()
    (repository.own / "index").write_bytes(whole[:200])
    tracked = looked_through(repository)
    assert tracked.holds(b"a", False) and not tracked.holds(b"with space", False)
