"""A small document and its three forms: html, Markdown and plain text, in one bundle.

Both what a cell shows of a running turn and what stays of it are such documents. The html has no
script, class or id and no colour of its own, so that it reads in light and dark, untrusted, in a
saved file, and on a code host.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import TextWrapper

from .markdown_safe import code_span, fenced, html_text, markdown_text, to_html, to_markdown
from .visible import one_line, visible

Bundle = dict[str, str]

# Inside a Markdown file, where exporters put the html, a blank line would end it: what follows
# would be read as Markdown, that of a prompt too.
_BLANK_LINE = re.compile(r"\n(?=[ \t]*\n)")


# Lab would break words of an output anywhere.
_VERBATIM = (
    "font-family:monospace;white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere;"
    "margin:0.3em 0"
)

# Characters of one cell of a table, and those up to which it is not broken.
CELL, UNBROKEN = 600, 20
# Columns of a plain text whose reader's screen nobody knows, and the least for what is wrapped.
PAGE, NARROWEST = 80, 24
# Stands behind a character that takes two columns, so that lengths are columns; never in a text
# that was made visible.
_SECOND = "\0"
_WORD_END = re.compile(rf"(\s+|(?<={_SECOND}))")


@dataclass(frozen=True)
class Prose:
    """Markdown of the model."""

    text: str


@dataclass(frozen=True)
class Line:
    """One line of ours; `code` is set in a fixed width between `text` and `after`."""

    text: str
    code: str = ""
    after: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Verbatim:
    """Text as it stands; `quoted` marks what the person typed."""

    text: str
    quoted: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells under their heads; a cell is one line.

    `main` is the column to be read, by default the last one: as plain text it takes the room
    that is left, and what stands right of it comes behind it. `numbers` are the columns left of it
    whose cells end at one line.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    main: int = -1
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Folded:
    """Blocks behind a title that opens them."""

    title: str
    blocks: tuple[Block, ...]


Block = Prose | Line | Verbatim | Table | Folded


def bundle(blocks: Sequence[Block]) -> Bundle:
    """The document as the mime bundle of one output."""
    return {
        "text/html": _BLANK_LINE.sub("&#10;", f"<div>{_html(blocks)}</div>"),
        "text/markdown": "\n\n".join(_markdown(blocks)),
        "text/plain": plain(blocks, PAGE),
    }


def plain(blocks: Sequence[Block], width: int = 0) -> str:
    """The document as plain text; tables keep to the width, in columns, where one is given."""
    return "\n".join(_plain(blocks, width))


def clipped(text: str, limit: int) -> str:
    """Head and tail of a text over the limit, in characters, and how much is not shown."""
    if len(text) <= limit:
        return text
    half = limit // 2
    head, tail = text[:half], text[-half:]
    # Whole lines, unless they are long ones.
    if (cut := head.rfind("\n")) > half * 3 // 4:
        head = head[:cut]
    if 0 <= (cut := tail.find("\n")) < half // 4:
        tail = tail[cut + 1 :]
    left = len(text) - len(head) - len(tail)
    return f"{head}\n… {left:,} characters not shown …\n{tail}"


def _html(blocks: Iterable[Block]) -> str:
    out = []
    for block in blocks:
        match block:
            case Prose(text):
                out.append(f"<div>{to_html(text)}</div>")
            case Line(text, code, after, strong):
                parts = (html_text(text), f"<code>{html_text(code)}</code>" if code else "")
                line = " ".join(part for part in (*parts, html_text(after)) if part)
                style = "font-weight:bold" if strong else "opacity:0.8"
                out.append(f'<div style="white-space:pre-wrap;{style}">{line}</div>')
            case Verbatim(text, quoted):
                border = ";border-left:3px solid;padding-left:0.6em" if quoted else ""
                style = f"{_VERBATIM}{border}"
                out.append(f'<pre style="{style}">{html_text(text)}</pre>')
            case Table():
                out.append(_table_html(block))
            case Folded(title, inner):
                style = "cursor:pointer;opacity:0.8"
                summary = f'<summary style="{style}">{html_text(title)}</summary>'
                body = f'<div style="margin-left:1em">{_html(inner)}</div>'
                out.append(f"<details>{summary}{body}</details>")
    return "\n".join(out)


def _markdown(blocks: Iterable[Block]) -> list[str]:
    out = []
    for block in blocks:
        match block:
            case Prose(text):
                out.append(to_markdown(text))
            case Line(text, code, after, strong):
                words = markdown_text(text).replace("\n", "\\\n")
                line = " ".join(
                    part for part in (words, code_span(code), markdown_text(after)) if part
                )
                out.append(f"**{line}**" if strong else line)
            case Verbatim(text):
                out.append(fenced(text))
            case Table(heads, rows, numbers=numbers):
                rule = ["---:" if at in numbers else "---" for at in range(len(heads))]
                lines = [heads, rule, *(map(_cell_markdown, row) for row in rows)]
                out.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
            case Folded(title, inner):
                summary = f"<details><summary>{html_text(title)}</summary>"
                out.append("\n\n".join([summary, *_markdown(inner), "</details>"]))
    return out


def _plain(blocks: Iterable[Block], width: int) -> list[str]:
    out = []
    for block in blocks:
        match block:
            case Prose(text):
                out += ["", visible(text).strip("\n"), ""]
            case Line(text, code, after):
                out.append(" ".join(visible(part) for part in (text, code, after) if part))
            case Verbatim(text, quoted):
                mark = "> " if quoted else "  "
                out += [mark + line for line in visible(text).rstrip("\n").split("\n")]
            case Table():
                out += _aligned(block, width)
            case Folded(title, inner):
                folded = _plain(inner, max(0, width - 2))
                out += [visible(title), *(f"  {line}".rstrip() for line in folded)]
    return out


def _table_html(table: Table) -> str:
    main = table.main % len(table.heads)

    def row(tag: str, cells: Sequence[str]) -> str:
        made = (
            _cell_html(tag, cell, main == at, "right" if at in table.numbers else "left")
            for at, cell in enumerate(cells)
        )
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(row("td", cells) for cells in table.rows)
    return f"<table><thead>{row('th', table.heads)}</thead><tbody>{body}</tbody></table>"


def _cell_html(tag: str, text: str, main: bool, side: str) -> str:
    text = one_line(text, CELL)
    style = f"text-align:{side};vertical-align:top"
    if len(text) <= UNBROKEN:
        style += ";white-space:nowrap"
    elif main:  # its longest word, an address, would push what is right of it out of sight
        style += ";overflow-wrap:anywhere"
    return f'<{tag} style="{style}">{html_text(text)}</{tag}>'


def _cell_markdown(text: str) -> str:
    return markdown_text(one_line(text, CELL))


def _cell_plain(text: str) -> str:
    shown = one_line(text, CELL)
    return "".join(
        each + _SECOND if unicodedata.east_asian_width(each) in "WF" else each for each in shown
    )


def _aligned(table: Table, width: int) -> list[str]:
    """Columns side by side, the main one wrapped; below it what stands right of it."""
    main = table.main % len(table.heads)
    heads, *rows = [tuple(map(_cell_plain, row)) for row in (table.heads, *table.rows)]
    sizes = [2 + max(len(row[at]) for row in (heads, *rows)) for at in range(main)]
    margin = sum(sizes)
    room = max(NARROWEST, width - margin)
    lines = []
    for row in (heads, *rows):
        more = "; ".join(filter(None, row[main + 1 :])) if row is not heads else ""
        texts = [row[main], f"— {more}"] if more else [row[main]]
        told = [" ".join(texts)]
        if width:
            told = [each for text in texts for each in _wrapped(text, room)]
        start = "".join(
            f"{cell.rjust(size - 2)}  " if at in table.numbers else cell.ljust(size)
            for at, (cell, size) in enumerate(zip(row, sizes, strict=False))
        )
        lines += [start + told[0], *(" " * margin + each for each in told[1:])]
    return [line.replace(_SECOND, "").rstrip() for line in lines]


def _wrapped(text: str, width: int) -> list[str]:
    wrapper = TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    wrapper.wordsep_simple_re = _WORD_END
    return wrapper.wrap(text) or [""]
