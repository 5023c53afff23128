from __future__ import annotations

import asyncio
import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import PathRefused, ToolFailed
from shiro_jupyter.core.tools import read_file
from shiro_jupyter.core.tools.base import OUTPUT_LIMIT
from shiro_jupyter.core.tools.read_file import ReadFile
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "project").mkdir()
    return Bench(tmp_path / "project")


def read(bench: Bench, content: bytes, name: str = "a.txt", **arguments: int) -> str:
    (bench.root / name).write_bytes(content)
    result = bench.run(ReadFile(), path=name, **arguments)
    assert result.outcome == "ok"
    return result.text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "1: one\n2: two\n3: three"),
        ({"offset": 2, "limit": 1}, "2: two\n[1 more line; next offset 3]"),
        ({"limit": 1}, "1: one\n[2 more lines; next offset 2]"),
        ({"offset": 3}, "3: three"),
        ({"offset": 0, "limit": 1}, "1: one\n[2 more lines; next offset 2]"),
    ],
)
def test_a_window_has_numbers_and_says_what_remains(
    bench: Bench, arguments: dict[str, int], text: str
) -> None:
    assert read(bench, b"one\ntwo\nthree\n", **arguments) == text


def test_an_offset_past_the_end_is_told_with_the_length(bench: Bench) -> None:
    with pytest.raises(ToolFailed, match="has 3 lines; offset 4 is past its end"):
        read(bench, b"one\ntwo\nthree\n", offset=4)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "a.txt is empty."),
        (b"no end", "1: no end"),
        (b"\n\n", "1: \n2: "),
        (b"crlf\r\nlone\rlf\nx\x0cy", "1: crlf\n2: lone\n3: lf\n4: x\x0cy"),
        (b"\xef\xbb\xbfmark", "1: mark"),
        ("é\u2028日\n".encode("utf-16"), "1: é\u2028日"),
        ("é\n".encode("utf-32"), "1: é"),
        (b"caf\xe9 au lait\n", "[Not UTF-8; read as cp1252.]\n1: café au lait"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "a.txt is a binary file (11 B); it is not shown."),
        (b"\0" * 12_345, "a.txt is a binary file (12.3 kB); it is not shown."),
    ],
)
def test_line_ends_and_encodings(bench: Bench, content: bytes, text: str) -> None:
    assert read(bench, content) == text


def test_pages_join_to_the_whole_file_and_each_is_bounded(bench: Bench) -> None:
    lines = [f"line {n} " + "x" * (n % 97) for n in range(5_000)]
    (bench.root / "a.txt").write_text("\n".join(lines))
    found: list[str] = []
    offset = 1
    while offset:
        text = bench.run(ReadFile(), path="a.txt", offset=offset).text
        assert len(text) <= OUTPUT_LIMIT
        *page, last = text.splitlines()
        if last.startswith("["):
            offset = int(last.rpartition(" ")[2].rstrip("]"))
        else:
            page, offset = [*page, last], 0
        found += page
    assert found == [f"{n}: {line}" for n, line in enumerate(lines, start=1)]


def test_a_very_long_line_is_cut_with_a_note(bench: Bench) -> None:
    text = read(bench, b"x" * 100_000 + b"\nend\n")
    assert text == "1: " + "x" * 2_000 + " [… 98,000 characters of this line cut]\n2: end"


def test_of_a_huge_file_only_the_beginning_is_looked_at(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_file, "BYTES", 20)
    text = read(bench, "éé\n".encode() * 8, limit=2)
    assert text == (
        "1: éé\n2: éé\n[2 more lines; next offset 3]\n[only the first 20 B of 40 B were looked at]"
    )


def test_only_regular_files_inside_the_project_are_opened(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (bench.root / "link").symlink_to(tmp_path / "secret")
    (bench.root / "inner").symlink_to(bench.root / "a.txt")
    (bench.root / "folder").mkdir()
    os.mkfifo(bench.root / "pipe")
    (bench.root / "a.txt").write_text("a")
    for path in ("../secret", str(tmp_path / "secret"), "link", "folder", "pipe", "", "a\0b"):
        with pytest.raises(PathRefused):
            bench.run(ReadFile(), path=path)
    with pytest.raises(ToolFailed, match=r"There is no file missing\.txt"):
        bench.run(ReadFile(), path="missing.txt")
    assert bench.run(ReadFile(), path="inner").text == "1: a"


def test_the_subject_is_the_path_in_the_project_links_followed(bench: Bench) -> None:
    (bench.root / ".env").write_text("KEY=1")
    (bench.root / "plain.txt").symlink_to(".env")
    for path in (".env", "./x/../.env", "plain.txt", str(bench.root / ".env")):
        subject = ReadFile().subject(ReadFile.parameters(path=path), bench.context)
        assert (subject.access, subject.texts) == ("read", (".env",))


def test_a_read_that_hangs_can_be_cancelled(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, release = threading.Event(), threading.Event()

    def hang(*args: object) -> None:
        begun.set()
        release.wait(10)

    monkeypatch.setattr(read_file, "read", hang)

    async def run() -> None:
        task = asyncio.create_task(ReadFile().run(ReadFile.parameters(path="a.txt"), bench.context))
        while not begun.is_set():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not release.is_set()

    asyncio.run(run())
    release.set()


# -- notebooks ---------------------------------------------------------------------------


def notebook(*cells: dict[str, object]) -> bytes:
    return json.dumps({"cells": list(cells), "nbformat": 4, "nbformat_minor": 5}).encode()


def test_a_notebook_comes_as_cells_with_ids_and_bounded_outputs(bench: Bench) -> None:
    content = notebook(
        {"cell_type": "markdown", "id": "intro", "source": ["# Sales\n", "by month"]},
        {
            "cell_type": "code",
            "id": "c1",
            "execution_count": 7,
            "source": "df.plot()",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]},
                {"output_type": "stream", "name": "stdout", "text": "x" * 10_000},
                {
                    "output_type": "display_data",
                    "data": {"image/png": "A" * 40_000, "text/plain": ["<Figure>"]},
                },
                {
                    "output_type": "error",
                    "ename": "KeyError",
                    "evalue": "'2023'",
                    "traceback": ["\x1b[31mTraceback\x1b[0m", "  line 1"],
                },
            ],
        },
        {"cell_type": "code", "source": [], "outputs": []},
    )
    text = read(bench, content, "nb.ipynb")
    for part in (
        "# --- cell 1, markdown, id=intro ---\n2: # Sales\n3: by month",
        "# --- cell 2, code, id=c1, run as [7] ---",
        "# --- output of cell 2 ---",
        "characters left out",
        "[image/png, 40.0 kB]",
        "<Figure>",
        "KeyError: '2023'",
        ": Traceback\n",
        "# --- cell 3, code ---",
    ):
        assert part in text
    assert "\x1b" not in text
    assert len(text) < 4_000
    assert read(bench, content, "nb.ipynb", offset=2, limit=1).startswith("2: # Sales\n[")


def test_the_open_notebook_is_said_to_be_as_last_saved(bench: Bench) -> None:
    content = b'{"cells": [{"cell_type": "code", "source": ["a"]}]}'
    told = "# --- cell 1, code ---\n2: a"
    assert read(bench, content, "nb.ipynb") == f"1: {told}"
    bench.project = replace(bench.project, notebook=bench.root / "nb.ipynb")
    assert read(bench, content, "nb.ipynb") == f"{read_file.SAVED}\n1: {told}"
    assert read(bench, content, "other.ipynb") == f"1: {told}"


@pytest.mark.parametrize(
    "content", [b'{"not": "a notebook"}', b"{broken", b'{"cells": 3}', b"[]", b'"text"']
)
def test_what_is_no_notebook_is_shown_as_the_text_it_is(bench: Bench, content: bytes) -> None:
    assert read(bench, content, "odd.ipynb") == f"1: {content.decode()}"


def test_a_notebook_that_nests_too_deep_is_shown_as_text(bench: Bench) -> None:
    deep = b'{"cells": ' + b"[" * 20_000
    assert read(bench, deep, "deep.ipynb").startswith('1: {"cells": [[[')


def test_a_damaged_notebook_is_still_shown(bench: Bench) -> None:
    content = notebook(
        {},
        {"cell_type": "code", "source": None, "outputs": [3, {"output_type": "stream"}]},
        {"source": [1, 2], "outputs": {"a": 1}},
        {
            "outputs": [
                {"output_type": "error", "traceback": "flat"},
                {"data": {"a/json": {"b": 1}}},
            ]
        },
    )
    text = read(bench, content, "nb.ipynb")
    assert "# --- cell 4, unknown ---" in text
    assert "None" not in text
    assert "[a/json, 8 B]" in text


def test_a_notebook_with_large_images_shows_all_text_within_the_ceiling(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = {
        "output_type": "display_data",
        "data": {"image/png": "A" * 12_000_000, "text/plain": ["<Figure>"]},
    }
    log = {"output_type": "stream", "name": "stdout", "text": ["done\n"]}
    outputs = [image, log]
    content = notebook({"cell_type": "code", "source": "plot()", "outputs": outputs * 2})
    text = read(bench, content, "nb.ipynb")
    assert text.count("[image/png, 12.0 MB]") == text.count("<Figure>") == text.count("done") == 2
    assert len(text) < 500
    # Too large to be read as a notebook: the beginning of the file is shown, and said to be that.
    monkeypatch.setattr(read_file, "BYTES", 1_000_000)
    text = read(bench, content, "nb.ipynb")
    assert "only the first 1.0 MB of 24.0 MB" in text and len(text) < 3_000


def test_a_file_read_to_its_end_counts_as_read_by_the_session(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(bench, b"one\r\ntwo\r\n", limit=1)
    changed = bench.seen.changed(bench.root / "a.txt", b"one\r\nTWO\r\n")
    assert changed and "in line 2" in str(changed)
    read(bench, b"\0", "binary")
    monkeypatch.setattr(read_file, "BYTES", 4)
    read(bench, b"one\ntwo\n", "large.txt")
    assert not any(bench.seen.knows(bench.root / name) for name in ("binary", "large.txt"))
