"""What holds of every change of a file, whichever tool makes it."""

from __future__ import annotations

import asyncio
import json
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.tools.edit_file import EditFile, EditFileParameters
from shiro_jupyter.core.tools.multi_edit import MultiEdit
from shiro_jupyter.core.tools.read_file import ReadFile
from shiro_jupyter.core.tools.write_file import WriteFile
from shiro_jupyter.core.workspace.edits import lines_of
from tests.support.tools import Bench

MARKS = {"utf-8-sig": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
LETTERS = {
    "utf-8": "aé日😀\u2028",
    "utf-8-sig": "aé日",
    "utf-16-le": "aé日😀\u0a0d",
    "utf-16-be": "aé日😀",
    "latin-1": "aéßÿ",
    "cp932": "a表ソ日ｱ\\",
    "invalid": "aé日",
}
CERTAIN = {"utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"}
OLD, NEW = "[old\ntext]", "[new\n\ntext\n]"


@dataclass(frozen=True)
class File:
    """What stands before and after the span, as bytes; and what the file is."""

    before: bytes
    span: bytes
    after: bytes
    codec: str
    mode: int
    kind: str

    @property
    def data(self) -> bytes:
        return self.before + self.span + self.after


@st.composite
def files(draw: st.DrawFn) -> File:
    encoding = draw(st.sampled_from(sorted(LETTERS)))
    codec = {"invalid": "utf-8", "utf-8-sig": "utf-8"}.get(encoding, encoding)
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]]))
    piece = st.sampled_from([*LETTERS[encoding], " ", "\t", *ends])
    text = st.lists(piece, max_size=12).map("".join)
    before, after = draw(text).encode(codec), draw(text).encode(codec)
    if encoding == "invalid":
        before += b"\xff " + draw(text).encode(codec)
    return File(
        MARKS.get(encoding, b"") + before,
        OLD.replace("\n", draw(st.sampled_from(ends))).encode(codec),
        after,
        encoding,
        draw(st.sampled_from([0o600, 0o644, 0o755])),
        draw(st.sampled_from(["plain", "link", "hard link"])),
    )


@dataclass(frozen=True)
class Placed:
    """A file in a project, by the name a call gives, and by all it has."""

    bench: Bench
    given: str
    names: list[Path]

    def state(self) -> list[object]:
        """All that may not change where nothing is changed."""
        root = self.bench.root
        kept = [(p.name, p.lstat().st_mode, p.lstat().st_ino) for p in sorted(root.iterdir())]
        return [kept, *((p.read_bytes(), p.stat().st_mtime_ns) for p in self.names)]


def placed(folder: str, file: File) -> Placed:
    root = Path(folder, "project")
    root.mkdir()
    path = root / "a.txt"
    path.write_bytes(file.data)
    path.chmod(file.mode)
    names = [path]
    if file.kind == "link":
        (root / "other").symlink_to("a.txt")
    elif file.kind == "hard link":
        (root / "other").hardlink_to(path)
        names.append(root / "other")
    return Placed(Bench(root), "a.txt" if file.kind == "plain" else "other", names)


@settings(deadline=None, max_examples=150)
@given(files(), st.booleans())
def test_an_edit_changes_its_span_and_nothing_else(file: File, several: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = placed(folder, file)
        old = place.state()
        one = {"old_text": OLD, "new_text": NEW}
        try:
            if several:
                place.bench.run(MultiEdit(), path=place.given, edits=[one])
            else:
                place.bench.run(EditFile(), path=place.given, **one)
        except ToolFailed as refused:
            assert file.codec not in CERTAIN and "encoding is uncertain" in str(refused)
            assert place.state() == old
            return
        for path in place.names:
            data = path.read_bytes()
            assert data.startswith(file.before) and data.endswith(file.after)
            codec = "utf-8" if file.codec in ("invalid", "utf-8-sig") else file.codec
            middle = data[len(file.before) : len(data) - len(file.after)].decode(codec)
            assert lines_of(middle) == lines_of(NEW)
            assert {*middle} - {*NEW} <= {"\r"}
            assert stat.S_IMODE(path.stat().st_mode) == file.mode
        assert len({path.stat().st_ino for path in place.names}) == 1
        assert (place.bench.root / "other").is_symlink() == (file.kind == "link")
        assert len(list(place.bench.root.iterdir())) == (1 if file.kind == "plain" else 2)


REFUSED = [
    (EditFile, {"old_text": "absent", "new_text": "x"}),
    (EditFile, {"old_text": OLD, "new_text": "# ... rest unchanged"}),
    (EditFile, {"old_text": OLD, "new_text": "\ufffd"}),
    (EditFile, {"old_text": OLD, "new_text": OLD}),
    (MultiEdit, {"edits": [{"old_text": OLD, "new_text": new} for new in "xy"]}),
    (WriteFile, {"content": "unread"}),
]  # fmt: skip


@settings(deadline=None, max_examples=100)
@given(files(), st.sampled_from(REFUSED), st.booleans())
def test_what_is_refused_changes_nothing(
    file: File, call: tuple[type, dict[str, object]], changed: bool
) -> None:
    """Neither does what a person saved after it was read, nor what is planned only."""
    tool, arguments = call
    with tempfile.TemporaryDirectory() as folder:
        place = placed(folder, file)
        bench = place.bench
        if changed:
            bench.run(ReadFile(), path=place.given)
            place.names[0].write_bytes(file.data + b"saved\n")
            tool, arguments = EditFile, {"old_text": OLD, "new_text": "x"}
        old = place.state()
        with pytest.raises(ToolFailed) as refused:
            bench.run(tool(), path=place.given, **arguments)
        assert ("since this session read it" in str(refused.value)) == changed
        edit = {"path": place.given, "old_text": OLD, "new_text": "planned"}
        EditFile().subject(EditFile().parse(json.dumps(edit)), bench.context)
        assert place.state() == old


def test_edits_of_one_file_at_once_lose_nothing(tmp_path: Path) -> None:
    """Of several sessions, and by several names."""
    (tmp_path / "project").mkdir()
    path = tmp_path / "project/a.txt"
    path.write_text("".join(f"<{n}>\n" for n in range(24)))
    (tmp_path / "project/link").symlink_to("a.txt")
    benches = [Bench(tmp_path / "project") for _ in range(24)]

    async def edit(n: int) -> None:
        name = "link" if n % 2 else "a.txt"
        call = {"path": name, "old_text": f"<{n}>", "new_text": f"{n} done"}
        await EditFile().run(EditFile.parameters(**call), benches[n].context)

    async def all_at_once() -> None:
        await asyncio.gather(*(edit(n) for n in range(24)))

    asyncio.run(all_at_once())
    assert path.read_text() == "".join(f"{n} done\n" for n in range(24))
    assert sorted(each.name for each in path.parent.iterdir()) == ["a.txt", "link"]


def test_two_sessions_that_read_a_file_do_not_overwrite_one_another(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    path = tmp_path / "project/a.txt"
    path.write_text("one\n")
    benches = [Bench(tmp_path / "project") for _ in range(8)]
    for bench in benches:
        bench.run(ReadFile(), path="a.txt")

    async def all_at_once() -> list[object]:
        calls = [
            WriteFile().run(WriteFile.parameters(path="a.txt", content=f"{n}\n"), bench.context)
            for n, bench in enumerate(benches)
        ]
        return await asyncio.gather(*calls, return_exceptions=True)

    results = asyncio.run(all_at_once())
    (won,) = [n for n, each in enumerate(results) if not isinstance(each, ToolFailed)]
    assert path.read_text() == f"{won}\n"
    assert all("in line 1 since" in str(each) for n, each in enumerate(results) if n != won)


def test_what_was_asked_is_planned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And anew where the file is another one by then."""
    (tmp_path / "project").mkdir()
    path = tmp_path / "project/a.txt"
    path.write_text("one two\n")
    planned, real = [], EditFile.changed

    def changed(self: EditFile, parameters: EditFileParameters, text: str) -> str:
        planned.append(text)
        return real(self, parameters, text)

    monkeypatch.setattr(EditFile, "changed", changed)
    context, call = Bench(tmp_path / "project").context, {"path": "a.txt", "old_text": "one"}
    parameters = EditFileParameters(**call, new_text="1")
    EditFile().subject(parameters, context)
    EditFile()._write(parameters, context)
    assert planned == ["one two\n"] and path.read_text() == "1 two\n"
    context = Bench(tmp_path / "project").context
    path.write_text("one\n")
    EditFile().subject(parameters, context)
    path.write_text("one three\n")
    EditFile()._write(parameters, context)
    assert planned[1:] == ["one\n", "one three\n"] and path.read_text() == "1 three\n"
