"""Markdown of a model, made harmless: as html, and as Markdown again.

Both are rebuilt from the parsed text, so that nothing passes that is not known here: raw HTML is
text, an image is a link that nobody fetches unasked, a link goes to http, https or mailto, and
what is hidden is made visible. Time is linear in the text; what is nested beyond reason, or
longer than anyone reads, is shown verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from .visible import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

LONGEST = 200_000
DEEPEST = 20
# A line that opens ten levels at once: cheap to write, costly to parse, nobody's text.
_TOO_NESTED = re.compile(r"^[ \t]*(?:>[ \t]*){10}|^[ \t]*(?:[-+*][ \t]+){9}[-+*]?[^-+*\s]", re.M)
_LINKS = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_INFO = re.compile(r"[\w+#.-]{1,40}")
# TeX as JupyterLab typesets it; `$` by pandoc's rule, so that prices stay prices. A span that
# other readers would take for a link or for code is no formula.
_MATH = re.compile(
    r"\$\$(?!\$)(?:\\.|[^$\\]){1,2000}\$\$"
    r"|\$(?![\s$])(?:\\.|[^$\\\n]){1,500}(?<!\s)\$(?!\d)"
    r"|\\\((?:(?!\\[()]).){1,500}\\\)"
    r"|\\\[(?:(?!\\[\[\]]).){1,2000}\\\]",
    re.DOTALL,
)
# Nor is what links, styles or names anything: MathJax puts the font of `\unicode` and `\mmlToken`
# into a style as it stands, and a browser fetches what that names.
_NOT_MATH = re.compile(
    r"\][(\[]|`|<[A-Za-z/!?]|://|www\."
    r"|\\(?:href|url|style|class|cssId|data|html|require|include|input|write|def|gdef|let|new|renew"
    r"|unicode|mmlToken|bbox)"
)
# Where a page would begin a formula; and what opens one that we do not let through as such.
_TEX_START = re.compile(r"\$|\\(?=[(\[]|begin\b|(?:eq)?ref\b)")


def to_html(text: str) -> str:
    """The text as html without scripts, remote content, classes or ids."""
    return "".join(html for _, html in html_blocks(text))


def html_blocks(text: str) -> list[tuple[int, str]]:
    """The html of each top-level block, behind the number of the line where it begins, from 0."""
    if (tokens := _parsed(text)) is None:
        return [(0, f'<pre style="white-space:pre-wrap">{html_text(text)}</pre>\n')]
    blocks: list[tuple[int, list[str]]] = []
    for token in tokens:
        if token.level == 0 and token.nesting >= 0:
            blocks.append(((token.map or [0])[0], []))
        blocks[-1][1].append(_html(token))
    return [(line, "".join(parts)) for line, parts in blocks]


def to_markdown(text: str) -> str:
    """The text as Markdown that no reader can take for anything else than what `to_html` shows."""
    if (tokens := _parsed(text)) is None:
        return fenced(text)
    return _Blocks(iter(tokens)).text_until("")


def html_text(text: str) -> str:
    """Text for html: escaped, visible, and with nothing that a page would take for a formula."""
    return _TEX_START.sub(r"<span>\g<0></span>", escape(visible(text)))


def fenced(text: str, info: str = "") -> str:
    """A Markdown code block that the text cannot leave."""
    fence = "`" * max(3, 1 + _longest_ticks(text))
    return f"{fence}{info}\n{visible(text).rstrip()}\n{fence}"


def code_span(text: str) -> str:
    """A Markdown code span that the text cannot leave; for one line."""
    ticks = "`" * (1 + _longest_ticks(text))
    pad = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{ticks}{pad}{visible(text)}{pad}{ticks}" if text.strip() else ""


def markdown_text(text: str) -> str:
    """Text for Markdown in which nothing is markup."""
    return "\n".join(_markdown_line(line, at_start=True) for line in visible(text).split("\n"))


# -- parsing ---------------------------------------------------------------------------------


@cache
def _parser() -> MarkdownIt:
    """Made at the first text, so that loading the package does not pay for it."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: bool(_LINKS.match(url))  # type: ignore[method-assign]
    parser.inline.ruler.before("escape", "math", _math)
    return parser


def _parsed(text: str) -> list[Token] | None:
    """None where the text is to be shown verbatim."""
    # Marks that may open or close something, by the thousand: seconds of work, and no text.
    marks = sum(map(text.count, "[*_~"))
    if len(text) > LONGEST or marks > 500 + len(text) // 8 or _TOO_NESTED.search(text):
        return None
    tokens = _parser().parse(text)
    # The parser drops what lies deeper than its limit.
    return None if any(token.level >= DEEPEST - 1 for token in tokens) else tokens


def _math(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    found = _MATH.match(state.src, state.pos)
    if not found or _NOT_MATH.search(found[0]):
        return False
    if not silent:
        state.push("math", "", 0).content = found[0]
    state.pos = found.end()
    return True


# -- html ------------------------------------------------------------------------------------

_TABLE_TAGS = ("table", "thead", "tbody", "tr", "th", "td")
_BLOCK_TAGS = frozenset(
    ("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", *_TABLE_TAGS)
)
_INLINE_TAGS = frozenset(("em", "strong", "s"))


def _html(token: Token) -> str:
    if token.type == "inline":
        return _inline_html(token.children or [])
    if token.type in ("fence", "code_block"):
        code = escape(visible(token.content))
        return f'<pre style="margin:0.6em 1em;overflow-x:auto"><code>{code}</code></pre>\n'
    if token.type == "hr":
        return "<hr>\n"
    if token.tag not in _BLOCK_TAGS:
        return html_text(token.content)
    if token.hidden:  # the paragraphs of a tight list
        return "\n" if token.nesting < 0 else ""
    if token.nesting < 0:
        return f"</{token.tag}>\n"
    attributes = ""
    if token.tag in ("th", "td"):
        attributes = f' style="text-align:{_align(token) or "left"}"'
    elif token.tag == "ol" and "start" in token.attrs:
        attributes = f' start="{int(token.attrs["start"])}"'
    return f"<{token.tag}{attributes}>"


def _inline_html(tokens: list[Token]) -> str:
    out = []
    for token, linked in _with_links(tokens):
        match token.type:
            case "softbreak":
                out.append("\n")
            case "hardbreak":
                out.append("<br>\n")
            case "code_inline":
                out.append(f"<code>{escape(visible(token.content))}</code>")
            case "math":
                out.append(escape(visible(token.content)))
            case "link_open":
                out.append(_anchor(token))
            case "link_close":
                out.append("</a>")
            case "image":
                words = html_text(_image_words(token))
                lone = not linked and _url(token)
                out.append(f"{_anchor(token)}{words}</a>" if lone else words)
            case _ if token.tag in _INLINE_TAGS:
                out.append(f"<{'/' if token.nesting < 0 else ''}{token.tag}>")
            case _:
                out.append(html_text(token.content))
    return "".join(out)


def _anchor(token: Token) -> str:
    return f'<a href="{escape(_url(token))}" rel="noopener noreferrer">'


# -- Markdown --------------------------------------------------------------------------------

# Many readers make a link of a bare address, up to the next blank, and so take the opening mark
# of a code span into it: what was code is then HTML. A plain address is closed; others are broken.
_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9])https?://(?P<plain>[A-Za-z0-9.-]{1,100}(?::[0-9]{1,5})?"
    r"(?:[/?#][A-Za-z0-9._~%/?#=&+,:-]{0,300})?(?<![.,:?]))(?=[.,;:!?)\]'\"*]{0,5}(?:\s|$))"
    r"|://|(?<![A-Za-z0-9])www\.",
    re.IGNORECASE,
)
_SPECIAL = re.compile(r"[\\`*\[\]|~<{$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&(?=[#A-Za-z])")
_ENTITIES = {"<": "&lt;", "&": "&amp;"}
_LINE_START = re.compile(r"^(\s*)([#>]|[-+=](?=\s|$|[-=])|:(?=-))|^(\s*\d{1,9})([.)])(?=\s|$)")


class _Block(NamedTuple):
    text: str
    tight: bool = False  # no blank line follows: the paragraph of a tight list


class _Blocks:
    """Renders a stream of block tokens; a container takes its own part of the stream."""

    def __init__(self, tokens: Iterator[Token]) -> None:
        self._tokens = tokens

    def until(self, closing: str) -> list[_Block]:
        """The blocks up to the token of type `closing`, or to the end."""
        blocks: list[_Block] = []
        for token in self._tokens:
            if token.type == closing:
                break
            blocks.append(_Block(self._block(token), token.hidden))
        return blocks

    def text_until(self, closing: str) -> str:
        return _joined(self.until(closing))

    def _block(self, token: Token) -> str:
        match token.type:
            case "inline":
                return _inline_markdown(token.children or [])
            case "heading_open":
                title = self.text_until("heading_close").replace("\n", " ")
                return f"{'#' * int(token.tag[1])} {title}"
            case "paragraph_open":
                return self.text_until("paragraph_close")
            case "fence" | "code_block":
                return fenced(token.content, _language(token.info))
            case "hr":
                return "---"
            case "blockquote_open":
                return _prefixed(self.text_until("blockquote_close"), "> ", "> ")
            case "bullet_list_open" | "ordered_list_open":
                return self._list(token.type.replace("open", "close"))
            case "table_open":
                return self._table()
        return markdown_text(token.content)

    def _list(self, closing: str) -> str:
        items: list[_Block] = []
        for token in self._tokens:
            if token.type == closing:
                break
            marker = f"{token.info}. " if token.info else "- "
            blocks = self.until("list_item_close")
            tight = all(block.tight for block in blocks[:1])
            body = _joined(blocks)
            item = _prefixed(body, marker, " " * len(marker)) if body else marker.rstrip()
            items.append(_Block(item, tight))
        return _joined(items)

    def _table(self) -> str:
        rows: list[list[str]] = []
        aligns: list[str] = []
        for token in self._tokens:
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "th_open":
                aligns.append(_RULERS.get(_align(token), "---"))
            elif token.type == "inline":
                rows[-1].append(_inline_markdown(token.children or [], in_table=True))
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([lines[0], f"| {' | '.join(aligns)} |", *lines[1:]])


_RULERS = {"left": ":--", "right": "--:", "center": ":-:"}


def _joined(blocks: list[_Block]) -> str:
    parts = [part for text, tight in blocks for part in (text, "\n" if tight else "\n\n")]
    return "".join(parts[:-1])


def _inline_markdown(tokens: list[Token], in_table: bool = False) -> str:
    out: list[str] = []
    for token, linked in _with_links(tokens):
        last = out[-1] if out else "\n"
        if token.type in ("link_open", "image") and last.endswith("!"):
            out[-1] = last[:-1] + r"\!"  # else it would make an image of the link
        match token.type:
            case "softbreak":
                out.append("\n")
            case "hardbreak":
                out.append("\\\n")
            case "code_inline":
                span = code_span(token.content)
                out.append(span.replace("|", r"\|") if in_table else span)
            case "math":
                out.append(_markdown_math(token.content))
            case "link_open":
                out.append("[")
            case "link_close":
                out.append(f"](<{linked}>)")
            case "image":
                words = markdown_text(_image_words(token))
                lone = not linked and _url(token)
                out.append(f"[{words}](<{lone}>)" if lone else words)
            case _ if token.tag in _INLINE_TAGS:
                out.append(token.markup)
            case _ if token.content:
                starts = last.endswith("\n")
                out.append(_markdown_line(token.content, at_start=starts, closes=not linked))
    return "".join(out)


def _markdown_line(text: str, *, at_start: bool, closes: bool = False) -> str:
    """One line of text; `closes` where a plain address may be a link."""
    out, end, seen = [], 0, visible(text)
    for found in _ADDRESS.finditer(seen):
        out.append(_SPECIAL.sub(_escaped, seen[end : found.start()]))
        out.append(_address(found, closes))
        end = found.end()
    line = "".join([*out, _SPECIAL.sub(_escaped, seen[end:])])
    return _LINE_START.sub(r"\1\3\\\2\4", line) if at_start else line


def _address(found: re.Match[str], closes: bool) -> str:
    if found["plain"] and closes:
        return f"<{found[0]}>"
    broken = found[0].replace("://", "&#58;//").replace(".", "&#46;")
    return _SPECIAL.sub(lambda each: each[0] if each[0] == "&" else _escaped(each), broken)


def _escaped(special: re.Match[str]) -> str:
    # JupyterLab looks for formulas in what was read, where nothing is escaped any more.
    if _TEX_START.match(special.string, special.start()):
        return f"<span>\\{special[0]}</span>"
    return _ENTITIES.get(special[0]) or f"\\{special[0]}"


def _markdown_math(formula: str) -> str:
    """The formula between dollars, which more readers know than `\\(` and `\\[`."""
    wide = formula.startswith(("$$", r"\["))
    size = 1 if formula.startswith("$") and not wide else 2
    body = " ".join(visible(formula)[size:-size].split())
    marks = "$$" if wide else "$"
    return marks + body.replace("<", r"\lt ").replace("|", r"\vert ") + marks


# -- both ------------------------------------------------------------------------------------


def _with_links(tokens: list[Token]) -> Iterator[tuple[Token, str]]:
    """Each token with the URL of the link that it lies in or closes; a link to nowhere is none."""
    linked = ""
    for token in tokens:
        url = _url(token) if token.type == "link_open" else linked
        if url or token.type not in ("link_open", "link_close"):
            yield token, linked
        linked = "" if token.type == "link_close" else url


def _url(token: Token) -> str:
    """The target, percent-encoded by the parser; without it where it is none of ours."""
    url = str(token.attrs.get("href") or token.attrs.get("src") or "")
    plain = re.sub(r"[\s<>\"'`\\]", "", visible(url))
    return plain if _LINKS.match(plain) else ""


def _image_words(token: Token) -> str:
    return f"[image: {token.content}]" if token.content else "[image]"


def _align(token: Token) -> str:
    return str(token.attrs.get("style", "")).removeprefix("text-align:")


def _prefixed(text: str, first: str, rest: str) -> str:
    head, *more = text.split("\n")
    return "\n".join([first + head, *(rest + line if line else rest.rstrip() for line in more)])


def _language(info: str) -> str:
    """The language of a code block; none where a reader would run it to draw a picture."""
    found = _INFO.match(info.strip())
    return found[0] if found and found[0].lower() != "mermaid" else ""


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
