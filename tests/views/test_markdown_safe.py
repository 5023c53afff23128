"""Hostile and ordinary Markdown, judged by readers that are not ours."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.views.markdown_safe import LONGEST, code_span, fenced, to_html, to_markdown
from tests.views.reading import COMMONMARK, HOSTILE, Page, readings


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_is_harmless_in_every_reading(text: str) -> None:
    html, markdown = to_html(text), to_markdown(text)
    assert 'class="' not in html and "mermaid" not in markdown.partition("\n")[0]
    for page in (Page(html), *readings(markdown)):
        assert not re.search(r"[\u202a-\u202e\u2066-\u2069\u200b\x00-\x08\x1b]", page.text)
    assert not re.search(r"(?<!\\)\{=", markdown)


def test_what_was_dangerous_can_still_be_read() -> None:
    html = to_html(
        "<script>alert(1)</script> ![chart](https://x.test/a.png) [a](javascript:x) a\u202eb"
    )
    assert html == (
        "<p>&lt;script&gt;alert(1)&lt;/script&gt; "
        '<a href="https://x.test/a.png" rel="noopener noreferrer">[image: chart]</a> '
        "[a](javascript:x) a⟨U+202E⟩b</p>\n"
    )


def test_an_address_takes_nothing_that_follows_into_it() -> None:
    for before in ("http://ok.test/a", "HTTP://ok.test/*a", "www.ok.test/a", "xhttp://ok.test"):
        for page in readings(to_markdown(f"see {before}`<img src=x onerror=alert(1)>`")):
            assert page.text.endswith("<img src=x onerror=alert(1)>")
    assert to_markdown("(https://ok.test/a_b?c=1&d=2).") == "(<https://ok.test/a_b?c=1&d=2>)."
    assert to_markdown("https://ok.test/a(b)") == "https&#58;//ok.test/a(b)"


def test_prices_are_no_formula_and_formulas_are_kept() -> None:
    html = to_html(r"from $5 to $10, but $x_1 < y_2$ and \(a*b*c\) and \[ \frac{a}{b} \]")
    assert html == (
        "<p>from <span>$</span>5 to <span>$</span>10, but $x_1 &lt; y_2$ "
        r"and \(a*b*c\) and \[ \frac{a}{b} \]</p>" + "\n"
    )
    # A dollar that is only escaped is one again where JupyterLab looks for formulas.
    assert to_markdown(r"$5; \(a\) \[b\]") == r"<span>\$</span>5; $a$ $$b$$"
    assert to_markdown(r"\\(a\\)") == r"<span>\\</span>(a\\)"


ORDINARY = """\
# Title with *emphasis* and `code`

Some text, **strong**, _em_, ~~gone~~, snake_case and 2 * 3 * 4.  
A hard break. [A link](https://x.test/a_(b)?q=1&r=2 "title") <mailto:a@b.test>

1. one
2. two

   with a paragraph
   - nested
   - list
3. three

> quoted
> > twice

| name | `n` |
|:-----|----:|
| a \\| b | 1 |
| c | |

```python
print("```", f"{x!r}")  # <tag> & [link](javascript:x)
```

---

+ plus
+ list

1986\\. A great year & more.
"""  # noqa: W291


def test_ordinary_markdown_keeps_its_structure_in_both_forms() -> None:
    html = to_html(ORDINARY)
    again = to_html(to_markdown(ORDINARY))
    assert again == html
    for piece in (
        "<h1>Title with <em>emphasis</em> and <code>code</code></h1>",
        "<strong>strong</strong>",
        'href="https://x.test/a_(b)?q=1&amp;r=2"',
        '<td style="text-align:right">1</td>',
        '<td style="text-align:left">a | b</td>',
        "# &lt;tag&gt; &amp; [link](javascript:x)\n</code></pre>",
        "<blockquote><p>quoted</p>\n<blockquote><p>twice</p>",
        "1986. A great year &amp; more.",
    ):
        assert piece in html
    assert "```` python\n".replace(" ", "") + 'print("```", f"{x!r}")' in to_markdown(ORDINARY)
    assert "| a \\| b | 1 |" in to_markdown(ORDINARY)


PIECES = st.sampled_from(
    [
        *"ab `*_[]()\\|-+#>$=:!\n\t",
        *(
            "",
            "``",
            "```",
            "~~~",
            "~~",
            "**",
            "![",
            "](",
            "$$",
            "1.",
            "|-|",
            "\n\n",
            "\n- ",
            "\n> ",
        ),
        *("<b>", "<!--", "-->", "&lt;", "&#x3c;", "{=html}", "\n| "),
        *(
            "javascript:x",
            "https://x.test",
            "<https://y.test>",
            "http://z.test/a`",
            "<img src=x>",
            "www.",
        ),
    ]
)


@pytest.mark.parametrize(("text", "left"), [("[# a]()", "# a"), ("![ a]( )", "[image: a]")])
def test_a_link_to_nowhere_is_its_words(text: str, left: str) -> None:
    page = Page(to_html(text))
    assert page.text.strip() == left and not page.links
    for each in readings(to_markdown(text)):
        assert each.text.strip() == left and not each.links


@given(st.lists(PIECES, max_size=30).map(" ".join) | st.lists(PIECES, max_size=30).map("".join))
def test_no_mixture_of_markup_gets_out(text: str) -> None:
    page = Page(to_html(text))
    strict, lenient = readings(to_markdown(text))
    # A plain address in the text may be a link besides.
    assert set(strict.links) >= set(page.links)
    assert all(link in page.text for link in set(strict.links) - set(page.links))
    assert set(page.links) <= {*lenient.links, *(link.lower() for link in lenient.links)}


@given(st.text("`a \n~", max_size=40))
def test_nothing_leaves_a_code_block_or_span(text: str) -> None:
    tokens = COMMONMARK.parse(fenced(text) + "\n\nafter")
    assert [token.type for token in tokens][:2] == ["fence", "paragraph_open"]
    flat = " ".join(text.split())
    if flat:
        inline = COMMONMARK.parseInline(f"x {code_span(flat)} y")[0].children or []
        assert [token.content for token in inline] == ["x ", flat, " y"]


SLOW: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: "[" * n,
    "links": lambda n: "[a](" * n,
    "images": lambda n: "![" * n,
    "nested links": lambda n: "[" * n + "](x)" * n,
    "emphasis": lambda n: "*a_b **" * n,
    "ticks": lambda n: "`a``b" * n,
    "quotes": lambda n: "> " * n + "a",
    "quoted lines": lambda n: "> " * 9 + "a\n" * n,
    "many quotes": lambda n: "> > > > > a\n" * n,
    "lists": lambda n: "".join(" " * 2 * each + "- a\n" for each in range(8)) * (n // 10),
    "list lines": lambda n: "- " * 8 + "a\n" * n,
    "dollars": lambda n: "$a " * n,
    "dollar pairs": lambda n: "$" * n,
    "formula starts": lambda n: "\\[" * n + "\\(" * n,
    "wide table": lambda n: "|a" * n + "|\n" + "|-" * n + "|\n" + "|b" * n,
    "long table": lambda n: "|a|b|\n|-|-|\n" + "|1|2|\n" * n,
    "addresses": lambda n: "http://a.b?" * n,
    "joiners": lambda n: "\u200d" * 50 * n,
    "very long": lambda n: "word " * (LONGEST // 5_000 * n + 1),
    "one line": lambda n: "a " * 50 * n,
}


def work(text: str) -> int:
    """Calls made for both forms: what time is spent on, without a clock."""
    calls = 0

    def count(frame: FrameType, kind: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        to_html(text)
        to_markdown(text)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("name", SLOW)
def test_work_grows_no_faster_than_the_text(name: str) -> None:
    assert work(SLOW[name](1_000)) < 2.3 * work(SLOW[name](500)) + 2_000


def test_what_is_nested_beyond_reason_is_shown_verbatim_and_whole() -> None:
    for text in ("> " * 50 + "deep & <b>", "\n".join("  " * n + "- deep & <b>" for n in range(30))):
        assert "deep &amp; &lt;b&gt;</pre>" in to_html(text)
        assert to_markdown(text) == f"```\n{text}\n```"
