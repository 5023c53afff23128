"""Where a check runs: a copy of the project's folder, so that what cells write is not kept.

A copy takes room, so there is a budget: what does not fit, the largest first, is linked instead of
copied. A cell that writes into a linked file changes the real one, which the result then names.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ...core.errors import UsageError

COPIED = 200_000_000  # bytes
FILES = 20_000
# Not seen by a run in a copy, nor told as written.
LEFT_OUT = frozenset({".git", ".hg", ".svn", ".shiro", "__pycache__", ".ipynb_checkpoints"})
LEFT_OUT |= {".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox"}
# Too large to copy, and never written to by a notebook: linked as a whole.
_LINKED = frozenset({"node_modules"})

State = dict[str, tuple[int, int]]  # size and time of change, by path below the folder


@dataclass
class Place:
    """`folder` is the working folder of the cells, somewhere in `root`. `linked` are files that
    are the real ones."""

    root: Path
    folder: Path
    linked: tuple[str, ...] = ()
    copied: bool = True
    _before: State | None = field(default_factory=dict)

    def written(self) -> tuple[str, ...] | None:
        """What was made, changed or removed since, by path; None where that is too much to see."""
        if self._before is None or (after := _state(self.root)) is None:
            return None
        both = self._before.keys() | after.keys()
        return tuple(sorted(p for p in both if self._before.get(p) != after.get(p)))

    def remove(self) -> None:
        if self.copied:
            shutil.rmtree(self.root, ignore_errors=True)


def in_place(folder: Path) -> Place:
    """The notebook's own folder: what cells write stays."""
    return Place(folder, folder, copied=False, _before=_state(folder))


def copy_of(root: Path, folder: Path, budget: int = COPIED, files: int = FILES) -> Place:
    """A copy of a project, in a temporary folder that nobody else may look into.

    Raises `UsageError` where it has more files than that.
    """
    root, folder = root.resolve(), folder.resolve()
    entries = list[tuple[int, Path]]()
    for path in _walk(root):
        entries.append((_size(path), path))
        if len(entries) > files:
            raise UsageError(
                f"{root} has more than {files:,} files, too many to copy: check it with "
                "--in-place, where what its cells write stays."
            )
    copy = Path(tempfile.mkdtemp(prefix="shiro-check-")).resolve()
    try:
        linked = _fill(copy, root, sorted(entries), budget)
        inside = copy / folder.relative_to(root)
        inside.mkdir(parents=True, exist_ok=True)
        return Place(copy, inside, tuple(linked), _before=_state(copy))
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise


def _fill(copy: Path, root: Path, entries: list[tuple[int, Path]], budget: int) -> Iterator[str]:
    linked = []
    for size, path in entries:
        name = path.relative_to(root)
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # gone meanwhile, or not to be read: the cell will tell
            if path.is_symlink():
                _link(path, target, root)
            elif path.is_dir():
                target.symlink_to(path, target_is_directory=True)
            elif size <= budget:
                shutil.copy2(path, target)
                budget -= size
            else:
                target.symlink_to(path)
                linked.append(name.as_posix())
    return iter(linked)


def _link(path: Path, target: Path, root: Path) -> None:
    """A link as it was where it stays within the project, which is copied; else to its end."""
    to, end = path.readlink(), path.resolve()
    within = not to.is_absolute() and end.is_relative_to(root)
    target.symlink_to(to if within else end, target_is_directory=end.is_dir())


def _walk(root: Path) -> Iterator[Path]:
    """Files, links, empty folders' parents aside, and folders that are linked as a whole."""
    for folder, names, files in os.walk(root):
        kept = []
        for name in names:
            path = Path(folder, name)
            if name in LEFT_OUT:
                continue
            if name in _LINKED or path.is_symlink() or (path / "pyvenv.cfg").is_file():
                yield path
            else:
                kept.append(name)
        names[:] = kept
        for name in files:
            path = Path(folder, name)
            if path.is_symlink() or path.is_file():  # no pipe, socket or device
                yield path


def _state(root: Path) -> State | None:
    state: State = {}
    for path in _walk(root):
        with suppress(OSError):
            told = path.stat()
            if path.is_file():
                state[path.relative_to(root).as_posix()] = (told.st_size, told.st_mtime_ns)
        if len(state) > FILES:
            return None
    return state


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
