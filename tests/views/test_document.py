from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from shiro_jupyter.views.document import Folded, Line, Table, bundle, clipped, plain

HOSTILE = "a|b <img src=x onerror=alert(1)> [x](javascript:1)\n\n# c \u202e"


class Cells(HTMLParser):
    """The texts of a table's cells, and every tag there is."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and data.strip():
            self.rows[-1][-1] += data


LONG = "the export has --no-cache and https://example.com/" + "x" * 40 + " day-first"
MANY = Table(
    ("id", "text", "note", "why"),
    (("a1", "short", "", ""), ("b22", LONG, "stale: it is gone", "because of #a")),
    main=1,
)


def test_a_table_stands_in_columns_and_a_row_is_a_line_where_no_width_is_known() -> None:
    assert plain([Line("Two:"), MANY]).split("\n") == [
        "Two:",
        "id   text",
        "a1   short",
        f"b22  {LONG} — stale: it is gone; because of #a",
    ]


def test_what_is_to_be_read_is_wrapped_between_words_with_its_notes_below() -> None:
    lines = [
        "id   text",
        "a1   short",
        "b22  the export has",
        "     --no-cache and",
        f"     https://example.com/{'x' * 40}",
        "     day-first",
        "     — stale: it is gone;",
        "     because of #a",
    ]
    assert plain([MANY], 29).split("\n") == lines
    folded = plain([Folded("more", (MANY,))], 31).split("\n")
    assert folded == ["more", *(f"  {line}" for line in lines)]
    assert plain([MANY], 1) == plain([MANY], 29)  # no narrower than can be read
    assert max(map(len, bundle([MANY])["text/plain"].replace("x", "").split("\n"))) <= 80


def test_characters_of_two_columns_are_wrapped_by_columns() -> None:
    table = Table(("名", "text"), (("注文", "日付は日が先" * 5), ("a", "é" * 24)))
    assert plain([table], 30).split("\n") == [
        "名    text",
        "注文  日付は日が先日付は日が先",
        "      日付は日が先日付は日が先",
        "      日付は日が先",
        f"a     {'é' * 24}",
    ]


def test_short_cells_of_html_are_not_broken_and_long_ones_are() -> None:
    html = bundle([MANY])["text/html"]
    style = "text-align:left;vertical-align:top"
    assert f'<td style="{style};white-space:nowrap">stale: it is gone</td>' in html
    assert f'<td style="{style};overflow-wrap:anywhere">{LONG}</td>' in html
    table = Table(("note", "text"), (("x" * 21, "short"),))
    assert f'<td style="{style}">{"x" * 21}</td>' in bundle([table])["text/html"]


def test_numbers_end_at_one_line() -> None:
    table = Table(("turn", "in", "text"), (("1", "12,345", "a"), ("22", "7", "b")), numbers=(1,))
    assert plain([table], 40).splitlines() == [
        "turn      in  text",
        "1     12,345  a",
        "22         7  b",
    ]
    shown = bundle([table])
    assert "| --- | ---: | --- |" in shown["text/markdown"]
    assert shown["text/html"].count("text-align:right") == 3


def test_what_a_cell_holds_is_text_in_every_form() -> None:
    shown = bundle([Table(("head",), ((HOSTILE,),))])
    seen = "a|b <img src=x onerror=alert(1)> [x](javascript:1) # c ⟨U+202E⟩"
    html = Cells(shown["text/html"])
    assert html.rows == [["head"], [seen]]
    assert html.tags <= {"div", "table", "thead", "tbody", "tr", "th", "td", "span"}
    assert seen in shown["text/plain"]
    markdown = MarkdownIt("commonmark").enable("table").render(shown["text/markdown"])
    assert Cells(markdown).rows == [["head"], [seen]]


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=4))
def test_a_table_has_its_rows_whatever_is_in_them(rows: list[tuple[str, str]]) -> None:
    shown = bundle([Table(("one", "two"), tuple(rows))])
    assert [len(row) for row in Cells(shown["text/html"]).rows] == [2] * (len(rows) + 1)
    lines = plain([Table(("one", "two"), tuple(rows))])
    assert len(lines.split("\n")) == len(rows) + 1
    assert "".join(shown["text/plain"].split()) == "".join(lines.split())
    markdown = MarkdownIt("commonmark").enable("table").render(shown["text/markdown"])
    assert [len(row) for row in Cells(markdown).rows] == [2] * (len(rows) + 1)


def test_a_long_text_is_cut_at_its_lines_and_within_one_that_is_as_long() -> None:
    text = "".join(f"line {number}\n" for number in range(100, 200))
    head, cut, tail = clipped(text, 190).partition("\n… 721 characters not shown …\n")
    assert cut and head.endswith("\nline 109") and tail.startswith("line 190\n")
    assert clipped("x" * 30, 10) == "xxxxx\n… 20 characters not shown …\nxxxxx"
    assert clipped(text, 1_000) == clipped(text, 900) == text
