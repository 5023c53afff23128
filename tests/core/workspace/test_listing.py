"""What is listed, against git as the oracle, asked of git and walked without it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.workspace import listing
from shiro_jupyter.core.workspace.ignore import NEVER, Extra
from shiro_jupyter.core.workspace.listing import Present, files_in, until_cancelled
from shiro_jupyter.core.workspace.processes import Processes
from shiro_jupyter.core.workspace.walk import walk
from tests.support.programs import processes_with

EXAMPLES = int(os.environ.get("SHIRO_TEST_EXAMPLES", "40"))

# -- trees and rules -----------------------------------------------------------------------------

NAMES = ("a", "b", "ab", "a b", "é", "b.py", "a.log", "-x", "[a]", "a\\b", "*", "new\nline")
FILES = st.lists(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join),
    min_size=3,
    max_size=14,
)
PIECES = st.sampled_from(
    [
        *("a", "b", "ab", "é", ".py", ".log", "a b", "-", "#", "!", "{a,b}", "+", "(", "$", "^"),
        *("*", "*", "?", "**", "***", "/", "/", "**/", "/**", "/**/", "/*", "*/", "*.log"),
        *("[ab]", "[!a]", "[^a]", "[a-b]", "[b-a]", "[]a]", "[!]a]", "[a", "[[:alpha:]]"),
        *("[[:punct:][:space:]]", "[[:bad:]]", "[[:alpha]", "[a-]", "[\\a]", "[a\\]]", "[-a]"),
        *("[[]", "[*]", "[/]", "[!/]", "[a-a-b]", "[\\", "[é]", "[!é]", "[[a:]]"),
        *("\\", "\\a", "\\*", "\\ ", "\\\\", "\\[", "\\!", "\\#", "\\/", " ", "  ", "\t"),
    ]
)
LINE = st.builds(
    lambda start, pieces, end: start + "".join(pieces) + end,
    st.sampled_from(["", "", "", "!", "!", "/", "!/", "#", "\\!", "\\#"]),
    st.lists(PIECES, min_size=1, max_size=5),
    st.sampled_from(["", "", "", "/", "/", " ", "  ", "\\ ", "\\  ", "\t", "/ ", "\0a"]),
)
# Lines that often say something about the names there are.
PLAIN = st.builds(
    lambda start, name, end: start + name + end,
    st.sampled_from(["", "!", "/", "**/", "a/", "!a/", "*/"]),
    st.sampled_from([*NAMES, "*", "a*", "*b"]),
    st.sampled_from(["", "/", "/*", "/**"]),
)


@dataclass(frozen=True)
class Ignore:
    lines: list[str]
    end: str = "\n"
    mark: bytes = b""
    last: bool = True
    linked: bool = False

    def bytes(self) -> bytes:
        text = self.end.join(self.lines) + (self.end if self.last else "")
        return self.mark + text.encode()


IGNORE = st.builds(
    Ignore,
    st.lists(LINE | PLAIN | PLAIN, max_size=4),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.sampled_from([b"", b"", b"\xef\xbb\xbf"]),
    st.booleans(),
    st.integers(0, 9).map(lambda n: n == 0),
)


@dataclass(frozen=True)
class Tree:
    """`tracked` and `ignores` are by places among the files and the folders."""

    files: list[str]
    ignores: dict[int, Ignore]
    tracked: set[int] = field(default_factory=set)
    exclude: Ignore | None = None
    repository: bool = True


TREES = st.builds(
    Tree,
    FILES,
    st.dictionaries(st.integers(0, 6), IGNORE, min_size=1, max_size=4),
    st.sets(st.integers(0, 13), max_size=3),
    st.none() | IGNORE,
    st.booleans(),
)


def git(*arguments: str | Path, data: bytes = b"", codes: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(["git", *arguments], input=data, capture_output=True, check=False)
    assert done.returncode in codes, done.stderr
    return done.stdout


@dataclass
class Made:
    """A tree on disk, and the git folder that knows it, elsewhere where it is no repository."""

    root: Path
    own: Path

    def git(
        self, *arguments: str | Path, data: bytes = b"", codes: tuple[int, ...] = (0,)
    ) -> bytes:
        return git(
            f"--git-dir={self.own}", f"--work-tree={self.root}", "-C", self.root, *arguments,
            data=data, codes=codes,
        )  # fmt: skip

    def shown(self) -> list[bytes]:
        """What there is, without what git says is ignored."""
        there = [
            os.fsencode(path.relative_to(self.root))
            for path in self.root.rglob("*")
            if (path.is_symlink() or path.is_file())
            and NEVER.isdisjoint(path.relative_to(self.root).parts)
        ]
        # By the rules alone, and what is tracked apart: else git takes a name for a pattern.
        told = self.git(
            "check-ignore", "--no-index", "-z", "--stdin", data=b"\0".join(there), codes=(0, 1)
        )
        ignored = set(told.split(b"\0")) - set(self.git("ls-files", "-z").split(b"\0"))
        return sorted(set(there) - ignored)


def make(tree: Tree, base: Path) -> Made:
    root = base / "tree"
    root.mkdir()
    made = Made(root, root / ".git" if tree.repository else base / "apart")
    git("init", "-q", *([root] if tree.repository else ["--bare", made.own]))
    for name in tree.files:
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        except OSError:  # a file is where a folder should be, or the other way round
            continue
    folders = sorted(path for path in (root, *root.rglob("*")) if path.is_dir())
    folders = [path for path in folders if ".git" not in path.parts]
    for place, ignore in tree.ignores.items():
        target = folders[place % len(folders)] / ".gitignore"
        target.unlink(missing_ok=True)
        if ignore.linked:
            (base / f"linked{place}").write_bytes(ignore.bytes())
            target.symlink_to(base / f"linked{place}")
        else:
            target.write_bytes(ignore.bytes())
    if tree.repository:
        if tree.exclude:
            (made.own / "info").mkdir(exist_ok=True)
            (made.own / "info/exclude").write_bytes(tree.exclude.bytes())
        files = [each for each in tree.files if (root / each).is_file()]
        for place in tree.tracked:
            made.git("--literal-pathspecs", "add", "-f", "--", files[place % len(files)])
    return made


def listed(
    folder: Path, root: Path, *, with_git: bool, ignore: tuple[str, ...] = ()
) -> list[bytes]:
    with processes_with(*(["git"] if with_git else [])) as processes:
        return sorted(set(asyncio.run(files_in(folder, Extra(root, ignore), processes))))


def walked(folder: Path, root: Path) -> list[bytes]:
    kinds = ("file", "link")
    entries = walk(folder, Extra(root))
    return sorted(os.fsencode(entry.name) for entry in entries if entry.kind in kinds)


# -- properties ----------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES)
@given(TREES)
def test_all_ways_of_listing_decide_as_git_does(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as base:
        made = make(tree, Path(base).resolve())
        expected = made.shown()
        assert walked(made.root, made.root) == expected
        assert listed(made.root, made.root, with_git=False) == expected
        assert listed(made.root, made.root, with_git=True) == expected


# -- what the property does not reach --------------------------------------------------------------

BOTH = pytest.mark.parametrize("with_git", [True, False], ids=["git", "walk"])


def put(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


def commit(root: Path, *options: str) -> None:
    git("-C", root, "add", "-A")
    person = ("-c", "user.name=a", "-c", "user.email=a@b")
    git("-C", root, *person, *options, "commit", "-qm", "x")


@BOTH
def test_a_repository_inside_obeys_the_rules_of_the_outer_one(root: Path, with_git: bool) -> None:
    git("init", "-q", root)
    for name in ("known", "unknown"):
        git("init", "-q", root / name)
        put(root, f"{name}/a.py", f"{name}/b.log", f"{name}/sub/c.tmp", f"{name}/node_modules/d")
        (root / name / ".gitignore").write_text("*.tmp\n")
        commit(root / name)
    (root / ".gitignore").write_text("*.log\n")
    git("-c", "advice.addEmbeddedRepo=false", "-C", root, "add", "known", ".gitignore")
    expected = [
        *(b".gitignore", b"known/.gitignore", b"known/a.py"),
        *(b"unknown/.gitignore", b"unknown/a.py"),
    ]
    assert listed(root, root, with_git=with_git) == expected
    assert listed(root / "known", root, with_git=with_git) == [b".gitignore", b"a.py", b"b.log"]


@BOTH
def test_our_own_file_is_heavier_than_git_s_and_holds_for_what_is_tracked(
    root: Path, with_git: bool
) -> None:
    git("init", "-q", root)
    put(root, "a.csv", "b.txt", "keep.csv", "private/c", "sub/d.md", "e.bin")
    git("-C", root, "add", "a.csv", "private", "sub", "e.bin")
    (root / ".gitignore").write_text("*.csv\n*.bin\n.shiroignore\n")
    assert listed(root, root, with_git=with_git) == [
        *(b".gitignore", b"a.csv", b"b.txt", b"e.bin", b"private/c", b"sub/d.md")
    ]
    (root / ".shiroignore").write_text("private/\n!keep.csv\n*.bin\n")
    (root / "sub/.shiroignore").write_text("*.md\n")
    assert listed(root, root, with_git=with_git) == [
        *(b".gitignore", b"a.csv", b"b.txt", b"keep.csv")
    ]
    assert listed(root / "sub", root, with_git=with_git) == []


@BOTH
def test_what_the_settings_ignore_is_left_out_besides(root: Path, with_git: bool) -> None:
    put(root, "a.csv", "data/raw/x", "data/b", "raw/c")
    ignore = ("*.csv", "data/raw/", "[broken")
    assert listed(root, root, with_git=with_git, ignore=ignore) == [b"data/b", b"raw/c"]
    assert listed(root / "data", root, with_git=with_git, ignore=ignore) == [b"b"]
    assert listed(root / "data/raw", root, with_git=with_git, ignore=ignore) == []


@BOTH
@pytest.mark.parametrize("repository", [True, False])
def test_an_ignored_folder_asked_for_by_name_is_listed(
    root: Path, with_git: bool, repository: bool
) -> None:
    if repository:
        git("init", "-q", root)
    put(root, "out/a", "out/deep/b", "out/deep/c.o", "node_modules/m/d.js", "e", "x.log")
    put(root, "lib/f.log", "lib/node_modules/g")
    (root / ".gitignore").write_text("out/\n*.log\n")
    (root / "out/deep/.gitignore").write_text("*.o\n.gitignore\n")
    assert listed(root, root, with_git=with_git) == [b".gitignore", b"e"]
    assert listed(root / "out", root, with_git=with_git) == [b"a", b"deep/b"]
    assert listed(root / "out/deep", root, with_git=with_git) == [b"b"]
    assert listed(root / "node_modules", root, with_git=with_git) == [b"m/d.js"]
    # The rules of the folders above hold where none of them ignores the folder itself.
    assert listed(root / "lib", root, with_git=with_git) == []


@BOTH
def test_walks_end_and_links_are_named_not_followed(
    root: Path, with_git: bool, tmp_path: Path
) -> None:
    put(tmp_path, "outside/secret", "project/sub/a")
    (root / "sub/up").symlink_to(root)
    (root / "self").symlink_to("self")
    (root / "gone").symlink_to("nowhere")
    (root / "out").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "pipe")
    assert listed(root, root, with_git=with_git) == [
        *(b"gone", b"out", b"self", b"sub/a", b"sub/up")
    ]


@BOTH
@pytest.mark.parametrize("folder", [".", "sub"])
@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", ".shiroignore"])
def test_a_pipe_in_place_of_an_ignore_file_is_passed_over_in_a_moment(
    root: Path, with_git: bool, name: str, folder: str
) -> None:
    git("init", "-q", root)
    put(root, "a", "sub/b", "sub/c.log")
    (root / ".git/info/exclude").write_text("*.log\n")
    os.mkfifo(root / folder / name)
    began = time.monotonic()
    assert listed(root, root, with_git=with_git) == [b"a", b"sub/b"]
    assert time.monotonic() - began < 10


def test_what_is_tracked_and_gone_or_behind_a_link_is_not_there(root: Path, tmp_path: Path) -> None:
    git("init", "-q", root)
    put(root, "a", "b/c", "d/e", "f")
    put(tmp_path, "outside/e")
    git("-C", root, "add", "-A")
    (root / "a").unlink()
    (root / "d/e").unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to(tmp_path / "outside")
    (root / "f").unlink()
    put(root, "f/g")
    told = listed(root, root, with_git=True)
    assert {b"a", b"d/e"} <= set(told)
    assert list(filter(Present(root), told)) == [b"b/c", b"d", b"f/g"]
    assert listed(root, root, with_git=False) == [b"b/c", b"d", b"f/g"]


@BOTH
def test_a_folder_that_cannot_be_opened_costs_only_itself(
    root: Path, with_git: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, "open/a", "shut/b")
    (root / "shut").chmod(0)
    real = os.scandir

    def scandir(path: Path) -> object:
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    # Also where the tests run as the one user whom no mode stops.
    monkeypatch.setattr(os, "scandir", scandir)
    told = listed(root, root, with_git=with_git)
    (root / "shut").chmod(0o700)
    assert set(told) - {b"shut/b"} == {b"open/a"}


def test_nothing_that_a_repository_names_is_run_or_read(root: Path, tmp_path: Path) -> None:
    git("init", "-q", root)
    put(root, "a", "b.txt", "c.log")
    git("-C", root, "add", "a")
    marker = tmp_path / "marker"
    script = root / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n")
    script.chmod(0o755)
    (root / ".gitattributes").write_text("* filter=bad\n")
    os.mkfifo(tmp_path / "pipe")
    for name, value in {
        "core.fsmonitor": script,
        "core.hooksPath": root,
        "core.excludesFile": tmp_path / "pipe",
        "core.worktree": tmp_path,
        "filter.bad.clean": script,
        "filter.bad.process": script,
        "core.sshCommand": script,
        "core.pager": script,
        "include.path": tmp_path / "pipe",
    }.items():
        git("config", "--file", root / ".git/config", name, str(value))
    (root / "post-index-change").symlink_to("run.sh")
    assert listed(root, root, with_git=True) == listed(root, root, with_git=False)
    assert not marker.exists()


def test_work_trees_and_repositories_with_long_hashes_are_read_too(
    root: Path, tmp_path: Path
) -> None:
    for name, options in (("short", ()), ("long", ("--object-format=sha256",))):
        top = root / name
        git("init", "-q", *options, top)
        put(top, "tracked.log", "other.log")
        (top / ".gitignore").write_text("*.log\n")
        git("-C", top, "add", "-f", "tracked.log", ".gitignore")
        commit(top)
        git("-C", top, "worktree", "add", "-q", tmp_path / f"{name}-tree")
        put(tmp_path, f"{name}-tree/new.log", f"{name}-tree/excluded", f"{name}-tree/shown")
        (top / ".git/info").mkdir(exist_ok=True)
        (top / ".git/info/exclude").write_text("excluded\n")
        for with_git in (True, False):
            folder = tmp_path / f"{name}-tree"
            expected = [b".gitignore", b"shown", b"tracked.log"]
            assert listed(top, top, with_git=with_git) == [b".gitignore", b"tracked.log"]
            assert listed(folder, folder, with_git=with_git) == expected


def test_a_git_that_fails_is_done_without(root: Path, tmp_path: Path) -> None:
    put(root, "a", "b.log")
    (root / ".gitignore").write_text("*.log\n")
    bad = tmp_path / "bin/git"
    put(tmp_path, "bin/git")
    bad.write_text("#!/bin/sh\nprintf 'lie\\0'\nexit 128\n")
    bad.chmod(0o755)
    with processes_with(path=tmp_path / "bin") as processes:
        told = asyncio.run(files_in(root, Extra(root), processes))
    assert sorted(told) == [b".gitignore", b"a"]


def put_slow_git(tmp_path: Path) -> None:
    slow = tmp_path / "bin/git"
    put(tmp_path, "bin/git")
    slow.write_text("#!/bin/sh\nsleep 300\n")
    slow.chmod(0o755)


def test_a_git_that_takes_long_is_done_without(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "GIT_SECONDS", 0.3)
    put(root, "a", "b.log")
    (root / ".gitignore").write_text("*.log\n")
    put_slow_git(tmp_path)
    with processes_with("sleep", path=tmp_path / "bin") as processes:
        told = asyncio.run(files_in(root, Extra(root), processes))
    assert sorted(told) == [b".gitignore", b"a"]


def test_a_listing_that_is_cancelled_ends_at_once(root: Path, tmp_path: Path) -> None:
    put_slow_git(tmp_path)

    async def cancelled(processes: Processes) -> float:
        task = asyncio.create_task(files_in(root, Extra(root), processes))
        await asyncio.sleep(0.3)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    with processes_with("sleep", path=tmp_path / "bin") as processes:
        assert asyncio.run(cancelled(processes)) < 1.5


def test_work_on_a_thread_ends_with_its_caller() -> None:
    taken = []

    def endless() -> Iterator[int]:
        for number in count():
            taken.append(number)
            yield number

    async def cancelled() -> None:
        task = asyncio.create_task(until_cancelled(endless()))
        while not taken:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())  # the guard around every test sees that the thread has ended
