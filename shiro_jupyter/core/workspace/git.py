"""The git repository around a project: read from its files, and by one `git status` call.

A repository may be hostile: nothing that its config names is run, and nothing here raises.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .processes import captured
from .safe_git import LISTING, SafeGit, pathspec

DEADLINE = 0.15  # seconds
FILES = 40
CONSIDERED = 2_000  # changed files whose times are looked at
# What git reads of a repository's own files before anything else; of all others `oddity` tells.
_FOLDERS_READ = ("objects", "refs")
_FILES_READ = (
    *("HEAD", "config", "config.worktree", "index", "packed-refs", "shallow"),
    *("info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout"),
    "objects/info/alternates",
)
_OUT = frozenset({b"", b".", b"..", b".git"})
_ENDS_AS_ONE_OUTSIDE = re.compile(rb"\.(?:\.|[gG][iI][tT])?\0")
_SEPARATOR = re.compile(rb"[/\\:]" if os.name == "nt" else b"/")
# Folders of a git folder, and of one of a submodule in it, that are not read here: what is in them
# may be anything.
_UNREAD = frozenset({"annex", "hooks", "lfs", "rr-cache", "svn"})
_STATUS = (
    "status",
    "--porcelain=v1",
    "-z",
    "--untracked-files=all",
    "--ignore-submodules=all",  # reading them obeys their own config
    "--renames",
    "--",
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

    def fault(self, *allowed: Path) -> str:
        """Why git is not run here; empty where all is well: it would read another repository, or a
        pipe, a device or a file from elsewhere. `allowed` may hold the git folder, too."""
        own, top = self.own.resolve(), self.top
        above = repository_of(top.parent)
        submodule = above is not None and _inside(own, above.own.resolve() / "modules")
        if not (submodule or _inside(own, top, *allowed) or self._is_named_by(own)):
            return f"{own} is no git folder of {top}, unless `git worktree repair` makes it one"
        common = self.common.resolve()
        if common not in (own, own.parent.parent) or (common / "commondir").exists():
            return f"{own} leads on to another git folder"
        files = [folder / name for folder in (own, common) for name in _FILES_READ]
        folders = [common / name for name in _FOLDERS_READ]
        named = (top / ".mailmap", top / ".gitmodules")
        for path in filter(os.path.lexists, (*files, *folders, *named)):
            real = path.resolve()
            right = real.is_dir() if path in folders else real.is_file()
            if not right or not _inside(real, own, common, top):
                return f"{path} is a pipe, a device or a link to elsewhere"
        return ""

    def borrowing(self) -> str:
        """Why git would read objects of another repository here; empty where it does not. A look at
        each folder of objects: for what shows contents, not for the start of a session."""
        objects = self.common / "objects"
        if _first_line(borrowed := objects / "info/alternates"):
            return (
                f"{borrowed} has it read another repository, until `git repack -a -d` has made "
                "this one whole and that file is removed"
            )
        linked = next((each.path for each in _odd_below(objects) if each.is_symlink()), "")
        return f"{linked} is a link, which may lead to another repository" if linked else ""

    def oddity(self) -> str:
        """Which file that git may read would hold it for ever, or is none of this repository; empty
        where all are plain. As long a look as `borrowing`."""
        homes = (self.own.resolve(), self.common.resolve(), self.top.resolve())
        for home in dict.fromkeys(homes[:2]):
            for path in (Path(each.path) for each in _odd_below(home)):
                first, *others = path.relative_to(home).parts
                if first in _UNREAD or (first == "modules" and not _UNREAD.isdisjoint(others)):
                    continue
                real = Path(os.path.realpath(path))
                # A link to nothing is a lock of Emacs, or a HEAD before the first commit.
                if real.exists() and not (real.is_file() and _inside(real, *homes)):
                    return f"{path} is a pipe, a device or a link to elsewhere"
        return ""

    def _is_named_by(self, own: Path) -> bool:
        """As a further work tree is, in the git folder that it has."""
        named = _first_line(own / "gitdir")
        return bool(named) and (own / named).resolve() == (self.top / ".git").resolve()


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


def _inside(path: Path, *folders: Path) -> bool:
    return any(map(path.is_relative_to, folders))


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
    git = SafeGit.at(repository.top, environment, program)
    if git is None or repository.fault():
        return []

    def run(git: SafeGit, *arguments: str) -> bytes | None:
        command, seconds = git.command(*arguments), until - time.monotonic()
        return captured(command, cwd=git.top, environment=git.environment, seconds=seconds)

    if (listed := run(git, *LISTING)) is None:
        return []
    git = git.knowing(listed)
    inside = folder.relative_to(repository.top).as_posix()
    listed = run(git, *_STATUS, pathspec(inside))
    prefix = b"" if inside == "." else os.fsencode(inside) + b"/"
    names = [name.removeprefix(prefix) for name in _names(listed or b"") if name.startswith(prefix)]
    return _newest(os.fsencode(folder), names[:CONSIDERED])


@dataclass(frozen=True)
class Change:
    """One path of `git status`: what became of it in the index and in the work tree, as
    git's two letters."""

    states: str
    name: bytes
    old: bytes = b""


def changes(fields: Iterable[bytes]) -> Iterator[Change]:
    """From the fields of `git status --porcelain=v1 -z`."""
    fields = iter(fields)
    for each in fields:
        if name := each[3:]:
            states = each[:2].decode(errors="replace")
            yield Change(states, name, next(fields, b"") if set(states) & set("RC") else b"")


def is_outside(name: bytes) -> bool:
    """Whether a name that git gives leads out of the work tree, or into a git folder: git writes
    none such into an index, which may be made up."""
    parts = _SEPARATOR.split(name.removesuffix(b"/").lower())
    return not _OUT.isdisjoint(parts)


def none_outside(listed: bytes) -> bool:
    """Whether surely none of these names is outside, each ended by a NUL: one look at all of them,
    which of a hundred thousand takes a tenth of the time that a look at each does."""
    if os.name == "nt":
        return False
    parts = (b"\0" + listed).replace(b"/", b"\0")
    return b"\0\0" not in parts and not _ENDS_AS_ONE_OUTSIDE.search(parts)


def _names(listed: bytes) -> Iterator[bytes]:
    """Each path once, without those of our own store."""
    for change in changes(listed.split(b"\0")):
        if b".shiro" not in change.name.split(b"/") and not is_outside(change.name):
            yield change.name


def _newest(folder: bytes, names: list[bytes]) -> list[bytes]:
    def time_of(name: bytes) -> int:
        try:
            return os.lstat(folder + b"/" + name).st_mtime_ns
        except OSError:
            return 0

    return sorted(names, key=time_of, reverse=True)[:FILES]


def _odd_below(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """Links, pipes and devices; a socket, which git's own watcher has, cannot be opened."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                yield from _odd_below(each.path)
            elif not (each.is_file(follow_symlinks=False) or _is_socket(each)):
                yield each


def _is_socket(entry: os.DirEntry[str]) -> bool:
    return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)


def _first_line(path: Path) -> str:
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            return ""
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(4096).strip()
    except (OSError, ValueError):
        return ""
