from __future__ import annotations

import os
from pathlib import Path

import pytest

from shiro_jupyter.core.workspace.folders import user_folders
from shiro_jupyter.core.workspace.project import Project, find_project, notebook_path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A home with a deep folder in it."""
    (tmp_path / "home" / "work" / "study" / "deep").mkdir(parents=True)
    return tmp_path.resolve()


def found(tree: Path, start: str, notebook: Path | None = None) -> str:
    project = find_project(tree / start, home=tree / "home", notebook=notebook)
    return project.root.relative_to(tree).as_posix()


def test_the_nearest_marker_of_the_strongest_kind_wins(tree: Path) -> None:
    deep = "home/work/study/deep"
    assert found(tree, deep) == deep
    (tree / "home/work/study/deep/pyproject.toml").touch()
    assert found(tree, deep) == deep
    (tree / "home/work/study/.git").mkdir()
    assert found(tree, deep) == "home/work/study"
    (tree / "home/work/.shiro").mkdir()
    assert found(tree, deep) == "home/work"
    (tree / "home/work/study/.shiro").mkdir()
    assert found(tree, deep) == "home/work/study"


def test_a_work_tree_marks_its_folder_with_a_git_file(tree: Path) -> None:
    (tree / "home/work/.git").write_text("gitdir: elsewhere")
    assert found(tree, "home/work/study/deep") == "home/work"


@pytest.mark.parametrize("marker", [".shiro", ".git"])
def test_home_is_never_taken_by_a_marker_above(tree: Path, marker: str) -> None:
    (tree / "home" / marker).mkdir()
    (tree / marker).mkdir()  # above the home folder: not the user's either
    assert found(tree, "home/work/study") == "home/work/study"
    assert found(tree, "home") == "home"


def test_the_notebook_decides_before_the_working_directory(tree: Path) -> None:
    (tree / "home/work/.git").mkdir()
    notebook = tree / "home/work/study/a.ipynb"
    project = find_project(tree, home=tree / "home", notebook=notebook)
    assert (project.root, project.notebook) == (tree / "home/work", notebook)


def test_a_marker_of_another_user_is_passed_over_and_told(tree: Path) -> None:
    (tree / "home/work/.shiro").mkdir()
    (tree / "home/work/study/pyproject.toml").touch()
    other = (tree / "home/work/.shiro").stat().st_uid + 1
    project = find_project(tree / "home/work/study", home=tree / "home", uid=other)
    assert project.root == tree / "home/work/study"
    assert project.passed_over == (tree / "home/work", tree / "home/work/study")
    assert project.store_is_foreign


def test_a_linked_store_marks_nothing(tree: Path) -> None:
    (tree / "elsewhere").mkdir()
    (tree / "home/work/.shiro").symlink_to(tree / "elsewhere")
    assert found(tree, "home/work/study") == "home/work/study"


def test_a_link_into_the_project_finds_the_real_root(tree: Path) -> None:
    (tree / "home/work/.git").mkdir()
    (tree / "short").symlink_to(tree / "home/work/study")
    assert found(tree, "short") == "home/work"


def test_places_of_a_project(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert project.memory_dir == tmp_path / ".shiro" / "memory"
    assert project.notes_dir == tmp_path / ".shiro" / "notes"
    assert project.settings_file == tmp_path / ".shiro" / "config.toml"
    assert not project.store_is_foreign


def test_the_notebooks_path_is_told_by_server_or_front_end(tmp_path: Path) -> None:
    a, b = tmp_path.resolve() / "a.ipynb", tmp_path.resolve() / "b.ipynb"
    a.touch(), b.touch()
    assert notebook_path({"JPY_SESSION_NAME": str(a)}, str(b)) == a
    assert notebook_path({}, str(b)) == b
    assert notebook_path({"SHIRO_CHECKED": str(a), "JPY_SESSION_NAME": str(b)}) == a
    assert notebook_path({"JPY_SESSION_NAME": str(tmp_path / "Console 1")}, None) is None
    assert notebook_path({"JPY_SESSION_NAME": "a.ipynb"}, 7) is None
    assert notebook_path({"JPY_SESSION_NAME": "bad\0name"}) is None


def test_user_folders_follow_one_variable(tmp_path: Path) -> None:
    folders = user_folders({"SHIRO_HOME": str(tmp_path), "HOME": "/somewhere"})
    assert folders.config == tmp_path / "config"
    assert folders.sessions_dir == tmp_path / "data" / "sessions"
    assert folders.memory_dir == tmp_path / "config" / "memory"
    assert folders.home == Path("/somewhere")
    in_home = user_folders({"SHIRO_HOME": "~/s", "HOME": str(tmp_path)})
    assert in_home.settings_file == tmp_path / "s" / "config" / "config.toml"


def test_user_folders_are_the_platforms_else(own_home: Path) -> None:
    folders = user_folders({"HOME": str(own_home)})
    assert folders.config.name == folders.data.name == "shiro"
    assert folders.config.is_relative_to(own_home) and folders.data.is_relative_to(own_home)
    assert not folders.config.exists()


def test_nothing_needs_a_user_id(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "home/work/.git").mkdir()
    monkeypatch.delattr(os, "getuid")
    assert found(tree, "home/work/study") == "home/work"
