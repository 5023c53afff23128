"""A memory as it is listed, and picking one of them by its text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from ..context.quoting import quoted
from ..errors import MemoryRefused
from .index import Entry, fold, parts, plain
from .topics import Topic

Scope = Literal["project", "global"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
CANDIDATES, CANDIDATE_LENGTH = 5, 80
_ID = re.compile(r"#?([0-9a-fA-F]{6})")


@dataclass(frozen=True)
class Found:
    """A memory with its count of recalls, and for a search its score and at most three reasons.

    `line` is what stands in the file, without its end, and `topic` what it points at, if that
    may be read; `own_line`, `own_topic`: this user wrote or accepted exactly these. `stale` says
    what it names and is gone.
    """

    entry: Entry
    scope: Scope
    count: int
    score: float = 0.0
    why: tuple[str, ...] = ()
    stale: str = ""
    line: str = ""
    topic: Topic | None = None
    own_line: bool = True
    own_topic: bool = True

    @property
    def accepted(self) -> bool:
        return self.own_line and self.own_topic

    @property
    def dangling(self) -> bool:
        """Whether its topic is missing."""
        return bool(self.entry.topic) and self.topic is None

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before relying on it, in the words of every list; before a colon, which
        kind of thing that is."""
        told = {
            "global": self.scope == "global",
            "written by others": not self.own_line,
            "topic written by others": self.own_line and not self.own_topic,
            f"stale: {self.stale}": bool(self.stale),
            f"topic missing: {self.entry.topic}": self.dangling,
        }
        return tuple(note for note, holds in told.items() if holds)


def as_id(text: str) -> str:
    """The id that a text is, however it is written; empty where it is none."""
    found = _ID.fullmatch(text.strip())
    return found[1].lower() if found else ""


def same(found: Iterable[Found], text: str) -> list[Found]:
    """Those with this id, or where it is none with this text, as typed or as it stands in a list
    or in the file; each once, the project's first."""
    if wanted := as_id(text):
        return [each for each in _each(found) if each.entry.id == wanted]
    return [each for each in _each(found) if _says(each.entry, text)]


def pick(found: Iterable[Found], text: str, *, whole: bool = False) -> Found:
    """The memory with this text or id, else, unless `whole`, the only one that holds a text.

    The project's own where both scopes say it. Raises `MemoryRefused` for none or several.
    """
    everything = list(found)
    matches = same(everything, text)
    if len({each.entry.folded for each in matches}) == 1:  # two texts may share an id
        return matches[0]
    if not matches and not as_id(text):
        matches = [each for each in _each(everything) if fold(text) in fold(each.entry.said)]
    if len(matches) == 1 and not whole:
        return matches[0]
    if not matches:
        has = "has the id" if as_id(text) else "holds"
        raise MemoryRefused(
            f"No memory {has} “{text.strip()}”; nothing was changed. Look for it with recall, or "
            "in the list of all: %shiro /notes."
        )
    shown = [
        f"  {each.entry.id}  {cut(each.entry.text)}{' — global' * (each.scope == 'global')}"
        for each in matches[:CANDIDATES]
    ]
    hold = "1 memory holds" if len(matches) == 1 else f"{len(matches)} memories hold"
    how = "text" if as_id(text) else "id" if whole else "id or more of its text"
    raise MemoryRefused(
        f"{hold} “{text.strip()}”; nothing was changed. Say which one, by its {how}:\n"
        + "\n".join(shown)
    )


def _each(found: Iterable[Found]) -> list[Found]:
    once = {(each.scope, each.entry.folded): each for each in reversed(list(found))}
    return sorted(once.values(), key=lambda each: SCOPES.index(each.scope))


def _says(entry: Entry, text: str) -> bool:
    """Whether it is exactly that; what the text does not name of kind, pointer and tags may be
    any."""
    if fold(text) in (entry.folded, fold(entry.said)):
        return True
    said = parts(plain(text))
    return (
        fold(said.text) == entry.folded
        and said.kind in (None, entry.kind)
        and said.topic in ("", entry.topic)
        and set(said.tags) <= set(entry.tags)
    )


def cut(text: str, length: int = CANDIDATE_LENGTH) -> str:
    text = quoted(text)
    return text if len(text) <= length else text[: length - 1] + "…"
