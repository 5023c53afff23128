from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments, PathRefused, ToolFailed
from shiro_jupyter.core.tools.base import OUTPUT_LIMIT
from shiro_jupyter.core.tools.glob import PATHS, Glob
from shiro_jupyter.core.tools.grep import Grep
from tests.support.programs import processes_with
from tests.support.tools import Bench


@pytest.fixture(params=[("git",), ()], ids=["git", "no git"])
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    (tmp_path / "project").mkdir()
    bench = Bench(tmp_path / "project")
    with processes_with(*request.param) as bench.processes:
        yield bench


def make(bench: Bench, *names: str) -> None:
    for name in names:
        path = bench.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def paths(bench: Bench, pattern: str, path: str = ".") -> list[str]:
    return bench.run(Glob(), pattern=pattern, path=path).text.splitlines()


def test_paths_come_sorted_as_other_tools_take_them(bench: Bench) -> None:
    make(bench, "b.py", "a.txt", "src/z.py", "src/deep/a.py", "src-old/c.py", ".hidden/d.py")
    assert paths(bench, "*.py") == [
        *(".hidden/d.py", "b.py", "src-old/c.py", "src/deep/a.py", "src/z.py")
    ]
    assert paths(bench, "src/*.py") == ["src/z.py"]
    assert paths(bench, "./src/**/*.{py,txt}") == ["src/deep/a.py", "src/z.py"]
    assert paths(bench, f"{bench.root}/src/**") == ["src/deep/a.py", "src/z.py"]
    assert paths(bench, "**/a.*", "src") == ["src/deep/a.py"]
    assert paths(bench, "deep/", "src/") == ["src/deep/a.py"]
    assert paths(bench, "*", str(bench.root / "src/deep")) == ["src/deep/a.py"]


def test_what_is_ignored_is_found_where_it_is_asked_for_by_name(bench: Bench) -> None:
    make(bench, "a.o", "out/b.o", "out/deep/c.o", "node_modules/m/d.o", "e.py", ".git/config")
    (bench.root / ".gitignore").write_text("out/\n*.o\n")
    assert paths(bench, "*.o") == ["No file fits *.o in the project folder, or it is ignored."]
    assert paths(bench, "**") == [".gitignore", "e.py"]
    assert paths(bench, "out/**") == ["out/b.o", "out/deep/c.o"]
    assert paths(bench, "*.o", "out") == ["out/b.o", "out/deep/c.o"]
    assert paths(bench, "node_modules/**/*.o") == ["node_modules/m/d.o"]
    assert paths(bench, "out/deep/c.o") == ["out/deep/c.o"]
    assert paths(bench, "a.o") == ["a.o"]
    assert paths(bench, ".git/config") == [".git/config"]


def test_the_settings_ignore_besides(bench: Bench) -> None:
    make(bench, "a.csv", "data/b.csv", "data/c.txt")
    bench.project = replace(bench.project, ignore=("*.csv",))
    assert paths(bench, "**") == ["data/c.txt"]


def test_links_are_named_and_what_lies_behind_them_is_not(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.py").write_text("x")
    make(bench, "sub/a.py")
    (bench.root / "sub/up").symlink_to(bench.root)
    (bench.root / "gone.py").symlink_to("nowhere")
    (bench.root / "out").symlink_to(tmp_path / "outside")
    assert paths(bench, "**") == ["gone.py", "out", "sub/a.py", "sub/up"]
    assert paths(bench, "*.py", "sub/up/sub") == ["sub/a.py"]
    for pattern, path in (("out/*.py", "."), ("*.py", "out"), ("../*", "."), ("*", "/")):
        with pytest.raises(PathRefused):
            paths(bench, pattern, path)


def test_of_many_the_first_are_shown_and_it_is_said(bench: Bench) -> None:
    make(bench, *(f"{n:03}.py" for n in range(PATHS)))
    assert len(paths(bench, "*.py")) == PATHS
    make(bench, "zzz.py")
    lines = paths(bench, "*.py")
    assert lines[PATHS - 1 :] == [
        "199.py",
        "[only the first 200 paths; narrow the pattern or the folder]",
    ]
    folder = "/".join(["é" * 100] * 3)
    make(bench, *(f"{folder}/{n:03}.md" for n in range(PATHS)))
    text = bench.run(Glob(), pattern="*.md").text
    assert len(text) < OUTPUT_LIMIT + 100 and "characters left out" in text


def test_odd_names_are_shown_on_one_line(bench: Bench) -> None:
    make(bench, "-x", "new\nline", "tab\t", "é", "\x1b[2J")
    Path(os.fsdecode(os.fsencode(bench.root) + b"/\xff")).touch()
    assert paths(bench, "*") == ["\\x1b[2J", "-x", "new\\nline", "tab\\t", "é", "\\xff"]


def test_what_cannot_be_looked_for_is_refused_with_the_way_on(bench: Bench) -> None:
    make(bench, "a.py")
    with pytest.raises(ToolFailed, match=r"a\.py is a file; give the folder"):
        paths(bench, "*", "a.py")
    with pytest.raises(ToolFailed, match="There is no folder missing"):
        paths(bench, "missing/*.py")
    with pytest.raises(ToolFailed, match=r"No name can fit '\['; put a"):
        paths(bench, "[")
    with pytest.raises(ToolFailed, match="No name holds a NUL"):
        paths(bench, "a\0")
    with pytest.raises(InvalidArguments, match="at least 1 character"):
        paths(bench, "")
    with pytest.raises(PathRefused, match="The path is empty"):
        paths(bench, "*", "")


def test_rules_judge_the_folder_that_is_searched(bench: Bench) -> None:
    make(bench, "src/a.py")
    for pattern, path, text in (
        *(("*.py", ".", "."), ("src/*.py", ".", "src"), ("*.py", "src/", "src")),
        ("../src/**", "src", "src"),
    ):
        parameters = Glob().parse(f'{{"pattern": "{pattern}", "path": "{path}"}}')
        assert Glob().subject(parameters, bench.context).texts == (text,)
    assert Glob().summary(parameters) == "../src/** in src"


def test_a_folder_that_cannot_be_opened_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(bench, "shut/a")
    real = os.scandir

    def scandir(path: Path) -> object:
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    for tool, pattern in ((Glob(), "*"), (Grep(), "x")):
        with pytest.raises(ToolFailed, match="shut cannot be opened: Permission denied; do"):
            bench.run(tool, pattern=pattern, path="shut")
