"""Walking a folder as a person sees it: ignored files left out, links not followed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from .ignore import Extra, Rules, rules_of
from .paths import opened_folder

# Entries that a look at the upper levels takes.
LOOKED_AT = 2_000

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


def walk(start: Path, extra: Extra, depth: int | None = None) -> Iterator[Entry]:
    """What is in a folder, breadth first, sorted by name in each folder.

    Links are named and not followed, so that every walk ends. `depth` 1 is the folder itself.
    """
    above = extra.above(start)
    queue: deque[tuple[str, Rules, int]] = deque([("", rules_of(start, extra.root), 1)])
    while queue:
        prefix, rules, level = queue.popleft()
        try:
            entries = _entries(prefix, rules.folder)
        except OSError as error:
            yield Entry(prefix.rstrip("/") or ".", "unreadable", target=error.strerror or "")
            continue
        for entry in entries:
            name, is_folder = entry.name[len(prefix) :], entry.kind == "folder"
            if rules.ignores(name, is_folder):
                continue
            if extra and extra.hides(above + os.fsencode(entry.name), is_folder):
                continue
            yield entry
            if is_folder and (depth is None or level < depth):
                queue.append((f"{entry.name}/", rules.inside(name), level + 1))


def files_below(rules: Rules) -> Iterator[bytes]:
    """The files and links below a folder that its rules do not ignore, in no order."""
    queue = [(b"", rules)]
    while queue:
        prefix, rules = queue.pop()
        try:
            with os.scandir(rules.folder) as found:
                entries = list(found)
        except OSError:
            continue
        for each in entries:
            try:
                is_folder = each.is_dir(follow_symlinks=False)
                is_file = each.is_symlink() or each.is_file(follow_symlinks=False)
            except OSError:
                continue
            if not (is_folder or is_file) or rules.ignores(each.name, is_folder):
                continue
            name = prefix + os.fsencode(each.name)
            if is_folder:
                queue.append((name + b"/", rules.inside(each.name)))
            else:
                yield name


def upper_levels(rules: Rules) -> Iterator[tuple[bytes, bool]]:
    """The first `LOOKED_AT` paths in a folder, breadth first, those of folders with a slash at
    their end; and whether it is a folder that is ignored, which is not entered. An ignored file is
    one like any other here."""
    queue: deque[tuple[bytes, Rules, str]] = deque([(b"", rules, "")])
    room = LOOKED_AT
    while queue and room > 0:
        prefix, above, own_name = queue.popleft()
        here = above.inside(own_name) if own_name else above
        with suppress(OSError), os.scandir(here.folder) as entries:
            for each in islice(entries, room):
                room -= 1
                name = prefix + os.fsencode(each.name)
                if not each.is_dir(follow_symlinks=False):
                    yield name, False
                    continue
                name += b"/"
                ignored = here.would_ignore(each.name, True)
                yield name, ignored
                if not ignored:
                    queue.append((name, here, each.name))


def ignored_folders(rules: Rules) -> list[bytes]:
    """Ignored folders of the upper levels, where those that hold much usually are: only what git
    tracks in them is wanted. Never all that there may be."""
    return [name for name, ignored in upper_levels(rules) if ignored]


def _entries(prefix: str, folder: Path) -> list[Entry]:
    """Those of a folder that has been judged: what a link has put in its place is not listed."""
    with opened_folder(folder) as place, os.scandir(place) as found:
        named = sorted(found, key=lambda each: each.name)
        return [_entry(prefix, each, place) for each in named]


def _entry(prefix: str, found: os.DirEntry[str], place: Path | int) -> Entry:
    name = prefix + found.name
    try:
        if found.is_symlink():
            leads = (
                os.readlink(found.name, dir_fd=place)
                if isinstance(place, int)
                else os.readlink(found.path)  # noqa: PTH115
            )
            return Entry(name, "link", target=leads)
        if found.is_dir(follow_symlinks=False):
            return Entry(name, "folder")
        if found.is_file(follow_symlinks=False):
            return Entry(name, "file", found.stat(follow_symlinks=False).st_size)
    except OSError as error:  # gone meanwhile, or not ours to look at
        return Entry(name, "other", target=error.strerror or "")
    return Entry(name, "other", target="no regular file")
