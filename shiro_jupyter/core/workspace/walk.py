"""Walking a folder as a person sees it: ignored files left out, links not followed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .ignore import Rules, rules_of

Kind = Literal["file", "folder", "link", "other", "unreadable"]


@dataclass(frozen=True)
class Entry:
    """`name` is relative to where the walk began, with `/`; `size` is in bytes, for files.

    `unreadable` follows the entry of a folder that could not be opened, `target` then says why;
    for a link it says where it leads.
    """

    name: str
    kind: Kind
    size: int = 0
    target: str = ""


def walk(start: Path, depth: int | None = None, also: Rules | None = None) -> Iterator[Entry]:
    """What is in a folder, breadth first, sorted by name in each folder.

    Links are named and not followed, so that every walk ends. `depth` 1 is the folder itself.
    `also` holds before all rules found; what lies outside its folder is judged from `start`.
    """
    above = ""
    if also and start.is_relative_to(also.folder) and start != also.folder:
        above = f"{start.relative_to(also.folder).as_posix()}/"
    queue: deque[tuple[str, Rules, int]] = deque([("", rules_of(start), 1)])
    while queue:
        prefix, rules, level = queue.popleft()
        try:
            with os.scandir(rules.folder) as found:
                entries = sorted(found, key=lambda each: each.name)
        except OSError as error:
            yield Entry(prefix.rstrip("/") or ".", "unreadable", target=error.strerror or "")
            continue
        for each in entries:
            entry = _entry(prefix, each)
            if rules.ignores(each.name, entry.kind == "folder"):
                continue
            if also and also.ignores(above + entry.name, entry.kind == "folder"):
                continue
            yield entry
            if entry.kind == "folder" and (depth is None or level < depth):
                queue.append((f"{entry.name}/", rules.inside(each.name), level + 1))


def _entry(prefix: str, found: os.DirEntry[str]) -> Entry:
    name = prefix + found.name
    try:
        if found.is_symlink():
            return Entry(name, "link", target=str(Path(found.path).readlink()))
        if found.is_dir(follow_symlinks=False):
            return Entry(name, "folder")
        if found.is_file(follow_symlinks=False):
            return Entry(name, "file", found.stat(follow_symlinks=False).st_size)
    except OSError as error:  # gone meanwhile, or not ours to look at
        return Entry(name, "other", target=error.strerror or "")
    return Entry(name, "other", target="no regular file")
