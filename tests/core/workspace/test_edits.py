from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.errors import EditRefused
from shiro_jupyter.core.workspace.edits import Edit, edited, lines_of, with_breaks_of


def refusal(text: str, *edits: Edit) -> EditRefused:
    with pytest.raises(EditRefused) as caught:
        edited(text, edits)
    return caught.value


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\nb\n", "b", "c", "a\nc\n"),
        ("a\nb\n", "a\nb\n", "", ""),
        ("a", "a", "a\n", "a\n"),
        # Any line end stands for any other, and new ones are as those around them.
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
        ("a\rb\rc", "b\nc", "b\nc\nd", "a\rb\rc\rd"),
        ("a\nb\n", "a\r\nb\r\n", "c\r\n", "c\n"),
        ("a\r\nb", "b", "c\nd", "a\r\nc\r\nd"),
        ("ab", "b", "c\nd", "ac\nd"),
        # In a mixed file what is only named keeps its end; what is new has that of its span.
        ("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nX\nc\n", "a\r\nX\nc\r\n"),
        ("a\r\nb\nc\r\n", "b\n", "b\nb2\n", "a\r\nb\nb2\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc", "a\nb\nX", "a\r\nb\nX\r\n"),
        ("1\n2\r\n3\n", "2", "2\n2", "1\n2\r\n2\r\n3\n"),
        ("a\r\n\r\nb", "\n\nb", "\nb", "a\r\nb"),
        # A carriage return within a line that is written as such stays one.
        ("a\nb", "b", "c\rd", "a\nc\rd"),
        # Blanks, quotes and marks elsewhere are none of its business.
        ("x \t\n“q”\u00a0\nend", "end", "END", "x \t\n“q”\u00a0\nEND"),
        ("f(.*)", "(.*)", r"\1\g<0>", r"f\1\g<0>"),
    ],
)
def test_only_the_span_changes(text: str, old: str, new: str, after: str) -> None:
    assert edited(text, [Edit(old, new)]) == after


def test_one_line_end_is_never_taken_for_two() -> None:
    assert "0 times" in str(refusal("a\r\nb", Edit("a\n\nb", "x")))
    assert "0 times" in str(refusal("a\n", Edit("a\n\n", "x")))


def test_everywhere_replaces_what_does_not_overlap() -> None:
    assert edited("aaa a\r\naa", [Edit("aa", "b", everywhere=True)]) == "ba a\r\nb"
    assert edited("a\nx\r\na\r\n", [Edit("a\n", "b\nc\n", True)]) == "b\nc\nx\r\nb\r\nc\r\n"


@pytest.mark.parametrize(
    ("text", "old", "said"),
    [
        ("a\nb a\r\na", "a", "found 3 times, in lines 1, 2 and 3; give more"),
        ("a a", "a", "found 2 times, in line 1;"),
        ("aaa", "aa", "found 2 times, in line 1;"),
        ("a\n" * 900, "a", "found 900 times, in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, "
         "14, 15, 16, 17, 18, 19, 20 and further on;"),
        ("a" * 1200, "a", "found more than 1,000 times, in line 1 and further on;"),
    ],
)  # fmt: skip
def test_several_matches_are_counted_with_their_lines(text: str, old: str, said: str) -> None:
    assert said in str(refusal(text, Edit(old, "x")))


def test_no_match_shows_the_likest_lines() -> None:
    error = refusal("def f():\n\treturn 1\n", Edit("def f():\n    return 1\n", "x"))
    assert "found 0 times" in str(error) and "return" not in str(error)
    assert "-2: '\\treturn 1'" in error.excerpt


def test_what_would_change_nothing_or_is_empty_is_refused() -> None:
    assert "nothing would change" in str(refusal("a\r\n", Edit("a\r\n", "a\n")))
    assert "old_text is empty" in str(refusal("a", Edit("", "b")))


def test_a_placeholder_is_refused_unless_it_stood_there() -> None:
    text = "a\n# ... rest unchanged\n"
    assert "'# ... rest unchanged'" in str(refusal("a", Edit("a", "b\n# ... rest unchanged")))
    assert edited(text, [Edit(text, f"b\n{text}")]) == f"b\n{text}"


def test_edits_are_made_each_on_what_the_one_before_left() -> None:
    assert edited("a\r\nb", [Edit("a", "c\nd"), Edit("d\nb", "e")]) == "c\r\ne"
    error = refusal("a", Edit("a", "b"), Edit("a", "c"), Edit("b", "d"))
    assert str(error).startswith("edit 2 of 3 cannot be made, so none was: old_text was found 0")


@pytest.mark.parametrize(
    ("old", "new", "given"),
    [
        ("a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"),
        ("a\rb", "x\ny", "x\ry"),
        ("a\r\nb\n", "x\ny\n", "x\ny\n"),
        ("a\r\n", "x\r\ny\n", "x\r\ny\n"),
        ("a\n", "x\r\n", "x\r\n"),
        ("", "x\n", "x\n"),
    ],
)
def test_a_whole_text_takes_the_one_line_end_that_a_file_has(
    old: str, new: str, given: str
) -> None:
    assert with_breaks_of(old, new) == given


def test_lines_are_as_a_reader_counts_them() -> None:
    assert lines_of("a\r\nb\rc\x0cd\u2028\n\n") == ["a", "b", "c\x0cd\u2028", ""]


PIECES = st.lists(st.sampled_from(["a", "é", " ", "\t", "\n", "\r\n", "\r", "\u2028"]), max_size=20)


@given(PIECES, PIECES, st.lists(st.sampled_from(["x", "y\n", "\r\n"]), max_size=5))
def test_every_character_outside_the_span_stays(
    before: list[str], after: list[str], new: list[str]
) -> None:
    head, tail = "".join(before), "".join(after)
    changed = edited(f"{head}[old]{tail}", [Edit("[old]", "".join(new) + "!")])
    assert changed.startswith(head) and changed.endswith("!" + tail)
    middle = changed[len(head) : len(changed) - len(tail)]
    assert lines_of(middle) == lines_of("".join(new) + "!")


def test_a_great_many_places_take_no_time_to_speak_of() -> None:
    for text in ("x" * 600_000, "x\r\n" * 200_000, "\n\r\n" + "x" * 600_000):
        started = time.process_time()
        assert edited(text, [Edit("x", "y\nz", everywhere=True)]).count("z") == text.count("x")
        refusal(text, Edit("x", "y"))
        assert time.process_time() - started < 10


@pytest.mark.parametrize("ends", [["\n"], ["\r\n"], ["\n", "\r\n"]])
def test_edits_of_a_large_file_take_time_in_proportion_to_it(ends: list[str]) -> None:
    rows = [f"row {n:06d}" for n in range(100_000)]
    text = "".join(row + ends[n % len(ends)] for n, row in enumerate(rows))
    edits = [Edit(rows[n], f"{n}\nnew") for n in range(0, 100_000, 1_000)]
    start = time.process_time()
    made = edited(text, edits)
    everywhere = edited(text, [Edit("row", "x\ny", everywhere=True)])
    assert time.process_time() - start < 4
    assert len(lines_of(made)) == 100_100 and len(lines_of(everywhere)) == 200_000
