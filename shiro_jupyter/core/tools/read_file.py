"""read_file: a window of a text file, with line numbers."""

from __future__ import annotations

import re
from typing import ClassVar

from pydantic import Field

from ..errors import ToolFailed
from ..policy.subjects import Access, Subject
from ..workspace.paths import open_regular, resolve, shown
from ..workspace.text import decode
from ..workspace.threads import in_thread
from .base import OUTPUT_LIMIT, Parameters, Tool, ToolContext, ToolResult, printable, sized
from .cells import cells_as_text

LINES = 2_000
# Room for the notes before and after the lines.
SHOWN = OUTPUT_LIMIT - 1_000
LINE_SHOWN = 2_000
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
        return await in_thread(_read, parameters, context)


def _read(parameters: ReadFileParameters, context: ToolContext) -> ToolResult:
    path = resolve(context.project, parameters.path)
    name = printable(shown(context.project, path))
    with open_regular(context.project, path) as stream:
        try:
            data = stream.read(BYTES + 1)
            size = stream.seek(0, 2)
        except OSError as error:
            raise ToolFailed(f"{name} cannot be read: {error.strerror}.") from None
    if cut := len(data) > BYTES:
        data = data[: data.rfind(b"\n", 0, BYTES) + 1 or BYTES]
    text = decode(data)
    if text is None:
        return ToolResult("ok", f"{name} is a binary file ({sized(size)}); it is not shown.")
    if not cut:
        context.seen.note(path, data)
    notes = [f"[{text.note}]"] if text.note else []
    content = cells_as_text(text.text) if path.suffix == ".ipynb" else None
    lines = _LINE_END.split(text.text if content is None else content)
    if not lines[-1]:
        lines.pop()
    if not lines:
        return ToolResult("ok", f"{name} is empty.")
    first = max(parameters.offset, 1)
    if first > len(lines):
        raise ToolFailed(f"{name} has {len(lines):,} lines; offset {first:,} is past its end.")
    window = _window(lines, first, parameters.limit)
    if left := len(lines) - first + 1 - len(window):
        more = "line" if left == 1 else "lines"
        notes_after = [f"[{left:,} more {more}; next offset {first + len(window)}]"]
    else:
        notes_after = []
    if cut:
        notes_after.append(f"[only the first {sized(BYTES)} of {sized(size)} were looked at]")
    return ToolResult("ok", "\n".join([*notes, *window, *notes_after]))


def _window(lines: list[str], first: int, limit: int) -> list[str]:
    """Numbered lines up to the limits; at least one."""
    window: list[str] = []
    room = SHOWN
    for number, line in enumerate(lines[first - 1 : first - 1 + limit], start=first):
        if len(line) > LINE_SHOWN:
            line = f"{line[:LINE_SHOWN]} [… {len(line) - LINE_SHOWN:,} characters of this line cut]"
        numbered = f"{number}: {line}"
        room -= len(numbered) + 1
        if room < 0 and window:
            break
        window.append(numbered)
    return window
