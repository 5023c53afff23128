"""The matcher as a program: what it prints of files in many forms."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.workspace.matching import BYTES, SHOWN, Reader, cut, main


def run(
    folder: Path,
    names: list[str],
    pattern: str,
    capsys: pytest.CaptureFixture[str],
    limit: int = 10,
    flags: int = 0,
    alone: bool = True,
) -> list[Any]:
    asked = {"pattern": pattern, "flags": flags, "limit": limit, "root": str(folder)}
    asked["alone"] = alone
    head = json.dumps(asked).encode()
    request = folder.parent / "request"
    request.write_bytes(b"\0".join([head, *map(os.fsencode, names)]))
    main(str(request))
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_lines_are_counted_as_read_file_counts_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a").write_bytes(b"x1\r\ny\rx3\n\nx5\x0b\x0cx\xe2\x80\xa8x\nx6")
    assert run(folder, ["a"], "^x.*$", capsys) == [
        *(["a", 1, "x1"], ["a", 3, "x3"], ["a", 5, "x5\x0b\x0cx\u2028x"], ["a", 6, "x6"])
    ]
    assert run(folder, ["a"], r"^$|\Ay\Z", capsys) == [["a", 2, "y"], ["a", 4, ""]]


def test_every_encoding_that_read_file_knows_is_searched_but_utf_32(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    word = "sitzt im Café\n"
    for encoding, mark in {
        "utf-8": b"",
        "utf-8-sig": b"",
        "utf-16-le": b"\xff\xfe",
        "utf-16-be": b"\xfe\xff",
        "latin-1": b"",
    }.items():
        (folder / encoding).write_bytes(mark + word.encode(encoding))
        hit = [encoding, 1, word.rstrip()]
        note = [[encoding, "Not UTF-8; read as cp1252."]] if encoding == "latin-1" else []
        assert run(folder, [encoding], "^sitzt im CAFÉ$", capsys, flags=re.I) == [*note, hit]
    (folder / "wide").write_text(word, encoding="utf-32")
    assert run(folder, ["wide"], "Caf", capsys) == [["wide", "UTF-32; not searched."]]


def test_what_cannot_be_searched_is_said_where_it_was_asked_for_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "binary").write_bytes(b"word\0word")
    (folder / "text").write_text("word")
    assert run(folder, ["binary"], "word", capsys) == [["binary", "Binary; not searched."]]
    assert run(folder, ["binary", "text"], "word", capsys, alone=False) == [["text", 1, "word"]]
    # One that is left of a folder's files was not asked for.
    assert run(folder, ["binary"], "word", capsys, alone=False) == []
    with (folder / "large").open("wb") as file:
        file.write(b"word\n")
        file.truncate(BYTES + 10)
    assert run(folder, ["large"], "word", capsys) == [["large", "Binary; not searched."]]
    with (folder / "large").open("wb") as file:
        file.write(b"word\n" + b"x" * 79 * 1000)
        file.seek(BYTES - 1)
        file.write(b"\nword\n")
    (folder / "large").write_bytes((folder / "large").read_bytes().replace(b"\0", b"y"))
    assert run(folder, ["large"], "word", capsys) == [
        *(["large", "Only its first 50 MB were searched."], ["large", 1, "word"])
    ]


def test_it_stops_at_the_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a").write_text("x\n" * 3)
    (folder / "b").write_text("x\n" * 3)
    assert run(folder, ["a", "b"], "x", capsys, limit=4) == [
        *(["a", 1, "x"], ["a", 2, "x"], ["a", 3, "x"], ["b", 1, "x"])
    ]


def test_nothing_is_read_through_a_link_or_beside_the_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("word")
    (folder / "file").symlink_to(tmp_path / "outside/secret")
    (folder / "folder").symlink_to(tmp_path / "outside")
    os.mkfifo(folder / "pipe")
    names = ["file", "folder/secret", "../outside/secret", "pipe", "missing", ".", "a\n"]
    assert run(folder, names, "word", capsys) == []
    assert Reader(folder).read(b"folder/secret")[0] == ""


@pytest.mark.skipif(os.name != "posix", reason="folders are opened in one another there only")
def test_a_folder_that_is_swapped_for_a_link_meanwhile_leads_nowhere(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for inside, text in ((folder / "d", "inside"), (tmp_path / "out", "OUTSIDE")):
        inside.mkdir()
        for name in ("a", "b"):
            (inside / name).write_text(text)
    reader = Reader(folder)
    assert reader.read(b"d/a")[0] == "inside"
    (folder / "d").rename(folder / "e")
    (folder / "d").symlink_to(tmp_path / "out")
    assert reader.read(b"d/b")[0] == "inside"
    reader.close()
    assert [Reader(folder).read(name)[0] for name in (b"d/b", b"e/b")] == ["", "inside"]
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "out")
    assert run(folder, ["a"], "OUTSIDE", capsys) == []


def test_names_that_are_no_text_come_through(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [os.fsdecode(b"\xff.txt"), "new\nline", "-x"]
    for name in names:
        (folder / name).write_text("word")
    assert [name for name, *_ in run(folder, names, "word", capsys)] == names


def test_a_pattern_that_goes_back_for_ever_is_given_up(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiro_jupyter.core.workspace.matching.SECONDS", 0.3)
    (folder / "a").write_text("x")
    (folder / "b").write_text("x" * 50)
    began = time.monotonic()
    assert run(folder, ["a", "b"], "(x+x+)+y|^x$", capsys) == [["a", 1, "x"], ["b"]]
    assert time.monotonic() - began < 10


def test_of_a_long_line_the_part_around_the_match_is_shown() -> None:
    line = "a" * 1_000 + "word" + "b" * 2_000
    shown = cut(line, 1_000)
    assert shown.startswith("[900 characters cut …] aaa") and "word" in shown
    assert shown.endswith("b [… 1,804 characters cut]")
    assert cut(line, 0) == "a" * SHOWN + f" [… {3_004 - SHOWN:,} characters cut]"
    assert cut(line, 3_003) == f"[{3_004 - SHOWN:,} characters cut …] " + "b" * SHOWN
    assert cut("x" * SHOWN, 5) == "x" * SHOWN
