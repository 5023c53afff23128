from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.errors import InvalidArguments
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.rules import Rules
from shiro_jupyter.core.policy.subjects import Subject
from shiro_jupyter.core.tools import read_many_files
from shiro_jupyter.core.tools.base import OUTPUT_LIMIT
from shiro_jupyter.core.tools.read_file import ReadFile, Reading
from shiro_jupyter.core.tools.read_many_files import ReadManyFiles, shares
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "project").mkdir()
    return Bench(tmp_path / "project")


def read(bench: Bench, *files: Any) -> dict[str, str]:
    """The blocks by their heads, in order."""
    result = bench.run(ReadManyFiles(), files=list(files))
    assert result.outcome == "ok"
    assert len(result.text) <= OUTPUT_LIMIT
    blocks = ("\n\n" + result.text).split("\n\n== ")[1:]
    return dict(block.split(" ==\n", 1) for block in blocks)


def test_blocks_keep_their_order_and_what_cannot_be_read_has_its_own(
    bench: Bench, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("s")
    (bench.root / "b.txt").write_text("one\ntwo\nthree\n")
    (bench.root / "a.txt").write_text("last\n")
    (bench.root / "binary").write_bytes(b"\x89PNG\0\0\0")
    (bench.root / "folder").mkdir()
    (bench.root / "link").symlink_to(tmp_path / "secret")
    window = {"path": "b.txt", "offset": 2, "limit": 1}
    late = {"path": "b.txt", "offset": 9}
    paths = ["missing", "binary", "../secret", "link", "folder", "", "a.txt"]
    blocks = read(bench, window, *paths)
    assert list(blocks) == ["b.txt", *paths]
    assert blocks["b.txt"] == "2: two\n[1 more line; next offset 3]"
    assert blocks["a.txt"] == "1: last"
    assert blocks["missing"] == "There is no file missing."
    assert blocks["binary"] == "binary is a binary file (7 B); it is not shown."
    assert "outside the project folder" in blocks["../secret"] and "outside" in blocks["link"]
    assert "is a folder" in blocks["folder"] and "path is empty" in blocks[""]
    assert read(bench, late) == {"b.txt": "b.txt has 3 lines; offset 9 is past its end."}


def test_a_block_is_what_read_file_shows(bench: Bench) -> None:
    contents = {
        "crlf.txt": b"a\r\nb\r\n",
        "latin.txt": b"caf\xe9\n",
        "empty.txt": b"",
        "long.txt": b"x" * 9_000 + b"\nend\n",
        "nb.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": "1 + 1"}]}).encode(),
    }
    for name, content in contents.items():
        (bench.root / name).write_bytes(content)
    for name, block in read(bench, *contents).items():
        assert block == bench.run(ReadFile(), path=name).text


def test_small_files_come_whole_and_large_ones_share_what_is_left(bench: Bench) -> None:
    for name in ("l1", "l2"):
        (bench.root / name).write_text("".join(f"{n} {name}\n" for n in range(9_000)))
    for n in range(8):
        (bench.root / f"s{n}").write_text(f"small {n}\n" * 40)
    blocks = read(bench, "l1", *(f"s{n}" for n in range(8)), "l2")
    for n in range(8):
        assert blocks[f"s{n}"].splitlines() == [f"{at}: small {n}" for at in range(1, 41)]
    sizes = [len(blocks["l1"]), len(blocks["l2"])]
    assert abs(sizes[0] - sizes[1]) < 100 and sum(sizes) > 22_000
    *lines, more = blocks["l1"].splitlines()
    assert lines == [f"{n + 1}: {n} l1" for n in range(len(lines))]
    assert more == f"[{9_000 - len(lines):,} more lines; next offset {len(lines) + 1}]"


def test_twenty_files_of_one_endless_line_fit(bench: Bench) -> None:
    for n in range(20):
        (bench.root / f"f{n}").write_text("x" * 50_000)
    blocks = read(bench, *(f"f{n}" for n in range(20)))
    for block in blocks.values():
        shown, _, note = block.removeprefix("1: ").partition(" ")
        assert set(shown) == {"x"} and len(shown) > 1_000
        assert note == f"[… {50_000 - len(shown):,} characters of this line cut]"
    absurd = [f"{n}" + "y" * 9_000 for n in range(20)]
    assert len(read(bench, *absurd)) == 20


@pytest.mark.parametrize(
    ("needs", "room", "given"),
    [
        ([10, 20], 100, [10, 20]),
        ([90, 10, 90], 100, [45, 10, 45]),
        ([90, 40, 10, 90], 100, [30, 30, 10, 30]),
        ([5], 3, [3]),
        ([0, 0], 0, [0, 0]),
    ],
)
def test_shares(needs: list[int], room: int, given: list[int]) -> None:
    assert shares(needs, room) == given


def subject(bench: Bench, *files: Any) -> Subject:
    tool = ReadManyFiles()
    return tool.subject(tool.parse(json.dumps({"files": files})), bench.context)


def test_each_path_is_judged_before_anything_is_read(bench: Bench) -> None:
    (bench.root / ".env").write_text("KEY=1")
    (bench.root / "plain.txt").symlink_to(".env")
    gate = Gate(rules=Rules.parse(deny=["read(private/**)"]))
    for paths, verdict in (
        (["a.txt", "b.txt"], "allow"),
        (["a.txt", "x/../.env", "../out"], "ask"),
        (["plain.txt", "a.txt"], "ask"),
        (["../.env"], "allow"),  # nothing of it is read
        (["a.txt", "private/x", ".env"], "deny"),
    ):
        assert gate.decide(subject(bench, *paths), set()).verdict == verdict, paths
    granted = {subject(bench, ".env", "a.txt").grant_key}
    assert gate.decide(subject(bench, "a.txt", ".env"), granted).verdict == "allow"
    assert gate.decide(subject(bench, ".env", "b.txt"), granted).verdict == "ask"
    assert gate.decide(subject(bench, ".env|a.txt", ".env"), granted).verdict == "ask"
    assert subject(bench, "a\n.env").shown == "a\\n.env"


def test_what_was_read_is_known_to_the_session(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("a")
    (bench.root / "b.bin").write_bytes(b"\0")
    read(bench, "a.txt", "b.bin", "gone")
    known = [name for name in ("a.txt", "b.bin", "gone") if bench.seen.knows(bench.root / name)]
    assert known == ["a.txt"]


@pytest.mark.parametrize("files", [[], ["a"] * 21, [{"path": "a", "line": 1}], [3], "a"])
def test_what_is_no_list_of_files_is_told_with_the_schema(bench: Bench, files: Any) -> None:
    with pytest.raises(InvalidArguments, match="files"):
        ReadManyFiles().parse(json.dumps({"files": files}))


def test_files_are_read_side_by_side_and_a_cancelled_call_waits_for_none(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=10)
    release = threading.Event()

    def meet(*args: object) -> Reading:
        both.wait()
        return Reading(("met",))

    monkeypatch.setattr(read_many_files, "read", meet)
    assert read(bench, "a", "b") == {"a": "met", "b": "met"}
    begun = threading.Event()

    def hang(*args: object) -> Reading:
        begun.set()
        release.wait(10)
        return Reading()

    monkeypatch.setattr(read_many_files, "read", hang)

    async def run() -> None:
        tool = ReadManyFiles()
        parameters = tool.parse('{"files": ["a", "b"]}')
        task = asyncio.create_task(tool.run(parameters, bench.context))
        while not begun.is_set():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not release.is_set()

    asyncio.run(run())
    release.set()
