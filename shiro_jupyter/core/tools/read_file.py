"""read_file: a window of a text file, with line numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from ..errors import ToolFailed
from ..notebook.shown import cells_as_text
from ..policy.private import withheld_file
from ..policy.subjects import Access, Subject
from ..workspace.paths import open_regular, resolve, shown
from ..workspace.seen import Seen
from ..workspace.text import Text, decode
from ..workspace.threads import in_thread
from .base import OUTPUT_LIMIT, Parameters, Tool, ToolContext, ToolResult, printable, sized

LINES = 2_000
LINE_SHOWN = 2_000
# Characters kept free for the number of a cut line and the notes that say what was cut.
NOTES = 200
SAVED = "[This is the open notebook as last saved; what was typed since is not in it.]"
# Bytes looked at; a larger file is read up to here, and said to be larger.
BYTES = 50_000_000
_LINE_END = re.compile(r"\r\n|\n|\r")


class ReadFileParameters(Parameters):
    path: str = Field(description="File, relative to the project.")
    offset: int = Field(1, ge=0, description="First line, from 1.")
    limit: int = Field(LINES, ge=1, le=LINES, description="Number of lines.")


class ReadFile(Tool[ReadFileParameters]):
    """Read a text file; each line comes as `number: text`. Notebooks come as their cells.

    For a data file, a few lines show its form; count and compute with code instead.
    """

    name: ClassVar[str] = "read_file"
    toolset: ClassVar[str] = "core"
    access: ClassVar[Access] = "read"
    parameters = ReadFileParameters

    def summary(self, parameters: ReadFileParameters) -> str:
        return parameters.path

    def subject(self, parameters: ReadFileParameters, context: ToolContext) -> Subject:
        path = resolve(context.project, parameters.path)
        return Subject(self.name, self.access, (shown(context.project, path),))

    async def run(self, parameters: ReadFileParameters, context: ToolContext) -> ToolResult:
        return ToolResult("ok", await in_thread(_told, parameters, context))


@dataclass(frozen=True)
class Reading:
    """The wanted lines of a file, the first of them being number `first`; `left` more come after.

    `before` and `after` are notes; a file of which nothing can be shown is a note alone. `file` is
    what the lines are of, where they are of all of it.
    """

    before: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    first: int = 1
    left: int = 0
    after: tuple[str, ...] = ()
    file: tuple[Path, bytes] | None = None

    def told(self, seen: Seen, room: int = OUTPUT_LIMIT) -> str:
        """The text, and what the model has seen by it."""
        numbered, cut = self._fitting(room)
        if self.file:
            total = self.first - 1 + len(self.lines) + self.left
            shown = range(self.first, self.first + len(numbered))
            seen.note(*self.file, total, {*shown} - cut)
        return self._joined(numbered)

    def text(self, room: int = OUTPUT_LIMIT) -> str:
        """Numbered lines, as many as fit into `room` characters with the notes; at least one,
        which is cut where need be."""
        return self._joined(self._fitting(room)[0])

    def _fitting(self, room: int) -> tuple[list[str], set[int]]:
        """The lines, and the numbers of those that are cut."""
        room += 1 - NOTES - sum(len(note) + 1 for note in (*self.before, *self.after))
        shown, cut = list[str](), set[int]()
        for number, line in enumerate(self.lines, start=self.first):
            most = LINE_SHOWN if shown else max(1, min(LINE_SHOWN, room))
            numbered = _numbered(number, line, most)
            room -= len(numbered) + 1
            if room < 0 and shown:
                break
            shown.append(numbered)
            if len(line) > most:
                cut.add(number)
        return shown, cut

    def _joined(self, shown: list[str]) -> str:
        left = self.left + len(self.lines) - len(shown)
        more = "line" if left == 1 else "lines"
        told = [f"[{left:,} more {more}; next offset {self.first + len(shown)}]"] if left else []
        return "\n".join([*self.before, *shown, *told, *self.after])


def _told(parameters: ReadFileParameters, context: ToolContext) -> str:
    return read(parameters, context).told(context.seen)


def read(parameters: ReadFileParameters, context: ToolContext, parts: int = 1) -> Reading:
    """Blocks. Of a larger file the beginning is looked at, one of so many parts of `BYTES`."""
    most = BYTES // parts
    path = context.resolved(parameters.path)
    name = printable(shown(context.project, path))
    if context.private.withholds(shown(context.project, path)):
        raise ToolFailed(withheld_file(name))
    with open_regular(context.project, path) as stream:
        try:
            data = stream.read(most + 1)
            size = stream.seek(0, 2)
        except OSError as error:
            raise ToolFailed(f"{name} cannot be read: {error.strerror}.") from None
    looked = ""
    if len(data) > most:
        data = data[: data.rfind(b"\n", 0, most) + 1 or most]
        looked = f"only the first {sized(most)} of {sized(size)} were looked at"
    text = decode(data)
    if text is None:
        return Reading((f"{name} is a binary file ({sized(size)}); it is not shown.",))
    outputs = not context.private.any
    reading = window(text, name, parameters.offset, parameters.limit, looked, outputs=outputs)
    if path == context.project.notebook:
        reading = replace(reading, before=(SAVED, *reading.before))
    return reading if looked else replace(reading, file=(path, data))


def window(
    text: Text, name: str, offset: int, limit: int, looked: str = "", *, outputs: bool = True
) -> Reading:
    """The wanted lines of a file, of a notebook maybe without its `outputs`; `looked` says that
    its text is not all of it.

    Raises `ToolFailed` for an offset past the end.
    """
    notebook = name.lower().endswith(".ipynb")
    content = cells_as_text(text.text, outputs=outputs) if notebook else None
    if content is None and notebook and not outputs:
        raise ToolFailed(f"{name} is no notebook that can be told apart from its outputs.")
    lines = _LINE_END.split(text.text if content is None else content)
    if not lines[-1]:
        lines.pop()
    if not lines:
        return Reading((f"{name} is empty.",))
    start = max(offset, 1) - 1
    wanted = tuple(lines[start : start + limit])
    if not wanted:
        why = f" ({looked})" if looked else ""
        raise ToolFailed(
            f"{name} has {len(lines):,} lines{why}; offset {start + 1:,} is past its end."
        )
    return Reading(
        before=(f"[{text.note}]",) if text.note else (),
        lines=wanted,
        first=start + 1,
        left=len(lines) - start - len(wanted),
        after=(f"[{looked}]",) if looked else (),
    )


def _numbered(number: int, line: str, most: int) -> str:
    if len(line) > most:
        line = f"{line[:most]} [… {len(line) - most:,} characters of this line cut]"
    return f"{number}: {line}"
