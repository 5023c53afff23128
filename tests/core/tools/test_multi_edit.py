from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments, ToolFailed
from shiro_jupyter.core.tools.multi_edit import EDITS, MultiEdit
from tests.support.tools import Bench

CODE = b"import os\r\n\r\nx = 1\r\ny = 1\r\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/load.py").write_bytes(CODE)
    return Bench(tmp_path / "project")


def edits(*pairs: tuple[str, str], **more: bool) -> list[dict[str, object]]:
    return [{"old_text": old, "new_text": new, **more} for old, new in pairs]


def test_edits_are_made_in_order_in_one_write(bench: Bench) -> None:
    made = edits(("x = 1", "x = 2\nz = 3"), ("z = 3", "z = 4"))
    result = bench.run(MultiEdit(), path="load.py", edits=made)
    assert result.text == "Changed load.py: 2 lines added, 1 line removed.\n3: x = 2\n4: z = 4"
    assert (bench.root / "load.py").read_bytes() == CODE.replace(b"x = 1", b"x = 2\r\nz = 4")


def test_one_question_shows_what_comes_of_all_of_them(bench: Bench) -> None:
    arguments = {"path": "load.py", "edits": edits(("x = 1", "x = 2"), ("x = 2", "x = 3"))}
    asked = MultiEdit().subject(MultiEdit().parse(json.dumps(arguments)), bench.context)
    assert asked.title == "Change load.py?" and asked.texts == ("load.py",)
    assert asked.preview.startswith("1 line added, 1 line removed\n@@")
    assert "+x = 3" in asked.preview and "x = 2" not in asked.preview


def test_a_late_failure_leaves_the_file_and_names_the_edit(bench: Bench) -> None:
    before = (bench.root / "load.py").stat()
    made = edits(("x = 1", "x = 2"), ("y = 1", "y = 2"), ("x = 1", "x = 3"))
    with pytest.raises(
        ToolFailed, match=r"load\.py: edit 3 of 3 cannot be made, so none was: .*0 t"
    ):
        bench.run(MultiEdit(), path="load.py", edits=made)
    after = (bench.root / "load.py").stat()
    assert (bench.root / "load.py").read_bytes() == CODE
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert os.listdir(bench.root) == ["load.py"]  # noqa: PTH208


def test_each_edit_may_replace_all(bench: Bench) -> None:
    made = [*edits(("1", "2"), replace_all=True), *edits(("os", "re"))]
    bench.run(MultiEdit(), path="load.py", edits=made)
    expected = CODE.replace(b"1", b"2").replace(b"os", b"re")
    assert (bench.root / "load.py").read_bytes() == expected


def test_edits_that_undo_one_another_change_nothing_and_say_so(bench: Bench) -> None:
    made = edits(("x = 1", "x = 2"), ("x = 2", "x = 1"))
    with pytest.raises(ToolFailed, match="it would stay as it is; nothing was changed"):
        bench.run(MultiEdit(), path="load.py", edits=made)


@pytest.mark.parametrize("made", [[], edits(("a", "b")) * (EDITS + 1), [{"old_text": "a"}]])
def test_no_edits_too_many_or_half_ones_are_told(made: list[dict[str, object]]) -> None:
    with pytest.raises(InvalidArguments, match="edits"):
        MultiEdit().parse(json.dumps({"path": "a", "edits": made}))
