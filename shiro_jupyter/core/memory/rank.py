"""Which memories serve what is being worked on.

Parts, each scaled to its best and added, so that none drowns another:

- text: BM25 of a memory's words for those of the prompt, the branch and the notebook, and, apart,
  for those in the names of changed files;
- files: those recorded with a memory that are changed now, the rarer the more;
- likely files: those that the words name, and those recorded with the best matches of text;
- kernel: recorded modules, tables and columns that are there now.

A tag is how a person makes a memory load: one that the words hold wholly lifts its memory, the
fewer share it the more.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from typing import NamedTuple

from . import search
from .index import Entry
from .search import Field
from .signal import TaskSignal, cues_in, stem_of
from .topics import Topic

# What each part adds at most. Tuned on the earlier history of one project, and flat around these:
# half or double of any moves the figures by a point or two.
TEXT, FILE_WORDS, FILES, LIKELY_FILES = 0.75, 0.6, 2.5, 0.8
KERNEL, KERNEL_ALONE = 1.5, 2.5  # beside files, and without
WORDS = {"prompt": 1.0, "branch": 0.5, "notebook": 0.25}  # within the text
DETAIL, DETAIL_READ = 0.5, 5_000  # a word of the detail against one of the line; characters read
# BM25's b: the length of a text says little, that of a list of names how special each of them is.
TEXT_B, NAMES_B = 0.3, 0.75
COMMON = 0.8  # a file or name recorded with more of the memories than this says nothing
FEEDBACK = 5  # best matches of text whose files are likely
RELATING, RELATED, RELATED_WEIGHT = 10, 10, 0.3  # best matches, their words that widen a search
AGEING, AGE = 0.15, 30  # the newer is mildly preferred; age counts memories, not days
TAG = 0.6  # of the best score: what a tag lifts its one memory to
FLOOR = 0.05  # of the best score: what is below is noise
REASONS = 3


@dataclass(frozen=True)
class Document:
    """A memory as it is ranked: `said` is its line with the tags, `files` to `branch` tell what
    was being worked on when it was made; `day` counts from 1970, `count` the recalls."""

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
    """`at` says which document; `why` names at most three true cues, the strongest first."""

    at: int
    score: float
    why: tuple[str, ...] = ()


class _Cue(NamedTuple):
    source: str
    term: str
    word: str  # as it is written
    weight: float


class Ranker:
    """Built once for a store, asked often. Of one day, the document given first is the newer."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._tag_of = [
            {term: tag for tag in each.tags for term in search.terms(tag)} for each in documents
        ]
        self._words = [_words(each) for each in documents]
        self._recorded = [
            _presence(" ".join((*each.modules, *each.frames, *each.columns))) for each in documents
        ]
        self._text, self._kernel = Field(self._words), Field(self._recorded)
        self._tagged: dict[frozenset[str], list[int]] = {}
        for at, each in enumerate(documents):
            for terms in {frozenset(dict(cues_in(tag))) for tag in each.tags}:
                self._tagged.setdefault(terms, []).append(at)
        self._tagged.pop(frozenset(), None)
        self._files = Field(dict.fromkeys(each.files, 1.0) for each in documents)
        paths = dict.fromkeys(path for each in documents for path in each.files)
        self._place = {path: place for place, path in enumerate(paths)}
        self._names = Field(_presence(stem_of(path)) for path in paths)
        newest = sorted(range(len(documents)), key=lambda at: -documents[at].day)
        self._age = dict(zip(newest, range(len(newest)), strict=True))

    def rank(self, signal: TaskSignal) -> list[Ranked]:
        """Best first, noise left out; [] for an empty signal."""
        cues = list(_cues(signal))
        words: dict[str, float] = {}
        for cue in cues:
            if cue.source in WORDS:
                words[cue.term] = words.get(cue.term, 0.0) + WORDS[cue.source]
        text = _added(
            (TEXT, self._text.scores(words, b=TEXT_B)),
            (FILE_WORDS, self._text.scores(dict.fromkeys(signal.file_words, 1.0), b=TEXT_B)),
        )
        changed = _telling(self._files, dict.fromkeys(signal.paths, 1.0))
        files = self._files.scores(changed, b=0)
        likely = _telling(self._files, self._likely(words, text))
        kernel = _telling(self._kernel, dict.fromkeys(signal.kernel_words, 1.0))
        scores = _added(
            (max(text, default=0.0), text),
            (FILES, files),
            (LIKELY_FILES, self._files.scores(likely, b=0)),
            (KERNEL if any(files) else KERNEL_ALONE, self._kernel.scores(kernel, b=NAMES_B)),
        )
        for at, age in self._age.items():
            scores[at] /= 1 + AGEING * math.log1p(age / AGE)
        best = max(scores, default=0.0)
        self._lift(scores, words, best)
        return [
            Ranked(at, scores[at], self._why(at, cues, changed) or self._alike(at, likely))
            for at in self._best(scores)
            if scores[at] and scores[at] >= best * FLOOR
        ]

    def find(self, query: str, limit: int = 15) -> list[Ranked]:
        """On demand: those that hold any word of the query, best first."""
        cues = [
            _Cue("query", term, word, 1.0) for term, word in dict(search.spelled(query)).items()
        ]
        asked = {cue.term: 1.0 for cue in cues}
        held = self._text.scores(asked)
        words = self._related(held)
        scores = self._text.scores({**words, **{term: 1 + words.get(term, 0.0) for term in asked}})
        best = [at for at in self._best(scores) if held[at]]
        return [Ranked(at, scores[at], self._why(at, cues)) for at in best[:limit]]

    def _lift(self, scores: list[float], words: Mapping[str, float], best: float) -> None:
        """Memories with a tag that the words hold wholly get a part of the best score, the fewer
        share the tag the more, and never fall below the floor."""
        for terms, holders in self._tagged.items():
            if terms <= words.keys():
                least = best * max(FLOOR, TAG / len(holders) ** 0.5)
                for at in holders:
                    scores[at] = max(scores[at], least)

    def _best(self, scores: Sequence[float]) -> list[int]:
        """Among equals the more often recalled comes first, then the newer."""

        def key(at: int) -> tuple[float, int, int]:
            return -scores[at], -self._documents[at].count, self._age[at]

        return sorted(range(len(scores)), key=key)

    def _likely(self, words: Mapping[str, float], text: Sequence[float]) -> dict[str, float]:
        """Files that the words name, and those of the best matches, which share one vote each."""
        votes = [0.0] * len(self._place)
        for at in heapq.nlargest(FEEDBACK, range(len(text)), text.__getitem__):
            files = self._documents[at].files
            for path in files:
                votes[self._place[path]] += text[at] / len(files)
        likely = _added((1.0, self._names.scores(words)), (1.0, votes))
        return {path: weight for path, weight in zip(self._place, likely, strict=True) if weight}

    def _related(self, scores: Sequence[float]) -> dict[str, float]:
        """The words that the best matches have in common, weighted against a word asked for."""
        votes: dict[str, float] = {}
        for at in heapq.nlargest(RELATING, range(len(scores)), scores.__getitem__):
            each = scores[at] / (sum(self._words[at].values()) or 1.0)
            for term, count in self._words[at].items():
                votes[term] = votes.get(term, 0.0) + each * count * self._text.rarity(term)
        words = heapq.nlargest(RELATED, votes, votes.__getitem__)
        best = max(votes.values(), default=0.0) or 1.0
        return {term: RELATED_WEIGHT * votes[term] / best for term in words}

    def _why(self, at: int, cues: Sequence[_Cue], paths: Iterable[str] = ()) -> tuple[str, ...]:
        found = [
            (FILES * self._files.rarity(path), f"file “{_name(path)}”")
            for path in paths
            if path in self._documents[at].files
        ]
        for source, term, word, weight in cues:
            kernel = source == "kernel"
            field = self._kernel if kernel else self._text
            held = self._recorded[at] if kernel else self._words[at]
            if term not in held or (kernel and field.share(term) > COMMON):
                continue
            tag = "" if kernel else self._tag_of[at].get(term)
            asked = f"tag #{tag} ({source})" if tag else f"{source} word “{word}”"
            found.append((weight * field.rarity(term), asked))
        found.sort(key=lambda each: -each[0])
        return tuple(dict.fromkeys(reason for _, reason in found))[:REASONS]

    def _alike(self, at: int, likely: Mapping[str, float]) -> tuple[str, ...]:
        """The reason of a memory without a cue of its own."""
        path = max(self._documents[at].files, key=lambda path: likely.get(path, 0.0), default="")
        return (f"file “{_name(path)}”, as better matches",) if path else ()


def document_of(entry: Entry, topic: Topic | None = None, count: int = 0) -> Document:
    """The memory with what its comment and its topic tell."""

    def told(name: str) -> tuple[str, ...]:
        told = (*entry.recorded.get(name, ()), *(topic.about.get(name, ()) if topic else ()))
        return tuple(dict.fromkeys(told))

    return Document(
        said=entry.said,
        tags=(*entry.tags, *(topic.tags if topic else ())),
        detail=f"{topic.description}\n{topic.body}" if topic else "",
        files=tuple(dict.fromkeys((*told("files"), *told("notebook")))),
        modules=told("modules"),
        frames=told("frames"),
        columns=told("columns"),
        branch=" ".join(told("branch")),
        day=date.fromisoformat(entry.stamp[:10]).toordinal() - date(1970, 1, 1).toordinal(),
        count=count,
    )


def _cues(signal: TaskSignal) -> Iterator[_Cue]:
    for source, words, weight in (
        ("branch", signal.branch_words, TEXT * WORDS["branch"]),
        ("prompt", signal.prompt_words, TEXT * WORDS["prompt"]),
        ("notebook", signal.notebook_words, TEXT * WORDS["notebook"]),
        ("file", signal.file_words, FILE_WORDS),
        ("kernel", signal.kernel_words, KERNEL),
    ):
        for term, word in words.items():
            yield _Cue(source, term, word, weight)


def _words(document: Document) -> dict[str, float]:
    """How often the memory holds each word; those of its detail count less."""
    counts: dict[str, float] = {}
    for text, weight in (
        (document.said, 1.0),
        (" ".join(document.tags), 1.0),
        (document.detail[:DETAIL_READ], DETAIL),
        (document.branch, DETAIL),
    ):
        for term in search.terms(text):
            counts[term] = counts.get(term, 0.0) + weight
    return counts


def _presence(text: str) -> dict[str, float]:
    return dict.fromkeys(search.terms(text), 1.0)


def _added(*parts: tuple[float, Sequence[float]]) -> list[float]:
    """The sum of the parts, each scaled so that its best is its weight."""
    total = [0.0] * len(parts[0][1])
    for weight, scores in parts:
        if best := max(scores, default=0.0):
            total = [sum_ + weight * each / best for sum_, each in zip(total, scores, strict=True)]
    return total


def _telling(field: Field, names: Mapping[str, float]) -> dict[str, float]:
    return {name: weight for name, weight in names.items() if field.share(name) <= COMMON}


def _name(path: str) -> str:
    return PurePosixPath(path).name
