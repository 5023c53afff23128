from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.errors import PathRefused, ToolFailed
from shiro_jupyter.core.workspace import paths
from shiro_jupyter.core.workspace.names import printable
from shiro_jupyter.core.workspace.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path.resolve() / "project"
    (root / "data").mkdir(parents=True)
    (root / "data" / "a.txt").write_text("inside")
    (tmp_path / "outside.txt").write_text("outside")
    return Project(root)


def test_paths_inside_are_resolved(project: Project) -> None:
    target = project.root / "data" / "a.txt"
    for given_path in ("data/a.txt", "./data/../data/a.txt", str(target)):
        assert paths.resolve(project, given_path) == target
    assert paths.resolve(project, "not/yet/there.txt") == project.root / "not/yet/there.txt"
    assert paths.shown(project, target) == "data/a.txt"


@pytest.mark.parametrize(
    "given_path",
    [
        "../outside.txt",
        "data/../../outside.txt",
        "/etc/passwd",
        "~/x",
        "",
        " ",
        "a\0b",
        "a\ud800b",
        "../project2",
    ],
)
def test_paths_outside_are_refused(project: Project, given_path: str) -> None:
    with pytest.raises(PathRefused):
        paths.resolve(project, given_path)


def test_links_are_judged_by_where_they_lead(project: Project) -> None:
    root, outside = project.root, project.root.parent
    (root / "out").symlink_to(outside)
    (root / "last").symlink_to(outside / "outside.txt")
    (root / "dangling").symlink_to(outside / "nothing")
    (root / "loop").symlink_to(root / "loop")
    (root / "in").symlink_to(root / "data")
    for given_path in ("out/outside.txt", "out/new/missing.txt", "last", "dangling", "loop/x"):
        with pytest.raises(PathRefused):
            paths.resolve(project, given_path)
    assert paths.resolve(project, "in/a.txt") == root / "data" / "a.txt"


@pytest.mark.skipif(os.name != "posix", reason="such names are none there")
def test_a_name_may_be_given_as_it_was_shown(project: Project) -> None:
    for name in ("caf\udce9.txt", "new\nline.txt", "\u2800"):
        path = project.root / "data" / name
        path.touch()
        assert paths.resolve(project, f"data/{printable(name)}") == path
        own = project.root / "data" / printable(name)
        own.touch()
        assert paths.resolve(project, f"data/{printable(name)}") == own
    assert paths.resolve(project, r"no\xe9") == project.root / r"no\xe9"
    with pytest.raises(PathRefused, match="outside the project folder"):
        paths.resolve(project, r"\u002e./outside.txt")
    (project.root / "a\nb").symlink_to(project.root / "nothing")
    with pytest.raises(PathRefused, match="link to nothing"):
        paths.resolve_target(project, r"a\nb")


def test_a_name_too_long_is_refused_in_words(project: Project) -> None:
    with pytest.raises(PathRefused, match="too long"):
        paths.resolve(project, "x" * 5000)


def test_allowed_folders_are_inside_too(project: Project) -> None:
    more = project.root.parent / "more"
    more.mkdir()
    wider = Project(project.root, allowed=(more,))
    assert paths.resolve(wider, "../more/x") == more / "x"
    assert paths.shown(wider, more / "x") == (more / "x").as_posix()
    with pytest.raises(PathRefused):
        paths.resolve(project, "../more/x")


@given(st.lists(st.sampled_from(["..", ".", "data", "x", "/", "out", "~", "a.txt"]), max_size=7))
def test_whatever_is_resolved_is_inside(parts: list[str]) -> None:
    root = Path(__file__).resolve().parent
    try:
        path = paths.resolve(Project(root), "/".join(parts))
    except PathRefused:
        return
    assert path.is_relative_to(root) and ".." not in path.parts


def test_regular_files_open(project: Project) -> None:
    with paths.open_regular(project, paths.resolve(project, "data/a.txt")) as file:
        assert file.read() == b"inside"


def test_what_is_no_regular_file_is_refused_without_blocking(project: Project) -> None:
    os.mkfifo(project.root / "pipe")
    with pytest.raises(PathRefused, match="no regular file"):
        paths.open_regular(project, project.root / "pipe")
    with pytest.raises(PathRefused, match="is a folder"):
        paths.open_regular(project, project.root / "data")
    with pytest.raises(ToolFailed, match=r"There is no file nope\.txt"):
        paths.open_regular(project, project.root / "nope.txt")
    with pytest.raises(PathRefused, match="no regular file"):
        paths.open_regular(Project(Path("/dev")), Path("/dev/zero"))


def test_a_path_that_became_a_link_is_refused_at_open(project: Project) -> None:
    path = paths.resolve(project, "data/a.txt")
    (project.root / "data").rename(project.root / "old")
    (project.root / "data").symlink_to(project.root.parent)
    (project.root.parent / "a.txt").write_text("outside")
    for use in (paths.open_regular, paths.recheck):
        with pytest.raises(PathRefused, match="changed into a link"):
            use(project, path)
    (project.root / "data").unlink()
    (project.root / "data").mkdir()
    path.symlink_to(project.root.parent / "outside.txt")
    with pytest.raises(PathRefused):
        paths.open_regular(project, path)


def test_a_target_may_be_missing_but_for_a_link_to_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.root / "link").symlink_to("data/a.txt")
    (project.root / "dangling").symlink_to("data/none.txt")
    (project.root / "loop").symlink_to("loop")
    for given_path, target in (("link", "data/a.txt"), ("data/new.txt", "data/new.txt")):
        assert paths.resolve_target(project, given_path) == project.root / target
    for given_path in ("dangling", "loop", "../outside.txt"):
        with pytest.raises(PathRefused):
            paths.resolve_target(project, given_path)

    def closed(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_symlink", closed)
    assert paths.resolve_target(project, "closed/a.txt") == project.root / "closed/a.txt"


def test_a_file_that_is_saved_while_it_is_opened_is_opened_as_it_is_then(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = project.root / "data/a.txt", os.open
    saves = iter([b"first", b"second"])

    def opened(file: Path, *more: int) -> int:
        handle = real(file, *more)
        for data in saves:
            path.with_name("new").write_bytes(data)
            path.with_name("new").replace(path)
            break
        return handle

    monkeypatch.setattr(os, "open", opened)
    with paths.open_regular(project, path) as stream:
        assert stream.read() == b"second"
    saves = iter([b"again"] * 100)
    with pytest.raises(PathRefused, match="replaced over and over; let that end"):
        paths.open_regular(project, path)
