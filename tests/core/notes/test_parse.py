from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.notes.note import HEADINGS, NOTHING, SECTIONS, Note, edited
from shiro_jupyter.core.notes.parse import body_of, parse
from tests.core.notes.test_note import MARKUP, headings

BARE = Note("ab12cd34")
NOTE = Note(
    "ab12cd34",
    session="s1",
    created="2026-11-30 09:00:00",
    updated="2026-11-30 09:10:00",
    title="Load the orders",
    notebook="eda.ipynb",
    others=("mood: good",),
    texts=("loading", "", "- load.py", "- day-first", "```\n## Worklog\n```", "✓ loaded"),
)
FILE = NOTE.render()
PLAIN = FILE.replace("```\n## Worklog\n```", "```\n# code\n```")


def test_what_was_rendered_is_read_back_without_a_repair() -> None:
    assert parse(FILE, BARE) == (NOTE, ())


@given(st.lists(MARKUP | st.text(), min_size=6, max_size=6), st.text())
def test_any_text_is_read_back(texts: list[str], title: str) -> None:
    note = Note("ab12cd34", title=" ".join(title.split()) or "x")
    for section, text in zip(SECTIONS, texts, strict=True):
        note = note.with_text(section, text.replace("\r", ""))
    again, repairs = parse(note.render(), BARE)
    assert (again.texts, repairs) == (note.texts, ())


@pytest.mark.parametrize(
    ("change", "repair", "holds"),
    [
        (("## Worklog", "## worklog:"), "“## worklog:” became “## Worklog” again", ()),
        (("## Worklog", "#### Worklog"), "“#### Worklog” became “## Worklog” again", ()),
        (("## Worklog", "## Work logs"), "“## Work logs” became “## Worklog” again", ()),
        (("## Worklog", "# WORKLOG"), "became “## Worklog” again", ()),
        (("## Errors & Corrections", "## Errors and corrections"), "again", ()),
        (("## Files and Functions", "## Dateien"), "“## Dateien” became", ("### Dateien",)),
        (("## Worklog", ""), "“## Worklog” was missing", ()),
        (("## Worklog", "## Ideas\n\nan idea\n\n## Worklog"), "is no section", ("### Ideas",)),
        (("## Worklog", "## Task Specification\n\nmore\n\n## Worklog"), "both are one", ("more",)),
        (("# Session: Load the orders", ""), "title was gone", ()),
        (("## Current State", "a word\n\n## Current State"), "above the sections", ("a word",)),
        (("loading", "loading\n# comment"), "“# comment” is no section", ("### comment",)),
        (("- day-first", "```\n- day-first"), "made plain", ("```\n- day-first\n```",)),
        (("---\nid", "id"), "front matter was gone", ("id: ab12cd34",)),
    ],
)
def test_a_broken_note_is_mended_without_losing_text(
    change: tuple[str, str], repair: str, holds: tuple[str, ...]
) -> None:
    note, repairs = parse(PLAIN.replace(*change, 1), BARE)
    assert any(repair in each for each in repairs), repairs
    assert headings(note)[:4] == list(HEADINGS[:4])
    assert all(each in note.body for each in (*holds, "loading", "day-first", "✓ loaded"))
    assert note.text("Files and Functions").endswith("- load.py")
    assert parse(note.render(), BARE) == (note, ())


def test_what_follows_a_heading_that_stood_twice_stays_with_it() -> None:
    again = "## Current State\n\nmore\n\n## Ideas\n\nan idea\n\n## Worklog\n\n"
    note, _ = parse(PLAIN.replace("## Worklog\n\n", again), BARE)
    assert note.text("Current State") == "loading\n\nmore\n\n### Ideas\n\nan idea"


def test_sections_out_of_order_go_back_to_their_places() -> None:
    parts = NOTE.body.split("\n## ")
    note, repairs = parse(NOTE.front + "\n## ".join([parts[0], *reversed(parts[1:])]), BARE)
    assert "order" in repairs[-1]
    assert sorted(note.texts[:4]) == sorted(NOTE.texts[:4])


def test_an_open_fence_does_not_swallow_the_sections_behind_it() -> None:
    """Not even where a later fence would close it."""
    note, _ = parse(PLAIN.replace("loading", "```\nloading"), BARE)
    assert note.text("Current State") == "```\nloading\n```"
    assert note.texts[1:4] == NOTE.texts[1:4] and note.texts[5] == "✓ loaded"


def test_nor_where_a_heading_of_ours_stands_in_it() -> None:
    note, _ = parse(PLAIN.replace("loading", "```\n## Worklog"), BARE)
    assert note.text("Current State") == "```\n## Worklog\n```"
    assert note.texts[1:4] == NOTE.texts[1:4] and note.texts[5] == "✓ loaded"


def test_placeholder_and_text_never_stand_together() -> None:
    note, _ = parse(FILE.replace("✓ loaded", f"{NOTHING}\n✓ loaded"), BARE)
    assert note == NOTE


def test_windows_line_ends_are_read() -> None:
    assert parse(FILE.replace("\n", "\r\n"), BARE) == (NOTE, ())
    assert body_of(FILE.replace("\n", "\r\n")) == NOTE.body.replace("\n", "\r\n")


@given(st.data())
def test_no_written_line_is_ever_lost(data: st.DataObject) -> None:
    """Lines moved, dropped and put in at random: every line of words is there afterwards."""
    lines = data.draw(st.sampled_from((FILE, PLAIN))).split("\n")
    for at in range(data.draw(st.integers(0, 5))):
        place = data.draw(st.integers(0, len(lines)))
        if data.draw(st.booleans()):
            lines[place:place] = [*data.draw(MARKUP).split("\n"), f"mine {at}"]
        else:
            del lines[place : place + 3]
    text = "\n".join(lines)
    note, _ = parse(text, BARE)
    words = [line.strip() for line in lines if any(map(str.isalpha, line))]
    written = note.render()
    assert not [
        line for line in words
        if line.lstrip("# <") not in written
        and line != NOTHING and not line.startswith(("id:", "status:", "# Session", "---"))
    ]  # fmt: skip
    assert [line for line in headings(note) if line in HEADINGS][:1] == list(HEADINGS[:1])
    assert parse(written, BARE) == (note, ())
    assert edited(note, "add", "Worklog", "✓ x").text("Worklog").endswith("✓ x")
