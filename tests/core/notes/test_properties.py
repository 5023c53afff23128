"""Whatever is written, by the program, by sessions that come and go, or by a person."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shiro_jupyter.core.errors import NoteRefused
from shiro_jupyter.core.notes import budget
from shiro_jupyter.core.notes.note import HEADINGS, MARKS, NOTHING, SECTIONS, Section, fences
from shiro_jupyter.core.notes.store import Notes
from tests.core.notes.test_note import MARKUP
from tests.support.notes import Desk, kept

STEPS = st.lists(st.sampled_from([f"{mark} step" for mark in MARKS]), min_size=1, max_size=3)
PIECES = MARKUP | st.sampled_from(("- one", "- two", "- two\n  more", "one", "# Session: x"))
# What a person makes of a heading: as it was, misspelt, lower, gone, twice.
HANDS = ("{0}\n", "{0}s\n", "#{0}\n", "", "{0}\n\n{0}\n")


class WritingANote(RuleBasedStateMachine):
    """One desk; `promised` are lines that must never go, `log` the worklog as it must begin."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.desk = Desk(Path(self.folder.name))
        self.session = 1
        self.promised: set[str] = set()
        self.log: list[str] = []
        self.count = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    @property
    def notes(self) -> Notes:
        return self.desk.notes(f"s{self.session}")

    def written(self) -> None:
        """What holds after each write by the program, not after a person's edit."""
        now = kept(self.notes)
        lines = now.body.split("\n")
        outside = [line for line, inside, _ in fences(lines) if not inside]
        structure = [line for line in outside if line.startswith(("# ", "## "))]
        assert structure[1:] == list(HEADINGS) and structure[0].startswith("# Session: ")
        note, repairs = now.read
        assert repairs == () and note.body == now.body
        texts = "\n".join(now.body.split("\n## ")[1:])
        assert outside.count(NOTHING) == sum(not text for text in note.texts), texts
        assert note.text("Worklog").split("\n")[: len(self.log)] == self.log

    @rule(
        section=st.sampled_from(SECTIONS[:3]), text=PIECES, op=st.sampled_from(["add", "replace"])
    )
    def write(self, section: Section, text: str, op: str) -> None:
        try:
            self.notes.update(op, section, text)  # type: ignore[arg-type]
        except NoteRefused:
            return
        self.written()

    @rule(section=st.sampled_from(SECTIONS), text=PIECES)
    def remove(self, section: Section, text: str) -> None:
        try:
            self.notes.update("remove", section, text)
        except NoteRefused:
            return
        self.written()

    @rule(section=st.sampled_from(SECTIONS[3:5]), text=PIECES)
    def promise(self, section: Section, text: str) -> None:
        self.count += 1
        self.promised.add(f"kept-{self.count}")
        self.notes.update("add", section, f"- kept-{self.count}\n{text}")
        self.written()

    @rule(text=PIECES)
    def decide_anew(self, text: str) -> None:
        self.notes.update("replace", "Key Decisions", text)
        self.written()

    @rule(steps=STEPS)
    def work(self, steps: list[str]) -> None:
        self.notes.update("add", "Worklog", "\n".join(steps))
        self.log = kept(self.notes).read[0].text("Worklog").split("\n")
        self.written()

    @precondition(lambda self: self.desk.files)
    @rule()
    def shorten(self) -> None:
        """The budget rule, as it were far too low."""
        merge, collapse = budget.MERGE_OVER, budget.COLLAPSE_OVER
        budget.MERGE_OVER = budget.COLLAPSE_OVER = 0
        try:
            asyncio.run(self.notes.fit(lambda prompt: asyncio.sleep(0, "- nothing")))
        finally:
            budget.MERGE_OVER, budget.COLLAPSE_OVER = merge, collapse
        if active := self.notes.active():
            done = [line for line in self.log if not line.startswith("✓")]
            self.log = active.read[0].text("Worklog").split("\n")
            assert [line for line in self.log if not line.startswith("✓")][: len(done)] == done

    @rule()
    def restart(self) -> None:
        self.session += 1
        self.desk.living.clear()

    @precondition(lambda self: self.desk.files)
    @rule()
    def finish(self) -> None:
        try:
            self.notes.done()
        except NoteRefused:
            return
        self.log = []

    @precondition(lambda self: self.desk.files)
    @rule(data=st.data())
    def edit_by_hand(self, data: st.DataObject) -> None:
        """A heading renamed, doubled, set lower or taken away, or lines put in anywhere."""
        path = data.draw(st.sampled_from(self.desk.files))
        front, body = path.read_text().split("---\n# ", 1)
        if data.draw(st.booleans()):
            heading = data.draw(st.sampled_from(HEADINGS))
            put = data.draw(st.sampled_from(HANDS)).format(heading)
            body = body.replace(f"\n{heading}\n", f"\n{put}", 1)
            if not put and heading in HEADINGS[3:5]:
                self.promised.clear()  # what they were is no longer told
        else:
            lines = body.split("\n")
            lines.insert(data.draw(st.integers(1, len(lines))), data.draw(PIECES))
            body = "\n".join(lines)
        path.write_text(f"{front}---\n# {body}")
        self.log = []  # a person may change theirs

    @invariant()
    def nothing_promised_is_lost(self) -> None:
        everything = "\n".join(path.read_text() for path in self.desk.files)
        words = set(everything.split())
        assert self.promised <= words

    @invariant()
    def one_note_is_active(self) -> None:
        active = [each for each in self.notes.all() if each.front.status == "active"]
        sessions = [each.front.session for each in active]
        assert len(sessions) == len(set(sessions))


TestWritingANote = WritingANote.TestCase
TestWritingANote.settings = settings(max_examples=30, stateful_step_count=20)
