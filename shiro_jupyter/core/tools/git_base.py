"""What the git tools share: the repository around the project, refs and paths, one way to run.

Only what lies in the project is told: a repository may begin above it. Of commits that is their
message, and of what they change the part in the project.
"""

from __future__ import annotations

import os
import re
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from ..errors import PathRefused, ToolFailed
from ..policy.private import Private
from ..policy.subjects import Access, Subject
from ..workspace.git import Repository, is_outside, repository_of
from ..workspace.git_index import Tracked
from ..workspace.names import named
from ..workspace.paths import shown
from ..workspace.processes import Captured, Processes
from ..workspace.project import Project
from ..workspace.safe_git import LISTING, MEMORY, SafeGit, pathspec, unheld
from ..workspace.threads import in_thread
from .base import P, Tool, ToolContext, ToolResult, bounded, printable

DEADLINE = 20.0  # seconds for all that one call asks of git
SETTINGS_DEADLINE = 3.0  # for its settings among them, which are a few files
BYTES = 5_000_000  # of what one command prints
# A ref by name, hash or place (HEAD~2, main@{1}); a colon would name a file of any folder.
_REF = re.compile(r"(?![-^])[^\x00-\x20\x7f:?*\[\\]{1,250}")
_RANGE = re.compile(r"(.*?)(\.{2,3})(.*)")
_HASH = re.compile(rb"[0-9a-f]{40,64}\n")
# What git says of itself without quoting any file; of all else nobody knows what it quotes.
_KNOWN = (
    (
        re.compile(rb"dubious ownership|unsafe repository"),
        "git takes no repository that another user owns; let the person run "
        "`git config --global --add safe.directory {top}`.",
    ),
    (
        re.compile(rb"fatal: Out of memory"),
        f"git needs over {MEMORY // 1_000_000} GB of memory for this; ask for less, or let the "
        "person look for a file without an end.",
    ),
    (
        re.compile(rb"bad (?:numeric |boolean )?config"),
        "The git settings of this repository or this user cannot be read; mend them first.",
    ),
    (
        re.compile(rb"promisor|not allowed|lazy fetch"),
        "This is a partial clone, and what is missing is not fetched here; run `git fetch` first.",
    ),
)


@dataclass(frozen=True)
class Git:
    """git for one call. `inside` is the project's path in the repository, `.` for its top."""

    project: Project
    inside: str
    safe: SafeGit
    processes: Processes
    may_read: Callable[[str], bool]
    until: float
    private: Private

    async def capture(self, *arguments: str, limit: int = BYTES) -> Captured:
        """Raises `ToolFailed` where git does not end in time."""
        left = max(0.0, self.until - time.monotonic())
        seconds = min(left, SETTINGS_DEADLINE) if arguments == LISTING else left
        running = self.processes.capture(
            self.safe.command(*arguments),
            cwd=self.safe.top,
            environment=self.safe.environment,
            timeout=seconds,
            limit=limit,
        )
        done = await unheld(running, self.safe.top)
        if done.timed_out and seconds < left:
            raise ToolFailed(
                "git did not get through its settings and was ended; let the person look whether "
                f"{self.safe.top / '.git/config'} includes a pipe or a device."
            )
        if done.timed_out:
            raise ToolFailed(
                f"git {arguments[0]} was not done in time and was ended; ask for less: one path, "
                "or a lower limit."
            )
        return done

    async def run(self, *arguments: str, limit: int = BYTES) -> Captured:
        """Raises `ToolFailed` where git fails, too."""
        done = await self.capture(*arguments, limit=limit)
        if done.cut or done.exit_code == 0:
            return done
        raise self.failure(
            done,
            f"git {arguments[0]} failed here (exit code {done.exit_code}); run it with bash to see "
            "why.",
        )

    def failure(self, done: Captured, sentence: str) -> ToolFailed:
        """The sentence, or a better one where it is known why git failed."""
        for known, better in _KNOWN:
            if known.search(done.errors):
                return ToolFailed(better.format(top=self.safe.top))
        return ToolFailed(sentence)

    # -- refs ------------------------------------------------------------------------------

    async def commit(self, ref: str) -> str:
        """The hash of a commit. Raises `ToolFailed` for what names none."""
        if not _REF.fullmatch(ref):
            raise ToolFailed(
                f"{ref!r} is no ref; give a branch, a tag, a commit's hash, or HEAD~1 and the like."
            )
        done = await self.capture("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        if not _HASH.fullmatch(done.output):
            none = f"There is no commit {printable(ref)}; git_log lists those there are."
            if ref == "HEAD":
                none = await self._without_head()
            raise self.failure(done, none)
        return done.output.decode().strip()

    async def _without_head(self) -> str:
        """Why HEAD names no commit: nothing was committed yet, or something is broken."""
        any_commit = await self.capture("rev-list", "--max-count=1", "--all")
        if any_commit.exit_code == 0 and not any_commit.output:
            return "There is no commit yet; git_status tells what there is."
        return "HEAD names no commit that git can read; let the person look at it with `git fsck`."

    async def span(self, ref: str) -> str:
        """The same for `a..b` and `a...b`, in hashes; an empty end is HEAD."""
        if not (parts := _RANGE.fullmatch(ref)):
            return await self.commit(ref)
        first, dots, last = parts.groups()
        return f"{await self.commit(first or 'HEAD')}{dots}{await self.commit(last or 'HEAD')}"

    # -- paths -----------------------------------------------------------------------------

    def full(self, path: str) -> str:
        """From the repository's top, of a path in the project."""
        if self.inside == ".":
            return path
        return self.inside if path == "." else f"{self.inside}/{path}"

    def spec(self, path: str) -> str:
        return pathspec(self.full(path))

    def name(self, full: bytes) -> str:
        """A path from the repository's top as one in the project, to be looked at as a name."""
        return os.fsdecode(full.removeprefix(self._prefix))

    def check(self, full: bytes) -> None:
        """Raises `ToolFailed` for a path that git names and that is not in the project."""
        if not full.startswith(self._prefix) or is_outside(full):
            raise made_up(full)

    @property
    def _prefix(self) -> bytes:
        return b"" if self.inside == "." else os.fsencode(self.inside) + b"/"


class GitTool(Tool[P]):
    """A tool that asks git and changes nothing."""

    toolset: ClassVar[str] = "git"
    access: ClassVar[Access] = "read"
    deadline: float = DEADLINE

    @abstractmethod
    def path_of(self, parameters: P) -> str: ...

    @abstractmethod
    async def text(self, parameters: P, git: Git, path: str) -> str:
        """The answer; `path` is what `path_of` gives, as it was judged."""

    def summary(self, parameters: P) -> str:
        return self.path_of(parameters)

    def subject(self, parameters: P, context: ToolContext) -> Subject:
        path = located(context.project, self.path_of(parameters))
        return Subject(self.name, self.access, (shown(context.project, path),))

    async def run(self, parameters: P, context: ToolContext) -> ToolResult:
        def path() -> str:
            return shown(context.project, context.resolved(self.path_of(parameters), located))

        git = await _opened(context, self.deadline)
        told = await self.text(parameters, git, path())
        path()  # which a link has not led elsewhere while git was at it
        return ToolResult("ok", bounded(told))


def located(project: Project, given: str) -> Path:
    """A path as git knows it: links are not followed, which git does not do either. It may be given
    as `printable` shows it.

    Raises `PathRefused` for what is outside the project, and for what stands behind a link to a
    folder: under that name git would read what no rule was asked about."""
    if given.startswith("-"):
        raise PathRefused(f"{given!r} looks like an option; give a path, ./{given} if it is one.")
    if not given.strip() or "\0" in given or given.startswith("~"):
        raise PathRefused(f"{given!r} is no path; give one relative to the project folder.")
    path = Path(os.path.normpath(project.root / given))
    if "\\" in given and not os.path.lexists(path):
        path = Path(os.path.normpath(project.root / named(given)))
    if not path.is_relative_to(project.root):
        raise PathRefused(
            f"{printable(given)} is outside the project folder {project.root}; git tools tell only "
            "of what lies in it."
        )
    if path != project.root and not _is_real(path.parent):
        raise PathRefused(
            f"{printable(given)} leads through a link, which git does not follow; give the path "
            "that it leads to."
        )
    return path


def _is_real(folder: Path) -> bool:
    try:
        return folder.resolve() == folder
    except (OSError, RuntimeError):  # a loop of links
        return False


def check_known(git: Git, path: str) -> None:
    """Nothing was found at this path: raises `ToolFailed` where there is nothing, too."""
    if not os.path.lexists(git.project.root / path):
        raise ToolFailed(f"There is no {printable(path)}, and git found nothing of it.")


async def _opened(context: ToolContext, deadline: float) -> Git:
    """Raises `ToolFailed` where there is no repository, no git, or nothing to trust."""
    until = time.monotonic() + deadline
    project = context.project
    repository = await in_thread(_repository, project)
    safe = SafeGit.at(repository.top, context.processes.child_environment())
    if safe is None:
        raise ToolFailed("git is not installed, or not on the PATH; install it, or do without.")
    inside = project.root.relative_to(repository.top).as_posix()
    how = context.processes, context.may_read, until, context.private
    git = Git(project, inside, safe, *how)
    listed = await git.run(*LISTING)
    try:
        return replace(git, safe=safe.knowing(listed.output))
    except ValueError as error:
        raise ToolFailed(
            f"The settings name a filter that cannot be switched off ({printable(str(error))}); "
            "rename it without the =."
        ) from None


def made_up(name: bytes) -> ToolFailed:
    return ToolFailed(
        f"git names {printable(os.fsdecode(name))}, which is outside the project: its index is "
        "damaged or made up; let the person run `git reset`."
    )


def _repository(project: Project) -> Repository:
    repository = repository_of(project.root)
    if repository is None:
        raise ToolFailed(
            f"{project.root} is in no git repository; use the file tools, or let the person run "
            "`git init`."
        )
    try:
        fault = repository.fault(project.root, *project.allowed)
        fault = fault or repository.borrowing() or repository.oddity()
    except OSError as error:
        fault = f"{error.filename} cannot be looked into ({error.strerror})"
    if fault:
        raise ToolFailed(f"git is not run here: {printable(fault)}; let the person look at it.")
    # Else git compares that file with what the index says of it, and tells whether it is so.
    if outside := Tracked(repository).made_up:
        raise made_up(outside)
    return repository
