from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import UsageError
from shiro_jupyter.kernel.check.scratch import NO_GIT, REAL, UNSEEN, Place, copy_of, in_place


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
        assert place.written() == ()
        assert place.outside() == [REAL.format("data/large.bin")]
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


@contextmanager
def copied(project: Path, **more: int) -> Iterator[Place]:
    place = copy_of(project, project, **more)
    try:
        yield place
    finally:
        place.remove()


def everything(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path): path.read_text() for path in files}


def test_links_within_the_project_lead_into_the_copy_and_pipes_are_left_out(project: Path) -> None:
    (project / "near").symlink_to("data/small.csv")
    (project / "folder").symlink_to("data")
    (project / "absolute").symlink_to(project / "data")
    (project / "back").symlink_to(f"../{project.name}/src/own.py")
    (project / "src/up").symlink_to("..")
    (project / "broken").symlink_to("nowhere")
    (project / "loop").symlink_to("loop")
    (project / "empty/deep").mkdir(parents=True)
    os.mkfifo(project / "pipe")
    before = everything(project)
    with copied(project) as place:
        (place.root / "near").write_text("changed")
        assert (place.root / "folder/small.csv").read_text() == "changed"
        assert (place.root / "absolute/small.csv").read_text() == "changed"
        assert (place.root / "src/up/near").read_text() == "changed"
        assert (place.root / "near").readlink() == Path("data/small.csv")
        (place.root / "absolute/large.bin").unlink()
        (place.root / "back").write_text("changed")
        assert (place.root / "src/own.py").read_text() == "changed"
        (place.root / "broken").write_text("made")
        (place.root / "empty/deep/made").write_text("made")
        assert not (place.root / "pipe").exists()
        assert place.written() == (
            *("data/large.bin", "data/small.csv", "empty/deep/made", "nowhere", "src/own.py"),
        )
        assert place.outside() == []
    assert everything(project) == before


def test_what_links_lead_to_outside_is_copied_too(project: Path, tmp_path: Path) -> None:
    far = tmp_path / "far"
    (far / "deep").mkdir(parents=True)
    (far / "one.txt").write_text("one")
    (far / "deep/two.txt").write_text("two")
    (far / "back").symlink_to(project / "data")
    (far / "beside").symlink_to("one.txt")
    (tmp_path / "further").mkdir()
    (tmp_path / "further/three.txt").write_text("three")
    (tmp_path / "further/around").symlink_to(far)
    (far / "further").symlink_to("../further")
    (project / "inputs").symlink_to("../far")
    (project / "src/again").symlink_to(far)
    (project / "file.txt").symlink_to(far / "one.txt")
    (project / "null").symlink_to("/dev/null")
    (project / "made.txt").symlink_to(tmp_path / "not-there.txt")
    before = everything(tmp_path)
    with copied(project) as place:
        inputs = place.root / "inputs"
        assert (inputs / "further/around/deep/two.txt").read_text() == "two"
        (inputs / "one.txt").write_text("changed")
        assert (place.root / "src/again/one.txt").read_text() == "changed"
        assert (inputs / "beside").read_text() == "changed"
        (place.root / "file.txt").write_text("changed")
        (inputs / "deep/two.txt").unlink()
        (inputs / "further/new.txt").write_text("new")
        (inputs / "further/three.txt").write_text("changed")
        (inputs / "back/small.csv").write_text("changed")
        assert (place.root / "data/small.csv").read_text() == "changed"
        (place.root / "null").write_text("nothing")
        (place.root / "made.txt").write_text("made")
        assert place.linked == ()
        assert place.outside() == []
    assert everything(tmp_path) == before
    assert not (tmp_path / "not-there.txt").exists()


def test_what_was_changed_for_real_is_told(project: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far/large.bin").write_text("x" * 3_000)
    (project / "far").symlink_to("../far")
    (project / "one").symlink_to(tmp_path / "one.bin")
    (tmp_path / "one.bin").write_text("x" * 3_000)
    with copied(project, budget=1_000) as place:
        assert set(place.linked) == {"far/large.bin", "one", "data/large.bin"}
        assert place.outside() == []
        (place.root / "far/large.bin").write_text("changed")
        (place.root / "one").write_text("changed")
        (place.root / "data/large.bin").unlink()  # of the copy
        (project / "src/own.py").unlink()
        (project / "new.txt").write_text("new")
        named = f"{tmp_path}/far/large.bin, {tmp_path}/one.bin, new.txt, src/own.py"
        assert place.outside() == [REAL.format(named)]
        assert place.written() == ("data/large.bin",)


def test_a_folder_outside_that_is_too_large_is_linked_and_told(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path / "far"
    far.mkdir()
    for number in range(30):
        (far / f"{number}.txt").write_text("x")
    (project / "far").symlink_to(far)
    (project / "src/above").symlink_to(tmp_path)
    with copied(project, files=20) as place:
        assert set(place.linked) == {"far", "src/above"}
        (place.root / "far/3.txt").write_text("changed")
        assert place.outside() == [REAL.format(f"{far}/3.txt")]
    monkeypatch.setattr("shiro_jupyter.kernel.check.scratch.FILES", 20)
    with copied(project, files=20) as place:
        (place.root / "far/4.txt").write_text("changed")
        assert place.outside() == [UNSEEN.format(f"{tmp_path}, {far}")]


def test_variables_lead_into_the_copy(project: Path, tmp_path: Path) -> None:
    (project / ".shiro/home").mkdir()
    (tmp_path / "by-link").symlink_to(project)
    (tmp_path / "project-2").mkdir()
    environ = {
        "PWD": str(project),
        "ROOT": f"{project}/",
        "OUT": f"{project}/not yet/there",
        "PYTHONPATH": f"/usr/lib:{project}/src:{project}/node_modules/left",
        "PATH": f"{project}/env/bin:/bin",
        "VIRTUAL_ENV": f"{project}/env",
        "GIT_DIR": f"{project}/.git",
        "SHIRO_HOME": f"{project}/.shiro/home",
        "DATABASE_URL": f"sqlite:///{project}/data/a.db?mode=rw",
        "OPTIONS": f"--log={project}/a.log --in {project}/src",
        "LINKED": f"{tmp_path}/by-link/data",
        "BESIDE": f"{tmp_path}/project-2:{project}.bak:{tmp_path}",
        "URL": "https://example.org/data",
        "PLAIN": "no path",
    }
    with copied(project) as place:
        root = place.root
        assert place.environment(environ) == environ | {
            "PWD": str(root),
            "ROOT": f"{root}/",
            "OUT": f"{root}/not yet/there",
            "PYTHONPATH": f"/usr/lib:{root}/src:{project}/node_modules/left",
            "DATABASE_URL": f"sqlite:///{root}/data/a.db?mode=rw",
            "OPTIONS": f"--log={root}/a.log --in {root}/src",
            "LINKED": f"{root}/data",
        }
    real = in_place(project / "src").environment(environ)
    assert real == environ | {"PWD": str(project / "src")}


@pytest.mark.parametrize(
    ("failed", "shown", "told"),
    [
        ("subprocess.check_output(['git', 'log'])", [], True),
        ("!git log", [], True),
        ("next(p for p in parents if (p / '.git').exists())", [], True),
        ("1 / 0", ["fatal: not a git repository"], True),
        ("", ["fatal: not a git repository (or any of the parents): .git"], True),
        ("1 / 0", ["clone it with git clone"], False),
        ("digit = legit", [], False),
    ],
)
def test_a_cell_that_asks_for_the_history_is_told_that_the_copy_has_none(
    failed: str, shown: list[str], told: bool, project: Path
) -> None:
    with copied(project) as place:
        assert place.lacking(failed, shown) == [NO_GIT] * told
    assert in_place(project).lacking(failed, shown) == []


def test_in_place_nothing_is_copied_nor_removed(project: Path) -> None:
    place = in_place(project / "notebooks")
    (place.folder / "new.txt").write_text("new")
    assert place.written() == ("new.txt",)
    place.remove()
    assert (project / "notebooks/new.txt").exists()
