from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.errors import NoteRefused
from shiro_jupyter.core.notes.note import (
    HEADINGS,
    NOTHING,
    SECTIONS,
    Edit,
    Note,
    Section,
    edited,
    fenced,
    settled,
    slug_of,
    title_of,
)

EMPTY = Note("ab12cd34", session="s1", title="Load the orders")
ONLY_GROWS = "{} only grows: add a line that says what is right now."
CONTROLS = "The text holds control characters; write it again without them."


def headings(note: Note) -> list[str]:
    return [line for line in note.body.split("\n") if line.startswith("## ")]


def test_a_new_note_is_a_title_and_six_headings_with_the_placeholder() -> None:
    assert EMPTY.body == "# Session: Load the orders\n\n" + "\n".join(
        f"{heading}\n\n{NOTHING}\n" for heading in HEADINGS
    )
    assert EMPTY.front == (
        "---\nid: ab12cd34\nstatus: active\nsession: s1\ncreated: \nupdated: \n---\n"
    )


@pytest.mark.parametrize("section", SECTIONS)
def test_an_item_takes_the_place_of_the_placeholder(section: Section) -> None:
    note = edited(edited(EMPTY, "add", section, "✓ one"), "add", section, "→ two\n")
    assert note.text(section) == "✓ one\n→ two"
    assert note.body.count(NOTHING) == 5


def test_the_placeholder_is_back_when_the_last_item_is_gone() -> None:
    note = edited(EMPTY, "add", "Files and Functions", "- load.py: reads\n- plot.py: draws")
    note = edited(note, "remove", "Files and Functions", "- load.py: reads")
    assert note.text("Files and Functions") == "- plot.py: draws"
    assert edited(note, "remove", "Files and Functions", "plot.py") == EMPTY
    assert edited(note, "replace", "Files and Functions", "  ") == EMPTY


def test_removing_takes_the_rest_of_a_list_item_along_and_nothing_else() -> None:
    text = "- load.py: reads\n  and cleans\n- load.pyc\n\nwords"
    note = edited(EMPTY, "add", "Files and Functions", text)
    note = edited(note, "remove", "Files and Functions", "load.py: reads")
    assert note.text("Files and Functions") == "- load.pyc\n\nwords"


@pytest.mark.parametrize(
    ("edit", "section", "text", "says"),
    [
        (
            *("add", "Worklog", "✓ loaded\nplotted"),
            "Each line of the worklog begins with ✓ (done), ✗ (failed), → (in progress) or "
            "↺ (reverted); this one does not: “plotted”.",
        ),
        ("add", "Worklog", " \n ", "The text for Worklog is blank; say what to add."),
        ("add", "Current State", NOTHING, "The text for Current State is blank; say what to add."),
        ("replace", "Worklog", "✓ all", ONLY_GROWS.format("Worklog")),
        ("remove", "Worklog", "✓ one", ONLY_GROWS.format("Worklog")),
        ("replace", "Errors & Corrections", "", ONLY_GROWS.format("Errors & Corrections")),
        ("remove", "Errors & Corrections", "day-first", ONLY_GROWS.format("Errors & Corrections")),
        (
            *("remove", "Current State", "  "),
            "Say what to remove from Current State: its text, or a part of it.",
        ),
        (
            *("remove", "Current State", " plots"),
            "Current State does not hold “plots”, so nothing was removed; show the note and give a "
            "part of it.",
        ),
        (
            *("remove", "Current State", "load"),
            "2 places of Current State hold “load”, so nothing was removed; give more of its "
            "text:\n  - loads\n  - loaded",
        ),
        ("add", "Current State", "bell \x07", CONTROLS),
        ("add", "Current State", "half \ud83d", CONTROLS),
        (
            *("add", "Current State", "key: sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2"),
            "The text looks like it holds a secret (API key), so it was not noted; say where "
            "that is kept instead.",
        ),
    ],
)
def test_what_would_break_a_rule_is_refused(
    edit: Edit, section: Section, text: str, says: str
) -> None:
    note = edited(EMPTY, "add", "Current State", "- loads\n- loaded")
    note = edited(note, "add", "Worklog", "✓ one")
    note = edited(note, "add", "Errors & Corrections", "- dates are day-first")
    with pytest.raises(NoteRefused) as refused:
        edited(note, edit, section, text)
    assert str(refused.value) == says


def test_a_worklog_step_written_as_a_bullet_is_a_line_of_its_own() -> None:
    note = edited(EMPTY, "add", "Worklog", "- ✓ loaded\n\n  ✗  plotted\r\n↺ plots")
    assert note.text("Worklog") == "✓ loaded\n✗ plotted\n↺ plots"


def test_a_decision_that_goes_is_kept_among_the_corrections() -> None:
    note = edited(EMPTY, "add", "Key Decisions", "- parquet: keeps types\n- polars: fast")
    note = edited(note, "remove", "Key Decisions", "parquet")
    assert note.text("Key Decisions") == "- polars: fast"
    note = edited(note, "replace", "Key Decisions", "- pandas: known\n- polars: fast")
    note = edited(note, "replace", "Key Decisions", "- duckdb")
    assert note.text("Errors & Corrections") == (
        "- Decision withdrawn: - parquet: keeps types\n"
        "- Decision withdrawn: - pandas: known\n"
        "- Decision withdrawn: - polars: fast"
    )


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("# One\n## Two\n### Three", "### One\n### Two\n### Three"),
        ("  ## Worklog", "### Worklog"),
        ("#hash\n#\n####### no", "#hash\n###\n####### no"),
        ("Title\n---\nmore\n===", "Title\n\\---\nmore\n\\==="),
        ("\n\n---\n\nwords\n\n", "---\n\nwords"),
        ("<!-- open", "\\<!-- open"),
        ("```py\n# comment\n## Worklog\n```", "```py\n# comment\n## Worklog\n```"),
        ("```py\n# comment", "```py\n# comment\n```"),
        ("~~~~\n~~~\n```", "~~~~\n~~~\n```\n~~~~"),
        ("- ```\n  # comment\n# out", "- ```\n  # comment\n  ```\n### out"),
        (f"- ```\n{NOTHING}", "- ```\n  ```"),
        ("1. ```\n   # comment", "1. ```\n   # comment\n   ```"),
        (f"one\n{NOTHING}\ntwo", "one\ntwo"),
        (f"```\n{NOTHING}\n```", f"```\n{NOTHING}\n```"),
    ],
)
def test_text_can_not_pass_for_structure(written: str, kept: str) -> None:
    assert settled(written) == kept
    note = EMPTY.with_text("Task Specification", written)
    assert note.text("Task Specification") == kept


MARKUP = st.lists(
    st.sampled_from(["```", "~~~", "````py", "- ```", "  ```", "# a", "## Worklog", "---", "=", "",
                     NOTHING, "<!-- x", "text", "  deep", "\t", "✓ done", "`" * 5 + " x`"]),
    max_size=12,
).map("\n".join)  # fmt: skip


@given(MARKUP | st.text())
def test_settling_twice_changes_nothing(text: str) -> None:
    once = settled(text)
    assert settled(once) == once


@given(MARKUP)
def test_a_fence_is_longer_than_any_inside(text: str) -> None:
    block = fenced(text)
    fence = block.partition("markdown\n")[0]
    assert set(fence) == {"`"} and fence not in text
    assert block.startswith(f"{fence}markdown\n{text}") and block.endswith(f"\n{fence}")


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("load the orders", "load the orders"),
        ("Please load the orders. Then plot them", "Please load the orders"),
        ("one two three four five six seven eight nine", "one two three four five six seven eight"),
        ("load\u3164the\u2800orders\x1b", "load the orders"),
        ("fix it", "Work on: fix it"),
        ("**Fix**\n\n```py\nf(x)\n```", "Fix py f(x"),
        ("  \n", "Work without a title"),
        ("use sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2" + " for all", "use [redacted API key] for all"),
    ],
)
def test_a_title_is_three_to_eight_words_of_the_prompt(prompt: str, title: str) -> None:
    assert "a1B2" not in title_of(prompt)
    assert title_of(prompt) == title or "redacted" in title
    assert 3 <= len(title_of(prompt).split()) <= 8


@given(st.text())
def test_any_prompt_has_a_title_and_a_name_for_a_file(prompt: str) -> None:
    title = title_of(prompt)
    assert title and title == " ".join(title.split()) and len(title) <= 80
    assert slug_of(title) and len(slug_of(title).encode()) <= 160
    assert not set(slug_of(title)) & set('/\\\0. \n:*?"<>|')
