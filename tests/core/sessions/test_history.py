from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from shiro_jupyter.core.sessions.history import KEPT, LONGEST, History

SECRET = "sk-" + "abcDEF123456ghiJKL789012"
# Adds prompts of its own, in the midst of another one that does.
TYPE = """
import sys
from pathlib import Path
from shiro_jupyter.core.sessions.history import History
history = History(Path(sys.argv[1]))
sys.stdin.readline()
for n in range(int(sys.argv[3])):
    history.add(f"{sys.argv[2]} {n}")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history" / "p.jsonl"


def test_prompts_come_back_in_their_order_and_in_another_kernel(path: Path) -> None:
    assert History(path).prompts() == []
    for prompt in ("one", "two\nlines “é”", "  three ", "half \ud800 pair"):
        History(path).add(prompt)
    assert History(path).prompts() == ["one", "two\nlines “é”", "three", "half \ud800 pair"]


def test_an_immediate_repeat_is_dropped_and_a_later_one_kept(path: Path) -> None:
    history = History(path)
    for prompt in ("a", "a", "a ", "b", "a"):
        history.add(prompt)
    assert history.prompts() == ["a", "b", "a"]
    assert len(path.read_text().splitlines()) == 3


def test_nothing_and_more_than_a_line_is_not_kept(path: Path) -> None:
    history = History(path)
    for prompt in ("", " \n", "x" * (LONGEST + 1)):
        history.add(prompt)
    assert history.prompts() == [] and not path.exists()
    history.add("x" * LONGEST)
    assert len(history.prompts()) == 1


def test_secrets_are_not_kept_and_the_file_is_private(path: Path) -> None:
    History(path).add(f"use {SECRET} there")
    assert SECRET not in path.read_text()
    assert History(path).prompts() == ["use [redacted: API key] there"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_newest_are_kept_and_the_file_is_trimmed_now_and_then(path: Path) -> None:
    history = History(path)
    rewritten, inode = 0, 0
    for n in range(1000):
        history.add(str(n))
        rewritten += inode not in (0, path.stat().st_ino)
        inode = path.stat().st_ino
        assert len(path.read_bytes().splitlines()) <= 2 * KEPT
    assert history.prompts() == [str(n) for n in range(1000 - KEPT, 1000)]
    assert 1 <= rewritten <= 1000 // KEPT
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("torn", [b'{"prompt": "to', b"\0\0\0", b"[1]\n", b"\xff\n", b"{" * 9999])
def test_a_damaged_line_costs_only_itself(path: Path, torn: bytes) -> None:
    history = History(path)
    history.add("before")
    with path.open("ab") as file:
        file.write(torn)
    history.add("after")
    assert history.prompts() == ["before", "after"]


def test_a_file_that_cannot_be_written_or_read_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    history = History(tmp_path / "file" / "p.jsonl")
    history.add("x")
    assert history.prompts() == []
    history = History(tmp_path)
    history.add("x")
    assert history.prompts() == []


def test_two_kernels_lose_no_prompt_of_each_other(path: Path) -> None:
    each = 130
    with ExitStack() as stack:
        typing = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", TYPE, str(path), name, str(each)],
                    stdin=subprocess.PIPE,
                )
            )
            for name in ("a", "b", "c", "d")
        ]
        for process in typing:
            process.communicate(b"go\n")
        assert [process.returncode for process in typing] == [0] * 4
    kept = History(path).prompts()
    assert len(kept) == KEPT
    for name in ("a", "b", "c", "d"):
        numbers = [int(prompt.split()[1]) for prompt in kept if prompt.startswith(name)]
        assert numbers == list(range(each - len(numbers), each)), "none lost, none doubled"


def test_a_pipe_in_its_place_holds_nobody_up(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    History(path).add("hello")
    assert History(path).prompts() == []
