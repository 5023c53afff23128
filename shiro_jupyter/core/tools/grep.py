"""grep: lines that match a pattern, in all files of a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from ..errors import ToolFailed
from ..policy.subjects import Access, Subject
from ..workspace.ignore import Extra
from ..workspace.listing import check_folder
from ..workspace.paths import open_regular, resolve, shown
from ..workspace.search import Found, Query, search, search_files
from ..workspace.threads import in_thread
from ..workspace.wildmatch import NameGlob
from .base import OUTPUT_LIMIT, Parameters, Tool, ToolContext, ToolResult, printable

HITS = 200
# Room for the notes behind the lines.
SHOWN = OUTPUT_LIMIT - 1_000
LOOKED_AT = 2_000
NOTES = 5
UNREAD = "Files that hold keys, or that rules keep from being read, were not searched."


class GrepParameters(Parameters):
    pattern: str = Field(min_length=1, description="Regular expression, matched line by line.")
    path: str = Field(".", description="Folder or file, relative to the project.")
    glob: str = Field("", description="Only files with such names: `*.py`, `src/**/*.{ts,tsx}`.")
    ignore_case: bool = Field(False, description="Letter case does not count.")


class Grep(Tool[GrepParameters]):
    """Find the lines of files that match a regular expression, without what git ignores.

    Each comes as `path:number: text`, at most 200, sorted by path. A file that holds keys (.env)
    is searched only where path names it.
    """

    name: ClassVar[str] = "grep"
    toolset: ClassVar[str] = "core"
    access: ClassVar[Access] = "read"
    guidance: ClassVar[str] = "Search in files with grep, not by a shell command."
    parameters = GrepParameters

    def summary(self, parameters: GrepParameters) -> str:
        return (
            parameters.pattern
            if parameters.path == "."
            else f"{parameters.pattern} in {parameters.path}"
        )

    def subject(self, parameters: GrepParameters, context: ToolContext) -> Subject:
        path = resolve(context.project, parameters.path)
        return Subject(self.name, self.access, (shown(context.project, path),))

    async def run(self, parameters: GrepParameters, context: ToolContext) -> ToolResult:
        path = resolve(context.project, parameters.path)
        where = printable(shown(context.project, path))
        query, glob = _query(parameters)
        if await in_thread(path.is_dir):
            await in_thread(check_folder, path, where)
            start, prefix = path, "" if where == "." else f"{where}/"
            unread = await in_thread(_has_unread, path, context)
            found = await _in_folder(query, glob, start, context)
        elif await in_thread(path.exists):
            (await in_thread(open_regular, context.project, path)).close()
            start, prefix, unread = path.parent, where[: where.rfind("/") + 1], False
            found = await search_files(query, start, [os.fsencode(path.name)], context.processes)
        else:
            raise ToolFailed(f"There is no file or folder {where}; look for it with glob.")
        return ToolResult("ok", _text(found, prefix, parameters.pattern, where, unread))


def _query(parameters: GrepParameters) -> tuple[Query, NameGlob | None]:
    try:
        glob = NameGlob(parameters.glob) if parameters.glob else None
    except ValueError as error:
        raise ToolFailed(str(error)) from None
    flags = re.IGNORECASE if parameters.ignore_case else 0
    return Query(parameters.pattern, flags, HITS, glob.plain if glob else ()), glob


async def _in_folder(
    query: Query, glob: NameGlob | None, start: Path, context: ToolContext
) -> Found:
    project = context.project

    def wanted(name: bytes) -> bool:
        if glob and not glob.fits(name):
            return False
        return context.may_read(shown(project, start / os.fsdecode(name)))

    extra = Extra(project.root, project.ignore)
    return await search(query, start, wanted, extra, context.processes)


def _has_unread(folder: Path, context: ToolContext) -> bool:
    """Whether there is something in the folder itself whose lines may not be told. Looked up by
    name alone: a note that came only with a match would tell what is in the file."""
    try:
        entries = islice(folder.iterdir(), LOOKED_AT)
        return not all(context.may_read(shown(context.project, each)) for each in entries)
    except OSError:
        return False


def _text(found: Found, prefix: str, pattern: str, where: str, unread: bool) -> str:
    notes = [f"[{prefix}{_name(name)}: {note}]" for name, note in found.notes[:NOTES]]
    if unread:
        notes.append(f"[{UNREAD}]")
    if not found.hits:
        place = "the project folder" if where == "." else where
        return "\n".join([f"No line matches {printable(pattern)} in {place}.", *notes])
    lines: list[str] = []
    room = SHOWN
    for line in _lines(found, prefix):
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    if left := len(found.hits) - len(lines):
        lines.append(f"[{left} more {'line' if left == 1 else 'lines'} left out for their length]")
    if found.more:
        lines.append(f"[only the first {HITS} lines; narrow the pattern, the path or the glob]")
    return "\n".join(lines + notes)


def _lines(found: Found, prefix: str) -> Iterator[str]:
    for hit in found.hits:
        yield f"{prefix}{_name(hit.name)}:{hit.line}: {hit.text}"


def _name(name: bytes) -> str:
    return printable(os.fsdecode(name))
