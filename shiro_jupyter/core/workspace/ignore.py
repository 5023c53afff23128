"""Ignore rules: `.gitignore` and `.shiroignore` at every level, `.git/info/exclude` below them."""

from __future__ import annotations

import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

# Never listed, whatever the rules say; each is found when asked for by name.
NEVER = frozenset({".git", "node_modules"})
# In the order of their weight: the last match of the last file decides.
FILES = (".gitignore", ".shiroignore")
FILE_LIMIT = 1_000_000
LINE_LIMIT = 2_000
# The time that a pattern takes grows with the length of a name to the power of its stars.
STARS = 3


@dataclass(frozen=True)
class Rules:
    """The rules in force in one folder: its own, over those of the folders above it."""

    folder: Path
    spec: GitIgnoreSpec
    above: Rules | None = None

    def ignores(self, name: str, is_folder: bool) -> bool:
        """Whether the entry of that name in this folder is ignored; a link is no folder."""
        if name in NEVER:
            return True
        path = self.folder / name
        rules: Rules | None = self
        while rules:
            relative = path.relative_to(rules.folder).as_posix() + ("/" if is_folder else "")
            decided = rules.spec.check_file(relative).include
            if decided is not None:
                return decided
            rules = rules.above
        return False

    def inside(self, name: str) -> Rules:
        """The rules in force in a subfolder."""
        folder = self.folder / name
        return Rules(folder, _spec([folder / file for file in FILES]), self)


def rules_of(folder: Path) -> Rules:
    """The rules in force in a folder: from the top of its repository, else from itself.

    A folder that is itself ignored was asked for by name: what ignores it does not hold in it.
    """
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    rules = _top_rules(top)
    for name in folder.relative_to(top).parts:
        inner = rules.inside(name)
        rules = Rules(inner.folder, inner.spec) if rules.ignores(name, True) else inner
    return rules


def rules_from(folder: Path, patterns: Sequence[str]) -> Rules:
    """The rules that these patterns are, written for a folder."""
    return Rules(folder, GitIgnoreSpec.from_lines(filter(_is_pattern, patterns[:LINE_LIMIT])))


def _top_rules(top: Path) -> Rules:
    return Rules(top, _spec([top / ".git/info/exclude", *(top / file for file in FILES)]))


def _spec(files: list[Path]) -> GitIgnoreSpec:
    lines = [line for file in files for line in _lines(file)[:LINE_LIMIT] if _is_pattern(line)]
    return GitIgnoreSpec.from_lines(lines)


def _lines(file: Path) -> list[str]:
    """The lines of a regular file; git follows no link here either."""
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            return []
        with file.open("rb") as stream:
            data = stream.read(FILE_LIMIT)
    except OSError:
        return []
    text = data.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
    return text.replace("\r\n", "\n").split("\n")


def _is_pattern(line: str) -> bool:
    """One broken line must not take the others down with it, nor one that would take ages."""
    if any(part.count("*") > STARS for part in line.split("/")):
        return False
    if line.count("**") > STARS:
        return False
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True
