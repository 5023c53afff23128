"""grep: lines that match a pattern, in all files of a folder."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from ..errors import ToolFailed
from ..policy.private import withheld_file
from ..policy.subjects import Access, Subject
from ..workspace.ignore import Extra, rules_of
from ..workspace.listing import check_folder
from ..workspace.paths import open_regular, resolve, shown
from ..workspace.search import Found, Query, search, search_file
from ..workspace.threads import in_thread
from ..workspace.walk import LOOKED_AT, upper_levels
from ..workspace.wildmatch import NameGlob
from .base import OUTPUT_LIMIT, Parameters, Tool, ToolContext, ToolResult, printable
from .glob import pattern_in

HITS = 200
# Room for the notes behind the lines.
SHOWN = OUTPUT_LIMIT - 1_000
NOTES = 5
UNREAD = "Files that hold keys, or that rules keep from being read, are not searched."


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
        return pattern_in(parameters.pattern, parameters.path)

    def subject(self, parameters: GrepParameters, context: ToolContext) -> Subject:
        path = resolve(context.project, parameters.path)
        return Subject(self.name, self.access, (shown(context.project, path),))

    async def run(self, parameters: GrepParameters, context: ToolContext) -> ToolResult:
        path = context.resolved(parameters.path)
        where = printable(shown(context.project, path))
        query, glob = _query(parameters)
        if await in_thread(path.is_dir):
            await in_thread(check_folder, path, where)
            prefix = "" if where == "." else f"{where}/"
            found, unread = await _in_folder(query, glob, path, context)
        elif await in_thread(path.exists):
            if context.private.withholds_lines(shown(context.project, path)):
                raise ToolFailed(withheld_file(where))
            (await in_thread(open_regular, context.project, path)).close()
            prefix, unread = where[: where.rfind("/") + 1], False
            found = await search_file(query, path, context.processes)
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
) -> tuple[Found, bool]:
    """What is found, and whether files may have been passed over."""
    where = shown(context.project, start)
    prefix = "" if where == "." else f"{where.rstrip('/')}/"
    extra = Extra(context.project.root, context.project.ignore)

    def fits(name: bytes) -> bool:
        return not glob or glob.fits(name)

    def may_read(name: bytes) -> bool:
        return context.may_read(prefix + os.fsdecode(name))

    def wanted(name: bytes) -> bool:
        return fits(name) and may_read(name)

    return await asyncio.gather(
        search(query, start, wanted, extra, context.processes),
        in_thread(_has_unread, start, extra.root, fits, may_read),
    )


def _has_unread(
    start: Path, root: Path, fits: Callable[[bytes], bool], may_read: Callable[[bytes], bool]
) -> bool:
    """Whether there is something whose lines may not be told; yes, where there is too much to tell.
    Looked up by name alone: a note that came only with a match would tell what is in the file."""
    names = [name for name, _ in upper_levels(rules_of(start, root))]
    return len(names) >= LOOKED_AT or any(
        not name.endswith(b"/") and fits(name) and not may_read(name) for name in names
    )


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
