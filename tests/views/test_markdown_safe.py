"""Hostile and ordinary Markdown, judged by readers that are not ours."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from types import FrameType

import mistune
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from shiro_jupyter.views.markdown_safe import LONGEST, code_span, fenced, to_html, to_markdown

ALLOWED = {
    "div", "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code",
    "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "s", "del", "br", "hr", "a",
    "span",
}  # fmt: skip
ATTRIBUTES = {"href", "rel", "style", "start", "class"}
STYLES = {"white-space:pre-wrap", "text-align:left", "text-align:right", "text-align:center"}

HOSTILE = [
    "![x](https://evil.test/pixel.png)",
    "![x][r]\n\n[r]: https://evil.test/pixel.png 'title'",
    "[![badge](https://evil.test/b.svg)](https://ok.test)",
    "<img src=x onerror=alert(1)>",
    "<img/src='https://evil.test/p.png'>",
    "text <script>alert(1)</script> text",
    "<svg onload=alert(1)><image href='https://evil.test/p.png'/></svg>",
    "<div style='background:url(https://evil.test)'>\n\n*a*\n\n</div>",
    "<details open ontoggle=alert(1)>",
    "<!-- hidden --><style>@import 'https://evil.test'</style>",
    "<?php x ?><![CDATA[ <b> ]]><!DOCTYPE html>",
    "&lt;img src=https://evil.test/p.png&gt; &#60;script&#62;",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java&#115;cript:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](<java\nscript:alert(1)>)",
    "[a](\x01javascript:alert(1))",
    "[a](&#x6A;avascript&colon;alert(1))",
    "[a][r]\n\n[r]: javascript:alert(1)",
    "[r]\n\n[r]: data:text/html;base64,PHNjcmlwdD4=",
    "<javascript:alert(1)> <data:text/html,x> <vbscript:x>",
    "[a](data:text/html,<script>alert(1)</script>) ![a](data:image/svg+xml,<svg/>)",
    "[a](//evil.test) [b](/lab?reset) [c](../api/kernels) [d](file:///etc/passwd)",
    '[a](https://ok.test/"onmouseover="alert(1)) [b](https://ok.test \'x" onclick=alert(1)\')',
    "[a](https://ok.test/%0Ajavascript:alert(1))",
    "`unclosed <img src=x>",
    "``` `<img src=x>\n<img src=x>",
    "```html\n<script>alert(1)</script>\n",
    "    <script>alert(1)</script>",
    "~~~\n``` </code></pre><img src=x>\n",
    "a\n===\n<img src=x>\n---",
    "| <img src=x> | `a|b` |\n|---|---|\n| ![x](https://evil.test) | [a](javascript:x) |",
    "- <img src=x>\n  > ![x](https://evil.test)\n",
    "wow!\\[x](https://evil.test) \\![x](https://evil.test) !\u200b[x](https://evil.test)",
    r"\\(\style{background:url(https://evil.test)}{x}\\) $\href{javascript:x}{y}$",
    "$<img src=x>$ $[a](javascript:x)$ $![a](https://evil.test/p)$ $$`<b>`$$",
    "\\begin{a}<script>\\end{a} \\[ <img src=x> \\]",
    "`<b>x</b>`{=html}\n\n```{=html}\n<script>\n```",
    "```mermaid\nA@{ img: 'https://evil.test/p.png' }\n```",
    "\\<img src=x> \\&lt;img src=x&gt; &amp;lt;img src=x>",
    "invoice\u202egnp.exe &#x202E;abc &#27;[2J \u200bz\u2066",
    "<https://ok.test/<script>> <a@b.test> https://ok.test/?<img>",
    "[^1]\n\n[^1]: <img src=x>",
    "# <img src=x> #\n\n<img src=x>\n=====",
    "---\ntitle: x\n---\n<b>",
]


class Page(HTMLParser):
    """What a browser would make of it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self.links: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, f"<{tag}>"
        for name, value in attrs:
            assert name in ATTRIBUTES, f"{tag} {name}"
            if name == "href":
                assert re.match(r"(https?://|mailto:)", value or "", re.IGNORECASE), value
                self.links.append(value or "")
            if name == "style":
                assert value in STYLES

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError("a declaration")

    handle_pi = unknown_decl = handle_decl

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words)).strip()


# Readers that let raw HTML pass, as notebooks do where they trust.
_COMMONMARK = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_COMMONMARK.validateLink = lambda url: True  # type: ignore[method-assign]
_MISTUNE = mistune.create_markdown(
    escape=False, plugins=["table", "strikethrough", "url", "footnotes", "math"]
)


def readings(markdown: str) -> list[Page]:
    strict = Page(_COMMONMARK.render(markdown))
    lenient = _MISTUNE(markdown)
    assert isinstance(lenient, str)
    return [strict, Page(lenient)]


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


def test_prices_are_no_formula_and_formulas_are_kept() -> None:
    html = to_html(r"from $5 to $10, but $x_1 < y_2$ and \(a*b*c\) and \[ \frac{a}{b} \]")
    assert html == (
        "<p>from <span>$</span>5 to <span>$</span>10, but $x_1 &lt; y_2$ "
        r"and \(a*b*c\) and \[ \frac{a}{b} \]</p>" + "\n"
    )
    assert to_markdown(r"$5 or $6; \(a\) \[b\]") == r"\$5 or \$6; $a$ $$b$$"


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
        *("javascript:x", "https://x.test", "<https://y.test>"),
    ]
)


@given(st.lists(PIECES, max_size=30).map(" ".join) | st.lists(PIECES, max_size=30).map("".join))
def test_no_mixture_of_markup_gets_out(text: str) -> None:
    page = Page(to_html(text))
    strict, lenient = readings(to_markdown(text))
    assert set(strict.links) == set(page.links)
    assert set(page.links) <= {*lenient.links, *(link.lower() for link in lenient.links)}


@given(st.text("`a \n~", max_size=40))
def test_nothing_leaves_a_code_block_or_span(text: str) -> None:
    tokens = _COMMONMARK.parse(fenced(text) + "\n\nafter")
    assert [token.type for token in tokens][:2] == ["fence", "paragraph_open"]
    flat = " ".join(text.split())
    if flat:
        inline = _COMMONMARK.parseInline(f"x {code_span(flat)} y")[0].children or []
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
    "lists": lambda n: "".join(" " * 2 * each + "- a\n" for each in range(n // 10)),
    "list lines": lambda n: "- " * 8 + "a\n" * n,
    "dollars": lambda n: "$a " * n,
    "dollar pairs": lambda n: "$" * n,
    "formula starts": lambda n: "\\[" * n + "\\(" * n,
    "wide table": lambda n: "|a" * n + "|\n" + "|-" * n + "|\n" + "|b" * n,
    "long table": lambda n: "|a|b|\n|-|-|\n" + "|1|2|\n" * n,
    "joiners": lambda n: "\u200d" * 50 * n,
    "very long": lambda n: "word " * (LONGEST // 1_000 * n),
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
