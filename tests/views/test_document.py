from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from shiro_jupyter.views.document import Line, Table, bundle, plain

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


def test_a_table_stands_in_columns_and_its_last_one_flows() -> None:
    table = Table(("id", "kind", "text"), (("a1", "fact", "short"), ("b22", "gotcha", "x" * 150)))
    assert plain([Line("Two:"), table]).split("\n") == [
        "Two:",
        "id   kind    text",
        "a1   fact    short",
        f"b22  gotcha  {'x' * 150}",
    ]


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
    assert len(shown["text/plain"].split("\n")) == len(rows) + 1
    markdown = MarkdownIt("commonmark").enable("table").render(shown["text/markdown"])
    assert [len(row) for row in Cells(markdown).rows] == [2] * (len(rows) + 1)
