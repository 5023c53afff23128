"""The git repository around a project, read from its files: no git program, no config."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Repository:
    """`own` is this work tree's git folder, `common` the one that all its work trees share."""

    top: Path
    own: Path
    common: Path

    def branch(self) -> str:
        """The branch's name; empty on a detached HEAD or where it cannot be read."""
        return _first_line(self.own / "HEAD").partition("ref: refs/heads/")[2]


def repository_of(folder: Path) -> Repository | None:
    for top in (folder, *folder.parents):
        marker = top / ".git"
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


def _first_line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(4096).strip()
    except OSError:
        return ""
