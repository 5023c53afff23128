"""Markdown and html as readers that are not ours take them, and texts that try their luck."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import mistune
from markdown_it import MarkdownIt

ALLOWED = {
    "div", "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code",
    "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "s", "del", "br", "hr", "a",
    "span", "details", "summary",
}  # fmt: skip
ATTRIBUTES = {"href", "rel", "style", "start", "class"}
STYLE = re.compile(r"[a-z0-9:;. -]*")

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
    r"$\unicode[x;background:url(//evil.test)]{65}$ $\bbox[background:url(//evil.test)]{x}$",
    r"\(\mmlToken{mi}[fontfamily='x;background:url(//evil.test)']{x}\)",
    "$<img src=x>$ $[a](javascript:x)$ $![a](https://evil.test/p)$ $$`<b>`$$",
    "\\begin{a}<script>\\end{a} \\[ <img src=x> \\]",
    "`<b>x</b>`{=html}\n\n```{=html}\n<script>\n```",
    "```mermaid\nA@{ img: 'https://evil.test/p.png' }\n```",
    "\\<img src=x> \\&lt;img src=x&gt; &amp;lt;img src=x>",
    "invoice\u202egnp.exe &#x202E;abc &#27;[2J \u200bz\u2066",
    "<https://ok.test/<script>> <a@b.test> https://ok.test/?<img>",
    "http://ok.test/a`<img src=x onerror=alert(1)>`",
    "http://ok.test/*a`<img src=x>`* https://ok.test/\\`<img src=x>` HTTP://ok.test`<img src=x>`",
    "[http://ok.test/a`<img src=x>`](https://ok.test) **http://ok.test**`<img src=x>`",
    "$http://ok.test/a$`<img src=x>` xhttp://ok.test`<img src=x>`",
    "![http://ok.test`](https://ok.test)`<img src=x>`",
    "www.ok.test/a`<img src=x>` ftp://ok.test/a`<img src=x>` http&#58;//ok.test/`<img src=x>`",
    "| http://ok.test/a`<img src=x>` |\n|---|\n| http://ok.test`<img src=x>` |",
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
                assert STYLE.fullmatch(value or ""), value

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
COMMONMARK = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
COMMONMARK.validateLink = lambda url: True  # type: ignore[method-assign]
_MISTUNE = mistune.create_markdown(
    escape=False, plugins=["table", "strikethrough", "url", "footnotes", "math"]
)


def readings(markdown: str) -> list[Page]:
    strict = Page(COMMONMARK.render(markdown))
    lenient = _MISTUNE(markdown)
    assert isinstance(lenient, str)
    return [strict, Page(lenient)]
