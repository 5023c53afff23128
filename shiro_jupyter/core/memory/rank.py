"""Which memories serve what is being worked on.

Parts, each scaled to its best and added, so that none drowns another:

- text: BM25 of a memory's words for those of the signal, source by source;
- files: those recorded with a memory that are changed now, the rarer the more;
- likely files: those that the words name, and those recorded with the best matches of text;
- kernel: recorded modules, tables and columns that are there now.

A tag is how a person makes a memory load: one that the words or the tables hold wholly lifts its
memory to the best, the fewer share it the higher.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath

from . import search
from .index import Entry
from .search import Field
from .signal import TaskSignal, cues_in, stem_of
from .topics import Topic

# What each part adds at most: text by its source, then the others, those after the files beside
# them and without. Tuned on the earlier history of one project, and flat around these.
TEXT = {"prompt": 0.5, "branch": 0.25, "notebook": 0.25, "file": 0.6, "kernel": 0.5}
FILES = 3.0
LIKELY_FILES, LIKELY_ALONE = 0.4, 0.8
KERNEL, KERNEL_ALONE = 1.5, 3.5
DETAIL, DETAIL_READ = 0.5, 5_000  # a word of the detail against one of the line; characters read
# BM25's b: the length of a text says little, that of a list of names how special each of them is.
TEXT_B, NAMES_B = 0.3, 1.0
COMMON = 0.8  # a file or name recorded with more of the memories than this says nothing
SWEEP = 20  # files; a memory made with more of them was made in passing, and is about none
FEEDBACK = 12  # best matches of text whose files are likely
AGEING, AGE = 0.15, 30  # the newer is mildly preferred: days before the newest memory
TAGGED = 5  # the place that a memory with a tag of the signal reaches; n times that for n memories
FLOOR = 0.05  # of the best score: what is below is noise
REASONS = 3
# A search is widened by as many words of as many best matches, each against one asked for.
RELATED, RELATING, RELATED_WEIGHT = 10, 10, 0.3


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


class Ranker:
    """Built once for a store, asked often. Equals keep the order in which they are given."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._words = [_words(each) for each in documents]
        self._names = [
            _present(" ".join((*each.modules, *each.frames, *each.columns))) for each in documents
        ]
        self._text, self._kernel = Field(self._words), Field(self._names)
        self._files = Field(
            [
                dict.fromkeys(each.files, min(1.0, SWEEP / (len(each.files) or 1)) ** 3)
                for each in documents
            ]
        )
        paths = dict.fromkeys(path for each in documents for path in each.files)
        self._place = {path: place for place, path in enumerate(paths)}
        self._stems = Field([_present(stem_of(path)) for path in paths])
        tags = dict.fromkeys(tag for each in documents for tag in each.tags)
        terms = {tag: search.terms(tag) for tag in tags}
        self._tag_of = [
            {term: tag for tag in each.tags for term in terms[tag]} for each in documents
        ]
        # "#test" says nothing by itself, yet somebody chose it.
        cues = {tag: frozenset(cues_in(tag)) or frozenset(terms[tag]) for tag in tags}
        self._tagged: dict[frozenset[str], list[int]] = {}  # who has a tag of these words
        for at, each in enumerate(documents):
            for words in {cues[tag] for tag in each.tags} - {frozenset()}:
                self._tagged.setdefault(words, []).append(at)
        newest = max((each.day for each in documents), default=0)
        self._fresh = [1 / (1 + AGEING * math.log1p((newest - d.day) / AGE)) for d in documents]

    def rank(self, signal: TaskSignal) -> list[Ranked]:
        """Best first, noise left out; [] for an empty signal."""
        asked = {source: dict.fromkeys(words, 1.0) for source, words in signal.cues.items()}
        own = {**asked["notebook"], **asked["branch"], **asked["prompt"]}
        text = _added(
            *((part, self._text.scores(asked[source], b=TEXT_B)) for source, part in TEXT.items())
        )
        changed = _telling(self._files, dict.fromkeys(signal.paths, 1.0))
        files = self._files.scores(changed, b=0)
        likely = _telling(self._files, self._likely(own, text))
        names = _telling(self._kernel, asked["kernel"])
        kernel = self._kernel.scores(names, b=NAMES_B)
        alone = not any(files)
        scores = _added(
            (max(text, default=0.0), text),
            (FILES, files),
            (LIKELY_ALONE if alone else LIKELY_FILES, self._files.scores(likely, b=0)),
            (KERNEL_ALONE if alone else KERNEL, kernel),
        )
        scores = [score * fresh for score, fresh in zip(scores, self._fresh, strict=True)]
        best = max(scores, default=0.0)
        self._lift(scores, signal.named.values())
        why = self._reasons(signal.cues, changed, names)
        return [
            Ranked(
                at, scores[at], why(at) or self._tags(at, signal.named) or self._alike(at, likely)
            )
            for at in self._best(scores)
            if scores[at] and scores[at] >= best * FLOOR
        ]

    def find(self, query: str, limit: int = 15) -> list[Ranked]:
        """On demand: those that hold any word of the query, best first."""
        words = dict(search.spelled(query))
        holding = self._text.scores(dict.fromkeys(words, 1.0))
        wider = self._related(holding)
        for term in words:
            wider[term] = wider.get(term, 0.0) + 1
        scores = self._text.scores(wider)
        best = [at for at in self._best(scores) if holding[at]]
        why = self._reasons({"": words})  # whose words they are needs no telling
        return [Ranked(at, scores[at], why(at)) for at in best[:limit]]

    def _best(self, scores: Sequence[float]) -> list[int]:
        """Among equals the more often recalled comes first, then the one of a later day."""

        def key(at: int) -> tuple[float, int, int]:
            return -scores[at], -self._documents[at].count, -self._documents[at].day

        return sorted(range(len(scores)), key=key)

    def _lift(self, scores: list[float], named: Iterable[Collection[str]]) -> None:
        """Bring the memories with a tag of these words to their place."""
        words = set(chain.from_iterable(named))
        ranked = sorted(scores, reverse=True)
        for terms, holders in self._tagged.items():
            if terms <= words:
                there = ranked[min(TAGGED * len(holders), len(ranked)) - 1]
                least = max(FLOOR * (ranked[0] or 1.0), math.nextafter(there, math.inf))
                for at in holders:
                    scores[at] = max(scores[at], least)

    def _likely(self, words: Mapping[str, float], text: Sequence[float]) -> dict[str, float]:
        """Files that the words name, and those of the best matches, which share one vote each."""
        votes = [0.0] * len(self._place)
        for at in heapq.nlargest(FEEDBACK, range(len(text)), text.__getitem__):
            files = self._documents[at].files
            for path in files:
                votes[self._place[path]] += text[at] / len(files)
        likely = _added((1.0, self._stems.scores(words)), (1.0, votes))
        return {path: weight for path, weight in zip(self._place, likely, strict=True) if weight}

    def _related(self, scores: Sequence[float]) -> dict[str, float]:
        """The words that the best matches have in common, weighted against a word asked for."""
        votes: dict[str, float] = {}
        for at in heapq.nlargest(RELATING, range(len(scores)), scores.__getitem__):
            vote = scores[at] / (sum(self._words[at].values()) or 1.0)
            for term, count in self._words[at].items():
                votes[term] = votes.get(term, 0.0) + vote * count * self._text.rarity(term)
        best = max(votes.values(), default=0.0) or 1.0
        words = heapq.nlargest(RELATED, votes, votes.__getitem__)
        return {term: RELATED_WEIGHT * votes[term] / best for term in words}

    def _reasons(
        self,
        cues: Mapping[str, Mapping[str, str]],
        files: Collection[str] = (),
        names: Collection[str] = (),
    ) -> Callable[[int], tuple[str, ...]]:
        """What tells which of these a memory shares, those that tell most first."""
        spoken = {
            source: {term: TEXT.get(source, 1.0) * self._text.rarity(term) for term in words}
            for source, words in cues.items()
        }
        changed = {path: FILES * self._files.rarity(path) for path in files}
        kernel = {term: KERNEL * self._kernel.rarity(term) for term in names}

        def why(at: int) -> tuple[str, ...]:
            found = {
                f"file “{_name(path)}”": changed[path]
                for path in self._documents[at].files
                if path in changed
            }
            for source, told in spoken.items():
                for term in told.keys() & self._words[at].keys():
                    if tag := self._tag_of[at].get(term):
                        found[_told(f"#{tag}", source)] = 2 * told[term]
                    else:
                        found[f"{source} “{cues[source][term]}”".lstrip()] = told[term]
            for term in kernel.keys() & self._names[at].keys():
                found[f"kernel “{cues['kernel'][term]}”"] = kernel[term]
            return tuple(sorted(found, key=lambda reason: (-found[reason], reason))[:REASONS])

        return why

    def _tags(self, at: int, named: Mapping[str, Collection[str]]) -> tuple[str, ...]:
        """The reasons of a memory that its tags alone brought."""
        held = self._tag_of[at]
        found = (
            _told(f"#{held[term]}", source)
            for source, terms in named.items()
            for term in terms
            if term in held
        )
        return tuple(dict.fromkeys(found))[:REASONS]

    def _alike(self, at: int, likely: Mapping[str, float]) -> tuple[str, ...]:
        """The reason of a memory without a cue of its own."""
        path = max(self._documents[at].files, key=lambda path: likely.get(path, 0.0), default="")
        return (f"file “{_name(path)}”, as better matches",) if path else ()


def document_of(entry: Entry, topic: Topic | None = None, count: int = 0) -> Document:
    """The memory with what its comment and its topic tell."""
    recorded = [entry.recorded, topic.about] if topic else [entry.recorded]

    def told(*names: str) -> tuple[str, ...]:
        values = [value for name in names for each in recorded for value in each.get(name, ())]
        return tuple(dict.fromkeys(values))

    return Document(
        said=entry.said,
        tags=(*entry.tags, *(topic.tags if topic else ())),
        detail=f"{topic.description}\n{topic.body}" if topic else "",
        files=told("files", "notebook"),
        modules=told("modules"),
        frames=told("frames"),
        columns=told("columns"),
        branch=" ".join(told("branch")),
        day=date.fromisoformat(entry.stamp[:10]).toordinal() - date(1970, 1, 1).toordinal(),
        count=count,
    )


def _words(document: Document) -> Mapping[str, float]:
    """How often the memory holds each word: those of tags count twice, of the detail less."""
    words = {**_detail(document.detail[:DETAIL_READ])}
    line = Counter(search.terms(" ".join((document.said, *document.tags))))
    for counts in (_detail(document.branch), line):
        for term, number in counts.items():
            words[term] = words.get(term, 0.0) + number
    return words


@lru_cache(maxsize=1_000)  # topics change seldom, and two full indexes point at 600
def _detail(text: str) -> Mapping[str, float]:
    return {term: DETAIL * number for term, number in Counter(search.terms(text)).items()}


@lru_cache(maxsize=10_000)  # names of files and columns come again and again
def _present(text: str) -> Mapping[str, float]:
    return dict.fromkeys(search.terms(text), 1.0)


def _added(*parts: tuple[float, Sequence[float]]) -> list[float]:
    """The sum of the parts, each scaled so that its best is its weight."""
    total = [0.0] * len(parts[0][1])
    for weight, scores in parts:
        if best := max(scores, default=0.0):
            total = [have + weight * each / best for have, each in zip(total, scores, strict=True)]
    return total


def _telling(field: Field, names: Mapping[str, float]) -> dict[str, float]:
    return {name: weight for name, weight in names.items() if field.share(name) <= COMMON}


def _told(tag: str, source: str) -> str:
    return f"{tag} ({source})" if source else tag


def _name(path: str) -> str:
    return PurePosixPath(path).name
