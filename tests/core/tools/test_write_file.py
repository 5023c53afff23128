from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments, PathRefused, StorageError, ToolFailed
from shiro_jupyter.core.policy.subjects import Subject
from shiro_jupyter.core.tools import base
from shiro_jupyter.core.tools.base import OUTPUT_LIMIT
from shiro_jupyter.core.tools.edit_file import EditFile
from shiro_jupyter.core.tools.read_file import ReadFile
from shiro_jupyter.core.tools.read_many_files import ReadManyFiles
from shiro_jupyter.core.tools.write_file import WriteFile
from shiro_jupyter.core.workspace import files
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "project").mkdir()
    return Bench(tmp_path / "project")


def write(bench: Bench, content: str, path: str = "a.txt") -> str:
    result = bench.run(WriteFile(), path=path, content=content)
    assert result.outcome == "ok"
    return result.text


def subject(bench: Bench, content: str, path: str = "a.txt") -> Subject:
    arguments = json.dumps({"path": path, "content": content})
    return WriteFile().subject(WriteFile().parse(arguments), bench.context)


def present(bench: Bench, data: bytes, *, read: bool = True) -> Path:
    path = bench.root / "a.txt"
    path.write_bytes(data)
    if read:
        bench.run(ReadFile(), path="a.txt")
    return path


def test_a_new_file_is_made_with_its_folders(bench: Bench) -> None:
    asked = subject(bench, "a\nb\n", "new/deep/a.py")
    assert asked.title == "Write new file new/deep/a.py?"
    assert asked.preview == "2 lines added, 0 lines removed\n@@ -0,0 +1,2 @@\n+a\n+b"
    assert not (bench.root / "new").exists()
    assert write(bench, "a\nb\n", "new/deep/a.py") == (
        "Made new/deep/a.py: 2 lines added, 0 lines removed."
    )
    path = bench.root / "new/deep/a.py"
    assert path.read_bytes() == b"a\nb\n" and os.listdir(path.parent) == ["a.py"]  # noqa: PTH208
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_file_that_was_not_read_is_not_replaced(bench: Bench) -> None:
    path = present(bench, b"a\n", read=False)
    with pytest.raises(ToolFailed, match="this session has not read it; read it first"):
        write(bench, "b\n")
    EditFile()._write(EditFile.parameters(path="a.txt", old_text="a", new_text="c"), bench.context)
    with pytest.raises(ToolFailed, match="has not read it"):
        write(bench, "b\n")
    assert path.read_bytes() == b"c\n"


ROWS = b"".join(b"row %d\n" % n for n in range(3_000))


@pytest.mark.parametrize(
    ("data", "windows", "lines"),
    [
        (ROWS, [{"limit": 1}], "1 of its 3,000"),
        (ROWS, [{}], "2,000 of its 3,000"),
        (ROWS, [{}, {"offset": 1_900}], ""),
        (ROWS, [{"offset": 1_900}, {}], ""),
        (ROWS, [{"offset": 2_001}, {"limit": 1_999}], "2,999 of its 3,000"),
        (b"a\n" + b"x" * 5_000, [{}], "1 of its 2"),
        (b"x" * 500 + b"\n" + (b"y" * 1_000 + b"\n") * 50, [{}], "30 of its 51"),
    ],
)
@pytest.mark.parametrize("many", [False, True])
def test_only_what_was_shown_whole_is_replaced(
    bench: Bench, data: bytes, windows: list[dict[str, int]], lines: str, many: bool
) -> None:
    path = present(bench, data, read=False)
    for window in windows:
        if many:
            bench.run(ReadManyFiles(), files=[{"path": "a.txt", **window}])
        else:
            bench.run(ReadFile(), path="a.txt", **window)
    fault = subject(bench, "b\n").fault
    if not lines:
        write(bench, "b\n")
        assert not fault and path.read_bytes() == b"b\n"
        return
    with pytest.raises(ToolFailed, match=f"only {lines} lines were read whole"):
        write(bench, "b\n")
    assert lines in fault and path.read_bytes() == data
    bench.run(EditFile(), path="a.txt", old_text=data.decode(), new_text="x\ny\nz\n")
    with pytest.raises(ToolFailed, match="only 0 of its 3 lines"):
        write(bench, "b\n")


def test_a_file_that_changed_is_to_be_read_whole_again(bench: Bench) -> None:
    path = present(bench, ROWS)
    path.write_bytes(ROWS.upper())
    bench.run(ReadFile(), path="a.txt", offset=2_001)
    with pytest.raises(ToolFailed, match="only 1,000 of its 3,000 lines"):
        write(bench, "b\n")


def test_what_was_read_whole_or_written_stays_so_by_an_edit(bench: Bench) -> None:
    present(bench, b"a\nb\n")
    for old in ("a", "b"):
        bench.run(EditFile(), path="a.txt", old_text=old, new_text=f"{old}\n{old}")
        write(bench, f"{old}\nb\n")


def test_a_file_is_replaced_as_it_was_read_and_then_as_it_was_written(bench: Bench) -> None:
    path = present(bench, b"a\nb\n")
    asked = subject(bench, "a\nc\n")
    assert asked.title == "Replace a.txt?"
    assert asked.preview == "1 line added, 1 line removed\n@@ -1,2 +1,2 @@\n a\n-b\n+c"
    assert write(bench, "a\nc\n") == "Changed a.txt: 1 line added, 1 line removed.\n2: c"
    write(bench, "d\n")  # what it wrote it knows
    path.write_bytes(b"by hand\n")
    with pytest.raises(ToolFailed, match=r"changed in line 1 since .*read it first|again first"):
        write(bench, "e\n")
    assert path.read_bytes() == b"by hand\n"


def test_a_large_deletion_is_said_first(bench: Bench) -> None:
    present(bench, b"".join(b"line %d\n" % n for n in range(1_000)))
    assert subject(bench, "line 0\n").preview.startswith("0 lines added, 999 lines removed\n")


def test_an_empty_file_need_not_be_read_and_what_it_holds_already_is_told(bench: Bench) -> None:
    path = present(bench, b"", read=False)
    write(bench, "a\n")
    assert path.read_bytes() == b"a\n"
    with pytest.raises(ToolFailed, match=r"a\.txt: it would stay as it is"):
        write(bench, "a\n")


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"\xef\xbb\xbfa\n", "é\n", b"\xef\xbb\xbf\xc3\xa9\n"),
        ("a\n".encode("utf-16"), "é\n", "é\n".encode("utf-16")),
        (b"\xe9t\xe9 \n", "\xe0 \n", b"\xe0 \n"),
        (b"a\r\nb\r\n", "a\nc\n", b"a\r\nc\r\n"),
        (b"a\rb\r", "a\nc\n", b"a\rc\r"),
        (b"a\r\nb\n", "a\nc\n", b"a\nc\n"),
        (b"a\n", "a\r\nb\r\n", b"a\r\nb\r\n"),
        (b"a\n", "", b""),
    ],
)
def test_encoding_mark_and_line_ends_of_the_old_file_stay(
    bench: Bench, before: bytes, content: str, after: bytes
) -> None:
    path = present(bench, before)
    path.chmod(0o750)
    write(bench, content)
    assert path.read_bytes() == after
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


@pytest.mark.parametrize(
    ("before", "content", "said"),
    [
        (b"\xe9t\xe9 \n", "日\n", "has no '日'; convert"),
        ("表ソ\n".encode("cp932"), "é\n", "encoding is uncertain"),
        (b"a\n", "b\n# ... rest of the code\n", "placeholder '# ... rest of the code'"),
        (b"a\n", "\ufffd", r"U\+FFFD"),
        (b"a\n", "a\0b", "read as another text, or as none"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    bench: Bench, before: bytes, content: str, said: str
) -> None:
    path = present(bench, before)
    with pytest.raises(ToolFailed, match=said):
        write(bench, content)
    assert path.read_bytes() == before


def test_half_a_character_never_reaches_a_file(bench: Bench) -> None:
    parameters = WriteFile.parameters.model_construct(path="a.txt", content="\ud83d")
    assert "half of a character" in WriteFile().subject(parameters, bench.context).fault
    with pytest.raises(ToolFailed, match="half of a character"):
        WriteFile()._write(parameters, bench.context)
    assert not list(bench.root.iterdir())


def test_links_lead_to_the_file_within_the_project_alone(bench: Bench) -> None:
    path = present(bench, b"a\n")
    outside = bench.root.parent / "outside"
    outside.mkdir()
    for name, target in (
        ("in", "a.txt"),
        ("out", "../outside/new.txt"),
        ("dangling", "missing.txt"),
        ("folder", "../outside"),
        ("inner", "sub"),
    ):
        (bench.root / name).symlink_to(target)
    (bench.root / "sub").mkdir()
    assert subject(bench, "b\n", "in").texts == ("a.txt",)
    write(bench, "b\n", "in")
    assert path.read_bytes() == b"b\n" and (bench.root / "in").readlink() == Path("a.txt")
    write(bench, "b\n", "inner/made/b.txt")
    assert (bench.root / "sub/made/b.txt").read_bytes() == b"b\n"
    for refused in ("out", "dangling", "folder/new.txt", "folder/made/new.txt", "../x", "/etc/x"):
        with pytest.raises(PathRefused):
            write(bench, "b\n", refused)
    assert not list(outside.iterdir()) and not (bench.root / "missing.txt").exists()


def test_what_is_no_place_for_a_file_is_refused(bench: Bench) -> None:
    present(bench, b"a\n")
    (bench.root / "folder").mkdir()
    (bench.root / "x.png").write_bytes(b"\x89PNG\0")
    os.mkfifo(bench.root / "pipe")
    for path, error, said in (
        ("folder", PathRefused, "is a folder"),
        ("pipe", PathRefused, "no regular file"),
        ("a.txt/b", ToolFailed, "a.txt is no folder"),
        ("x.png", ToolFailed, "has not read it|no text"),
        ("new.ipynb", ToolFailed, "is a notebook"),
    ):
        asked = None
        with pytest.raises(error, match=said):
            asked = write(bench, "b", path)
        assert asked is None
    assert (bench.root / "x.png").read_bytes() == b"\x89PNG\0"
    assert not (bench.root / "new.ipynb").exists()


def test_a_file_that_appears_meanwhile_is_not_replaced(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = base.write_atomic

    def appears(path: Path, data: bytes, *, expected: bytes) -> bool:
        path.write_bytes(b"by hand\n")
        return real(path, data, expected=expected)

    monkeypatch.setattr(base, "write_atomic", appears)
    with pytest.raises(ToolFailed, match="has not read it"):
        write(bench, "b\n")
    assert (bench.root / "a.txt").read_bytes() == b"by hand\n"


def test_a_call_without_content_is_told() -> None:
    with pytest.raises(InvalidArguments, match="content"):
        WriteFile().parse('{"path": "a"}')


def test_what_fails_leaves_no_folder_behind(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.root / "there").mkdir()

    def full(path: Path, data: bytes, *, expected: bytes) -> bool:
        assert path.parent.is_dir()
        raise StorageError("no space left")

    monkeypatch.setattr(base, "write_atomic", full)
    with pytest.raises(StorageError, match="no space left"):
        write(bench, "a", "there/new/deep/a.txt")
    assert [*bench.root.rglob("*")] == [bench.root / "there"]


def test_a_folder_that_may_not_be_written_to_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "_create", refused)
    with pytest.raises(StorageError, match=r"Cannot write to the folder of .*: Permission denied"):
        write(bench, "a")


def test_of_a_long_new_file_it_is_said_first_how_much_is_not_shown(bench: Bench) -> None:
    asked = subject(bench, "".join(f"line {n}\n" for n in range(10_000)))
    first, _, shown = asked.preview.partition("\n")
    lines = shown.count("\n+")
    assert (
        first == f"10,000 lines added, 0 lines removed; {10_000 - lines:,} of these are NOT shown"
    )
    assert len(asked.preview) <= OUTPUT_LIMIT and lines > 2_500
