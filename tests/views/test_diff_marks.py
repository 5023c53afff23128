from __future__ import annotations

import pytest

from shiro_jupyter.core.workspace.diffs import diff
from shiro_jupyter.views.diff_marks import diff_marks


def test_each_line_of_a_diff_is_marked_and_comments_of_sql_are_no_names_of_files() -> None:
    old = "-- all\nselect 1\n-- of 2025\nfrom a;\n"
    made = diff(old, old.replace("-- of 2025", "++ of 2026"))
    text = f"{made.counted}\n{made.text}"
    assert "\n--- of 2025\n+++ of 2026\n" in text
    assert diff_marks(text) == " @  -+ "


def test_what_git_says_of_each_file_is_told_apart_from_its_lines() -> None:
    text = (
        "commit 17dadce\n\n- a point of the message\n--- a rule\n\n"
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ def f():\n"
        " same\n-old\n\\ No newline at the end\n+new\n"
        "diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n--y\n++y\n[3 lines left out]\n- no line"
    )
    marks = dict(zip(text.split("\n"), diff_marks(text), strict=True))
    assert [line for line, mark in marks.items() if mark == "@"] == [
        *("--- a/x", "+++ b/x", "@@ -1,2 +1,2 @@ def f():"),
        *("--- a/y", "+++ b/y", "@@ -1 +1 @@"),
    ]
    assert [line for line, mark in marks.items() if mark in "+-"] == ["-old", "+new", "--y", "++y"]


def test_lines_go_on_behind_what_is_not_shown() -> None:
    assert diff_marks("@@ -1,9 +1 @@\n-a\n… 90 characters not shown …\n-b\n\n+c") == "@- - +"


@pytest.mark.parametrize("text", ["", "- a\n+ b", "a @@ -1 +1 @@", "@@ twice", "---\n+++\n"])
def test_other_texts_hold_no_diff(text: str) -> None:
    assert diff_marks(text) == ""
