from __future__ import annotations

from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments, NoteRefused
from shiro_jupyter.core.events import NotesChanged, Notice
from shiro_jupyter.core.notes.note import SECTIONS
from shiro_jupyter.core.notes.store import Notes
from shiro_jupyter.core.tools.session_notes import SessionNotes
from shiro_jupyter.core.transcript import User
from tests.support.notes import Desk, kept
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "project").mkdir()
    return Bench((tmp_path / "project").resolve())


@pytest.fixture
def notes(bench: Bench) -> Notes:
    return Desk(bench.root).notes(bench.session.id)


def test_an_update_is_one_line_and_is_told_to_the_views(bench: Bench, notes: Notes) -> None:
    bench.session.items.append(User("Please load the orders", 1))
    tool = SessionNotes(notes)
    done = bench.run(tool, op="add", section="Worklog", text="✓ loaded")
    assert (done.outcome, done.text) == ("ok", "Updated session notes (note id: 00000001).")
    changed, place = bench.events
    assert changed == NotesChanged("00000001")
    assert isinstance(place, Notice) and str(bench.root) in place.text
    assert kept(notes).read[0].title == "Please load the orders"
    assert (
        bench.run(tool, op="replace", section="Current State", text="next: plot").text == done.text
    )
    assert len(bench.events) == 3


def test_show_gives_the_body_verbatim_in_a_longer_fence(bench: Bench, notes: Notes) -> None:
    tool = SessionNotes(notes)
    assert "no note yet" in bench.run(tool, op="show").text
    bench.run(tool, op="add", section="Task Specification", text="````py\n# x\n````")
    path = kept(notes).path
    path.write_text(path.read_text() + "\nby hand  \n")
    body = path.read_text().partition("---\n# ")[2]
    assert bench.run(tool, op="show").text == f"`````markdown\n# {body}`````"
    assert bench.events[2:] == []


def test_done_archives_and_the_next_update_starts_another_note(bench: Bench, notes: Notes) -> None:
    tool = SessionNotes(notes)
    bench.run(tool, op="add", section="Worklog", text="✓ one")
    assert bench.run(tool, op="done").text == "Archived session notes (note id: 00000001)."
    assert bench.events[-1] == NotesChanged("00000001")
    with pytest.raises(NoteRefused, match="no active note"):
        bench.run(tool, op="done")
    assert "00000002" in bench.run(tool, op="add", section="Worklog", text="✓ two").text


def test_a_repair_is_told_to_the_person(bench: Bench, notes: Notes) -> None:
    tool = SessionNotes(notes)
    bench.run(tool, op="add", section="Worklog", text="✓ one")
    path = kept(notes).path
    path.write_text(path.read_text().replace("## Key Decisions\n", ""))
    text = bench.run(tool, op="add", section="Worklog", text="✓ two").text
    assert text == "Updated session notes (note id: 00000001)."
    assert isinstance(notice := bench.events[-1], Notice) and "was missing" in notice.text


def test_what_the_budget_could_not_do_is_told_to_the_model(bench: Bench, notes: Notes) -> None:
    async def merge(prompt: str) -> str:
        return "- Parquet"

    tool = SessionNotes(notes, merge)
    for _ in range(4):
        text = "- Parquet " + "word " * 3500
        said = bench.run(tool, op="add", section="Key Decisions", text=text).text
    assert said == "Updated session notes (note id: 00000001)."
    assert kept(notes).read[0].text("Key Decisions") == "- Parquet"
    for _ in range(4):
        said = bench.run(tool, op="add", section="Current State", text="word " * 3500).text
    assert said.startswith("Updated session notes (note id: 00000001).\n")
    assert "over its 12,000" in said


def test_a_call_without_its_section_and_a_wrong_one_are_told(bench: Bench, notes: Notes) -> None:
    tool = SessionNotes(notes)
    with pytest.raises(InvalidArguments, match="section is missing"):
        bench.run(tool, op="add", text="✓ one")
    with pytest.raises(InvalidArguments, match="section"):
        bench.run(tool, op="add", section="Log", text="✓ one")
    with pytest.raises(NoteRefused, match="✓"):
        bench.run(tool, op="add", section="Worklog", text="one")
    assert notes.active() is None and bench.events == []


def test_the_text_for_the_model_says_what_each_section_is_for() -> None:
    text = SessionNotes.spec().description
    assert all(f"- {section}: " in text for section in SECTIONS)
