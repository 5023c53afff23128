"""Which memories serve what is being worked on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from . import search
from .index import Entry
from .signal import TaskSignal

if TYPE_CHECKING:
    from .topics import Topic

FLOOR = 0.1


@dataclass(frozen=True)
class Document:
    """A memory as it is ranked: `said` is its line, the rest of the names what was being worked
    on when it was made; `day` counts from 1970, `count` the recalls."""

    said: str
    tags: tuple[str, ...] = ()
    detail: str = ""
    files: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    branch: str = ""
    day: int = 0
    count: int = 0


@dataclass(frozen=True)
class Ranked:
    """`at` says which document; `why` names at most three true cues, strongest first."""

    at: int
    score: float
    why: tuple[str, ...] = ()


class Ranker:
    """Built once for a store, asked often."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents
        self._text = [
            [term for text in (each.said, *each.tags, each.detail) for term in search.terms(text)]
            for each in documents
        ]

    def rank(self, signal: TaskSignal) -> list[Ranked]:
        """Best first, noise left out; [] for an empty signal."""
        if signal.empty:
            return []
        words = {
            "branch": signal.branch_words,
            "prompt": signal.prompt_words,
            "file": signal.file_words,
            "notebook": signal.notebook_words,
            "kernel": signal.context_words,
        }
        query = sorted({word for each in words.values() for word in each})
        return self._best(search.scores(query, self._text), words, len(self.documents))

    def find(self, query: str, limit: int = 15) -> list[Ranked]:
        """On demand: any of the words, best first."""
        wanted = search.terms(query)
        scores = search.scores(sorted(set(wanted)), self._text)
        return self._best(scores, {"": frozenset(wanted)}, limit)

    def _best(
        self, scores: list[float], words: Mapping[str, frozenset[str]], limit: int
    ) -> list[Ranked]:
        floor = FLOOR * max(scores, default=0.0)
        order = sorted(range(len(scores)), key=lambda at: -scores[at])
        return [
            Ranked(at, scores[at], self._why(at, words))
            for at in order[:limit]
            if scores[at] > 0 and scores[at] >= floor
        ]

    def _why(self, at: int, words: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
        held = set(self._text[at])
        reasons = [
            f"{source} word “{word}”".strip()
            for source, cues in words.items()
            for word in sorted(cues & held)
        ]
        return tuple(reasons[:3])


def document_of(entry: Entry, topic: Topic | None = None, count: int = 0) -> Document:
    """The memory with what its comment tells; broken parts of a comment are passed over."""
    about = _about(entry.about)
    told = topic.about if topic else {}

    def both(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*about.get(name, ()), *told.get(name, ())]))

    return Document(
        said=entry.said,
        tags=(*entry.tags, *(topic.tags if topic else ())),
        detail=f"{topic.description}\n{topic.body}" if topic else "",
        files=(*both("files"), *both("notebook")),
        modules=both("modules"),
        frames=both("frames"),
        columns=both("columns"),
        branch=" ".join(both("branch")),
        day=date.fromisoformat(entry.stamp[:10]).toordinal() - date(1970, 1, 1).toordinal(),
        count=count,
    )


def _about(comment: str) -> dict[str, tuple[str, ...]]:
    found = {}
    for part in comment.split(";"):
        name, colon, values = part.partition(":")
        if colon:
            found[name.strip()] = tuple(each.strip() for each in values.split(",") if each.strip())
    return found
