"""glob: files by their names."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import ClassVar

from pydantic import Field

from ..errors import ToolFailed
from ..policy.subjects import Access, Subject
from ..workspace.ignore import Extra
from ..workspace.listing import Present, check_folder, files_in, until_cancelled
from ..workspace.paths import resolve, shown
from ..workspace.project import Project
from ..workspace.threads import in_thread
from ..workspace.wildmatch import NameGlob
from .base import Parameters, Tool, ToolContext, ToolResult, bounded, printable

PATHS = 200
# Folders at the start of a pattern that are named in full.
_FOLDERS = re.compile(r"(?:[^*?\[\]{}\\/]+/)+")


class GlobParameters(Parameters):
    pattern: str = Field(
        min_length=1,
        max_length=1_000,
        description="`*.py` fits in every folder, `src/*.py` in src, `src/**/*.{ts,tsx}` below it.",
    )
    path: str = Field(".", description="Folder that it starts from, relative to the project.")


class Glob(Tool[GlobParameters]):
    """Find files by their names, without what git ignores.

    Shows at most 200 paths, sorted. A folder that is ignored is searched where the pattern or
    path names it.
    """

    name: ClassVar[str] = "glob"
    toolset: ClassVar[str] = "core"
    access: ClassVar[Access] = "read"
    guidance: ClassVar[str] = "Find files by their names with glob."
    parameters = GlobParameters

    def summary(self, parameters: GlobParameters) -> str:
        return pattern_in(parameters.pattern, parameters.path)

    def subject(self, parameters: GlobParameters, context: ToolContext) -> Subject:
        named, _ = _start(parameters, context.project)
        start = resolve(context.project, named)
        return Subject(self.name, self.access, (shown(context.project, start),))

    async def run(self, parameters: GlobParameters, context: ToolContext) -> ToolResult:
        named, pattern = _start(parameters, context.project)
        start = context.resolved(named)
        if "\0" in pattern:
            raise ToolFailed("No name holds a NUL; give the pattern without it.")
        where = printable(shown(context.project, start))
        await in_thread(check_folder, start, where)
        try:
            glob = NameGlob(pattern)
        except ValueError as error:
            raise ToolFailed(str(error)) from None
        extra = Extra(context.project.root, context.project.ignore)
        names = set(glob.fitting(await files_in(start, extra, context.processes)))
        if not set(pattern) & set("*?[{"):  # asked for by name, so that nothing ignores it
            names.add(os.fsencode(pattern.strip("/")))
        found = await until_cancelled(islice(filter(Present(start), sorted(names)), PATHS + 1))
        if not found:
            place = "the project folder" if where == "." else where
            return ToolResult(
                "ok", f"No file fits {printable(pattern)} in {place}, or it is ignored."
            )
        prefix = "" if where == "." else f"{where}/"
        lines = [prefix + printable(os.fsdecode(name)) for name in found[:PATHS]]
        if len(found) > PATHS:
            lines.append(f"[only the first {PATHS} paths; narrow the pattern or the folder]")
        return ToolResult("ok", bounded("\n".join(lines)))


def pattern_in(pattern: str, path: str) -> str:
    """What is looked for, and where, in one line for the views."""
    return pattern if path == "." else f"{pattern} in {path}"


def _start(parameters: GlobParameters, project: Project) -> tuple[str, str]:
    """The folder where the search starts, and the rest of the pattern, which holds from there."""
    pattern = parameters.pattern.removeprefix(f"{project.root}/").removeprefix("./")
    folders = _FOLDERS.match(pattern)
    if not folders:
        return parameters.path, pattern
    named = f"{parameters.path.rstrip('/') or '/'}/{folders[0]}"
    rest = pattern[folders.end() :]
    return named, f"/{rest}" if rest else "**"
