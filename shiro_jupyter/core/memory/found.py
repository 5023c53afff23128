"""A memory as it is listed, and picking one of them by its text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from ..context.quoting import quoted
from ..errors import MemoryRefused
from .index import Entry, fold
from .topics import Topic

Scope = Literal["project", "global"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
CANDIDATES, CANDIDATE_LENGTH = 5, 80


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


def pick(found: Iterable[Found], text: str, *, whole: bool = False) -> Found:
    """The memory with this text or id, else, unless `whole`, the only one that holds the text.

    The project's own where both scopes say it. Raises `MemoryRefused` for none or several.
    """
    everything = {(each.scope, each.entry.folded): each for each in reversed(list(found))}
    candidates = sorted(everything.values(), key=lambda each: SCOPES.index(each.scope))
    wanted = fold(text)
    same = [e for e in candidates if wanted in (e.entry.folded, fold(e.entry.said))]
    if same:
        return same[0]
    matches = [e for e in candidates if text.strip() == e.entry.id]
    one = len({e.entry.folded for e in matches}) == 1  # two texts may share an id
    if not matches:
        matches = [e for e in candidates if wanted in fold(e.entry.said)]
        one = len(matches) == 1 and not whole
    if one:
        return matches[0]
    if not matches:
        raise MemoryRefused(
            f"No memory holds “{text.strip()}”; nothing was changed. Look for it with recall, or "
            "in the list of all: %shiro /notes."
        )
    shown = [f"  {e.entry.id}  {cut(e.entry.text)}" for e in matches[:CANDIDATES]]
    hold = "1 memory holds" if len(matches) == 1 else f"{len(matches)} memories hold"
    raise MemoryRefused(
        f"{hold} “{text.strip()}”; nothing was changed. Say which one, by its id or "
        f"{'its whole' if whole else 'more of its'} text:\n" + "\n".join(shown)
    )


def cut(text: str, length: int = CANDIDATE_LENGTH) -> str:
    text = quoted(text)
    return text if len(text) <= length else text[: length - 1] + "…"
