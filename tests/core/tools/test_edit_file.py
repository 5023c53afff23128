from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments, PathRefused, StorageError, ToolFailed
from shiro_jupyter.core.policy.subjects import Subject
from shiro_jupyter.core.tools import base, changes
from shiro_jupyter.core.tools.base import OUTPUT_LIMIT
from shiro_jupyter.core.tools.edit_file import EditFile
from shiro_jupyter.core.tools.read_file import ReadFile
from tests.support.tools import Bench

CODE = b"import os\r\n\r\nx = 1\r\ny = 1\r\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/load.py").write_bytes(CODE)
    return Bench(tmp_path / "project")


def edit(bench: Bench, old: str, new: str, path: str = "load.py", **more: bool) -> str:
    result = bench.run(EditFile(), path=path, old_text=old, new_text=new, **more)
    assert result.outcome == "ok"
    return result.text


def subject(bench: Bench, old: str, new: str, path: str = "load.py") -> Subject:
    arguments = {"path": path, "old_text": old, "new_text": new}
    return EditFile().subject(EditFile().parse(json.dumps(arguments)), bench.context)


def test_an_edit_changes_its_span_and_tells_the_new_lines(bench: Bench) -> None:
    assert edit(bench, "x = 1\ny", "x = 2\nz = 3\ny") == (
        "Changed load.py: 2 lines added, 1 line removed.\n3: x = 2\n4: z = 3"
    )
    assert (bench.root / "load.py").read_bytes() == CODE.replace(b"x = 1", b"x = 2\r\nz = 3")
    assert edit(bench, "import os\n\n", "") == "Changed load.py: 0 lines added, 2 lines removed."
    assert os.listdir(bench.root) == ["load.py"]  # noqa: PTH208


def test_replace_all_replaces_every_one(bench: Bench) -> None:
    edit(bench, "1", "2", replace_all=True)
    assert (bench.root / "load.py").read_bytes() == CODE.replace(b"1", b"2")


def test_the_question_shows_the_difference_and_what_a_grant_covers(bench: Bench) -> None:
    asked = subject(bench, "import os\n\nx = 1", "x = 2")
    assert (asked.tool, asked.access, asked.texts) == ("edit_file", "write", ("load.py",))
    assert asked.title == "Change load.py?"
    assert asked.preview == (
        "1 line added, 3 lines removed\n@@ -1,4 +1,2 @@\n-import os\n-\n-x = 1\n+x = 2\n y = 1"
    )
    assert asked.tool in asked.grant_key and "load.py" in asked.grant_key
    assert "load.py" in asked.grant_label and not asked.fault
    other = subject(bench, "y = 1", "y = 3")
    assert other.grant_key == asked.grant_key and other.digest != asked.digest


def test_a_long_preview_is_cut_and_still_bound_to_all_of_it(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("x\n" + "".join(f"{n}\n" for n in range(20_000)) + "y\n")
    rows = "a\n" * 25_000
    one, other = (subject(bench, "x", f"{rows}{each}{rows}", "a.txt") for each in "bc")
    assert one.preview == other.preview and len(one.preview) < OUTPUT_LIMIT + 200
    assert one.preview.startswith("50,001 lines added, 1 line removed")
    assert one.digest != other.digest


def test_a_long_result_is_cut(bench: Bench) -> None:
    text = edit(bench, "x = 1", "\n".join(["y" * 1_000] * 500))
    assert text.endswith("[480 more new lines]") and len(text) < 10_000


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("z = 1", "x", "load.py: old_text was found 0 times"),
        ("= 1", "x", "load.py: old_text was found 2 times, in lines 3 and 4;"),
        ("x = 1", "x = 1", "nothing would change"),
        ("x = 1", "# ... rest unchanged", "placeholder '# ... rest unchanged'"),
        ("x = 1", "x = '\ufffd'", "U+FFFD"),
        ("x = 1", "x = '\ud83d'", "half of a character"),
    ],
)
def test_what_cannot_be_made_is_no_question_and_no_write(
    bench: Bench, old: str, new: str, said: str
) -> None:
    before = (bench.root / "load.py").stat()
    parameters = EditFile.parameters.model_construct(
        path="load.py", old_text=old, new_text=new, replace_all=False
    )
    asked = EditFile().subject(parameters, bench.context)
    assert said in asked.fault and asked.texts == ("load.py",) and asked.preview == ""
    with pytest.raises(ToolFailed) as caught:
        EditFile()._write(parameters, bench.context)
    assert str(caught.value) == asked.fault
    after = (bench.root / "load.py").stat()
    assert (bench.root / "load.py").read_bytes() == CODE
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert os.listdir(bench.root) == ["load.py"]  # noqa: PTH208


def test_lines_of_a_file_that_may_not_be_read_are_not_told(bench: Bench) -> None:
    (bench.root / ".env").write_text("KEY = abc\n")
    closed, other = (replace(bench.context, may_read=lambda name: name != ".env") for _ in range(2))
    wrong, right = (
        EditFile.parameters(path=".env", old_text=old, new_text="NAME") for old in ("KEY=", "KEY")
    )
    assert "abc" in EditFile().subject(wrong, bench.context).fault
    asked = EditFile().subject(wrong, closed)
    assert "found 0 times" in asked.preview and "abc" not in asked.preview and not asked.fault
    with pytest.raises(ToolFailed, match="found 0 times") as refused:
        EditFile()._write(wrong, closed)
    assert "abc" not in str(refused.value)
    assert EditFile()._write(right, other).text == ("Changed .env: 1 line added, 1 line removed.")


def test_a_file_changed_since_it_was_read_is_refused_with_what_changed(bench: Bench) -> None:
    path = bench.root / "load.py"
    bench.run(ReadFile(), path="load.py")
    path.write_bytes(CODE.replace(b"y = 1", b"y = 7"))
    with pytest.raises(ToolFailed, match=r"in line 4 since .* read it again first\.\n4: y = 7"):
        edit(bench, "x = 1", "x = 2")
    assert path.read_bytes() == CODE.replace(b"y = 1", b"y = 7")
    bench.run(ReadFile(), path="load.py")
    edit(bench, "x = 1", "x = 2")
    edit(bench, "x = 2", "x = 3")  # its own writes are no change


def test_an_edit_of_an_unread_file_does_not_count_as_having_read_it(bench: Bench) -> None:
    edit(bench, "x = 1", "x = 2")
    assert not bench.seen.knows(bench.root / "load.py")


def test_what_was_agreed_to_is_what_is_done_or_nothing(bench: Bench) -> None:
    arguments = EditFile.parameters(path="load.py", old_text="x = 1", new_text="x = 2")
    asked = EditFile().subject(arguments, bench.context)
    agreed = replace(bench.context, approved=asked.basis)
    (bench.root / "load.py").write_bytes(CODE + b"z\r\n")
    with pytest.raises(
        ToolFailed, match=r"load\.py changed after the person had agreed; call again"
    ):
        EditFile()._write(arguments, agreed)
    assert (bench.root / "load.py").read_bytes() == CODE + b"z\r\n"
    (bench.root / "load.py").write_bytes(CODE)
    EditFile()._write(arguments, agreed)
    assert (bench.root / "load.py").read_bytes() == CODE.replace(b"x = 1", b"x = 2")


def test_a_save_in_the_midst_of_an_edit_is_kept_and_edited(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = bench.root / "load.py", base.write_atomic

    def saved_before(at: Path, data: bytes, *, expected: bytes) -> bool:
        monkeypatch.setattr(base, "write_atomic", write)
        path.write_bytes(CODE + b"# saved\r\n")
        return write(at, data, expected=expected)

    monkeypatch.setattr(base, "write_atomic", saved_before)
    edit(bench, "x = 1", "x = 2")
    assert path.read_bytes() == CODE.replace(b"x = 1", b"x = 2") + b"# saved\r\n"


@pytest.mark.parametrize("name", ["nb.ipynb", "NB.IPYNB"])
def test_a_notebook_is_refused_with_the_way_to_change_it(bench: Bench, name: str) -> None:
    (bench.root / name).write_text('{"cells": []}')
    with pytest.raises(ToolFailed, match=r"is a notebook.*take a tool for cells"):
        edit(bench, "cells", "x", name)
    assert (bench.root / name).read_text() == '{"cells": []}'


def test_what_is_no_text_file_of_the_project_is_refused(bench: Bench) -> None:
    outside = bench.root.parent / "outside.txt"
    outside.write_text("a")
    (bench.root / "out").symlink_to(outside)
    (bench.root / "dangling").symlink_to("nothing")
    (bench.root / "folder").mkdir()
    (bench.root / "x.png").write_bytes(b"\x89PNG\0a")
    os.mkfifo(bench.root / "pipe")
    for path, error, said in (
        ("out", PathRefused, "outside the project"),
        ("../outside.txt", PathRefused, "outside the project"),
        ("dangling", PathRefused, "link to nothing"),
        ("folder", PathRefused, "is a folder"),
        ("pipe", PathRefused, "no regular file"),
        ("x.png", ToolFailed, "is no text"),
        ("none.py", ToolFailed, "There is no file none.py; look"),
        ("load.py/x", ToolFailed, "There is no file load.py/x; look"),
    ):
        with pytest.raises(error, match=said):
            edit(bench, "a", "b", path)
    assert outside.read_text() == "a"
    assert not (bench.root / "nothing").exists()


def test_a_read_only_or_huge_file_is_left_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bench.root / "load.py").chmod(0o444)
    with pytest.raises(ToolFailed, match=r"load\.py is read-only; ask the person"):
        edit(bench, "x = 1", "x = 2")
    (bench.root / "load.py").chmod(0o644)
    monkeypatch.setattr(changes, "BYTES", 8)
    with pytest.raises(ToolFailed, match="larger than"):
        edit(bench, "x = 1", "x = 2")


def test_a_link_put_in_the_file_s_place_is_not_followed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the last look and the write."""
    outside = bench.root.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("x")
    (bench.root / "d").mkdir()
    (bench.root / "d/a.txt").write_text("x")
    plan, calls = EditFile._plan, list[int]()

    def swapped(self: EditFile, *given: object) -> object:
        change = plan(self, *given)  # type: ignore[arg-type]
        calls.append(1)
        if len(calls) == 3:
            (bench.root / "d").rename(bench.root / "old")
            (bench.root / "d").symlink_to(outside)
        return change

    monkeypatch.setattr(EditFile, "_plan", swapped)
    with pytest.raises(PathRefused, match="changed into a link"):
        edit(bench, "x", "y", "d/a.txt")
    assert (outside / "a.txt").read_text() == "x"


def test_a_folder_that_cannot_be_written_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> bool:
        raise StorageError("Cannot write load.py: No space left on device; mend that.")

    monkeypatch.setattr(base, "write_atomic", full)
    with pytest.raises(StorageError, match="No space left"):
        edit(bench, "x = 1", "x = 2")
    assert (bench.root / "load.py").read_bytes() == CODE
    assert os.listdir(bench.root) == ["load.py"]  # noqa: PTH208


def test_arguments_that_do_not_fit_are_told() -> None:
    for arguments in ('{"path": "a", "old_text": "", "new_text": "b"}', '{"path": "a"}'):
        with pytest.raises(InvalidArguments, match="old_text"):
            EditFile().parse(arguments)


def test_a_folder_that_may_not_be_looked_into_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.lstat

    def lstat(self: Path) -> os.stat_result:
        if self.name == "load.py":
            raise PermissionError(13, "Permission denied")
        return real(self)

    monkeypatch.setattr(Path, "lstat", lstat)
    assert subject(bench, "x", "y").fault == "load.py cannot be looked at: Permission denied."
