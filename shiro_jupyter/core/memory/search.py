"""Words and their ranking: BM25 over the text and tags of memories."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

K1, B = 0.9, 0.4

_WORD = re.compile(r"[^\W_]+")
# "don't" says as little as a stop word; "Anna's" is Anna.
_CONTRACTED = re.compile(r"\b\w+n't\b|(?<=\w)'\w{1,2}\b")
# One text, split by line: the list reads better than two hundred quoted words.
STOP_WORDS = frozenset(
    word
    for line in (
        "a about after again all also am an and any are as at be because been before being but",
        "by can could did do does doing done for from further get had has have having he her here",
        "hers him his how i if in into is it its itself just let me more most my no nor not now of",
        "off on once only or other our ours out over own please same she should so some such tell",
        "than that the their theirs them then there these they this those through to too under",
        "until up us use used using very was we were what when where which while who whom why",
        "will with would you your yours",
    )
    for word in line.split()
)


def terms(text: str) -> list[str]:
    """The stemmed words of a text in order, stop words out; `snake_case` gives its parts."""
    folded = unicodedata.normalize("NFC", text).casefold().replace("’", "'")
    words = _WORD.findall(_CONTRACTED.sub("", folded))
    return [stem(word) for word in words if word not in STOP_WORDS]


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


def scores(query: Sequence[str], documents: Sequence[Sequence[str]]) -> list[float]:
    """BM25 of each document, 0.0 where it holds no term of the query."""
    counts = [Counter(document) for document in documents]
    average = sum(map(len, documents)) / len(documents) if documents else 0.0
    weights = {}
    for term in set(query):
        holding = sum(term in count for count in counts)
        weights[term] = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
    return [
        sum(
            weight * count[term] * (K1 + 1) / (count[term] + K1 * (1 - B + B * length / average))
            for term, weight in weights.items()
            if count[term]
        )
        for count, length in zip(counts, map(len, documents), strict=True)
    ]
