"""Topic files: the detail behind a memory, Markdown with optional front matter.

    ---
    description: what the columns of orders.csv mean
    tags: [orders, dates]
    files:
      - load.py
    ---
    Dates are day-first …

People write these files. What of the front matter is not understood is passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ..errors import PathRefused, StorageError
from ..workspace.plain import read_plain, refuse_no_text
from .index import ABOUT, is_topic_name

READ = 200_000  # bytes of a topic; what comes after is not read
LISTED = 1_000  # entries of the memory folder that a listing looks at
VALUES, LENGTH = 40, 200  # of one field, and characters of each

_FRONT = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_BLOCK_SCALARS = ("|", ">", "|-", ">-")


@dataclass(frozen=True)
class Topic:
    """`name` is the file's. `description` begins with the front matter's own name, if any.

    `about` holds what a memory's trailing comment may tell, too: files, modules, columns, …
    `text` is all that was read of the file, the front matter included.
    """

    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    body: str = ""
    about: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: str = field(default="", compare=False, repr=False)

    @property
    def claim(self) -> str:
        """What a user accepts or does not: a text under this name."""
        return f"{self.name}\n{self.text}"


def read_topic(folder: Path, name: str, *, uid: int | None = None) -> Topic | None:
    """The topic in a memory folder, None where there is none; its first 200 kB.

    Raises `PathRefused` for what is no plain file of this user (`uid`; default: of this
    process) directly in the folder. A platform without user ids trusts every owner.
    """
    if not is_topic_name(name):
        raise PathRefused(
            f"{name!r} is no topic; point at the plain name of a Markdown file in the memory "
            "folder."
        )
    if uid is None:
        uid = os.getuid() if hasattr(os, "getuid") else None
    try:
        data = read_plain(folder / name, head=READ, owner=uid)
        if data is None:
            return None
        refuse_no_text(folder / name, data)
    except StorageError as error:
        raise PathRefused(str(error)) from None
    return parse_topic(name, data.decode("utf-8-sig", "replace"))


def parse_topic(name: str, text: str) -> Topic:
    """The topic in the text of a file."""
    if "\r" in text:  # a search is many times faster than to replace nothing
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT.match(text)
    fields = _fields(front[1].split("\n")) if front else {}
    own_name, description = (" ".join(fields.get(key, ())) for key in ("name", "description"))
    if own_name in (name, name.removesuffix(".md")):
        own_name = ""
    tags = (tag for each in _values(fields.get("tags", ())) for tag in each.split())
    return Topic(
        name,
        ": ".join(filter(None, (own_name, description))),
        tuple(dict.fromkeys(tag.lstrip("#") for tag in tags if tag.strip("#"))),
        text[front.end() :].strip("\n") if front else text.strip("\n"),
        {key: _values(fields[key]) for key in ABOUT if fields.get(key)},
        text,
    )


def topics_of(folder: Path) -> tuple[str, ...]:
    """The names of the topics that stand in a memory folder, in order; it may be missing."""
    try:
        with os.scandir(folder) as entries:
            return tuple(
                sorted(
                    each.name
                    for each in islice(entries, LISTED)
                    if is_topic_name(each.name) and each.is_file(follow_symlinks=False)
                )
            )
    except OSError:
        return ()


def _fields(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The values of each key, lists taken apart, quotes taken off."""
    found: dict[str, list[str]] = {}
    values: list[str] = []  # of the key that is being read
    for line in lines:
        if pair := _FIELD.fullmatch(line):
            values = found.setdefault(pair[1].lower(), [])
            values += _scalars(pair[2])
        elif item := _ITEM.fullmatch(line):
            values.append(_unquoted(item[1]))
        elif line[:1] in (" ", "\t"):  # the rest of a long text
            values.append(_unquoted(line))
    return {key: tuple(filter(None, values))[:VALUES] for key, values in found.items()}


def _scalars(value: str) -> list[str]:
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        return [_unquoted(each) for each in value[1:-1].split(",")]
    return [] if value in _BLOCK_SCALARS else [_unquoted(value)]


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1].strip()
    return value[:LENGTH]


def _values(values: Iterable[str]) -> tuple[str, ...]:
    """A list that was written as one text, "a, b", is two."""
    split = (each.strip() for value in values for each in value.split(","))
    return tuple(islice(filter(None, split), VALUES))
