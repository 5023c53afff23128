"""The project: the folder that memory, notes and sessions belong to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CHECKED = "SHIRO_CHECKED"  # in a check's fresh kernel, whose notebook is a copy: the real one
# The nearest ancestor with the first marker wins over any ancestor with the next one.
MARKERS = (".shiro", ".git", "pyproject.toml")


@dataclass(frozen=True)
class Project:
    """`root` is absolute and resolved. `notebook` is the notebook's path, None where unknown.

    `allowed` are folders outside the root that tools may touch too, resolved. `passed_over` are
    marked folders that were not taken because another user owns the marker. `ignore` are patterns
    of the settings for what is not listed.
    """

    root: Path
    notebook: Path | None = None
    allowed: tuple[Path, ...] = ()
    passed_over: tuple[Path, ...] = ()
    ignore: tuple[str, ...] = ()

    @property
    def store(self) -> Path:
        return self.root / ".shiro"

    @property
    def memory_dir(self) -> Path:
        return self.store / "memory"

    @property
    def notes_dir(self) -> Path:
        return self.store / "notes"

    @property
    def settings_file(self) -> Path:
        return self.store / "config.toml"

    @property
    def store_is_foreign(self) -> bool:
        """Another user made this root's marker: what its files say is not taken."""
        return self.root in self.passed_over


def find_project(
    start: Path, *, home: Path, notebook: Path | None = None, uid: int | None = None
) -> Project:
    """The project of a notebook, or where that is unknown of the folder `start`.

    The home folder and `/` are taken only when the search starts there. `uid` is the user
    (default: of this process); a platform without user ids trusts every owner.
    """
    start = (notebook.parent if notebook else start).resolve()
    never = {home.resolve(), Path(start.anchor)}
    candidates = []
    for folder in (start, *start.parents):
        if folder in never:  # what lies above the home folder is not the user's project either
            break
        candidates.append(folder)
    if uid is None:
        uid = os.getuid() if hasattr(os, "getuid") else None
    passed_over: list[Path] = []
    for marker in MARKERS:
        for folder in candidates:
            if not _is_marker(folder / marker):
                continue
            if _is_owned(folder / marker, uid):
                return Project(folder, notebook, passed_over=tuple(passed_over))
            if folder not in passed_over:
                passed_over.append(folder)
    return Project(start, notebook, passed_over=tuple(passed_over))


def notebook_path(environ: Mapping[str, str], variable: object = None) -> Path | None:
    """The notebook's path as the server or the front end tells it, None where unknown.

    `JPY_SESSION_NAME` comes first, but for `CHECKED`; `variable` is what a front end leaves in
    the namespace (VS Code: `__vsc_ipynb_file__`). A console's name or a file that is gone is no
    notebook.
    """
    for told in (environ.get(CHECKED), environ.get("JPY_SESSION_NAME"), variable):
        if not isinstance(told, str) or not told or "\0" in told:
            continue
        path = Path(told)
        if path.is_absolute() and path.is_file():
            return path.resolve()
    return None


def _is_marker(path: Path) -> bool:
    # A linked `.shiro` could put what we write anywhere; `.git` may be a file (a work tree).
    try:
        if path.name == ".shiro":
            return path.is_dir() and not path.is_symlink()
        return path.exists() if path.name == ".git" else path.is_file()
    except OSError:
        return False


def _is_owned(path: Path, uid: int | None) -> bool:
    try:
        return uid is None or path.lstat().st_uid == uid
    except OSError:
        return False
