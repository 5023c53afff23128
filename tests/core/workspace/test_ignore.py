from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from shiro_jupyter.core.workspace.ignore import LINE_LIMIT, Extra, rules_of


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def ignored(root: Path, path: str) -> bool:
    """As a walk decides it: the first ignored folder on the way settles it."""
    rules = rules_of(root)
    *folders, last = path.rstrip("/").split("/")
    for folder in folders:
        if rules.ignores(folder, True):
            return True
        rules = rules.inside(folder)
    return rules.ignores(last, path.endswith("/"))


CASES = {
    ".gitignore": "*.log\n/only-top\nbuild/\ndata/*\n!data/keep.csv\n# a comment\n\\#hash\n",
    "sub/.gitignore": "!important.log\nlocal.txt\n",
    "sub/deep/.gitignore": "important.log\n",
    ".git/info/exclude": "excluded.txt\nreinstated.txt\n",
    "top2/.gitignore": "*\n!.gitignore\n!*.py\n",
}
PATHS = [
    "a.log",
    "sub/a.log",
    "sub/important.log",
    "sub/deep/important.log",
    "important.log",
    "only-top",
    "sub/only-top",
    "build/",
    "build/x",
    "sub/build/x",
    "build.txt",
    "data/a.csv",
    "data/keep.csv",
    "local.txt",
    "sub/local.txt",
    "sub/deep/local.txt",
    "excluded.txt",
    "sub/excluded.txt",
    "#hash",
    "top2/a.txt",
    "top2/a.py",
    "top2/.gitignore",
]


@pytest.mark.parametrize("path", PATHS)
def test_paths_are_ignored_as_git_decides(tmp_path: Path, path: str) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    put(tmp_path, CASES)
    if path.endswith("/"):
        (tmp_path / path).mkdir(parents=True)
    else:
        put(tmp_path, {path: CASES.get(path, "")})
    git = subprocess.run(
        ["git", "-C", tmp_path, "check-ignore", "-q", "--no-index", path], check=False
    )
    assert git.returncode in (0, 1)
    assert ignored(tmp_path, path) == (git.returncode == 0)


def test_the_own_file_speaks_after_git_s_in_each_folder(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            ".gitignore": "*.csv\n",
            ".shiroignore": "private/\n!shared.csv\n",
            "sub/.shiroignore": "notes.md\n",
        },
    )
    assert ignored(tmp_path, "private/")
    assert ignored(tmp_path, "a.csv")
    assert not ignored(tmp_path, "shared.csv")
    assert ignored(tmp_path, "sub/notes.md")
    assert not ignored(tmp_path, "notes.md")


def test_git_and_node_modules_never_show(tmp_path: Path) -> None:
    put(tmp_path, {".gitignore": "!.git\n!node_modules\n"})
    for path in (".git/", "node_modules/", "sub/node_modules/", ".git"):
        assert ignored(tmp_path, path)


def test_a_project_inside_a_repository_obeys_the_files_above_it(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    put(tmp_path, {".gitignore": "*.tmp\nproject/secret\n"})
    (tmp_path / "project").mkdir()
    assert ignored(tmp_path / "project", "a.tmp")
    assert ignored(tmp_path / "project", "secret")
    assert not ignored(tmp_path / "project", "sub/secret")


def test_inside_an_ignored_folder_only_its_own_rules_hold(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    put(tmp_path, {".gitignore": "out/\n*.log\n", "out/.gitignore": "*.o\n"})
    (tmp_path / "out/deep").mkdir()
    assert ignored(tmp_path / "out", "a.o")
    assert not ignored(tmp_path / "out", "a.log")
    assert ignored(tmp_path / "out/deep", "a.o")
    assert not ignored(tmp_path / "out/deep", "a.log")


def test_broken_files_and_lines_spoil_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbffirst\r\n!\n[z-a]\n\\\n\xff.bin\r\nlast\n")
    (tmp_path / "linked").mkdir()
    (tmp_path / "rules").write_text("*\n")
    (tmp_path / "linked/.gitignore").symlink_to(tmp_path / "rules")
    (tmp_path / "folder/.gitignore").mkdir(parents=True)
    assert ignored(tmp_path, "first")
    assert ignored(tmp_path, "\udcff.bin")
    assert ignored(tmp_path, "last")
    assert not ignored(tmp_path, "other")
    assert not ignored(tmp_path, "linked/a")
    assert not ignored(tmp_path, "folder/a")


def test_no_rules_file_makes_a_walk_hang(tmp_path: Path) -> None:
    many = "".join(f"name{number}\n" for number in range(40_000))
    stars = "*a" * 12 + "b\n" + "**/a/" * 8 + "b\n"
    (tmp_path / ".gitignore").write_text(f"{stars}*a*b*\n{many}")
    began = time.process_time()
    rules = rules_of(tmp_path)
    for number in range(50):
        assert not rules.ignores("a" * 200 + str(number), False)
    assert rules.ignores("xaxbx", False) and rules.ignores("a" * 200 + "b", False)
    assert rules.ignores("name39999", True)
    assert time.process_time() - began < 5


def test_patterns_of_settings_are_held_to_the_same_limits(tmp_path: Path) -> None:
    wild = [f"x{number}*" for number in range(LINE_LIMIT)]
    extra = Extra(tmp_path, ["*.csv", "[broken", "raw/", *wild, "late*", "plain"])
    assert extra.hides(b"deep/a.csv", False) and extra.hides(b"plain", True)
    assert extra.hides(b"a/raw/deep/x", False) and not extra.hides(b"raw", False)
    assert not extra.hides(b"late", False)
    assert extra.above(tmp_path) == extra.above(tmp_path.parent) == b""
    assert extra.above(tmp_path / "a/b") == b"a/b/"
