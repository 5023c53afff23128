from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import UsageError
from shiro_jupyter.kernel.check.scratch import copy_of, in_place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name, text in {
        "notebooks/a.ipynb": "{}",
        "data/small.csv": "a\n1\n",
        "data/large.bin": "x" * 5_000,
        "src/own.py": "x = 1",
        ".git/config": "secret",
        ".shiro/memory/MEMORY.md": "m",
        "src/__pycache__/own.pyc": "c",
        "node_modules/left/pad.js": "p",
        "env/pyvenv.cfg": "v",
        "env/bin/python": "p",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_copy_keeps_what_cells_write_out_of_the_project(project: Path) -> None:
    place = copy_of(project, project / "notebooks")
    try:
        assert place.folder == place.root / "notebooks"
        assert stat.S_IMODE(place.root.stat().st_mode) == 0o700
        assert (place.folder / "../data/small.csv").read_text() == "a\n1\n"
        assert not (place.root / ".git").exists()
        assert not (place.root / ".shiro").exists()
        assert not (place.root / "src/__pycache__").exists()
        assert (place.root / "node_modules").is_symlink()
        assert (place.root / "env/bin/python").read_text() == "p"
        assert place.written() == ()
        (place.root / "data/small.csv").write_text("changed")
        (place.folder / "new.txt").write_text("new")
        (place.root / "src/own.py").unlink()
        assert place.written() == ("data/small.csv", "notebooks/new.txt", "src/own.py")
    finally:
        place.remove()
    assert not place.root.exists()
    assert (project / "data/small.csv").read_text() == "a\n1\n"
    assert (project / "src/own.py").exists()
    assert (project / "node_modules/left/pad.js").exists()
    assert not (project / "notebooks/new.txt").exists()


def test_what_does_not_fit_is_linked_and_told_the_largest_first(project: Path) -> None:
    place = copy_of(project, project, budget=1_000)
    try:
        assert place.linked == ("data/large.bin",)
        assert not (place.root / "data/small.csv").is_symlink()
        (place.root / "data/large.bin").write_text("y")
        assert place.written() == ("data/large.bin",)  # the real one, which the report says
    finally:
        place.remove()
    assert (project / "data/large.bin").read_text() == "y"


def test_too_many_files_are_refused_and_leave_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(UsageError, match=r"more than 3 files.*--in-place"):
        copy_of(project, project, files=3)
    assert not list(tmp_path.glob("shiro-check-*"))


def test_links_lead_where_they_led_and_pipes_are_left_out(project: Path, tmp_path: Path) -> None:
    (tmp_path / "far.txt").write_text("far")
    (project / "near").symlink_to("data/small.csv")
    (project / "far").symlink_to(tmp_path / "far.txt")
    (project / "folder").symlink_to("data")
    (project / "broken").symlink_to("nowhere")
    os.mkfifo(project / "pipe")
    place = copy_of(project, project)
    try:
        (place.root / "near").write_text("changed")
        assert (place.root / "far").read_text() == "far"
        assert (place.root / "folder/small.csv").read_text() == "changed"
        assert not (place.root / "pipe").exists()
    finally:
        place.remove()
    assert (project / "data/small.csv").read_text() == "a\n1\n"


def test_in_place_nothing_is_copied_nor_removed(project: Path) -> None:
    place = in_place(project / "notebooks")
    (place.folder / "new.txt").write_text("new")
    assert place.written() == ("new.txt",)
    place.remove()
    assert (project / "notebooks/new.txt").exists()
