"""git_log: the commits that touch the project."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from .base import Parameters, printable
from .git_base import Git, GitTool, check_known

LIMIT = 200
SUBJECT = 300  # characters of a line


class GitLogParameters(Parameters):
    ref: str = Field("HEAD", description="Branch, tag or commit to begin at, or a range as `a..b`.")
    path: str = Field(".", description="Only commits that touch this file or folder.")
    limit: int = Field(20, ge=1, le=LIMIT, description="Number of commits.")


class GitLog(GitTool[GitLogParameters]):
    """List commits, the newest first: hash, date, author, subject."""

    name: ClassVar[str] = "git_log"
    parameters = GitLogParameters

    def path_of(self, parameters: GitLogParameters) -> str:
        return parameters.path

    async def text(self, parameters: GitLogParameters, git: Git, path: str) -> str:
        # A path leaves out merges, which are wanted where it is all of the repository.
        only = [] if git.full(path) == "." else [git.spec(path)]
        told = await git.run(
            "log",
            "-z",
            f"--max-count={parameters.limit + 1}",
            "--format=%h%n%ad%n%an%n%D%n%s",
            "--date=short",
            "--encoding=UTF-8",
            "--no-color",
            await git.span(parameters.ref),
            "--",
            *only,
        )
        commits = [each for each in told.output.decode(errors="replace").split("\0") if each]
        if not commits:
            check_known(git, path)
            where = "" if path == "." else f" that touches {printable(path)}"
            return f"There is no commit{where} in {printable(parameters.ref)}."
        lines = [_line(each) for each in commits[: parameters.limit]]
        if told.cut or len(commits) > parameters.limit:
            lines.append(
                f"[there are more: give a higher limit (up to {LIMIT}), a path or a range]"
            )
        return "\n".join(lines)


def _line(commit: str) -> str:
    short, date, author, names, subject = (*commit.split("\n", 4), "", "", "", "")[:5]
    at = f" ({names})" if names else ""
    return printable(f"{short} {date} {author}: {subject[:SUBJECT]}{at}")
