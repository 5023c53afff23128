"""What tools changed is put back; what anyone else changed, and all else, is not touched."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.errors import ModelMendable, StorageError
from shiro_jupyter.core.sessions import undo
from shiro_jupyter.core.sessions.undo import FileUndo, Undone, Writing
from shiro_jupyter.core.tools import base
from shiro_jupyter.core.tools.edit_file import EditFile
from shiro_jupyter.core.tools.multi_edit import MultiEdit
from shiro_jupyter.core.tools.write_file import WriteFile
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "project").mkdir()
    return Bench(tmp_path / "project")


def write(bench: Bench, path: str, text: str) -> None:
    """By a tool, whatever stands there."""
    if (real := (bench.root / path).resolve()).exists():
        bench.seen.note(real, real.read_bytes())
    bench.run(WriteFile(), path=path, content=text)


def undone(bench: Bench) -> dict[str, tuple[str, str]]:
    done = bench.undo.undo(bench.undo.turns()[0])
    return {each.path.relative_to(bench.root).as_posix(): (each.state, each.why) for each in done}


def state(root: Path) -> dict[str, object]:
    """All there is in a folder: bytes, permissions, where links lead."""
    return {
        path.relative_to(root).as_posix(): (
            str(path.readlink())
            if path.is_symlink()
            else (stat.S_IMODE(path.stat().st_mode), path.is_dir() or path.read_bytes())
        )
        for path in sorted(root.rglob("*"))
    }


def test_a_turn_is_put_back_as_a_whole_and_then_the_turn_before(bench: Bench) -> None:
    (bench.root / "run.sh").write_bytes(b"echo \xff one\r\n")
    (bench.root / "run.sh").chmod(0o750)
    (bench.root / "link").symlink_to("run.sh")
    began = state(bench.root)
    bench.run(EditFile(), path="link", old_text="one", new_text="two")
    write(bench, "new/folder/a.py", "a = 1\n")
    write(bench, "new/b.py", "b = 1\n")
    first = state(bench.root)
    bench.turn = 2
    bench.run(EditFile(), path="run.sh", old_text="two", new_text="three")
    bench.run(EditFile(), path="run.sh", old_text="three", new_text="four")
    bench.run(EditFile(), path="new/b.py", old_text="1", new_text="2")
    assert bench.undo.turns() == [2, 1]
    assert undone(bench) == {"run.sh": ("restored", ""), "new/b.py": ("restored", "")}
    assert state(bench.root) == first and bench.undo.turns() == [1]
    assert undone(bench) == {
        "run.sh": ("restored", ""),
        "new/folder/a.py": ("removed", ""),
        "new/b.py": ("removed", ""),
    }
    assert state(bench.root) == began and bench.undo.turns() == []
    assert not list((bench.root.parent / "project-undo").iterdir())


PERSON: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "saved": (lambda path: path.write_bytes(b"mine\n"), "kept", undo.SINCE),
    "saved as it was": (lambda path: path.write_bytes(b"old\n"), "kept", undo.SAME),
    "saved as the turn had it for a while": (
        lambda path: path.write_bytes(b"middle\n"),
        "kept",
        undo.SINCE,
    ),
    "deleted": (lambda path: path.unlink(), "kept", undo.DELETED),
    "made a folder": (lambda path: (path.unlink(), path.mkdir()), "failed", "is no plain file"),
    "made a link": (
        lambda path: (path.rename(path.parent / "b"), path.symlink_to("b")),
        "failed",
        "by a link",
    ),
    "read-only": (lambda path: path.chmod(0o444), "failed", "is read-only"),
    "executable": (lambda path: path.chmod(0o755), "restored", ""),
}


@pytest.mark.parametrize("what", PERSON)
def test_what_a_person_did_since_stays(bench: Bench, what: str) -> None:
    """And does not keep the other files of the turn from being put back."""
    path = bench.root / "a.txt"
    path.write_bytes(b"old\n")
    (bench.root / "z.txt").write_bytes(b"old\n")
    for text in ("middle\n", "new\n"):
        write(bench, "a.txt", text)
    write(bench, "z.txt", "new\n")
    act, ends, why = PERSON[what]
    act(path)
    left = state(bench.root)
    found = bench.undo.undo(1)
    done = {each.path.name: (each.state, each.why) for each in found}
    assert done["z.txt"] == ("restored", "") and done["a.txt"][0] == ends
    (before,) = (each.before for each in found if each.path.name == "a.txt")
    assert (before is None) == (ends == "restored" or done["a.txt"][1] == undo.SAME)
    assert before is None or before.read_bytes() == b"old\n"  # for a person to look at
    assert why in done["a.txt"][1]
    left["z.txt"] = (left["z.txt"][0], b"old\n")  # type: ignore[index]
    if ends == "restored":
        left["a.txt"] = (0o755, b"old\n")
    assert state(bench.root) == left


def test_a_new_file_whose_permissions_a_person_changed_stays(bench: Bench) -> None:
    write(bench, "new/run.sh", "echo\n")
    (bench.root / "new/run.sh").chmod(0o711)
    assert undone(bench) == {"new/run.sh": ("kept", undo.MODE)}
    assert (bench.root / "new/run.sh").exists()


def test_a_folder_made_for_a_file_stays_with_what_a_person_put_there(bench: Bench) -> None:
    write(bench, "new/deep/a.py", "a\n")
    (bench.root / "new/mine.txt").write_text("mine\n")
    undone(bench)
    assert sorted(state(bench.root)) == ["new", "new/mine.txt"]


def test_a_file_that_others_changed_in_mid_turn_goes_back_to_what_they_left(bench: Bench) -> None:
    path = bench.root / "a.txt"
    path.write_text("one\n")
    write(bench, "a.txt", "two\n")
    path.write_text("mine\n")
    write(bench, "a.txt", "three\n")
    assert undone(bench) == {"a.txt": ("restored", undo.EARLIER)}
    assert path.read_text() == "mine\n" and bench.undo.turns() == []


def test_what_failed_is_tried_once_more(bench: Bench) -> None:
    for name in ("a.txt", "b.txt"):
        (bench.root / name).write_text("old\n")
        write(bench, name, "new\n")
        (bench.root / name).chmod(0o444)
    assert {each[0] for each in undone(bench).values()} == {"failed"}
    (bench.root / "a.txt").chmod(0o644)
    assert undone(bench)["a.txt"] == ("restored", "") and bench.undo.turns() == []
    assert (bench.root / "a.txt").read_text() == "old\n"
    (bench.root / "b.txt").chmod(0o644)
    bench.turn = 2
    write(bench, "b.txt", "newer\n")
    assert undone(bench) == {"b.txt": ("restored", "")}


def test_a_change_that_was_not_made_is_none(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the write was overtaken, or refused."""
    path = bench.root / "a.txt"
    path.write_text("old\n")
    with pytest.raises(ModelMendable):
        bench.run(EditFile(), path="a.txt", old_text="absent", new_text="x")
    assert bench.undo.turns() == []

    def overtaken(path: Path, data: bytes, *, expected: bytes) -> bool:
        path.write_bytes(b"mine\n")
        return False

    monkeypatch.setattr(base, "write_atomic", overtaken)
    with pytest.raises(ModelMendable):
        bench.run(EditFile(), path="a.txt", old_text="old", new_text="new")
    assert path.read_bytes() == b"mine\n" and bench.undo.turns() == []


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize("goes_on", [True, False])
def test_killed_at_a_later_change_a_turn_is_put_back_whole(
    bench: Bench, written: bool, goes_on: bool
) -> None:
    """Before the write or after it; and where a resumed session goes on in the same turn."""
    path = bench.root / "a.txt"
    path.write_text("old\n")
    write(bench, "a.txt", "new\n")

    def killed() -> bool:
        if written:
            path.write_text("newer\n")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.undo.around(1, Writing(path, b"new\n", b"newer\n"), killed)
    bench.undo = FileUndo(bench.root.parent / "project-undo", print)
    if goes_on:
        write(bench, "a.txt", "newest\n")
    assert undone(bench) == {"a.txt": ("restored", "")} and path.read_text() == "old\n"


def test_what_is_kept_is_the_persons_alone_and_as_it_was(bench: Bench) -> None:
    """Secrets too: what is put back must be what was there."""
    secret = b"key = 'sk-proj-abcdefghijklmnopqrstuvwxyz012345'\n"
    (bench.root / "a.py").write_bytes(secret)
    (bench.root / "a.py").chmod(0o644)
    bench.run(EditFile(), path="a.py", old_text="key", new_text="KEY")
    kept = bench.root.parent / "project-undo"
    modes = {stat.S_IMODE(each.stat().st_mode) for each in kept.rglob("*") if each.is_file()}
    folders = {stat.S_IMODE(each.stat().st_mode) for each in (kept, kept / "1")}
    assert modes == {0o600} and folders == {0o700}
    assert [each.read_bytes() for each in kept.rglob("*.bytes")] == [secret]
    assert undone(bench) == {"a.py": ("restored", "")}
    assert (bench.root / "a.py").read_bytes() == secret


def test_the_same_bytes_are_kept_once_a_turn(bench: Bench) -> None:
    for name in ("a", "b"):
        (bench.root / name).write_text("same\n")
        for text in ("1\n", "2\n", "3\n"):
            write(bench, name, text)
    assert len(list(bench.root.parent.glob("project-undo/1/*.bytes"))) == 1
    assert {each[0] for each in undone(bench).values()} == {"restored"}


def test_a_large_file_is_not_kept_and_that_is_said(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo, "LARGEST", 10)
    (bench.root / "a.txt").write_text("more than ten bytes\n")
    write(bench, "a.txt", "new\n")
    assert not list(bench.root.parent.glob("project-undo/1/*.bytes"))
    assert [each.why for each in bench.undo.files(1)] == [undo.LARGE]
    assert undone(bench) == {"a.txt": ("kept", undo.LARGE)}
    assert (bench.root / "a.txt").read_text() == "new\n"


@pytest.mark.parametrize("age", [60, 0])
def test_what_a_killed_undo_left_beside_a_file_goes_with_the_next(bench: Bench, age: int) -> None:
    """Unless it may be of one that runs."""
    path = bench.root / "a.txt"
    path.write_text("old\n")
    write(bench, "a.txt", "new\n")
    path.write_text("old\n")
    left = {bench.root / ".a.txt.shiro.lock", bench.root / ".a.txt.0123456789ab.tmp"}
    for each in left:
        each.write_bytes(b"killed")
        os.utime(each, (time.time() - age, time.time() - age))
    assert undone(bench) == {"a.txt": ("kept", undo.SAME)}
    assert set(bench.root.glob(".a.txt*")) == (set() if age else left)
    assert path.read_text() == "old\n"


def test_the_newest_turns_are_kept(bench: Bench) -> None:
    for turn in range(1, undo.TURNS + 4):
        bench.turn = turn
        write(bench, "a.txt", f"{turn}\n")
    turns = bench.undo.turns()
    assert (max(turns), min(turns), len(turns)) == (undo.TURNS + 3, 4, undo.TURNS)
    for _ in turns:
        undone(bench)
    assert (bench.root / "a.txt").read_text() == "3\n"


def test_what_other_sessions_kept_goes_after_a_month(bench: Bench, tmp_path: Path) -> None:
    for name, days in (("old", undo.DAYS + 1), ("young", undo.DAYS - 1)):
        FileUndo(tmp_path / "undo" / name, print).around(
            1, Writing(tmp_path / "x", b"before", b"after"), lambda: True
        )
        then = time.time() - days * 86_400
        os.utime(tmp_path / "undo" / name, (then, then))
    mine = FileUndo(tmp_path / "undo" / "mine", print)
    mine.around(1, Writing(tmp_path / "x", b"before", b"after"), lambda: True)
    assert sorted(each.name for each in (tmp_path / "undo").iterdir()) == ["mine", "young"]


def test_where_nothing_can_be_kept_the_change_is_made_and_that_is_said_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *args: object, **more: object) -> bool:
        raise StorageError(f"Cannot write {path}: No space left on device.")

    monkeypatch.setattr(undo, "write_atomic", full)
    write(bench, "a.txt", "a\n")
    write(bench, "b.txt", "b\n")
    (said,) = bench.told
    assert said.startswith("Changes of files cannot be undone for now: ") and "No space" in said
    assert undone(bench) == {"a.txt": ("kept", undo.UNKEPT), "b.txt": ("kept", undo.UNKEPT)}
    assert bench.undo.turns() == []


@pytest.mark.parametrize(
    "damage",
    [
        *(b"", b"{", b'{"path": 1}', b"[1]", b"\0" * 40, b"[" * 100_000),
        *({"path": each} for each in ("a\0b", "half \ud83d", "rel", "", 5, None, "/etc/passwd")),
        *({"before": each} for each in ("../../../../../out", 5, "", "A" * 64)),
        *({"after": [1]}, {"was": {}}, {"mode": "x"}, {"mode": True}, {"tried": "x"}),
        *({"made": 5}, {"made": [1]}, {"made": "ab"}, {"format": 2}, {"unknown": 1}),
        *({"pending": 0}, {"kept": None}, {"settled": []}),
    ],
    ids=repr,
)
def test_a_damaged_entry_is_told_and_stops_nothing(
    bench: Bench, damage: bytes | dict[str, object]
) -> None:
    (bench.root / "a.txt").write_text("old\n")
    write(bench, "a.txt", "new\n")
    entry = next(iter(bench.root.parent.glob("project-undo/1/*.json")))
    write(bench, "b.txt", "new\n")
    if isinstance(damage, dict):
        damage = json.dumps({**json.loads(entry.read_bytes()), **damage}).encode()
    entry.write_bytes(damage)
    done = bench.undo.undo(1)
    assert {(each.path.name, each.state, each.why) for each in done} == {
        ("b.txt", "removed", ""),
        (entry.name, "kept", undo.DAMAGED),
    }
    assert (bench.root / "a.txt").read_text() == "new\n" and bench.undo.turns() == []


def test_a_turn_of_damaged_entries_alone_is_told_once(bench: Bench) -> None:
    """Also where another file of the turn stays as a person left it."""
    for name in ("a.txt", "b.txt"):
        write(bench, name, "new\n")
    for entry in bench.root.parent.glob("project-undo/1/*.json"):
        if b"a.txt" in entry.read_bytes():
            entry.write_bytes(b"{")
    (bench.root / "b.txt").write_text("mine\n")
    assert bench.undo.turns() == [1]
    whys = {each.why for each in bench.undo.undo(1)}
    assert whys == {undo.DAMAGED, undo.SINCE} and bench.undo.turns() == []
    bench.turn = 2
    write(bench, "c.txt", "new\n")
    next(iter(bench.root.parent.glob("project-undo/2/*.json"))).write_bytes(b"{")
    assert bench.undo.turns() == [2]
    assert [each.why for each in bench.undo.undo(2)] == [undo.DAMAGED]
    assert bench.undo.turns() == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no FIFO")
def test_a_pipe_in_the_place_of_an_entry_holds_nobody_up(bench: Bench) -> None:
    write(bench, "a.txt", "new\n")
    os.mkfifo(bench.root.parent / "project-undo" / "1" / "pipe.json")
    assert [each.state for each in bench.undo.undo(1)] == ["removed", "kept"]


@pytest.mark.parametrize("damage", ["cut", "gone", "a pipe"])
def test_bytes_that_are_damaged_are_not_put_back(bench: Bench, damage: str) -> None:
    (bench.root / "a.txt").write_text("old\n")
    write(bench, "a.txt", "new\n")
    kept = next(iter(bench.root.parent.glob("project-undo/1/*.bytes")))
    kept.unlink()
    if damage == "cut":
        kept.write_bytes(b"ol")
    elif damage == "a pipe":
        os.mkfifo(kept)
    ((ends, why),) = undone(bench).values()
    assert ends == "failed"
    assert "is no plain file any more" in why if damage == "a pipe" else "is damaged" in why
    assert (bench.root / "a.txt").read_text() == "new\n"


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no UTF-8 are Linux's")
def test_a_name_that_is_no_utf8_is_kept_too(bench: Bench) -> None:
    path = bench.root / os.fsdecode(b"a\xff.txt")
    path.write_text("old\n")
    bench.undo.around(1, Writing(path, b"old\n", b"new\n"), lambda: bool(path.write_text("new\n")))
    assert bench.undo.undo(1) == [Undone(path, "restored")] and path.read_text() == "old\n"


# -- any order of changes, by anyone ---------------------------------------------------------------

NAMES = ("a.txt", "b.txt", "new/c.txt", "new/deep/d.txt", "link")
acts = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["write", "edit", "multi", "person"]), st.sampled_from(NAMES)),
        st.tuples(st.sampled_from(["delete", "mode", "torn", "unwritten"]), st.sampled_from(NAMES)),
        st.tuples(st.sampled_from(["turn", "undo", "restart"]), st.just("")),
    ),
    max_size=30,
)


class Story:
    """Tools and a person at the same files, and a plain model of what an undo has to do: by turn
    and file the bytes that the tools found, and those that they left."""

    def __init__(self, folder: Path) -> None:
        (folder / "project").mkdir()
        self.bench = Bench(folder / "project")
        self.root = self.bench.root
        (self.root / "a.txt").write_bytes(b"0\r\n")
        (self.root / "a.txt").chmod(0o755)
        (self.root / "link").symlink_to("a.txt")
        self.turns: dict[int, dict[Path, tuple[bytes | None, bytes]]] = {1: {}}
        self.texts = iter(f"{n}\n" for n in range(1, 1_000))
        self.modes: dict[Path, int | None] = {}  # None: killed before it could be looked at

    def bytes_of(self, path: Path) -> bytes | None:
        return path.read_bytes() if path.is_file() else None

    def act(self, what: str, name: str) -> None:
        if name == "link" and not (self.root / name).exists():
            name = "a.txt"
        path = (self.root / name).resolve()
        before = self.bytes_of(path)
        match what:
            case "write" | "edit" | "multi" | "torn" | "unwritten":
                self._by_tool(what, name, path, before)
            case "person":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(f"mine {next(self.texts)}".encode())
            case "delete" if before is not None:
                path.unlink()
            case "mode" if before is not None:
                path.chmod(path.stat().st_mode ^ 0o011)
            case "turn":
                self.bench.turn += 1
                self.turns[self.bench.turn] = {}
            case "restart":
                self.bench.undo = FileUndo(self.root.parent / "project-undo", print)
            case "undo":
                self._undo()

    def _by_tool(self, what: str, name: str, path: Path, before: bytes | None) -> None:
        text = next(self.texts)
        if before is not None:
            self.bench.seen.note(path, before)
        if what in ("torn", "unwritten"):
            self._killed(what, path, before, text.encode())
        elif before is None or what == "write":
            write(self.bench, name, text)
        else:
            one = {"old_text": before.decode(), "new_text": text}
            if what == "edit":
                self.bench.run(EditFile(), path=name, **one)
            else:
                more = {"old_text": text, "new_text": f"{text}{text}"}
                self.bench.run(MultiEdit(), path=name, edits=[one, more])
        after = self.bytes_of(path)
        if after is None or after == before:
            return
        changes = self.turns[self.bench.turn]
        found, left = changes.get(path, (before, b""))
        if left == before:
            changes[path] = found, after
        else:
            changes[path] = before, after
            self.modes[path] = None
        if what != "torn":
            self.modes[path] = path.stat().st_mode

    def _killed(self, what: str, path: Path, before: bytes | None, after: bytes) -> None:
        """By a signal, after the snapshot: before the write, or after it."""
        made, turn = [each for each in path.parents if not each.exists()], self.bench.turn
        path.parent.mkdir(parents=True, exist_ok=True)

        def write() -> bool:
            if what == "torn":
                path.write_bytes(after)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self.bench.undo.around(turn, Writing(path, before, after, made), write)
        self.bench.undo = FileUndo(self.root.parent / "project-undo", print)

    def _undo(self) -> None:
        found = self.bench.undo.turns()
        changed = [turn for turn, changes in self.turns.items() if changes]
        if not found:
            assert not changed
            return
        turn = found[0]
        assert not changed or turn >= changed[-1]
        expected = {path: self.bytes_of(path) for path in self._files()}
        modes = {path: path.stat().st_mode for path in self._files()}
        for path, (before, after) in self.turns.get(turn, {}).items():
            same_mode = before is not None or self.modes[path] in (None, modes.get(path))
            if self.bytes_of(path) == after and same_mode:
                expected[path] = before
        self.bench.undo.undo(turn)
        self.turns[turn] = {}
        left = {path: data for path, data in expected.items() if data is not None}
        assert {path: path.read_bytes() for path in self._files()} == left
        assert all(path.stat().st_mode == modes[path] for path in left)
        assert (self.root / "link").readlink() == Path("a.txt")
        self.bench.turn = max(self.bench.turn, turn) + 1
        self.turns[self.bench.turn] = {}

    def _files(self) -> list[Path]:
        return [p for p in self.root.rglob("*") if p.is_file() and not p.is_symlink()]


@settings(deadline=None, max_examples=40)
@given(acts)
def test_in_any_order_exactly_what_a_turn_changed_is_undone(
    story: list[tuple[str, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        told = Story(Path(folder).resolve())
        for what, name in story:
            told.act(what, name)
        while told.bench.undo.turns():
            told.act("undo", "")


CHANGING = """
import sys
from itertools import count
from pathlib import Path
from shiro_jupyter.core.tools.edit_file import EditFile
from shiro_jupyter.core.tools.write_file import WriteFile
from tests.support.tools import Bench

bench = Bench(Path(sys.argv[1]))
for n in count():
    bench.run(WriteFile(), path=f"new/{n}.py", content="new")
    bench.run(EditFile(), path=f"{n % 3}.txt", old_text="old", new_text=f"{n} old")
    print(n, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_a_turn_whose_process_was_killed_is_put_back(tmp_path: Path) -> None:
    """At any moment: between what is kept and the write, or in the midst of either."""
    chance = random.Random(6)
    for trial in range(4):
        root = tmp_path / str(trial) / "project"
        root.mkdir(parents=True)
        for n in range(3):
            (root / f"{n}.txt").write_text("old")
            (root / f"{n}.txt").chmod(0o640)
        began = state(root)
        command = [sys.executable, "-c", CHANGING, str(root)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(2):
                process.stdout.readline()
            time.sleep(chance.random() / 20)
            process.send_signal(signal.SIGKILL)
        bench = Bench(root)
        assert {"restored", "removed"} <= {each[0] for each in undone(bench).values()}
        left = {name for name in state(root) if not name.endswith((".tmp", ".lock"))}
        assert left - {"new"} == set(began)  # the folder, where a lock was left in it
        assert {name: state(root)[name] for name in began} == began
