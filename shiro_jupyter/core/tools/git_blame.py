"""git_blame: who wrote each line, and when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import ClassVar

from pydantic import Field

from ..errors import ToolFailed
from .base import OUTPUT_LIMIT, Parameters, printable
from .git_base import Git, GitTool, in_project

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

    async def text(self, parameters: GitBlameParameters, git: Git) -> str:
        path = in_project(git.project, parameters.path)
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
        return "\n".join(_shown(done.output.decode(errors="replace"), first, limit))


def _shown(output: str, first: int, limit: int) -> Iterator[str]:
    room = OUTPUT_LIMIT - 200
    number = first
    for whose, text in _lines(output):
        line = f"{number}: {whose}: {text[:LINE_SHOWN]}{' […]' if text[LINE_SHOWN:] else ''}"
        room -= len(line) + 1
        if room < 0 or number == first + limit:
            yield f"[more lines; next offset {number}]"
            return
        yield line
        number += 1


def _lines(output: str) -> Iterator[tuple[str, str]]:
    """Whose each line is, and its text; a commit is described where it comes first."""
    known: dict[str, dict[str, str]] = {}
    commit: dict[str, str] = {}
    for line in output.split("\n"):
        if line.startswith("\t"):
            yield _whose(commit), line[1:].rstrip("\r")
        elif begun := _LINE.fullmatch(line):
            commit = known.setdefault(begun[1], {"hash": begun[1]})
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
