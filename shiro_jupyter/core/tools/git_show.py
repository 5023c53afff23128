"""git_show: one commit, or a file as it was there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from ..errors import ToolFailed
from ..policy.private import withheld_file
from ..workspace.safe_git import pathspec
from ..workspace.text import decode
from .base import Parameters, bounded, printable, sized
from .git_base import BYTES, Git, GitTool
from .git_diff import diff_text
from .read_file import LINES, window

MESSAGE = 4_000  # characters
ENTRIES = 300
_ENTRY = re.compile(rb"(\d+) (\w+) (\w+) +(\S+)\t(.*)", re.DOTALL)


class GitShowParameters(Parameters):
    ref: str = Field("HEAD", description="Branch, tag or commit.")
    path: str = Field("", description="A file or folder, to be shown as it was in that commit.")
    offset: int = Field(1, ge=1, description="First line of the file.")
    limit: int = Field(LINES, ge=1, le=LINES, description="Number of lines.")


class GitShow(GitTool[GitShowParameters]):
    """Show a commit with its changes; with a path instead the file as it was in that commit."""

    name: ClassVar[str] = "git_show"
    parameters = GitShowParameters

    def path_of(self, parameters: GitShowParameters) -> str:
        return parameters.path or "."

    def summary(self, parameters: GitShowParameters) -> str:
        return " ".join(filter(None, (parameters.ref, parameters.path)))

    async def text(self, parameters: GitShowParameters, git: Git, path: str) -> str:
        commit = await git.commit(parameters.ref)
        if not parameters.path:
            return await _commit(git, commit)
        full = git.full(path)
        if full == ".":
            return _folder(git, await _entries(git, commit))
        if not (found := await _entries(git, commit, full)):
            raise ToolFailed(
                f"There is no {printable(path)} in {printable(parameters.ref)}; git_log with this "
                "path tells which commits touch it."
            )
        if found[0].kind == "tree":
            return _folder(git, await _entries(git, commit, f"{full}/"))
        return await _file(git, found[0], parameters)


async def _commit(git: Git, commit: str) -> str:
    told = await git.run(
        "log",
        "--max-count=1",
        "--format=%an%n%ad%n%P%n%B",
        "--date=iso",
        "--encoding=UTF-8",
        "--no-color",
        commit,
        "--",
    )
    parts = told.output.decode(errors="replace").split("\n", 3)
    author, date, parents, message = (*parts, "", "", "", "")[:4]
    lines = [f"commit {commit}", printable(f"{author}, {date}")]
    first, *others = parents.split() or [await _nothing(git)]
    if others:
        lines.append(f"a merge of {len(others) + 1}, compared with the first of them")
    lines += ["", bounded(message.strip(), MESSAGE), ""]
    changes = await diff_text(git, [first, commit], ".")
    return "\n".join([*lines, changes or "It changes nothing in the project folder."])


async def _nothing(git: Git) -> str:
    """The empty tree, by whichever hash this repository uses."""
    told = await git.run("hash-object", "-t", "tree", "/dev/null")
    return told.output.decode().strip()


@dataclass(frozen=True)
class Entry:
    """What a commit holds at a path."""

    link: bool
    kind: str
    hash: str
    size: int | None
    name: bytes

    @property
    def sized(self) -> str:
        return "not here" if self.size is None else sized(self.size)


async def _entries(git: Git, commit: str, full: str = "") -> list[Entry]:
    only = [pathspec(full)] if full else []
    told = await git.run("ls-tree", "-z", "-l", "--full-tree", commit, "--", *only)
    return [
        Entry(
            mode == b"120000",
            kind.decode(),
            name.decode(),
            int(size) if size.isdigit() else None,  # a partial clone may lack it
            path,
        )
        for each in told.output.split(b"\0")
        if (parts := _ENTRY.fullmatch(each))
        for mode, kind, name, size, path in [parts.groups()]
    ]


def _folder(git: Git, entries: list[Entry]) -> str:
    lines = []
    for entry in entries[:ENTRIES]:
        name = printable(git.name(entry.name))
        if entry.kind == "blob":
            lines.append(f"{name}  {entry.sized}")
        else:
            lines.append(f"{name}/" if entry.kind == "tree" else f"{name}  (a submodule)")
    if left := len(entries) - len(lines):
        lines.append(f"[{left:,} more entries]")
    return "\n".join(lines) or "Nothing is in this folder."


async def _file(git: Git, entry: Entry, parameters: GitShowParameters) -> str:
    name = printable(git.name(entry.name))
    if git.private.withholds(git.name(entry.name)):
        raise ToolFailed(withheld_file(name))
    if entry.kind == "commit":
        return f"{name} is a submodule, at its commit {entry.hash}."
    told = await git.run("cat-file", "blob", entry.hash)
    if entry.link:
        return f"{name} is a link to {printable(told.output.decode(errors='replace'))}."
    text = decode(told.output)
    if text is None:
        return f"{name} is a binary file ({entry.sized}); it is not shown."
    looked = f"only the first {sized(BYTES)} of {entry.sized} were looked at"
    wanted = parameters.offset, parameters.limit, looked if told.cut else ""
    return window(text, name, *wanted, outputs=not git.private.any).text()
