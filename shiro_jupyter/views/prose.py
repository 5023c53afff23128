"""Markdown that streams: safe html block by block, of which only the last is made again."""

from __future__ import annotations

import re
from collections.abc import Callable

from .markdown_safe import html_blocks

# Characters of one block that are read again at each update; a longer one is cut in two.
LONGEST_BLOCK = 4_000
# Characters taken in at once, however many have come.
STEP = 4_000
# Lines that a block waits for behind it. With fewer, what looks like the next one may turn out to
# go on with it: `2` as an item of a list, a line of pipes as the head of a table.
SETTLING_LINES = 2

_LINE_END = re.compile(r"\r\n?|\n")
_FENCE = re.compile(r"^ {0,3}(`{3,99}|~{3,99})(.*)", re.MULTILINE)
_TABLE_HEAD = re.compile(r".{1,500}\n.{1,500}\n")  # with the line under it

Render = Callable[[str], list[tuple[int, str]]]


class Blocks:
    """The html of a text that grows, by top-level blocks.

    Joined it is the html of the whole text, but for this: a reference definition holds among the
    blocks that are open with it; what is too nested, or in a text too long, is verbatim without
    the rest; and a block over `LONGEST_BLOCK` is cut in two where it reads well, so that an update
    costs the same however long the text is. A complete text is better given to `html_blocks`.
    """

    def __init__(self, render: Render = html_blocks) -> None:
        self._render = render
        self._text = ""
        self._start = 0  # where in the text what is open begins
        self._reopening = ""  # what that is read behind, where a block was cut
        self._settled: list[str] = []
        self._open: list[str] = []

    def update(self, text: str) -> list[str]:
        """The blocks of the text; those that are settled are the same objects as before.

        A text that does not go on where the last one ended is a new one.
        """
        if not text.startswith(self._text):
            self.__dict__.update(Blocks(self._render).__dict__)
        for end in range(len(self._text) + STEP, len(text), STEP):
            self._advance(text[self._start : end])
        if text != self._text:
            self._advance(text[self._start :])
        self._text = text
        return [*self._settled, *self._open]

    def _advance(self, rest: str) -> None:
        source = self._reopening + rest
        blocks = self._render(source)
        lines = [0, *(found.end() for found in _LINE_END.finditer(source))]
        whole = len(lines) - 1
        begins = [at for at, (line, _) in enumerate(blocks) if line + SETTLING_LINES <= whole]
        last = blocks[-1][0] if blocks else 0
        if len(source) - lines[last] > LONGEST_BLOCK:
            self._settle(blocks[:-1], lines[last])
            self._cut(source[lines[last] :], blocks[-1][1])
            return
        if begins and (first := begins[-1]):
            self._settle(blocks[:first], lines[blocks[first][0]])
            blocks = blocks[first:]
        self._open = [html for _, html in blocks]

    def _settle(self, blocks: list[tuple[int, str]], size: int) -> None:
        """These are done: the first `size` characters of what is open."""
        self._settled += [html for _, html in blocks]
        if size:
            self._start += size - len(self._reopening)
            self._reopening = ""

    def _cut(self, block: str, html: str) -> None:
        at = _place(block)
        fence = open_fence(block[:at])
        if not fence and not html.startswith("<pre"):
            at += len(block[at:]) - len(block[at:].lstrip(" \t"))
        head = _TABLE_HEAD.match(block) if html.startswith("<table") else None
        self._settle(self._render(block[:at]), at)
        self._reopening = f"{fence}\n" if fence else head[0] if head else ""
        self._advance(block[at:])


def open_fence(text: str) -> str:
    """The fence of the code block that is open at the end of a Markdown text."""
    fence = ""
    for marks, info in _FENCE.findall(text):
        if not fence and not (marks[0] == "`" and "`" in info):
            fence = marks
        elif fence and marks.startswith(fence) and not info.strip():
            fence = ""
    return fence


def _place(block: str) -> int:
    """Where to cut a block: at a line that begins at the margin, as a list item does; else at any
    line, at a blank, or right there; in the second half of what one block may hold."""
    least = LONGEST_BLOCK // 2
    for mark in (r"\n(?=\S)", r"\n", r"\s"):
        if found := list(re.finditer(mark, block[least:LONGEST_BLOCK])):
            return least + found[-1].end()
    return LONGEST_BLOCK
