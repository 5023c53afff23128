"""list_dir: what is in a folder."""

from __future__ import annotations

from itertools import islice
from typing import ClassVar

from pydantic import Field

from ..errors import ToolFailed
from ..policy.subjects import Access, Subject
from ..workspace.ignore import Extra
from ..workspace.paths import resolve, shown
from ..workspace.threads import in_thread
from ..workspace.walk import Entry, walk
from .base import Parameters, Tool, ToolContext, ToolResult, printable, sized

ENTRIES = 300


class ListDirParameters(Parameters):
    path: str = Field(".", description="Folder, relative to the project.")
    depth: int = Field(2, ge=1, le=6, description="How many levels to show.")


class ListDir(Tool[ListDirParameters]):
    """List a folder with the sizes of its files, without what git ignores.

    Shows at most 300 entries, the upper levels first.
    """

    name: ClassVar[str] = "list_dir"
    toolset: ClassVar[str] = "edit-plus"
    access: ClassVar[Access] = "read"
    parameters = ListDirParameters

    def summary(self, parameters: ListDirParameters) -> str:
        return parameters.path

    def subject(self, parameters: ListDirParameters, context: ToolContext) -> Subject:
        path = resolve(context.project, parameters.path)
        return Subject(self.name, self.access, (shown(context.project, path),))

    async def run(self, parameters: ListDirParameters, context: ToolContext) -> ToolResult:
        return await in_thread(_listing, parameters, context)


def _listing(parameters: ListDirParameters, context: ToolContext) -> ToolResult:
    folder = context.resolved(parameters.path)
    name = printable(shown(context.project, folder))
    if folder.is_file():
        raise ToolFailed(f"{name} is a file; read it with read_file.")
    if not folder.is_dir():
        raise ToolFailed(f"There is no folder {name}.")
    extra = Extra(context.project.root, context.project.ignore)
    entries = list(islice(walk(folder, extra, parameters.depth), ENTRIES + 1))
    if entries and (entries[0].name, entries[0].kind) == (".", "unreadable"):
        raise ToolFailed(f"{name} cannot be listed: {entries[0].target}.")
    if not entries:
        return ToolResult("ok", f"{name} holds nothing, or nothing that is not ignored.")
    # What is told later of a folder (it could not be opened) takes the place of its entry.
    told = {entry.name: entry for entry in entries[:ENTRIES]}
    ordered = sorted(told.values(), key=lambda entry: entry.name.split("/"))
    prefix = "" if name == "." else f"{name}/"
    lines = [prefix + _line(entry, parameters.depth) for entry in ordered]
    if len(entries) > ENTRIES:
        lines.append(f"[only the first {ENTRIES} entries; list a subfolder for more]")
    return ToolResult("ok", "\n".join(lines))


def _line(entry: Entry, depth: int) -> str:
    name = printable(entry.name)
    match entry.kind:
        case "file":
            return f"{name}  {sized(entry.size)}"
        case "folder":
            deepest = entry.name.count("/") + 1 >= depth
            return f"{name}/" + ("  (not opened)" if deepest else "")
        case "link":
            return f"{name} -> {printable(entry.target)}"
        case "unreadable":
            return f"{name}/  (cannot be opened: {entry.target})"
        case "other":
            return f"{name}  ({entry.target})"
