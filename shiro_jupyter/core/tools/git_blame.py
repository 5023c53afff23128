"""git_blame: who wrote each line, and when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import ClassVar

from pydantic import Field

from ..errors import ToolFailed
from ..policy.private import withheld_file
from ..workspace.paths import open_regular
from ..workspace.text import decode
from ..workspace.threads import in_thread
from .base import OUTPUT_LIMIT, Parameters, printable, sized
from .git_base import Git, GitTool

BYTES = 50_000_000  # of a file
LIMIT = 500
LINE_SHOWN = 300
_LINE = re.compile(r"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?")
_TOO_FEW = re.compile(rb"has only (\d+) lines?")


class GitBlameParameters(Parameters):
    path: str = Field(description="File, relative to the project.")
    ref: str = Field("", description="As of this commit; empty: the file as it is now.")
    offset: int = Field(1, ge=1, le=10**9, description="First line, from 1.")
    limit: int = Field(100, ge=1, le=LIMIT, description="Number of lines.")


class GitBlame(GitTool[GitBlameParameters]):
    """Tell for each line of a file which commit it is from: hash, date and author."""

    name: ClassVar[str] = "git_blame"
    parameters = GitBlameParameters

    def path_of(self, parameters: GitBlameParameters) -> str:
        return parameters.path

    async def text(self, parameters: GitBlameParameters, git: Git, path: str) -> str:
        if git.private.withholds_lines(path):
            raise ToolFailed(withheld_file(printable(path)))
        at = [await git.commit(parameters.ref)] if parameters.ref else []
        first, limit = parameters.offset, parameters.limit
        done = await git.capture(
            "blame",
            "--no-textconv",
            "--no-ignore-revs-file",  # an empty setting would not keep it from being opened
            "--porcelain",
            "--encoding=UTF-8",
            f"-L{first},+{limit + 1}",
            *at,
            "--",
            git.full(path),
        )
        name = printable(path)
        if done.exit_code and (few := _TOO_FEW.search(done.errors)):
            raise ToolFailed(f"{name} has {int(few[1]):,} lines; offset {first:,} is past its end.")
        if done.exit_code:
            raise git.failure(
                done,
                f"git has no lines of {name}{f' in {printable(parameters.ref)}' if at else ''}; "
                "give a tracked file (git_status tells which are not), or an older ref.",
            )
        lines, note = await _content(git, path, at, name)
        shown = _shown(done.output.decode(errors="replace"), lines, first, limit)
        return "\n".join([*note, *shown])


async def _content(git: Git, path: str, at: list[str], name: str) -> tuple[list[str], list[str]]:
    """The lines of the file, as all other tools read it, and what is to be said of that."""
    if at:
        data = (await git.run("cat-file", "blob", f"{at[0]}:{git.full(path)}", limit=BYTES)).output
    else:
        data = await in_thread(_read, git, path, name)
    if (text := decode(data)) is None:
        raise ToolFailed(f"{name} is a binary file ({sized(len(data))}), which has no lines.")
    if text.text.count("\n") != data.count(b"\n"):
        raise ToolFailed(
            f"{name} is stored as {text.encoding}, of which git counts the lines otherwise; see "
            "with git_log which commits touch it."
        )
    return text.text.split("\n"), [f"[{text.note}]"] if text.note else []


def _read(git: Git, path: str, name: str) -> bytes:
    file = git.project.root / path
    if file.is_symlink():
        raise ToolFailed(f"{name} is a link; give the file that it leads to, or a ref.")
    with open_regular(git.project, file) as stream:
        return stream.read(BYTES)


def _shown(output: str, lines: list[str], first: int, limit: int) -> Iterator[str]:
    room = OUTPUT_LIMIT - 200
    for whose, number in _owners(output):
        # A file that is saved just now may have lost some.
        text = lines[number - 1].rstrip("\r") if number <= len(lines) else ""
        line = f"{number}: {whose}: {text[:LINE_SHOWN]}{' […]' if text[LINE_SHOWN:] else ''}"
        room -= len(line) + 1
        if room < 0 or number == first + limit:
            yield f"[more lines; next offset {number}]"
            return
        yield line


def _owners(output: str) -> Iterator[tuple[str, int]]:
    """Whose each line is, and its number; a commit is described where it comes first."""
    known: dict[str, dict[str, str]] = {}
    commit: dict[str, str] = {}
    number = 0
    for line in output.split("\n"):
        if line.startswith("\t"):
            yield _whose(commit), number
        elif begun := _LINE.fullmatch(line):
            commit, number = known.setdefault(begun[1], {"hash": begun[1]}), int(begun[2])
        else:
            key, _, value = line.partition(" ")
            commit.setdefault(key, value)


def _whose(commit: dict[str, str]) -> str:
    if not commit["hash"].strip("0"):
        return "not committed"
    try:
        day = datetime.fromtimestamp(int(commit["author-time"]), UTC).date().isoformat()
    except (KeyError, ValueError, OverflowError, OSError):  # a commit may claim any number
        day = "at no known time"
    return printable(f"{commit['hash'][:8]} {day} {commit.get('author', '')}")
