"""Words and their ranking: BM25 over counted words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

# Of a search in one field; repeats and long texts count for less than BM25's usual 1.2 and 0.75.
K1, B = 0.9, 0.4

_WORD = re.compile(r"[^\W_]+")
# "don't" says as little as a stop word; "Anna's" is Anna.
_CONTRACTED = re.compile(r"\b\w+n't\b|(?<=\w)'\w{1,2}\b", re.IGNORECASE)
# The seams of CamelCase and of HTTPServer.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Scripts without spaces: Thai, Lao, Khmer, kana, ideographs.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_ACCENT = re.compile("[\u0300-\u036f]")
# One text, split by line: the list reads better than two hundred quoted words.
STOP_WORDS = frozenset(
    word
    for line in (
        "a about after again all also am an and any are as at be because been before being but by",
        "can could did do does doing done for from further get had has have having he her here",
        "hers him his how i if in into is it its itself just kind let like many me more most much",
        "my no nor not now of off on once only or other our ours out over own please same she",
        "should so some such tell than that the their theirs them then there these they this",
        "those through to too under until up us use used using very was we were what when where",
        "which while who whom why will with would you your yours",
    )
    for word in line.split()
)


def terms(text: str) -> list[str]:
    """The stemmed words of a text in order, stop words out; parts of names as in `spelled`."""
    return list(chain.from_iterable(map(_terms, _written(text))))


def spelled(text: str) -> Iterator[tuple[str, str]]:
    """Each term with the word as it is written.

    `snake_case`, `dotted.name` and `a-b` give their parts, `CamelCase` itself and its parts, and
    a script without spaces each two neighbours.
    """
    for word in _written(text):
        yield from _forms(word)


def _written(text: str) -> list[str]:
    plain = text if text.isascii() else unicodedata.normalize("NFC", text).replace("’", "'")
    return _WORD.findall(_CONTRACTED.sub("", plain) if "'" in plain else plain)


@lru_cache(maxsize=20_000)
def _forms(word: str) -> tuple[tuple[str, str], ...]:
    forms = [word]
    if len(parts := _HUMP.split(word)) > 1:
        forms += parts
    elif len(word) > 2 and _UNSPACED.search(word):
        forms = [word[at : at + 2] for at in range(len(word) - 1)]
    folded = ((_folded(each), each) for each in forms)
    return tuple((stem(low), each) for low, each in folded if low not in STOP_WORDS)


def _folded(word: str) -> str:
    """Without case and accents, so that "zurich" finds Zürich."""
    if not word.isascii():
        word = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", word)))
    return word.casefold()


@lru_cache(maxsize=20_000)
def _terms(word: str) -> tuple[str, ...]:
    return tuple(term for term, _ in _forms(word))


def stem(word: str) -> str:
    """A light English stem: plurals, -ed, -ing, so that "dropped rows" meets "drop the row"."""
    if not word.isascii() or not word.isalpha():
        return word
    word = _singular(word)
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= 3 and re.search("[aeiouy]", root):
            if root[-1] == root[-2] and root[-1] not in "lsz":
                return root[:-1]
            return root
    # "use", "using" and "used" meet without their e.
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _singular(word: str) -> str:
    if len(word) <= 3 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word.removesuffix("s")


class Field:
    """An inverted index of documents, each given as its words and how often it holds them."""

    def __init__(self, documents: Sequence[Mapping[str, float]]) -> None:
        self._documents = documents
        self._holding: defaultdict[str, list[int]] = defaultdict(list)
        for at, counts in enumerate(documents):
            for word in counts:
                self._holding[word].append(at)
        self._lengths = [sum(counts.values()) for counts in documents]
        self._average = sum(self._lengths) / len(documents) if documents else 0.0

    def rarity(self, word: str) -> float:
        """The inverse document frequency, over 0; 0 for a word that no document holds."""
        holding = len(self._holding.get(word, ()))
        total = len(self._lengths)
        return math.log(1 + (total - holding + 0.5) / (holding + 0.5)) if holding else 0.0

    def share(self, word: str) -> float:
        """The part of the documents that hold the word."""
        return len(self._holding.get(word, ())) / max(1, len(self._lengths))

    def scores(self, query: Mapping[str, float], k1: float = K1, b: float = B) -> list[float]:
        """BM25 of each document for the weighted words, 0.0 where it holds none of them."""
        found = [0.0] * len(self._lengths)
        for word, weight in query.items():
            weight *= self.rarity(word) * (k1 + 1)
            for at in self._holding.get(word, ()):
                count = self._documents[at][word]
                shorter = 1 - b + b * self._lengths[at] / self._average
                found[at] += weight * count / (count + k1 * shorter)
        return found
