from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments, PathRefused, ToolFailed
from shiro_jupyter.core.tools.list_dir import ENTRIES, ListDir
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "project").mkdir()
    return Bench(tmp_path / "project")


def make(bench: Bench, *names: str) -> None:
    for name in names:
        path = bench.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 1_234)


def test_a_listing_has_paths_to_copy_sizes_and_the_default_depth(bench: Bench) -> None:
    make(bench, "b.csv", "data/raw/a.csv", "data/z.csv", "data-old/x", "a/b/c/d.txt", ".hidden")
    (bench.root / "link").symlink_to("data")
    assert bench.run(ListDir()).text.splitlines() == [
        ".hidden  1.2 kB",
        "a/",
        "a/b/  (not opened)",
        "b.csv  1.2 kB",
        "data/",
        "data/raw/  (not opened)",
        "data/z.csv  1.2 kB",
        "data-old/",
        "data-old/x  1.2 kB",
        "link -> data",
    ]
    assert bench.run(ListDir(), path="a", depth=6).text.splitlines() == [
        "a/b/",
        "a/b/c/",
        "a/b/c/d.txt  1.2 kB",
    ]


def test_what_git_ignores_is_left_out_unless_asked_for_by_name(bench: Bench) -> None:
    make(bench, "keep.py", "build/out.o", "node_modules/m.js", ".git/config")
    (bench.root / ".gitignore").write_text("build/\n")
    assert bench.run(ListDir()).text == ".gitignore  7 B\nkeep.py  1.2 kB"
    assert bench.run(ListDir(), path="build").text == "build/out.o  1.2 kB"
    assert bench.run(ListDir(), path="node_modules").text == "node_modules/m.js  1.2 kB"


def test_of_a_large_folder_the_upper_levels_come_first(bench: Bench) -> None:
    make(bench, *(f"a/{n:04}.txt" for n in range(400)), "z.txt")
    lines = bench.run(ListDir()).text.splitlines()
    assert len(lines) == ENTRIES + 1
    assert lines[0] == "a/"
    assert lines[-2:] == [
        "z.txt  1.2 kB",
        f"[only the first {ENTRIES} entries; list a subfolder for more]",
    ]


def test_a_folder_that_cannot_be_opened_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(bench, "open/a", "shut/b")
    real = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert bench.run(ListDir()).text.splitlines() == [
        "open/",
        "open/a  1.2 kB",
        "shut/  (cannot be opened: Permission denied)",
    ]
    with pytest.raises(ToolFailed, match="shut cannot be listed: Permission denied"):
        bench.run(ListDir(), path="shut")


def test_what_is_no_folder_of_the_project_is_refused_with_the_way_on(
    bench: Bench, tmp_path: Path
) -> None:
    make(bench, "a.txt")
    (bench.root / "out").symlink_to(tmp_path)
    with pytest.raises(ToolFailed, match=r"a\.txt is a file; read it with read_file"):
        bench.run(ListDir(), path="a.txt")
    with pytest.raises(ToolFailed, match="There is no folder missing"):
        bench.run(ListDir(), path="missing")
    for path in ("..", "/", "out"):
        with pytest.raises(PathRefused):
            bench.run(ListDir(), path=path)
    with pytest.raises(InvalidArguments, match="less than or equal to 6"):
        bench.run(ListDir(), depth=7)


def test_an_empty_folder_and_odd_names(bench: Bench) -> None:
    (bench.root / "empty").mkdir()
    assert bench.run(ListDir(), path="empty").text.startswith("empty holds nothing")
    (Path(os.fsdecode(os.fsencode(bench.root / "empty") + b"/\xff\n"))).touch()
    assert bench.run(ListDir(), path="empty").text == "empty/\\xff\\n  0 B"


def test_what_the_settings_ignore_is_left_out_whatever_git_says(bench: Bench) -> None:
    make(bench, "a.csv", "b.txt", "data/raw/x.txt", "data/c.csv", "data/d.txt", "raw/e.txt")
    (bench.root / ".gitignore").write_text("!*.csv\n")
    bench.project = replace(bench.project, ignore=("*.csv", "data/raw/", "[broken", ".gitignore"))
    assert bench.run(ListDir()).text.splitlines() == [
        "b.txt  1.2 kB",
        "data/",
        "data/d.txt  1.2 kB",
        "raw/",
        "raw/e.txt  1.2 kB",
    ]
    assert bench.run(ListDir(), path="data").text == "data/d.txt  1.2 kB"
    assert bench.run(ListDir(), path="data/raw").text.endswith("nothing that is not ignored.")


def test_a_folder_elsewhere_is_judged_from_itself(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "data").mkdir(parents=True)
    (other / "a.csv").write_text("x")
    bench.project = replace(bench.project, ignore=("*.csv",), allowed=(other,))
    assert bench.run(ListDir(), path=str(other)).text.splitlines() == [f"{other}/data/"]
