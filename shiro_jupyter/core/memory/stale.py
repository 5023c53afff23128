"""Whether a memory names what is gone: a file, or a column of a table that is at hand.

In doubt nothing is gone: a name may be of another folder, of another project, or of the future.
So a file must be known to have been here: it was recorded beside the memory, as what is named there
and stands in the project is, or it is one that people write, in a folder that is still there.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

from .index import Entry

NAMES = 5  # looked at in one memory
LOOKS = 1_000  # files that are looked for, by one `Files`
LISTED = 5_000  # names of a project that are read to find where a file is

_FILE = re.compile(
    r"(?<![\w/\\@:.~$%{}*<>-])((?:[\w.-]+/)*[\w-][\w.-]*\."
    r"(?:py|ipynb|csv|tsv|parquet|feather|arrow|jsonl?|toml|ya?ml|md|qmd|Rmd|R|jl|txt|sql|xlsx?"
    r"|html|sh|pkl|npy|npz|h5|hdf5|duckdb|sqlite|png|svg|pdf))(?![\w/*{}<-]|\.\w)"
)
# People write these; others may not have been made yet, or be kept out of git.
_WRITTEN = re.compile(r".+/.+\.(?:py|ipynb|qmd|Rmd|R|jl|sql|sh|md)")
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "site-packages"})

# Whether there is such a file; None where that is not known.
Exists = Callable[[str], bool | None]


def stale(entry: Entry, exists: Exists, tables: Mapping[str, Collection[str]] | None = None) -> str:
    """What is gone, as in "eda.ipynb is gone"; empty where nothing is.

    A file that the text names, and that is known to have been here, is gone where it is neither
    found by that name nor where it stood when the memory was made; so is a memory's context where
    none of its recorded files is left.
    `tables` are those at hand, with the names of their columns: only a column that was recorded,
    is named in the text and should be in one of them can be gone.
    """
    recorded = (*entry.recorded.get("files", ()), *entry.recorded.get("notebook", ()))
    for name in named(entry.text):
        then = next((each for each in recorded if ends_with(each, name)), "")
        if not then and not (_WRITTEN.fullmatch(name) and exists(posixpath.dirname(name))):
            continue
        found = exists(name)
        if found is False or (found is None and exists(then or name) is False):
            return f"{name} is gone"
    if recorded and all(exists(each) is False for each in recorded):
        return f"{recorded[0]} is gone"
    column = _lost_column(entry, tables or {})
    return f"column {column} is gone" if column else ""


def named(text: str) -> Sequence[str]:
    """The files that a text names, as far as they are looked at."""
    return _FILE.findall(text)[:NAMES]


def ends_with(path: str, name: str) -> bool:
    """Whether a path is that of a file of this name, or of this path further down."""
    return f"/{path}".endswith(f"/{name}")


def _lost_column(entry: Entry, tables: Mapping[str, Collection[str]]) -> str:
    spoken_of = [name for name in tables if _names(entry.text, name)]
    spoken_of += [name for name in entry.recorded.get("frames", ()) if name in tables]
    if not spoken_of:
        return ""
    live = {column for columns in tables.values() for column in columns}
    return next(
        (
            each
            for each in entry.recorded.get("columns", ())
            if each not in live and _names(entry.text, each)
        ),
        "",
    )


def _names(text: str, name: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


class Files:
    """The files of a folder by name, read no further than it takes, and never opened.

    Made for one listing: what is found is kept.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, bool | None] = {}

    def exists(self, name: str) -> bool | None:
        """Whether there is a file of that path, or of that name anywhere in the folder."""
        if name not in self._known:
            if len(self._known) >= LOOKS:
                return None
            self._known[name] = self._look(name)
        return self._known[name]

    def _look(self, name: str) -> bool | None:
        path = Path(name)
        if path.is_absolute() or ".." in path.parts:
            return None
        try:
            if (self.root / path).exists():
                return True
            folder = path.parts[0]
            if len(path.parts) > 1 and (self.root / folder).is_dir():
                return False
        except (OSError, ValueError):
            return None
        complete, names = self._listing
        if f"/{path.as_posix()}" in names:
            return True
        if len(path.parts) > 1 and any(each.endswith(f"/{path.as_posix()}") for each in names):
            return True
        return False if complete else None

    @cached_property
    def _listing(self) -> tuple[bool, frozenset[str]]:
        """Whether it is complete; each file as `/name` and as `/path/name`."""
        names: set[str] = set()
        folders = [""]
        left = LISTED
        while folders:
            folder = folders.pop(0)
            try:
                with os.scandir(self.root / folder) as entries:
                    found = list(islice(entries, left + 1))
            except OSError:
                return False, frozenset(names)
            left -= len(found)
            if left < 0:
                return False, frozenset(names)
            for each in found:
                if not each.is_dir():
                    names |= {f"/{each.name}", f"/{folder}{each.name}"}
                elif each.is_symlink():
                    return False, frozenset(names)  # what it leads to is not read
                elif not each.name.startswith(".") and each.name not in _PASSED_OVER:
                    folders.append(f"{folder}{each.name}/")
        return True, frozenset(names)
