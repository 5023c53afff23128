from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.workspace import diffs
from shiro_jupyter.core.workspace.diffs import ROOM, diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "dd", "e f", ""]), max_size=40)


def unified(before: str, after: str) -> str:
    return diff(before, after).text


def test_a_change_is_shown_with_the_lines_around_it() -> None:
    before = "".join(f"{n}\n" for n in range(1, 20))
    made = diff(before, before.replace("9\n", "nine\nand\n", 1).replace("19", "x"))
    assert made.text.split("\n") == [
        "@@ -6,7 +6,8 @@", " 6", " 7", " 8", "-9", "+nine", "+and", " 10", " 11", " 12",
        "@@ -16,4 +17,4 @@", " 16", " 17", " 18", "-19", "+x",
    ]  # fmt: skip
    assert (made.added, made.removed) == (3, 2)
    assert made.lines == ((9, "nine"), (10, "and"), (20, "x"))
    assert made.counted == "3 lines added, 2 lines removed"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("", "a\n", "@@ -0,0 +1 @@\n+a"),
        ("a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b"),
        ("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at the end\n+a"),
        ("a\r\n", "a\n", "@@ -1 +1 @@\n-a␍␊\n+a␊"),
        ("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c"),
        ("a\x0cb\n", "a\x0cc\n", "@@ -1 +1 @@\n-a\x0cb\n+a\x0cc"),
        ("a\n", "a\n", ""),
    ],
)
def test_ends_of_lines_and_of_files_are_shown_where_they_matter(
    before: str, after: str, shown: str
) -> None:
    assert unified(before, after) == shown


@settings(deadline=None)
@given(LINES, LINES, st.sampled_from([0, 12, 250_000]))
def test_the_differences_make_the_new_text_of_the_old_one(
    before: list[str], after: list[str], compared: int
) -> None:
    """Also where gaps are too large to compare line by line."""
    old, new = ["\n".join([*each, ""]) for each in (before, after)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diffs, "COMPARED", compared)
        made = diff(old, new)
    assert (apply(before, made.text) if made.text else before) == after
    assert len(before) + made.added - made.removed == len(after)
    assert [after[number - 1] for number, _ in made.lines] == [text for _, text in made.lines]


def apply(lines: list[str], patch: str) -> list[str]:
    """What the hunks say, checked line by line against the old text."""
    made, at = list[str](), 0
    for line in patch.split("\n"):
        if line.startswith("@@"):
            old = line.split(" ")[1][1:]
            start, _, count = old.partition(",")
            first = int(start) - (count != "0")
            made += lines[at:first]
            at = first
        elif line[0] == "+":
            made.append(line[1:])
        else:
            assert lines[at] == line[1:]
            made += [line[1:]] if line[0] == " " else []
            at += 1
    return made + lines[at:]


def test_git_applies_it(tmp_path: Path) -> None:
    before = "".join(f"line {n % 7}\n" for n in range(60))
    after = before.replace("line 3\n", "x\n", 2).replace("line 5\n", "") + "end\n"
    (tmp_path / "f").write_text(before)
    patch = f"--- a/f\n+++ b/f\n{unified(before, after)}\n"
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "f").read_text() == after


def test_long_texts_take_no_time_to_speak_of() -> None:
    before = [f"{n % 300} same\n" if n % 2 else f"{n} own\n" for n in range(60_000)]
    after = [line.replace("99", "X") for line in before]
    started = time.process_time()
    made = diff("".join(before), "".join(after))
    assert time.process_time() - started < 10
    assert made.added == made.removed
    changed = sum(1 for one, other in zip(before, after, strict=True) if one != other)
    assert changed <= made.added <= 2 * changed


def test_lines_that_are_all_alike_are_told_one_by_one_where_none_is_new() -> None:
    before = [f"{n % 50}\n" for n in range(60_000)]
    after = ["x\n" if n % 100 == 7 else line for n, line in enumerate(before)]
    made = diff("".join(before), "".join(after))
    assert made.sizes == "600 lines added, 600 lines removed"
    assert diff("".join(before), "".join(after[1:-2])).removed > 50_000


def test_a_long_difference_is_cut_at_a_line_and_says_first_how_much_is_not_shown() -> None:
    made = diff("", "".join(f"line {n}\n" for n in range(10_000)))
    shown = made.text.split("\n")
    assert len(made.text) <= ROOM and len(made.text) > ROOM - 20
    assert shown[1:] == [f"+line {n}" for n in range(len(shown) - 1)]
    assert made.left == 10_000 - (len(shown) - 1)
    assert made.sizes == "10,000 lines added, 0 lines removed"
    assert made.counted == f"{made.sizes}; {made.left:,} of these are NOT shown"
    assert made.lines == tuple((n + 1, f"line {n}") for n in range(diffs.LINES))


def test_of_one_line_that_is_too_long_the_beginning_is_shown() -> None:
    made = diff("", "x" * 100_000)
    assert made.text.split("\n")[1].startswith("+xxx") and "characters not shown" in made.text
    assert len(made.text) < ROOM + 100 and made.left == 1
