from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import NoteRefused
from shiro_jupyter.core.notes.note import Section
from shiro_jupyter.core.notes.refresh import refreshed, sections_of
from tests.support.notes import Desk, kept

REPLY = """\
Here is the update:

## Errors & Corrections
- Dates are day-first, not month-first.

## Key Decisions
- Semicolons, since decimals are commas.

## Worklog
- ✓ read load.py
something else
✗ the tests

## Current State
Half of it is loaded. Next: the plot.
"""


def refresh(desk: Desk, reply: str, asked: list[str] | None = None) -> tuple[str, tuple[str, ...]]:
    async def ask(instruction: str) -> str:
        if asked is not None:
            asked.append(instruction)
        return reply

    return asyncio.run(refreshed(desk.notes(), ask, "Load the orders and plot them"))


def text(desk: Desk, section: Section) -> str:
    return kept(desk.notes()).read[0].text(section)


def test_what_is_new_stands_under_its_heading_and_corrections_come_first(tmp_path: Path) -> None:
    desk, asked = Desk(tmp_path), list[str]()
    note_id, _ = refresh(desk, REPLY, asked)
    assert note_id == kept(desk.notes()).front.id
    assert "# Session: Load the orders and plot them" in kept(desk.notes()).body
    assert text(desk, "Worklog") == "✓ read load.py\n✗ the tests"
    assert text(desk, "Current State") == "Half of it is loaded. Next: the plot."
    assert text(desk, "Key Decisions") == "- Semicolons, since decimals are commas."
    sections = [record["note"]["section"] for record in desk.records]
    assert sections[0] == "Errors & Corrections" and len(sections) == 4
    assert "There is none yet" in asked[0]


def test_the_next_time_the_note_is_shown_and_nothing_comes_twice(tmp_path: Path) -> None:
    desk, asked = Desk(tmp_path), list[str]()
    refresh(desk, REPLY)
    before = desk.files[0].read_bytes()
    assert refresh(desk, REPLY, asked) == ("", ())
    assert desk.files[0].read_bytes() == before
    assert "Semicolons, since decimals are commas." in asked[0]
    more = REPLY.replace("✗ the tests", "✗ the tests\n✓ the tests").replace("Half", "All")
    refresh(desk, more)
    assert text(desk, "Worklog") == "✓ read load.py\n✗ the tests\n✓ the tests"
    assert text(desk, "Current State") == "All of it is loaded. Next: the plot."
    assert text(desk, "Key Decisions").count("Semicolons") == 1


@pytest.mark.parametrize("reply", ["", "All is fine.", "## Goal\nto plot"])
def test_a_reply_without_its_headings_makes_no_note(tmp_path: Path, reply: str) -> None:
    desk = Desk(tmp_path)
    with pytest.raises(NoteRefused, match="none of its headings"):
        refresh(desk, reply)
    assert not desk.files


def test_what_may_not_be_written_is_told_and_the_rest_is_written(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    key = "sk-" + "a1B2c3D4" * 5
    _, said = refresh(desk, REPLY.replace("Semicolons", f"password {key}"))
    assert any("secret" in sentence for sentence in said)
    assert not text(desk, "Key Decisions") and text(desk, "Worklog")


def test_headings_are_found_however_they_are_written() -> None:
    reply = "# worklog:\n✓ a\n### Files and Functions **\n- a.py\n## Worklogs\n✓ b"
    assert sections_of(reply) == {
        "Worklog": "✓ a",
        "Files and Functions": "- a.py\n## Worklogs\n✓ b",
    }
