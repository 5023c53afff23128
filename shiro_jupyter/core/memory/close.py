"""Whether two memories speak of the same and claim something else, by their words alone.

A text is read as a subject and a claim about it: "dates in orders.csv | are day-first", "use pnpm
| for the frontend". Two are close where their subjects meet and their claims are of one form and
differ, or where they say the same words in another order or with a "not". In doubt they are not:
a contradiction that stays can be seen, a memory that is not stored is missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from . import search
from .index import Entry


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(search.stem, words.split()))


_EQUALS = _set("is are was were be been : = means equals must should can may will")
# Of these there is one at a time: another one is another claim.
_SINGLE = _stems("use live run start begin end default come go point belong expire")
# Of these there may be several: only a claim that shares more says something else.
_SEVERAL = _stems(
    "have has had contain hold need require support read write return accept expect include allow"
)
_CHOOSE = _set("use prefer choose pick take")
_DO = _set(
    "run build start test deploy load read write save store keep put answer reply format sort join"
    " export import fill round name"
)
_ORDER = re.compile(r"\W*(?:(?:we|always|never|please|do|not|don['’]t)\s+)*(\w+)")
_FOR = _set("for in on at with when as to inside during if while")
_HOW = _set("with by via using from in into to as on at")
_PREPOSITIONS = _FOR | _HOW | {"of", "under", "over", "before", "after", "per", "without"}
# What follows is a reason or a condition and no part of the claim.
_ASIDE = _set("because since but so unless until although while whereas and")
_FILLERS = _set("a an the we always please really now just do does did")
_NOT = _set("not never no cannot")
_OPPOSITES = {search.stem("exclude"): search.stem("include"), search.stem("deny"): "allow"}
_NUMBER = re.compile(r"[-+<>~]*\d[\d.,:/_-]*\w{0,2}%?")
_EDGE = "()[]{}\"'“”‘’`*!?"


@dataclass(frozen=True)
class _Said:
    """`form` tells what kind of claim it is; only claims of one form are compared. `shape` are the
    terms in order, with `#` for a number as the last or the last but one."""

    terms: frozenset[str]
    shape: tuple[str, ...]
    negative: bool
    subject: frozenset[str] = frozenset()
    form: str = ""
    claim: tuple[str, ...] = ()


def closest(entry: Entry, known: Iterable[Entry]) -> Entry | None:
    """The newest memory that the entry is close to; those of the same text are none."""
    others = (each for each in reversed(list(known)) if each.folded != entry.folded)
    return next((each for each in others if close(entry.text, each.text)), None)


def close(one: str, other: str) -> bool:
    """Whether both speak of the same and only one can be meant."""
    a, b = _read(one), _read(other)
    if a.terms == b.terms:
        return bool(a.terms)
    if not a.form and not b.form:  # no sentence: the same but for the number at its end
        return a.shape == b.shape and "#" in a.shape and len(a.shape) > 2
    return a.form == b.form and _meet(a.subject, b.subject) and _differ(a, b)


def _meet(one: frozenset[str], other: frozenset[str]) -> bool:
    """The same subject, or one that says one word more of two or more."""
    less, more = sorted((one, other), key=len)
    return bool(less) and less <= more and len(more) - len(less) <= (len(less) > 1)


def _differ(one: _Said, other: _Said) -> bool:
    a, b = one.claim, other.claim
    head = _shared(a, b)
    a, b = a[head:], b[head:]
    tail = _shared(a[::-1], b[::-1])
    ending = a[len(a) - tail :]
    a, b = a[: len(a) - tail], b[: len(b) - tail]
    if (one.negative != other.negative) is not bool({*a, *b} & _NOT):
        return False
    if set(a) <= _NOT and set(b) <= _NOT:
        return a != b
    if not a or not b or {a[0], b[0]} & _PREPOSITIONS:
        return False  # one says more, or each something of its own
    if head or (tail and ending[0] != "by"):
        return True
    alike = len(a) == len(b) == 1 or (_is_number(a[0]) and _is_number(b[0]))
    return one.form == "=" and alike


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@lru_cache(maxsize=2048)
def _read(text: str) -> _Said:
    words = _words(text)
    terms = [word for word in words if word not in search.STOP_WORDS and word not in _NOT | {":"}]
    said = _Said(
        frozenset(terms),
        (*terms[:-2], *("#" if _is_number(word) else word for word in terms[-2:])),
        bool(_NOT & set(words)),
    )
    verb = _ORDER.match(text.casefold())
    for subject, form, claim in _splits(words, verb[1] if verb else ""):
        about = frozenset(subject) - search.STOP_WORDS - _NOT
        if about and claim:
            claim = tuple(takewhile(lambda word: word not in _ASIDE and word != ",", claim))
            return _Said(said.terms, said.shape, said.negative, about, form, claim)
    return said


def _splits(words: Sequence[str], verb: str) -> Iterable[tuple[Sequence[str], str, Sequence[str]]]:
    """Ways to take a text as subject, form and claim, the likeliest first; `verb` is its first
    word as it stands, for a text that tells what to do."""
    order = [word for word in words if word not in _NOT]
    if verb in _CHOOSE:
        cut = _first(order, _FOR)
        yield order[cut + 1 :], "verb", (search.stem("use"), *order[1:cut])
    if verb in _DO:
        cut = _first(order, _HOW)
        yield order[:cut], "how", order[cut:]
    for at, word in enumerate(words):
        if at and word in _EQUALS:
            yield words[:at], "=", [each for each in words[at + 1 :] if each not in _EQUALS]
        elif at and word in _SINGLE and not _EQUALS & set(words[at + 1 : at + 2]):
            yield words[:at], "verb", words[at:]
        elif at and word in _SEVERAL and not _EQUALS & set(words[at + 1 : at + 2]):
            yield words[:at], word, words[at + 1 :]


def _first(words: Sequence[str], wanted: frozenset[str]) -> int:
    return next((at for at, word in enumerate(words) if at and word in wanted), len(words))


def _words(text: str) -> list[str]:
    """In order, stemmed; names, paths and numbers whole, a comma or a dash as one of its own."""
    words: list[str] = []
    for raw in text.casefold().replace("’", "'").split():
        core = raw.strip(_EDGE)
        word = core.rstrip(".,;:")
        if word.endswith("n't"):
            words.append("not")
        elif word in _EQUALS or word in _ASIDE or word in _NOT or core in ("=", ":"):
            words.append(core if core in ("=", ":") else word)
        elif word and word not in _FILLERS:
            words += _parts(word)
        if core.endswith(":") and word:
            words.append(":")
        elif core.endswith((",", ";")) or core in ("-", "–", "—") or raw.startswith("("):
            words.append(",")
    return [_OPPOSITES.get(word, word) for word in words]


def _parts(word: str) -> list[str]:
    if _is_number(word) or re.search(r"[\d._/\\=@#+]", word):
        return [word]
    return [search.stem(part.removesuffix("'s")) for part in word.split("-") if part]


def _is_number(word: str) -> bool:
    return bool(_NUMBER.fullmatch(word))
