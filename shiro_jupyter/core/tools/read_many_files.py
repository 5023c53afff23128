"""read_many_files: windows of several text files in one call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from ..errors import ModelMendable, PathRefused
from ..policy.subjects import Access, Subject
from ..workspace.paths import resolve, shown
from ..workspace.threads import in_thread
from .base import OUTPUT_LIMIT, Parameters, Tool, ToolContext, ToolResult, bounded, printable
from .read_file import NOTES, ReadFileParameters, Reading, read

FILES = 20
HANDS = 4  # threads that read; more of them cost more than they gain
# Characters of a path above its block, and of a sentence that says why there is nothing to show.
PATH_SHOWN, REFUSAL_SHOWN = 200, 600


def _window(value: object) -> object:
    """A bare path is a window of the whole file."""
    return {"path": value} if isinstance(value, str) else value


class ReadManyFilesParameters(Parameters):
    files: list[Annotated[ReadFileParameters, BeforeValidator(_window)]] = Field(
        min_length=1, max_length=FILES, description="The files, each with a window of its own."
    )


class ReadManyFiles(Tool[ReadManyFilesParameters]):
    """Read 1 to 20 text files at once: each in a block of its own, in the order given.

    The blocks share 30,000 characters, the small ones whole first.
    """

    name: ClassVar[str] = "read_many_files"
    toolset: ClassVar[str] = "edit-plus"
    access: ClassVar[Access] = "read"
    guidance: ClassVar[str] = "Read several files with one read_many_files."
    parameters = ReadManyFilesParameters

    def summary(self, parameters: ReadManyFilesParameters) -> str:
        return ", ".join(each.path for each in parameters.files)

    def subject(self, parameters: ReadManyFilesParameters, context: ToolContext) -> Subject:
        """Of all that may be read; a path out of bounds is refused in its own block."""
        paths = []
        for each in parameters.files:
            try:
                paths.append(shown(context.project, resolve(context.project, each.path)))
            except PathRefused:
                continue
        return Subject(
            self.name,
            self.access,
            tuple(paths),
            preview="\n".join(map(printable, paths)),
            grant=json.dumps(sorted(paths)),
        )

    async def run(self, parameters: ReadManyFilesParameters, context: ToolContext) -> ToolResult:
        files = parameters.files
        readings = [Reading()] * len(files)
        hands = range(min(HANDS, len(files)))
        reading = (in_thread(_readings, files, hand, context) for hand in hands)
        for hand, done in zip(hands, await asyncio.gather(*reading), strict=True):
            readings[hand::HANDS] = done
        heads = [f"== {printable(each.path)[:PATH_SHOWN]} ==\n" for each in files]
        room = OUTPUT_LIMIT - sum(len(head) + len("\n\n") for head in heads)
        rooms = shares([len(each.text()) + NOTES for each in readings], room)
        blocks = (
            head + each.told(context.seen, room)
            for head, each, room in zip(heads, readings, rooms, strict=True)
        )
        return ToolResult("ok", await in_thread("\n\n".join, blocks))


def _readings(
    files: Sequence[ReadFileParameters], hand: int, context: ToolContext
) -> list[Reading]:
    """Of every so many-th file."""
    return [_reading(each, context, len(files)) for each in files[hand::HANDS]]


def _reading(parameters: ReadFileParameters, context: ToolContext, parts: int) -> Reading:
    try:
        return read(parameters, context, parts)
    except ModelMendable as error:
        return Reading((bounded(str(error), REFUSAL_SHOWN),))


def shares(needs: Sequence[int], room: int) -> list[int]:
    """How much of the room each gets: who needs least first, and what they leave goes to the
    others in equal parts."""
    given = [0] * len(needs)
    ascending = sorted(range(len(needs)), key=needs.__getitem__)
    for left, at in zip(range(len(needs), 0, -1), ascending, strict=True):
        given[at] = min(needs[at], room // left)
        room -= given[at]
    return given
