"""git_diff: what changed, line by line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from ..errors import ToolFailed
from ..workspace.safe_git import DIFF_FLAGS, pathspec
from .base import OUTPUT_LIMIT, Parameters, printable, sized
from .git_base import Git, GitTool, check_known

FILES_SHOWN = 100
HIDDEN = 200  # files that are left out; each is an argument
LINE_SHOWN = 2_000
# Room for the notes.
SHOWN = OUTPUT_LIMIT - 1_000
_COUNTS = re.compile(rb"(\d+|-)\t(\d+|-)\t(.*)", re.DOTALL)
_SIZES = re.compile(rb"\| +Bin(?: (\d+) -> (\d+) bytes)?$", re.MULTILINE)


class GitDiffParameters(Parameters):
    ref: str = Field(
        "",
        description="Compare the work tree with this commit, or two as `a..b`; empty: with what is "
        "staged.",
    )
    path: str = Field(".", description="File or folder, relative to the project.")
    staged: bool = Field(False, description="Show what is staged instead.")
    stat: bool = Field(False, description="Only list the files.")


class GitDiff(GitTool[GitDiffParameters]):
    """Show what changed: by default what is not staged yet. With ref HEAD all since the last
    commit.

    Files that are not tracked are not in it.
    """

    name: ClassVar[str] = "git_diff"
    parameters = GitDiffParameters

    def path_of(self, parameters: GitDiffParameters) -> str:
        return parameters.path

    def summary(self, parameters: GitDiffParameters) -> str:
        return " ".join(filter(None, (parameters.ref, parameters.path)))

    async def text(self, parameters: GitDiffParameters, git: Git, path: str) -> str:
        between = [await git.span(parameters.ref)] if parameters.ref else []
        if parameters.staged:
            if ".." in parameters.ref:
                raise ToolFailed("What is staged is compared with one commit; give one as ref.")
            between.insert(0, "--cached")
        told = await diff_text(git, between, path, stat=parameters.stat)
        if told:
            return told
        check_known(git, path)
        where = "" if path == "." else f" in {printable(path)}"
        if between:
            return f"There is no difference{where}."
        return (
            f"Nothing has changed{where} but what is staged (give staged) or not tracked "
            "(see git_status)."
        )


@dataclass(frozen=True)
class Changed:
    """A file in a diff; `counts` says how much of it changed."""

    name: bytes
    old: bytes
    counts: str

    def shown(self, git: Git) -> str:
        name, old = (printable(git.name(each)) for each in (self.name, self.old))
        return f"{f'{old} -> {name}' if old else name}  {self.counts}"


async def diff_text(git: Git, between: list[str], path: str, *, stat: bool = False) -> str:
    """The files that differ, then the patch as far as there is room; empty for no difference.

    Files that may not be read without asking are left out and named, unless the path is theirs:
    then the person has been asked.
    """
    arguments, spec = ["diff", *DIFF_FLAGS, *between], git.spec(path)
    told = await git.run(*arguments, "--numstat", "-z", "--stat=2000", "--", spec)
    if told.cut:
        raise ToolFailed("Far too many files differ; give a path.")
    files = list(_files(told.output))
    for each in files:
        git.check(each.name)
    hidden = [each for each in files if _is_hidden(git, each, path)]
    if len(hidden) > HIDDEN:
        raise ToolFailed("Too many files that may not be read without asking differ; give a path.")
    shown = [each for each in files if each not in hidden]
    lines = [each.shown(git) for each in shown[:FILES_SHOWN]]
    if left := len(shown) - len(lines):
        lines.append(f"[{left:,} more files: give a path]")
    if hidden:
        named = list(dict.fromkeys(printable(git.name(each.name)) for each in hidden))
        more = f" and {len(named) - 10} more" if len(named) > 10 else ""
        lines.append(
            f"[left out, since it may not be read unasked: {', '.join(named[:10])}{more}; one "
            "given as path is asked for, unless a setting keeps it back]"
        )
    if stat or not shown:
        return "\n".join(lines)
    without = [
        pathspec(os.fsdecode(name), "exclude")
        for each in hidden
        for name in filter(None, (each.name, each.old))
    ]
    patch = await git.run(*arguments, "--patch", "--", spec, *without, limit=4 * OUTPUT_LIMIT)
    lines += ["", *_cut(patch.output, SHOWN - sum(map(len, lines)), more=patch.cut)]
    return "\n".join(lines)


def _files(output: bytes) -> Iterator[Changed]:
    """From `--numstat -z --stat`: counts and paths, then lines that tell the sizes of binaries."""
    *fields, stat = output.split(b"\0")
    sizes, entries = _SIZES.finditer(stat), iter(fields)
    for entry in entries:
        if not (parts := _COUNTS.fullmatch(entry)):
            continue
        added, deleted, name = parts.groups()
        old = b""
        if not name:  # renamed
            old, name = next(entries, b""), next(entries, b"")
        counts = f"+{added.decode()} -{deleted.decode()}"
        if added == b"-":
            size = next(sizes, None)
            before, after = (int(each or 0) for each in (size.groups() if size else (0, 0)))
            counts = f"binary, {sized(before)} -> {sized(after)}"
        yield Changed(name, old, counts)


def _is_hidden(git: Git, file: Changed, path: str) -> bool:
    names = {git.name(each) for each in (file.name, file.old) if each}
    private = any(map(git.private.withholds_lines, names))
    return private or not all(map(git.may_read, names - {path}))


def _cut(patch: bytes, room: int, *, more: bool) -> Iterator[str]:
    """Its first lines, long ones cut, and what was left out."""
    lines = patch.decode(errors="replace").rstrip("\n").split("\n")
    for number, line in enumerate(lines):
        if (over := len(line) - LINE_SHOWN) > 0:
            line = f"{line[:LINE_SHOWN]} [… {over:,} characters of this line cut]"
        room -= len(line) + 1
        if room < 0:
            left = "more" if more else f"{len(lines) - number:,}"
            yield f"[{left} lines left out: give one of the files above as path]"
            return
        yield line
    if more:
        yield "[more lines left out: give one of the files above as path]"
