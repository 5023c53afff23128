from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from shiro_jupyter.core.workspace.git import Repository, repository_of
from shiro_jupyter.core.workspace.git_index import Tracked, is_sha256, may_have_links, read_index

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
    files, links = read_index(repository)
    assert files == {name.encode() for name in FILES}
    assert not links and not may_have_links(repository)
    assert is_sha256(repository) == bool(options)


def test_a_repository_inside_is_told_from_a_file(tmp_path: Path) -> None:
    repository = made(tmp_path)
    inner = tmp_path / "sub/inner"
    git("init", "-q", inner)
    git("-C", inner, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty",
        "-m", "x")  # fmt: skip
    git("-C", tmp_path, "add", "sub/inner")
    assert may_have_links(repository)
    assert read_index(repository)[1] == {b"sub/inner"}
    tracked = Tracked(lambda: read_index(repository))
    assert tracked.holds(b"sub/inner", True) and tracked.holds(b"sub", True)


def test_folders_are_tracked_by_what_is_in_them(tmp_path: Path) -> None:
    repository = made(tmp_path)
    tracked = Tracked(lambda: read_index(repository))
    assert tracked.holds(b"deep/er", True) and tracked.holds(b"deep/er/and/deeper", False)
    assert not tracked.holds(b"deep/er", False) and not tracked.holds(b"a", True)
    assert not tracked.holds(b"dee", True) and not tracked.holds(b"x", False)
    assert not Tracked().holds(b"a", False)


@pytest.mark.parametrize(
    "data",
    [b"", b"DIRC", b"DIRC\0\0\0\2\xff\xff\xff\xff", b"NONE" + b"\0" * 80, b"DIRC\0\0\0\5\0\0\0\1"],
)
def test_a_broken_index_tracks_nothing(tmp_path: Path, data: bytes) -> None:
    repository = made(tmp_path)
    (repository.own / "index").write_bytes(data)
    assert read_index(repository) == (frozenset(), frozenset())
    assert not may_have_links(repository)
    (repository.own / "index").unlink()
    assert read_index(repository) == (frozenset(), frozenset())
    assert not may_have_links(repository)


def test_of_a_torn_index_what_came_before_the_tear_is_known(tmp_path: Path) -> None:
    repository = made(tmp_path)
    whole = (repository.own / "index").read_bytes()
    (repository.own / "index").write_bytes(whole[:200])
    files, _ = read_index(repository)
    assert files < {name.encode() for name in FILES} and b"a" in files
