"""Where a check runs: a copy of the project's folder, so that what cells write is not kept.

A copy takes room, so there is a budget: what does not fit, the largest first, is linked instead of
copied, file by file. Links of the project lead into the copy: what they led to outside is copied
too. What lies outside the copy all the same is watched, and the result names what was changed.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ...core.errors import UsageError

COPIED = 200_000_000  # bytes
FILES = 20_000
# Not seen by a run in a copy, nor told as written.
LEFT_OUT = frozenset({".git", ".hg", ".svn", ".shiro", "__pycache__", ".ipynb_checkpoints"})
LEFT_OUT |= {".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox"}
# Too large to copy, and never written to by a notebook: linked as a whole, as environments are.
_LINKED = frozenset({"node_modules"})
_ENVIRONMENT = ("pyvenv.cfg", "conda-meta")
# An absolute path in a variable, alone, in a list or in an address such as `sqlite:////data/a.db`.
_ABSOLUTE = re.compile(r"""(?<![\w.~-])(/*)(/[^/:;,"'?&|\s](?:[^:;,"'?&|\s]| (?![-/]))*)""")
_NO_REPOSITORY = re.compile(r"not a git repository|InvalidGitRepository|GitError")
# And of code that runs git, or looks for a repository.
_OF_GIT = re.compile(rf"{_NO_REPOSITORY.pattern}|['\"/]\.git\b|['\"!]git\b|\bgit [a-z]")
LISTED = 20  # names
REAL = "Changed for real meanwhile, by the cells or by others: {}."
NO_GIT = (
    "The copy has no .git, which a cell asks for: check it with --in-place, "
    "where what its cells write stays."
)
UNSEEN = "Linked, with too many files to see what changed in them for real: {}."

State = dict[str, tuple[int, int, int]]  # size, time of change and inode, by path below a folder


@dataclass
class Place:
    """`folder` is the working folder of the cells, somewhere in `root`, which is the copy of
    `project`. `linked` are the files and folders that are the real ones."""

    root: Path
    folder: Path
    project: Path
    linked: tuple[str, ...] = ()
    _wholes: frozenset[Path] = frozenset()  # real folders that only links lead to
    _before: State | None = field(default_factory=dict)
    _watched: Mapping[Path, State | None] = field(default_factory=dict)

    @property
    def copied(self) -> bool:
        return self.root != self.project

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Variables for the cells: paths into the project lead into the copy, but for those to
        what is not copied, as environments are."""
        mapped = dict(environ)
        if self.copied:
            mapped = {name: _ABSOLUTE.sub(self._inside, each) for name, each in mapped.items()}
        return mapped | {"PWD": str(self.folder)}

    def _inside(self, found: re.Match[str]) -> str:
        path = Path(os.path.normpath(found[2]))
        for above in reversed([path, *path.parents]):  # the project may be reached by a link
            real = Path(os.path.realpath(above))
            if real in self._wholes:
                break
            if real.is_relative_to(self.project):
                below = path.relative_to(above)
                inside = self.root / real.relative_to(self.project) / below
                parts = real.joinpath(below).parents
                kept = any(each in self._wholes for each in (real / below, *parts))
                if kept or (path.exists() and not os.path.lexists(inside)):
                    break
                return f"{found[1]}{inside}{'/' * found[2].endswith('/')}"
        return found[0]

    def written(self) -> tuple[str, ...] | None:
        """What was made, changed or removed since, by path; None where that is too much to see."""
        return _changed(self._before, _state(self.root, follow=not self.copied))

    def outside(self) -> list[str]:
        """Sentences on what is real and was made, changed or removed, by the cells or by others:
        by path in the project, else absolute."""
        told, unseen = set[Path](), list[str]()
        for path, before in self._watched.items():
            changed = _changed(before, _state(path, but=self.root))
            if changed is None:
                unseen.append(str(path))
            else:
                told |= {Path(os.path.normpath(path / each)) for each in changed}
        within = [
            p.relative_to(self.project) if p.is_relative_to(self.project) else p for p in told
        ]
        return [
            sentence.format(_listed(sorted(map(str, names))))
            for sentence, names in ((REAL, within), (UNSEEN, unseen))
            if names
        ]

    def lacking(self, failed: str, shown: Iterable[str]) -> list[str]:
        """A sentence where what failed, or was shown, asks for the history that is left out."""
        if not self.copied or not (self.project / ".git").exists():
            return []
        asks = _OF_GIT.search(failed) or any(map(_NO_REPOSITORY.search, shown))
        return [NO_GIT] if asks else []

    def remove(self) -> None:
        if self.copied:
            shutil.rmtree(self.root, ignore_errors=True)


def in_place(folder: Path) -> Place:
    """The notebook's own folder: what cells write stays."""
    return Place(folder, folder, folder, _before=_state(folder, follow=True))


def copy_of(root: Path, folder: Path, budget: int = COPIED, files: int = FILES) -> Place:
    """A copy of a project, in a temporary folder that nobody else may look into.

    Raises `UsageError` where it has more files than that.
    """
    root, folder = root.resolve(), folder.resolve()
    plan = _Plan(root, files)
    watched = {each: _state(each) for each in plan.outside()}
    copy = Path(tempfile.mkdtemp(prefix="shiro-check-")).resolve()
    try:
        linked = plan.fill(copy, budget)
        inside = copy / folder.relative_to(root)
        inside.mkdir(parents=True, exist_ok=True)
        wholes = frozenset(plan.wholes.values())
        return Place(copy, inside, root, tuple(linked), wholes, _state(copy), watched)
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise


class _Plan:
    """What a copy will hold, by path in it. `placed` are the real folders that are copied."""

    def __init__(self, root: Path, limit: int) -> None:
        self.root, self.limit = root, limit
        self.placed: dict[Path, Path] = {root: Path()}
        self.folders: list[Path] = []
        self.files: list[tuple[int, Path, Path]] = []  # size, path in the copy, real path
        self.links: dict[Path, str] = {}
        self.wholes: dict[Path, Path] = {}  # linked as a whole: environments and the like
        self.large: dict[Path, Path] = {}  # and folders outside, with too many files
        self._open: list[tuple[Path, Path]] = []  # links whose end is not looked at yet
        if not self._take(root, Path()):
            raise UsageError(
                f"{root} has more than {limit:,} files, too many to copy: check it with "
                "--in-place, where what its cells write stays."
            )
        while self._open:
            self._follow(*self._open.pop(0))

    def outside(self) -> list[Path]:
        """What is real, to be watched: the project, and what its links lead to."""
        ends = [real for _, _, real in self.files if not self._home(real)]
        return [*self.placed, *self.large.values(), *ends]

    def fill(self, copy: Path, budget: int) -> list[str]:
        """Makes the copy; the names of what is linked for its size, which is the real thing."""
        linked = [name.as_posix() for name in self.large]
        for name in self.folders:
            (copy / name).mkdir(parents=True, exist_ok=True)
        for name, real in (self.wholes | self.large).items():
            (copy / name).symlink_to(real, target_is_directory=True)
        for name, to in self.links.items():
            (copy / name).symlink_to(to)
        for size, name, real in sorted(self.files):
            with suppress(OSError):  # gone meanwhile, or not to be read: the cell will tell
                if size <= budget:
                    shutil.copy2(real, copy / name)
                    budget -= size
                else:
                    (copy / name).symlink_to(real)
                    linked.append(name.as_posix())
        return linked

    def _take(self, real: Path, name: Path) -> bool:
        """Whether a folder has few enough files; it is taken then, with all below it."""
        folders, files, opened, wholes = [name], list[tuple[int, Path, Path]](), [], {}
        for kind, path in _walk(real):
            at = name / path.relative_to(real)
            if kind == "folder":
                folders.append(at)
            elif kind == "whole":
                wholes[at] = Path(os.path.realpath(path))
            elif kind == "link":
                opened.append((at, path))
            else:
                files.append((_size(path), at, path))
            if len(files) + len(opened) + len(self.files) > self.limit:
                return False
        self.folders += folders
        self.files += files
        self._open += opened
        self.wholes |= wholes
        return True

    def _follow(self, name: Path, link: Path) -> None:
        end = Path(os.path.realpath(link))
        if home := self._home(end):
            to = link.readlink()
            beside = Path(os.path.normpath(name.parent / to))
            stays = not to.is_absolute() and ".." not in beside.parts
            self.links[name] = str(to) if stays else os.path.relpath(home, name.parent)
        elif end.is_dir():
            self.placed[end] = name
            if self.root.is_relative_to(end) or not self._take(end, name):
                del self.placed[end]
                self.large[name] = end
        elif end.is_file():
            self.files.append((_size(end), name, end))
        elif end.exists():  # a device
            self.links[name] = str(end)
        # One that leads to nothing outside is left out: a cell that writes to it makes a file.

    def _home(self, end: Path) -> Path | None:
        """Where in the copy something real is."""
        for real, name in self.placed.items():
            if end.is_relative_to(real):
                below = end.relative_to(real)
                if not LEFT_OUT & set(below.parts):
                    return name / below
        return None


def _walk(root: Path) -> Iterator[tuple[str, Path]]:
    """What lies below a folder, as a `file`, `link` or `folder`, or a folder that is linked as a
    `whole`. No pipe, socket or device."""
    for folder, names, files in os.walk(root):
        kept = []
        for name in names:
            path = Path(folder, name)
            if name in LEFT_OUT:
                continue
            if name in _LINKED or any((path / each).exists() for each in _ENVIRONMENT):
                yield "whole", path
            elif path.is_symlink():
                yield "link", path
            else:
                yield "folder", path
                kept.append(name)
        names[:] = kept
        for name in files:
            path = Path(folder, name)
            if path.is_symlink():
                yield "link", path
            elif path.is_file():
                yield "file", path


def _state(root: Path, *, follow: bool = False, but: Path | None = None) -> State | None:
    """Of the files and links in a folder, or of one file; None where there are too many. A link
    is itself, or where it is followed the file that it leads to."""
    state: State = {}
    found = _walk(root) if root.is_dir() else [("file", root)]
    for kind, path in found:
        if kind not in ("file", "link") or (but and path.is_relative_to(but)):
            continue
        with suppress(OSError):
            told = path.stat() if follow else path.lstat()
            if not stat.S_ISDIR(told.st_mode):
                known = (told.st_size, told.st_mtime_ns, told.st_ino)
                state[path.relative_to(root).as_posix()] = known
        if len(state) > FILES:
            return None
    return state


def _changed(before: State | None, after: State | None) -> tuple[str, ...] | None:
    if before is None or after is None:
        return None
    return tuple(sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p)))


def _listed(names: list[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
