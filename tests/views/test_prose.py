from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.views.markdown_safe import html_blocks, to_html
from shiro_jupyter.views.prose import LONGEST_BLOCK, STEP, Blocks, open_fence

# What makes a block, ends it or goes on with it; no reference definitions.
BITS = st.sampled_from(
    [
        *("a", "b c", " ", "  ", "    ", "\t", "\n", "\n\n", "\r\n", "2", "=", "**", "`", "$x$"),
        *("- ", "* ", "1. ", "2. ", "> ", "# ", "---", "```", "```\n", "~~~", "|", "| a | b |\n"),
        "|---|---|\n",
    ]
)


@given(st.lists(st.tuples(BITS, st.booleans()), max_size=30))
def test_a_stream_cut_anywhere_gives_the_html_of_the_whole(bits: list[tuple[str, bool]]) -> None:
    blocks, text, shown = Blocks(), "", [""]
    for bit, told in bits:
        # A bit may be cut in its middle.
        for piece in (bit[: len(bit) // 2], bit[len(bit) // 2 :]):
            text += piece
            if told:
                shown = blocks.update(text)
                assert shown == Blocks().update(text)
    shown = blocks.update(text)
    assert "".join(shown) == to_html(text)
    assert shown == [html for _, html in html_blocks(text)]


def test_what_is_settled_is_made_once() -> None:
    blocks = Blocks()
    before: list[str] = []
    text = ""
    for number in range(40):
        text += f"Paragraph *{number}*\nof two lines.\n\n"
        shown = blocks.update(text)
        assert all(one is other for one, other in zip(shown[:-2], before, strict=False))
        before = shown
    assert len(before) == 40
    assert blocks.update(text)[-1] is before[-1]


PARAGRAPH = "words and **more** words, "
LIST = "- an item\n  of two lines\n    - with another in it\n"
CODE = "    x = '*not emphasis*'\n"
ROW = "| Rome | *3* |\n"
LONG = {
    "paragraph": ("", PARAGRAPH),
    "list": ("", LIST),
    "fence": ("~~~python\n", CODE),
    "table": ("| city | n |\n|---|--:|\n", ROW),
    "one word": ("", "x" * 99),
    "quote": ("", "> said\n"),
    "nested": ("", "> " * 12 + "deep\n"),
    "paragraphs": ("", PARAGRAPH * 9 + "\n\n"),
}


@pytest.mark.parametrize("kind", LONG)
def test_time_grows_with_the_text_and_no_faster(kind: str) -> None:
    start, piece = LONG[kind]

    def read(size: int) -> int:
        """How many characters are read, of a text that comes bit by bit."""
        seen = 0

        def render(source: str) -> list[tuple[int, str]]:
            nonlocal seen
            seen += len(source)
            assert len(source) < 3 * LONGEST_BLOCK + STEP
            return html_blocks(source)

        blocks, text = Blocks(render), start + piece * (size // len(piece))
        for end in range(0, len(text), 500):
            blocks.update(text[:end])
        return seen

    short, long = read(4 * LONGEST_BLOCK), read(8 * LONGEST_BLOCK)
    assert long < 2.5 * short


def streamed(text: str) -> list[str]:
    blocks, shown = Blocks(), [""]
    for end in range(0, len(text) + 500, 500):
        shown = blocks.update(text[:end])
    return shown


def test_a_long_paragraph_is_cut_between_words() -> None:
    shown = streamed(PARAGRAPH * 500)
    assert 3 < len(shown) < 9
    assert "".join(shown).count("<strong>more</strong>") == 500
    assert all(each.startswith("<p>") and each.endswith("</p>\n") for each in shown)


def test_a_long_list_is_cut_at_an_item() -> None:
    shown = streamed(LIST * 400)
    assert len(shown) > 3
    assert all(each.startswith("<ul><li>") and "<pre" not in each for each in shown)
    assert "".join(shown).count("with another in it") == 400


def test_a_long_code_block_is_opened_again_and_closes_where_it_did() -> None:
    shown = streamed("Intro.\n\n~~~python\n" + CODE * 500 + "~~~\n\nand *more*.\n")
    assert shown[0] == "<p>Intro.</p>\n" and shown[-1] == "<p>and <em>more</em>.</p>\n"
    assert len(shown) > 4 and all(each.startswith("<pre") for each in shown[1:-1])
    assert "".join(shown).count(">    x = &#x27;*not emphasis*") == len(shown) - 2
    assert "".join(shown).count("*not emphasis*") == 500


def test_a_long_table_keeps_its_head() -> None:
    shown = streamed("| city | n |\n|---|--:|\n" + ROW * 1_000 + "\nDone.")
    assert all("<th" in each and "<em>3</em>" in each for each in shown[:-1])
    assert "".join(shown).count("Rome") == 1_000
    assert shown[-1] == "<p>Done.</p>\n"


def test_another_text_is_begun_anew() -> None:
    blocks = Blocks()
    blocks.update("First.\n\nSecond.\n\nThird.\n\nFourth.\n\n")
    assert blocks.update("Other *text*.") == ["<p>Other <em>text</em>.</p>\n"]
    assert blocks.update("") == []


def test_a_text_of_any_length_at_once() -> None:
    whole = PARAGRAPH * 9 + "\n\n"
    assert Blocks().update(whole * 2_000) == [*[to_html(whole)] * 2_000]


def test_nothing_gets_out_at_a_cut() -> None:
    hostile = "<img src=x onerror=alert(1)>[a](javascript:alert(1)) " * 300
    html = "".join(streamed(hostile) + streamed("`" * 9_000) + streamed("~" * 9_000 + "\n" * 9_000))
    assert "<img" not in html and "href" not in html


def test_which_fence_is_open() -> None:
    assert open_fence("```python\nx\n") == "```"
    assert open_fence("```python\n```js\n") == "```"  # no end: it has an info string
    assert open_fence("````\n```\n") == "````"
    assert open_fence("~~~\n```\n~~~~\n") == ""
    assert open_fence("```not code```\n") == ""
