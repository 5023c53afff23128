"""The same lines with ripgrep and without it, with git and without it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.workspace import search as searching
from shiro_jupyter.core.workspace.ignore import Extra
from shiro_jupyter.core.workspace.search import Found, Hit, Query, search
from tests.support.programs import processes_with

EXAMPLES = int(os.environ.get("SHIRO_TEST_EXAMPLES", "10"))
WAYS = {"rg and git": ("rg", "git"), "rg": ("rg",), "git": ("git",), "neither": ()}
EACH_WAY = pytest.mark.parametrize("programs", WAYS.values(), ids=WAYS.keys())


def put(root: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def every(name: bytes) -> bool:
    return True


def find(
    query: Query,
    root: Path,
    programs: tuple[str, ...],
    wanted: Callable[[bytes], bool] = every,
    ignore: tuple[str, ...] = (),
) -> Found:
    with processes_with(*programs) as processes:
        return asyncio.run(search(query, root, wanted, Extra(root, ignore), processes))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


@EACH_WAY
def test_lines_come_in_the_order_of_paths_without_what_is_ignored(
    root: Path, programs: tuple[str, ...]
) -> None:
    subprocess.run(["git", "init", "-q", root], check=True)
    put(root, b="no\nword b\n", a__z="word z", out__x="word", node_modules__m="word", c="word\0")
    put(root, a__t=b"\xff\xfe" + "word é".encode("utf-16-le"), d="a word é".encode("latin-1"))
    put(
        root,
        **{".gitignore": "out/\n*.log\n", "e.log": "word", ".hidden": "word h", "f.log": "word"},
    )
    put(root, **{"out/kept/t": "word", "out/kept/u.log": "word"})
    subprocess.run(["git", "-C", root, "add", "-f", "f.log", "out/kept/t"], check=True)
    (root / "out/link").symlink_to(root / "b")
    (root / "link").symlink_to(root / "b")
    found = find(Query("w.rd( é)?"), root, programs)
    assert [(hit.name.decode(), hit.line, hit.text) for hit in found.hits] == [
        (".hidden", 1, "word h"),
        ("a/t", 1, "word é"),
        ("a/z", 1, "word z"),
        ("b", 2, "word b"),
        ("d", 1, "a word é"),
        ("f.log", 1, "word"),
        ("out/kept/t", 1, "word"),
    ]
    assert found.notes == ((b"d", "Not UTF-8; read as cp1252."),) and not found.more
    assert [hit.name for hit in find(Query("word"), root / "out", programs).hits] == [
        *(b"kept/t", b"kept/u.log", b"x")
    ]
    narrowed = find(Query("word", globs=("*.log",)), root, programs, lambda n: n.endswith(b".log"))
    assert narrowed.hits == (Hit(b"f.log", 1, "word"),)


@EACH_WAY
def test_what_the_settings_and_our_own_file_ignore_is_not_searched(
    root: Path, programs: tuple[str, ...]
) -> None:
    subprocess.run(["git", "init", "-q", root], check=True)
    put(root, **{".gitignore": "build/\n", ".shiroignore": "*.md\n!build/\n", "a.csv": "word"})
    put(root, **{"b.md": "word", "build/c": "word", "d": "word", "deep/raw/e": "word"})
    found = find(Query("word"), root, programs, ignore=("*.csv", "raw/"))
    assert [hit.name for hit in found.hits] == [b"build/c", b"d"]


@EACH_WAY
def test_the_limit_cuts_in_the_same_place(
    root: Path, programs: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "FIRST", 2)
    put(root, **{f"f{number}": "word\nword\n" for number in range(6)})
    for limit, more in ((3, True), (4, True), (11, True), (12, False)):
        found = find(Query("word", limit=limit), root, programs)
        names = [hit.name.decode() for hit in found.hits]
        assert names == [f"f{number // 2}" for number in range(limit)]
        assert found.more == more
    assert find(Query("word", limit=4), root, programs, lambda n: n in (b"f0", b"f5")).more is False


@EACH_WAY
def test_files_that_are_not_wanted_are_never_told(root: Path, programs: tuple[str, ...]) -> None:
    put(root, **{".env": "KEY=word", "a": "word", "sub/.env.local": "word"})
    found = find(Query("word"), root, programs, lambda name: b".env" not in name)
    assert found == Found((Hit(b"a", 1, "word"),))


@EACH_WAY
def test_odd_names_are_searched(root: Path, programs: tuple[str, ...]) -> None:
    names = [b"-x", b"a\nb", b"\xff.txt", b"sp ace/{b}", b"[a]/*", b"back\\slash"]
    for name in names:
        path = root / name.decode(errors="surrogateescape")
        path.parent.mkdir(exist_ok=True)
        path.write_text("word")
    ignored = ["{x}", "[y]", "*z", "back\\s", " lead", "#hash", "!no", "é"]
    for folder in ignored:
        put(root, **{f"{folder}/in": "word"})
    (root / ".gitignore").write_text(
        "/{x}/\n/\\[y\\]/\n/\\*z/\n/back\\\\s/\n/ lead/\n\\#hash\n\\!no\né/\n"
    )
    assert [hit.name for hit in find(Query("word"), root, programs).hits] == sorted(names)


@pytest.mark.parametrize(
    ("programs", "pattern"), [((), "(x+x+)+y"), (("rg",), r"(x+x+)+(?<=z)")], ids=["none", "rg"]
)
def test_a_pattern_that_goes_back_for_ever_is_given_up(
    root: Path, programs: tuple[str, ...], pattern: str
) -> None:
    put(root, a="x" * 60)
    began = time.monotonic()
    with pytest.raises(ToolFailed, match=r"took over 3 s in one file \('a'\); write it without"):
        find(Query(pattern), root, programs)
    assert time.monotonic() - began < 20


def test_a_pattern_that_ripgrep_follows_in_no_time_is_no_trouble(root: Path) -> None:
    put(root, a="x" * 60)
    assert find(Query("(x+x+)+y"), root, ("rg",)).hits == ()


def test_what_python_thinks_of_the_style_of_a_pattern_is_not_told(root: Path) -> None:
    put(root, a="x--")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert find(Query("[[a]|x[!--]"), root, ("rg",)).hits == (Hit(b"a", 1, "x--"),)
    assert not [each for each in told if each.category is FutureWarning]


@pytest.mark.parametrize("programs", [(), ("rg",)], ids=["none", "rg"])
def test_a_search_that_is_cancelled_ends_within_a_second(
    root: Path, programs: tuple[str, ...]
) -> None:
    put(root, a="x" * 60)

    async def cancelled() -> float:
        with processes_with(*programs) as processes:
            query = Query("(x+x+)+(?<=z)")
            task = asyncio.create_task(search(query, root, every, Extra(root), processes))
            await asyncio.sleep(0.7)
            began = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return time.monotonic() - began

    assert asyncio.run(cancelled()) < 1


def test_a_ripgrep_that_hangs_or_fails_does_no_harm(root: Path, tmp_path: Path) -> None:
    put(root, a="word")
    bad = tmp_path / "bin/rg"
    put(tmp_path, bin__rg="#!/bin/sh\necho 'too large' >&2\nexit 2\n")
    bad.chmod(0o755)
    with processes_with(path=bad.parent) as processes:
        found = asyncio.run(search(Query("word"), root, every, Extra(root), processes))
    assert found.hits == (Hit(b"a", 1, "word"),)
    # What ripgrep itself takes for too large is looked for without it.
    assert find(Query("((((word|a){90}){90}){90})|word"), root, ("rg",)).hits == found.hits


@pytest.mark.parametrize("pattern", ["(a", "[", "*", "a{2,1}", "(?P<n", "\\", "(" * 900])
def test_what_is_no_pattern_is_said_with_the_way_on(pattern: str) -> None:
    with pytest.raises(ToolFailed, match=r"is no regular expression .*; put a"):
        Query(pattern)
    with pytest.raises(ToolFailed, match="over 1,000 characters; search for a part"):
        Query("a" * 1_001)


LINES = st.lists(
    st.sampled_from(["def f(x):", "  Return é", "x = 1", "", "K\u212a", "ſs"]), max_size=6
)


def test_no_file_behind_the_answer_is_looked_at(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "FIRST", 2)
    monkeypatch.setattr(searching, "GROWTH", 2)
    put(root, **{f"f{number:02}": "word\n" for number in range(40)})
    judged: list[bytes] = []

    def every_noted(name: bytes) -> bool:
        judged.append(name)
        return True

    for programs in WAYS.values():
        judged.clear()
        assert len(find(Query("word", limit=4), root, programs, every_noted).hits) == 4
        assert judged[:7] == sorted(judged)[:7] and 5 <= len(judged) <= 7


@settings(max_examples=EXAMPLES)
@given(
    st.dictionaries(st.sampled_from(["a", "b.py", "d/c.py", "d/e", "out/f", "g.log"]), LINES),
    st.sampled_from(["f", r"^\s*return", "x|é", r"\bk+\b", "[^a-z]$", "s", "^$", r"(\w).*\1"]),
    st.booleans(),
    st.integers(1, 8),
    st.lists(st.sampled_from(["*.log", "out/", "!g.log", "d/*", "!e"]), max_size=3),
)
def test_all_ways_find_the_same(
    files: dict[str, list[str]], pattern: str, fold: bool, limit: int, rules: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as base:
        root = Path(base).resolve()
        put(root, **{name: "\n".join(lines) for name, lines in files.items()})
        put(root, **{".gitignore": "\n".join(rules)})
        query = Query(pattern, re.I if fold else 0, limit)
        found = [find(query, root, programs) for programs in WAYS.values()]
        assert found[1:] == found[:-1]
