"""The git repository around a project: read from its files, and by one `git status` call.

A repository may be hostile: nothing that its config names is run, and nothing here raises.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .processes import captured

DEADLINE = 0.15  # seconds
FILES = 40
CONSIDERED = 2_000  # changed files whose times are looked at

# What git needs of the environment; no key, no GIT_* of the person's shell among it.
_PASSED = frozenset(
    {"HOME", "PATH", "PATHEXT", "SYSTEMROOT", "TEMP", "USERPROFILE", "XDG_CONFIG_HOME"}
)
# No locks, no network for what a partial clone lacks, no questions.
_SWITCHES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_SETTINGS = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}")
_STATUS = (
    "status",
    "--porcelain=v1",
    "-z",
    "--untracked-files=all",
    "--ignore-submodules=all",  # reading them obeys their own config
    "--renames",
    "--",
    ".",
)


@dataclass(frozen=True)
class Repository:
    """`own` is this work tree's git folder, `common` the one that all its work trees share."""

    top: Path
    own: Path
    common: Path

    def branch(self) -> str:
        """The branch's name; empty on a detached HEAD or where it cannot be read."""
        name = _first_line(self.own / "HEAD").partition("ref: refs/heads/")[2]
        return "" if name == ".invalid" else name  # what stands there is then no plain file


@dataclass(frozen=True)
class GitState:
    """`files` are changed, staged or untracked: newest first, 40 at most, with `/`, relative
    to the folder asked about; what git does not know as text in their names is replaced."""

    branch: str = ""
    files: tuple[str, ...] = ()


def git_state(
    folder: Path,
    environment: Mapping[str, str],
    *,
    deadline: float = DEADLINE,
    program: str = "git",
) -> GitState:
    """The state of the work tree that holds the folder, as far as it can be told in time.

    `environment` is what a child may see (`Processes.child_environment`). Blocks for `deadline`
    seconds at most, also where git hangs.
    """
    until = time.monotonic() + deadline
    branch, files = "", list[bytes]()
    with suppress(OSError, ValueError, RuntimeError):
        if repository := repository_of(folder):
            branch = repository.branch()
            files = _changed(repository, folder, environment, until, program)
    return GitState(branch, tuple(name.decode(errors="replace") for name in files))


def repository_of(folder: Path) -> Repository | None:
    for top in (folder, *folder.parents):
        marker = top / ".git"
        with suppress(OSError, ValueError, RuntimeError):
            if marker.is_dir():
                return Repository(top, marker, marker)
            if marker.is_file():  # a work tree or a submodule
                own = top / _first_line(marker).removeprefix("gitdir:").strip()
                common = own / (_first_line(own / "commondir") or ".")
                return Repository(top, own, common.resolve())
    return None


def identity(folder: Path) -> str:
    """The same for a folder in all work trees of one repository; the folder itself elsewhere."""
    repository = repository_of(folder)
    if repository is None:
        return str(folder)
    return f"{repository.common}//{folder.relative_to(repository.top).as_posix()}"


def _changed(
    repository: Repository,
    folder: Path,
    environment: Mapping[str, str],
    until: float,
    program: str,
) -> list[bytes]:
    passed = {name: value for name, value in environment.items() if name.upper() in _PASSED}
    found = shutil.which(program, path=passed.get("PATH", os.defpath))
    if not found or not Path(found).is_absolute():  # one in the current folder is not ours
        return []
    # Not above the repository that was found, which git may not take for one.
    bounds = {"GIT_CEILING_DIRECTORIES": str(repository.top.parent)}

    def git(*arguments: str) -> bytes | None:
        return captured(
            [found, "--no-optional-locks", *arguments],
            cwd=folder,
            environment=passed | _SWITCHES | bounds,
            seconds=until - time.monotonic(),
        )

    if (listed := git("config", "--null", "--name-only", "--list")) is None:
        return []
    keys = os.fsdecode(listed).split("\0")
    if "core.worktree" in keys:  # a submodule's; but it may name any folder
        bounds["GIT_WORK_TREE"] = str(repository.top)
    settings = [*_SETTINGS, *_without_filters(keys)]
    listed = git(*(part for each in settings for part in ("-c", each)), *_STATUS)
    inside = os.fsencode(folder.relative_to(repository.top).as_posix())
    prefix = b"" if inside == b"." else inside + b"/"
    names = [name.removeprefix(prefix) for name in _names(listed or b"") if name.startswith(prefix)]
    return _newest(os.fsencode(folder), names[:CONSIDERED])


def _without_filters(keys: Iterable[str]) -> Iterator[str]:
    """Settings that unset each filter, which git would run to compare a file's content.

    Raises `ValueError` for a name that git takes no setting for.
    """
    for key in keys:
        if re.fullmatch(r"filter\..*\.(clean|process)", key, re.DOTALL):
            if "=" in key:
                raise ValueError(key)
            yield f"{key}="
            yield f"{key.rpartition('.')[0]}.required=false"


def _names(listed: bytes) -> Iterator[bytes]:
    """Each path once, without those of our own store."""
    fields = iter(listed.split(b"\0"))
    for each in fields:
        states, name = each[:2], each[3:]
        if states[:1] in (b"R", b"C") or states[1:] in (b"R", b"C"):
            next(fields, None)  # its old name
        if name and b".shiro" not in name.split(b"/"):
            yield name


def _newest(folder: bytes, names: list[bytes]) -> list[bytes]:
    def time_of(name: bytes) -> int:
        try:
            return os.lstat(folder + b"/" + name).st_mtime_ns
        except OSError:
            return 0

    return sorted(names, key=time_of, reverse=True)[:FILES]


def _first_line(path: Path) -> str:
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            return ""
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(4096).strip()
    except (OSError, ValueError):
        return ""
