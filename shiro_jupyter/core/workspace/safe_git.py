"""The one way in which we run git: nothing that a repository can name is run, fetched or changed.

What a config names is overridden on the command line, which comes last. git 2.30 takes all of it;
what a later git added is a setting or a variable, which an older one passes over.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import stat
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import ToolFailed
from .processes import Captured
from .threads import begun, settled

# What git needs of the environment; no key, no GIT_* of the person's shell among it. The settings
# of the person and the machine stay, for they say what is ignored and which folders are safe.
_PASSED = frozenset(
    {"HOME", "PATH", "PATHEXT", "SYSTEMROOT", "TEMP", "USERPROFILE", "XDG_CONFIG_HOME"}
)
# No network for what a partial clone lacks: a git that does not know how to leave that out may use
# no protocol, nor a bundle (fetch.bundleURI).
_SWITCHES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.quotePath=false",
    "diff.autoRefreshIndex=false",  # else a diff writes the index, and runs what is hooked to that
    "fetch.bundleURI=",
    "log.showSignature=false",
    # Files that git would read wherever they are, a pipe or a device too.
    f"diff.orderFile={os.devnull}",
    "mailmap.file=",
)
# Tells which settings there are, for `SafeGit.knowing`.
LISTING = ("config", "--null", "--show-scope", "--name-only", "--list")
# Files of any folder that git reads, beside a submodule's own, for ever where one is a pipe. A git
# that takes so many seconds may be held by one: most are done before, and need no look.
_READ_ANYWHERE = frozenset({".gitattributes", ".gitignore"})
PATIENCE = 1.0
# kB of data that one git may hold, so that a file without an end fills no machine. The files of a
# repository that it maps do not count.
MEMORY = 2_000_000
_LIMITED = ("/bin/sh", "-c", f'ulimit -d {MEMORY} 2>/dev/null; exec "$@"', "git")
# For whatever compares contents.
DIFF_FLAGS = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--find-renames",
    "--submodule=short",
    "--ignore-submodules=dirty",  # looking into one obeys its own config
    "--src-prefix=a/",
    "--dst-prefix=b/",
)


@dataclass(frozen=True)
class SafeGit:
    """Commands are run in `top`, the folder that holds `.git`, so that git finds no other one."""

    program: str
    top: Path
    environment: Mapping[str, str]
    settings: tuple[str, ...] = _SETTINGS

    @classmethod
    def at(cls, top: Path, environment: Mapping[str, str], program: str = "git") -> SafeGit | None:
        """None where there is no git. One in the current folder is not ours."""
        passed = {name: value for name, value in environment.items() if name.upper() in _PASSED}
        found = shutil.which(program, path=passed.get("PATH", os.defpath))
        if not found or not Path(found).is_absolute():
            return None
        # Not above the repository that was found, which git may not take for one.
        bounds = {"GIT_CEILING_DIRECTORIES": str(top.parent)}
        return cls(found, top, passed | _SWITCHES | bounds)

    def command(self, *arguments: str) -> list[str]:
        settings = (part for each in self.settings for part in ("-c", each))
        git = [self.program, "--no-optional-locks", "--no-pager", *settings, *arguments]
        return git if os.name == "nt" else [*_LIMITED, *git]

    def knowing(self, listed: bytes) -> SafeGit:
        """This, with what the settings name (as `LISTING` tells) set aside.

        Raises `ValueError` for a filter that cannot be switched off.
        """
        fields = os.fsdecode(listed).split("\0")
        keys = dict(zip(fields[1::2], fields[::2], strict=False))
        environment, settings = dict(self.environment), [*self.settings, *_without_filters(keys)]
        if "core.worktree" in keys:  # a submodule's; but it may name any folder
            environment["GIT_WORK_TREE"] = str(self.top)
        for key in ("core.attributesFile", "core.excludesFile"):  # any file, or a pipe
            if keys.get(key.lower()) in ("local", "worktree"):
                settings.append(f"{key}={os.devnull}")
        return replace(self, environment=environment, settings=tuple(settings))


async def unheld(running: Coroutine[Any, Any, Captured], top: Path) -> Captured:
    """What a git prints that reads the files below `top`. Raises `ToolFailed`, soon and with git
    ended, where one of them is a pipe that it waits for."""
    git = asyncio.ensure_future(running)
    try:
        await asyncio.wait({git}, timeout=PATIENCE)
        if not git.done():
            look = begun(_pipe_below, top)
            either: set[asyncio.Future[Any]] = {git, look}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not git.done() and (pipe := look.result()):
                raise ToolFailed(
                    f"git cannot get past {pipe!a}, which is a pipe; let the person put a file in "
                    "its place."
                )
        return await git
    finally:
        git.cancel()
        if await settled(git):
            raise asyncio.CancelledError


def _pipe_below(top: Path) -> str:
    own = str(top / ".git")
    for folder, folders, files in os.walk(top):
        if folder == own:  # it was looked at before
            folders.clear()
            continue
        # Of a submodule git reads where it stands.
        is_git = ".git" in Path(folder).parts
        for name in files if is_git else _READ_ANYWHERE.intersection(files):
            path = os.path.join(folder, name)  # noqa: PTH118
            if os.path.lexists(path) and stat.S_ISFIFO(os.lstat(path).st_mode):
                return path
    return ""


def pathspec(path: str, *magic: str) -> str:
    """A path from the repository's top as git takes it for nothing but a path."""
    return f":({','.join(('literal', *magic))}){path}"


def _without_filters(keys: Iterable[str]) -> Iterator[str]:
    """Settings that unset each filter, which git would run to compare a file's content."""
    for key in keys:
        if re.fullmatch(r"filter\..*\.(clean|process)", key, re.DOTALL):
            if "=" in key:  # -c would take it for the end of the name
                raise ValueError(key)
            yield f"{key}="
            yield f"{key.rpartition('.')[0]}.required=false"
