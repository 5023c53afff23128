from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import NoteRefused, StorageError
from shiro_jupyter.core.notes import store
from shiro_jupyter.core.notes.store import Change, Notes
from shiro_jupyter.core.workspace.project import Project
from tests.support.notes import Desk, kept

ROOT = Path(__file__).parents[3]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "project").mkdir()
    return Desk(tmp_path / "project")


def test_no_file_is_made_by_looking_nor_by_what_is_refused(desk: Desk) -> None:
    notes = desk.notes()
    assert notes.active() is None and notes.all() == [] and notes.problems() == []
    with pytest.raises(NoteRefused):
        notes.update("add", "Worklog", "no mark")
    with pytest.raises(NoteRefused, match="has no active note; the next update makes one"):
        notes.done()
    assert not (desk.root / ".shiro").exists() and desk.records == []


def test_the_first_write_makes_one_file_kept_out_of_git(desk: Desk) -> None:
    done = desk.notes().update("add", "Worklog", "✓ loaded", "Please load the orders")
    assert [done.path] == desk.files
    assert done.path.name == "2026-11-30-please-load-the-orders-00000001.md"
    assert done.path.read_text().startswith(
        "---\nid: 00000001\nstatus: active\nsession: one\ncreated: 2026-11-30 09:00:01\n"
        "updated: 2026-11-30 09:00:02\nnotebook: eda.ipynb\n---\n# Session: Please load the orders"
    )
    assert (desk.root / ".shiro" / ".gitignore").read_text().startswith("notes/\n")
    assert str(desk.root) in done.said[0]


def test_later_writes_go_to_the_same_note_also_after_a_restart(desk: Desk) -> None:
    first = desk.notes().update("add", "Worklog", "✓ loaded", "load the orders")
    again = desk.notes().update("add", "Worklog", "→ plots", "another prompt")
    assert desk.files == [first.path] == [again.path]
    assert again.note.text("Worklog") == "✓ loaded\n→ plots"
    assert again.note.title == "load the orders" and again.said == ()


def test_the_note_of_another_user_is_passed_over(desk: Desk) -> None:
    path = desk.notes("theirs").update("add", "Worklog", "✓ obey").path
    desk.notes("elsewhere", "other.ipynb").update("add", "Worklog", "✓ obey")
    desk.living.clear()
    notes = desk.notes("mine")
    assert kept(notes).path == path and notes.of_others() == []  # of this user
    desk.of_others |= {"theirs", "elsewhere"}
    assert notes.active() is None
    assert [each.path for each in notes.of_others()] == desk.files
    assert notes.passed_over() == [path.name]
    notes.update("add", "Worklog", "✓ mine")
    assert "obey" not in kept(notes).text
    path.write_bytes(b"\0")
    assert path in [each.path for each in notes.of_others()]


def test_a_new_session_on_the_notebook_takes_over_the_note_of_a_dead_one(desk: Desk) -> None:
    first = desk.notes("one").update("add", "Worklog", "✓ loaded")
    assert desk.notes("two").active() is None  # session one still runs
    desk.living.remove("one")
    assert desk.notes("two", "other.ipynb").active() is None
    assert desk.notes("two", "").active() is None
    before = first.path.read_bytes()
    notes = desk.notes("two")
    assert kept(notes).path == first.path and first.path.read_bytes() == before
    assert notes.update("add", "Worklog", "✓ more").note.session == "two"
    assert desk.notes("three").active() is None


def test_of_sessions_that_begin_at_once_one_takes_the_note_over(desk: Desk) -> None:
    desk.notes("dead").update("add", "Worklog", "✓ loaded")
    desk.living.clear()
    sessions = [desk.notes(f"s{number}") for number in range(4)]
    with ThreadPoolExecutor(len(sessions)) as pool:
        done = list(pool.map(lambda each: each.update("add", "Worklog", "✓ more"), sessions))
    assert sorted(each.note.text("Worklog") for each in done) == [
        "✓ loaded\n✓ more",
        *["✓ more"] * 3,
    ]
    assert len(desk.files) == 4


def test_without_a_notebook_the_project_tells_whose_note_it_is(desk: Desk) -> None:
    first = desk.notes("one", "").update("add", "Worklog", "✓ loaded")
    desk.living.clear()
    assert kept(desk.notes("two", "")).path == first.path


def test_a_session_that_has_had_a_note_takes_over_none(desk: Desk) -> None:
    old = desk.notes("one").update("add", "Worklog", "✓ old")
    notes = desk.notes("two")
    notes.update("add", "Worklog", "✓ mine")
    notes.done()
    desk.living.remove("one")
    assert notes.active() is None
    new = notes.update("add", "Worklog", "✓ next")
    assert new.path != old.path and len(desk.files) == 3


def test_of_two_active_notes_of_a_session_the_older_is_archived(desk: Desk) -> None:
    notes = desk.notes()
    older = notes.update("add", "Worklog", "✓ one").path
    body = older.read_text().partition("---\n# ")[2]
    newer = older.with_name("2026-11-30-copy-00000009.md")
    newer.write_text(older.read_text().replace("updated: 2026", "updated: 2027"))
    assert notes.update("add", "Worklog", "✓ two").path == newer
    status = {each.path: each.front.status for each in notes.all()}
    assert status == {newer: "active", older: "archived"}
    assert older.read_text().partition("---\n# ")[2] == body


def test_done_archives_the_note_with_its_body_as_it_is(desk: Desk) -> None:
    notes = desk.notes()
    path = notes.update("add", "Worklog", "✓ one").path
    by_hand = (
        path.read_bytes().replace(b"## Worklog", b"## worklog\r\n\r\n\r\n") + b"\n\nmine  \r\n"
    )
    path.write_bytes(by_hand)
    notes.done()
    assert path.read_bytes() == by_hand.replace(b"active", b"archived").replace(
        b"updated: 2026-11-30 09:00:02", b"updated: 2026-11-30 09:00:03"
    )
    assert notes.active() is None
    assert notes.update("add", "Worklog", "✓ next").path != path


def test_what_a_person_broke_is_repaired_at_the_next_write_and_said(desk: Desk) -> None:
    notes = desk.notes()
    path = notes.update("add", "Key Decisions", "- parquet").path
    path.write_text(path.read_text().replace("## Key Decisions", "## Decided"))
    (said,) = notes.update("add", "Key Decisions", "- polars").said
    assert path.name in said and "“## Decided” became “## Key Decisions”" in said
    assert "### Decided\n\n- parquet\n- polars" in path.read_text()
    assert notes.update("add", "Worklog", "✓ x").said == ()


def test_a_note_without_its_front_matter_is_found_by_who_wrote_it(desk: Desk) -> None:
    notes = desk.notes()
    path = notes.update("add", "Worklog", "✓ one").path
    path.write_text(path.read_text().partition("---\n# ")[2])
    (problem,) = notes.problems()
    assert str(path) in problem and "front matter" in problem
    assert desk.notes("two").active() is None
    assert notes.update("add", "Worklog", "✓ two").path == path
    assert notes.problems() == []


@pytest.mark.parametrize(
    "cut",
    [
        lambda text: text.partition("---\n# ")[2],
        lambda text: text.replace("created: 2026-11-30 09:00:01\n", ""),
        lambda text: text.replace("created: 2026-11-30 09:00:01", "created:"),
    ],
    ids=["front matter", "line", "value"],
)
def test_the_name_of_the_file_tells_when_a_cut_note_was_made(
    desk: Desk, cut: Callable[[str], str]
) -> None:
    notes = desk.notes()
    path = notes.update("add", "Worklog", "✓ one").path
    path.write_text(cut(path.read_text()))
    assert "created: 20" not in path.read_text()
    notes.update("add", "Worklog", "✓ two")
    assert "\ncreated: 2026-11-30\n" in path.read_text()


def test_a_save_of_the_person_in_between_is_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = desk.notes()
    path = notes.update("add", "Worklog", "✓ one").path
    real, saves = store.write_atomic, [path.read_text().replace("✓ one", "✓ one\n✗ by hand")]

    def overtaken(target: Path, data: bytes, **given: bytes) -> bool:
        if saves:
            target.write_text(saves.pop())
        return real(target, data, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "write_atomic", overtaken)
    assert notes.update("add", "Worklog", "✓ two").note.text("Worklog") == "✓ one\n✗ by hand\n✓ two"


def test_an_editor_that_saves_in_place_loses_nothing_however_slow(desk: Desk) -> None:
    notes = desk.notes()
    path = notes.update("add", "Worklog", "✓ one").path
    old = path.read_bytes() + b"- by hand\n" * 50
    with path.open("wb") as editor:  # which empties it
        notes.update("add", "Worklog", "✓ two")
        editor.write(old)
    assert desk.files == [path] and path.read_bytes() == old


def test_saves_that_never_end_are_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "write_atomic", lambda *_, **__: False)
    with pytest.raises(StorageError, match="over and over"):
        desk.notes().update("add", "Worklog", "✓ one")


def test_links_and_what_is_no_file_are_told_and_never_read(desk: Desk, tmp_path: Path) -> None:
    notes = desk.notes()
    path = notes.update("add", "Worklog", "✓ one").path
    outside = tmp_path / "outside.md"
    path.rename(outside)
    path.symlink_to(outside)
    os.mkfifo(path.with_name("2026-11-30-pipe-00000007.md"))
    path.with_name("2026-11-30-bytes-00000008.md").write_bytes(b"\0\1")
    assert [each.rpartition(".md")[2] for each in notes.problems()] == [
        ", line 1: a NUL byte, which no text holds; take it out.",
        " is no plain file; put one in its place, and no link.",
        " is no plain file; put one in its place, and no link.",
    ]
    before = outside.read_bytes()
    with pytest.raises(StorageError, match=re.escape(f"{path} is no plain file")):
        notes.update("add", "Worklog", "✓ two")
    restarted = desk.notes()  # which cannot tell whose those are
    assert restarted.active() is None
    begun = restarted.update("add", "Worklog", "✓ two")
    assert begun.path != path and outside.read_bytes() == before
    assert len(begun.said) == 3 and all("Another note was begun" in each for each in begun.said)


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(
    ("harm", "fault"),
    [
        (lambda raw: raw + b"\n- caf\xe9\n", "bytes that are no UTF-8"),
        (lambda raw: raw + b"\0\n", "a NUL byte"),
        (lambda raw: raw + b"huge " * 400_001, "larger than 2 MB"),
    ],
    ids=["latin-1", "NUL", "huge"],
)
def test_a_note_that_cannot_be_used_is_told_and_neither_changed_nor_replaced(
    desk: Desk, harm: Callable[[bytes], bytes], fault: str, restarted: bool
) -> None:
    notes = desk.notes()
    path = notes.update("add", "Worklog", "✓ größe").path
    path.write_bytes(raw := harm(path.read_bytes()))
    notes = desk.notes() if restarted else notes
    for use in (notes.active, lambda: notes.update("add", "Worklog", "✓ two"), notes.done):
        with pytest.raises(StorageError, match=f"{re.escape(str(path))}.*{fault}"):
            use()
    assert desk.files == [path] and path.read_bytes() == raw
    assert fault in notes.problems()[0]
    assert desk.notes("two", "other.ipynb").update("add", "Worklog", "✓ x").said == ()
    desk.living.discard("one")
    (said,) = desk.notes("three").update("add", "Worklog", "✓ x").said
    assert said.startswith("Another note was begun") and fault in said


def test_what_is_closed_is_known_and_stands_in_nobody_s_way(desk: Desk) -> None:
    notes = desk.notes()
    assert notes.closed() is None
    path = notes.update("add", "Worklog", "✓ one").path
    assert notes.closed() is None
    notes.done()
    closed = notes.closed()
    assert notes.absent() == (
        f"This session's note {path.name} is archived; the next update makes one."
    )
    assert closed and closed.path == path and desk.notes("two").closed() is None
    path.write_bytes(path.read_bytes() + b"\0")
    assert notes.absent().startswith("This session has no note yet.\n")
    assert notes.absent().endswith("a NUL byte, which no text holds; take it out.")
    assert notes.update("add", "Worklog", "✓ two").path != path


def test_a_closed_note_that_became_a_link_keeps_nobody_from_the_next(
    desk: Desk, tmp_path: Path
) -> None:
    notes = desk.notes()
    path = notes.update("add", "Worklog", "✓ one").path
    notes.done()
    path.rename(tmp_path / "kept.md")
    path.symlink_to(tmp_path / "kept.md")
    assert notes.active() is None
    assert notes.update("add", "Worklog", "✓ two").path != path


def test_the_marks_of_a_merge_are_told(desk: Desk) -> None:
    notes = desk.notes()
    path = notes.update("add", "Key Decisions", "- parquet").path
    marked = "<<<<<<< HEAD\n- parquet\n=======\n- csv\n>>>>>>> theirs"
    path.write_text(path.read_text().replace("- parquet", marked))
    line = path.read_text().split("\n").index("<<<<<<< HEAD") + 1
    told = f"{path}, line {line}: the mark of a merge conflict; settle it."
    assert notes.problems() == [told]
    assert told in notes.update("add", "Worklog", "✓ one").said


@pytest.mark.parametrize(
    ("ignored", "told"),
    [
        (b"*.bak\n", True),
        (b"", True),
        (b"/notes\r\n", False),
        (b"x\n notes/ \n", False),
        (b"*", False),
    ],
)
def test_notes_that_git_would_take_are_told_once(desk: Desk, ignored: bytes, told: bool) -> None:
    (desk.root / ".shiro").mkdir()
    ignore = desk.root / ".shiro" / ".gitignore"
    ignore.write_bytes(ignored)
    notes = desk.notes()
    said = notes.update("add", "Worklog", "✓ one").said
    assert any("add the line notes/ to" in each for each in said) is told
    assert notes.update("add", "Worklog", "✓ two").said == ()
    assert ignore.read_bytes() == ignored


@pytest.mark.parametrize("place", [".shiro", ".shiro/notes"])
def test_a_linked_folder_is_refused(desk: Desk, tmp_path: Path, place: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (desk.root / place).parent.mkdir(exist_ok=True)
    (desk.root / place).symlink_to(elsewhere)
    with pytest.raises(StorageError, match="link"):
        desk.notes().update("add", "Worklog", "✓ one")
    assert list(elsewhere.rglob("*")) == []


def test_a_folder_of_another_user_is_neither_read_nor_written(desk: Desk) -> None:
    desk.notes().update("add", "Worklog", "✓ one")
    project = Project(desk.root, passed_over=(desk.root,))
    notes = Notes(project, lambda: "one", desk.clock)
    for use in (notes.active, notes.all, lambda: notes.update("add", "Worklog", "✓ two")):
        with pytest.raises(StorageError, match="another user"):
            use()
    assert len(notes.problems()) == 1 and "another user" in notes.problems()[0]


def test_other_files_in_the_folder_are_left_alone(desk: Desk) -> None:
    notes = desk.notes()
    readme = notes.update("add", "Worklog", "✓ one").path.with_name("README.md")
    readme.write_text("mine")
    notes.update("add", "Worklog", "✓ two")
    assert [each.path for each in notes.all()] == [p for p in desk.files if p != readme]
    assert readme.read_text() == "mine"


def test_the_log_tells_the_history(desk: Desk) -> None:
    notes = desk.notes()
    notes.update("add", "Worklog", "✓ one")
    notes.done()
    logged = [{"at": "2026-11-30T09:00:00", **record} for record in desk.records]
    assert Notes.history([{"set": "title"}, *logged, {"note": 3}]) == [
        Change("2026-11-30T09:00:00", "00000001", "add", "Worklog", "✓ one"),
        Change("2026-11-30T09:00:00", "00000001", "done"),
    ]


def test_a_note_over_its_budget_is_written_shorter(desk: Desk) -> None:
    notes = desk.notes()
    notes.update("add", "Key Decisions", "- parquet for orders. " + "why " * 13_500)
    notes.update("add", "Key Decisions", "- parquet for items. why")
    asked = []

    async def merge(prompt: str) -> str:
        asked.append(prompt)
        notes.update("add", "Worklog", "✓ meanwhile")
        return "- parquet for orders and items. why"

    assert asyncio.run(notes.fit(merge)) == ()  # the note changed meanwhile: it stays
    assert "why why" in kept(notes).body and desk.records[-1]["note"]["op"] == "add"
    assert asyncio.run(notes.fit(merge_of("- parquet for orders and items. why"))) == ()
    assert kept(notes).read[0].text("Key Decisions") == "- parquet for orders and items. why"
    assert len(asked) == 1 and desk.records[-1]["note"]["op"] == "fit"


def merge_of(answer: str) -> store.budget.Ask:
    async def merge(prompt: str) -> str:
        return answer

    return merge


def test_a_merge_that_failed_is_not_tried_at_each_update(desk: Desk) -> None:
    notes = desk.notes()
    notes.update("add", "Key Decisions", "- use Parquet. " + "why " * 13_500)
    (first, _) = asyncio.run(notes.fit(merge_of("- lost")))
    assert "lost parquet" in first
    notes.update("add", "Worklog", "✓ one")
    assert asyncio.run(notes.fit(merge_of("- lost"))) == ()
    notes.update("add", "Key Decisions", "- more")
    assert len(asyncio.run(notes.fit(None))) == 2


WRITER = """
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shiro_jupyter.core.notes.store import Notes
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.core.workspace.project import Project
notes = Notes(Project(Path(sys.argv[1])), lambda: sys.argv[2], SystemClock())
for step in range(int(sys.argv[3]), 100_000):
    notes.update("add", "Worklog", f"✓ {step}", "a title of words")
    print(step, flush=True)
"""


def test_a_killed_process_leaves_its_note_found_and_whole(desk: Desk) -> None:
    """Thrice, each next session taking over; no acknowledged step is lost."""
    steps = 0
    for session in ("one", "two", "three"):
        run = [sys.executable, "-c", WRITER, str(desk.root), session, str(steps)]
        with subprocess.Popen(run, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            told = [process.stdout.readline() for _ in range(20)][-1]
            process.send_signal(signal.SIGKILL)
            told = (process.stdout.read().splitlines() or [told])[-1]
        note, repairs = kept(desk.notes("next", "")).read
        assert (repairs, note.session) == ((), session)
        worklog = note.text("Worklog").split("\n")
        steps = len(worklog)
        assert worklog == [f"✓ {step}" for step in range(steps)]
        assert steps in (int(told) + 1, int(told) + 2)  # the last may be written and not told
    assert len(desk.files) == 1
    desk.notes("next", "").update("add", "Worklog", "✓ last")  # past a lock left behind
