"""Ignore rules, decided as git does: `.gitignore` at every level, `.git/info/exclude` below them.

`.shiroignore` is one more such file, heavier than the `.gitignore` beside it. What git tracks is
never ignored by git's rules. Not read, though git would: the user's global excludes file, and the
`info/exclude` of a repository inside another one.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .git import Repository, repository_of
from .git_index import Tracked
from .wildmatch import wildmatch

# Never listed, whatever the rules say; each is found when asked for by name.
NEVER = frozenset({".git", "node_modules"})
GIT_FILE, OWN_FILE = ".gitignore", ".shiroignore"
FILE_LIMIT = 1_000_000
# Of patterns with a star or the like; plain names may be as many as there are.
LINE_LIMIT = 2_000
_WILD = re.compile(rb"[*?\[\\]")


@dataclass(frozen=True)
class _Pattern:
    ignores: bool
    folders_only: bool
    path: bool  # of the path from the rules' folder, else of the name alone
    fits: re.Pattern[bytes]


class Patterns:
    """The patterns of some ignore files, the heaviest last."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._wild: list[tuple[int, _Pattern]] = []
        # Plain names and plain paths are found at once: the place and the verdict of the last
        # line for any entry, and of the last for folders only.
        self._plain: dict[tuple[bool, bytes], list[tuple[int, bool, bool]]] = {}
        for place, line in enumerate(lines):
            self._add(place, line)
        self._any = self._joined(path=False)
        self._any_path = self._joined(path=True)

    def __bool__(self) -> bool:
        return bool(self._wild or self._plain)

    def decide(self, path: bytes, is_folder: bool) -> bool | None:
        """Whether the last pattern that fits ignores; None where none fits."""
        name = path[path.rfind(b"/") + 1 :]
        best, verdict = -1, None
        if self._plain:
            for key in ((False, name), (True, path)):
                for place, ignores, folders_only in self._plain.get(key, ()):
                    if place > best and (is_folder or not folders_only):
                        best, verdict = place, ignores
        if not (
            (self._any and self._any.match(name)) or (self._any_path and self._any_path.match(path))
        ):
            return verdict
        for place, each in reversed(self._wild):
            if place < best:
                break
            if (is_folder or not each.folders_only) and each.fits.match(
                path if each.path else name
            ):
                return each.ignores
        return verdict

    def _add(self, place: int, line: bytes) -> None:
        text = _without_trailing_blanks(line)
        if not text or text.startswith(b"#"):
            return
        ignores = not text.startswith(b"!")
        text = text if ignores else text[1:]
        folders_only = text.endswith(b"/")
        text = text[:-1] if folders_only else text
        path = b"/" in text
        text = text.removeprefix(b"/")
        if not text:
            return
        if not _WILD.search(text):
            self._plain.setdefault((path, text), []).append((place, ignores, folders_only))
        elif len(self._wild) < LINE_LIMIT and (fits := wildmatch(text, path=path)):
            self._wild.append((place, _Pattern(ignores, folders_only, path, fits)))

    def _joined(self, *, path: bool) -> re.Pattern[bytes] | None:
        """One look that tells nearly all names from those that some pattern fits."""
        parts = [each.fits.pattern for _, each in self._wild if each.path is path]
        return (
            re.compile(b"|".join(b"(?:%b)" % part for part in parts), re.DOTALL) if parts else None
        )


_NONE = Patterns([])


@dataclass(frozen=True)
class Rules:
    """The rules in force in one folder: its own, over those of the folders above it.

    `below` is the folder as seen from where the rules begin, with a slash at its end;
    `repository` is the one that begins there. `all_ignored`: the folder is ignored itself, and
    shown only for what git tracks in it.
    """

    folder: Path
    git: Patterns
    own: Patterns
    above: Rules | None = None
    below: bytes = b""
    repository: Repository | None = None
    tracked: Tracked = field(default_factory=Tracked)
    all_ignored: bool = False

    def ignores(self, name: str, is_folder: bool) -> bool:
        """Whether the entry of that name in this folder is ignored; a link is no folder."""
        if not self.would_ignore(name, is_folder):
            return False
        # For what git tracks only our own files count.
        path = self.below + os.fsencode(name)
        return (
            name in NEVER
            or not self.tracked.holds(path, is_folder)
            or self._own_verdict(path, is_folder)
        )

    def would_ignore(self, name: str, is_folder: bool) -> bool:
        """The same, were nothing of it tracked."""
        return name in NEVER or self._verdict(self.below + os.fsencode(name), is_folder)

    def inside(self, name: str) -> Rules:
        """The rules in force in a subfolder."""
        folder = self.folder / name
        below = self.below + os.fsencode(name)
        git, own = _patterns(folder / GIT_FILE), _patterns(folder / OWN_FILE)
        ignored = self._verdict(below, True)
        return Rules(folder, git, own, self, below + b"/", self.repository, self.tracked, ignored)

    def hides(self, relative: bytes, is_folder: bool = False) -> bool:
        """Whether what lies anywhere below this folder is ignored, or in a folder that is."""
        rules = self
        *folders, name = os.fsdecode(relative).split("/")
        for each in folders:
            if rules._ignores_folder(each):
                return True
            rules = rules._remembered[each][1]
        return rules._ignores_folder(name) if is_folder else rules.ignores(name, False)

    def _ignores_folder(self, name: str) -> bool:
        if name not in self._remembered:
            self._remembered[name] = self.ignores(name, True), self.inside(name)
        return self._remembered[name][0]

    @cached_property
    def _remembered(self) -> dict[str, tuple[bool, Rules]]:
        return {}

    @cached_property
    def chain(self) -> tuple[Rules, ...]:
        """Those of this folder and of all above it, the heaviest first."""
        return (self, *(self.above.chain if self.above else ()))

    @cached_property
    def _levels(self) -> tuple[Rules, ...]:
        return tuple(each for each in self.chain if each.git or each.own)

    def _verdict(self, path: bytes, is_folder: bool) -> bool:
        if self.all_ignored:
            return True
        for each in self._levels:
            relative = path[len(each.below) :]
            for patterns in (each.own, each.git):
                if (decided := patterns.decide(relative, is_folder)) is not None:
                    return decided
        return False

    def _own_verdict(self, path: bytes, is_folder: bool) -> bool:
        for each in self._levels:
            if (decided := each.own.decide(path[len(each.below) :], is_folder)) is not None:
                return decided
        return False


def rules_of(folder: Path, root: Path | None = None) -> Rules:
    """The rules in force in a folder: from the top of its repository, else from `root` where that
    holds it, else from itself.

    A folder that is itself ignored was asked for by name: what ignores it does not hold in it,
    also where git tracks something in it.
    """
    repository = repository_of(folder)
    top = root if root and folder.is_relative_to(root) else folder
    top = repository.top if repository else top
    rules = _top_rules(top, repository)
    for name in folder.relative_to(top).parts:
        inner = rules.inside(name)
        if rules.would_ignore(name, True):
            inner = Rules(inner.folder, inner.git, inner.own)
        rules = inner
    return rules


class Extra:
    """Patterns of the settings, written for a folder: they hold beside all rules found."""

    def __init__(self, root: Path, patterns: Sequence[str] = ()) -> None:
        self.root = root
        self._patterns = Patterns(map(os.fsencode, patterns))
        self._folders: dict[bytes, bool] = {b"": False}

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def above(self, start: Path) -> bytes:
        """What to put before names in that folder; what is not below the root is judged from
        itself."""
        if start == self.root or not start.is_relative_to(self.root):
            return b""
        return os.fsencode(start.relative_to(self.root).as_posix()) + b"/"

    def hides(self, path: bytes, is_folder: bool) -> bool:
        """Whether what has this path from the root is ignored, or a folder that it is in."""
        folder = path[: max(path.rfind(b"/"), 0)]
        if folder not in self._folders:
            self._folders[folder] = self.hides(folder, True)
        return self._folders[folder] or bool(self._patterns.decide(path, is_folder))


def exclude_file(repository: Repository) -> Path:
    """The ignore file of a repository that is not among its files."""
    return repository.common / "info/exclude"


def _top_rules(top: Path, repository: Repository | None) -> Rules:
    own = _patterns(top / OWN_FILE)
    if not repository:
        return Rules(top, _patterns(top / GIT_FILE), own)
    # Of all ignore files git follows a link here alone.
    lines = [*_lines(exclude_file(repository), follow=True), *_lines(top / GIT_FILE)]
    tracked = Tracked(repository)
    return Rules(top, Patterns(lines), own, repository=repository, tracked=tracked)


def _patterns(file: Path) -> Patterns:
    lines = _lines(file)
    return Patterns(lines) if lines else _NONE


def _lines(file: Path, *, follow: bool = False) -> list[bytes]:
    """The lines of a regular file."""
    try:
        if not stat.S_ISREG(file.stat(follow_symlinks=follow).st_mode):
            return []
        with file.open("rb") as stream:
            data = stream.read(FILE_LIMIT)
    except OSError:
        return []
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.removesuffix(b"\r").partition(b"\0")[0] for line in lines]


def _without_trailing_blanks(line: bytes) -> bytes:
    """A blank at the end counts only behind a backslash."""
    bare = line.rstrip(b" ")
    escapes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + (escapes % 2 and len(line) > len(bare))]
