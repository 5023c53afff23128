"""How a memory reads: its words, those that say something, and those that hold it together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from . import search


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def stem_set(words: str) -> frozenset[str]:
    return frozenset(map(search.stem, words.split()))


def _pairs(text: str) -> dict[str, str]:
    return {word: meant for word, _, meant in (pair.partition(":") for pair in text.split())}


def stem_pairs(text: str) -> dict[str, str]:
    return {search.stem(word): search.stem(meant) for word, meant in _pairs(text).items()}


DEFINES = word_set("means equals : = ==")
# "the" is kept behind "is" and "are" alone, where it tells who or which is meant.
EQUALS = DEFINES | word_set("is are was were be been must should can will the")
# Of these there is one at a time: another one is another claim.
SINGLE = stem_set("live run start begin end default come go move point belong expire due")
# Of these there may be several, so that only another measure is another claim.
_SEVERAL = stem_set(
    "have has had take contain hold need require support read write return accept expect include"
    " allow own keep cover show"
)
CHOOSE = stem_set("use ask contact")
RELATIONS = EQUALS | SINGLE | _SEVERAL | CHOOSE

HOW = word_set("with by via using as")
TO = word_set("to into from in on at under")
LIMITS = word_set("before after since until over under above below beyond within than least most")
PREPOSITIONS = HOW | TO | LIMITS | word_set("for of about during if per without between through")
# What follows is a reason or a condition and no part of the claim.
_ASIDE = word_set("because since but so unless until although while whereas and when ,")
_LEADING = EQUALS | PREPOSITIONS | _ASIDE
_SILENT = search.STOP_WORDS | EQUALS | PREPOSITIONS | {","}
_NOT = word_set("not never no cannot non")
_FILLERS = word_set("a an we i you always please really now just only do does did up out")
# Each is a "not" and the other one, so that "drop X" and "never keep X" are the same.
_DENIALS = stem_pairs(
    "exclude:include omit:include deny:allow forbid:allow disable:enable drop:keep remove:keep"
    " delete:keep discard:keep"
)
# Other words for the same; those of German and French that hold a sentence together.
_MEANT = _pairs(
    "kept:keep prefer:use prefers:use choose:use pick:use"
    " ist:is sind:are war:was wird:is werden:are est:is sont:are der:the die:the das:the den:the"
    " dem:the le:the la:the les:the un:a une:a ein:a eine:a mit:with durch:by für:for nach:by"
    " avec:with pour:for par:by en:in im:in auf:on dans:in wir:we nous:we nicht:not kein:not"
    " keine:not nie:never pas:not jamais:never ne:the wegen:because car:because weil:because"
    " über:over unter:under vor:before bis:until seit:since beginnt:begin beginnen:begin"
    " commence:begin commencent:begin wöchentlich:weekly täglich:daily monatlich:monthly"
    " jährlich:yearly behalten:keep garde:keep garder:keep löschen:drop entfernen:drop"
    " supprime:drop supprimer:drop jeden:every jede:every chaque:every montag:monday"
    " dienstag:tuesday mittwoch:wednesday donnerstag:thursday freitag:friday samstag:saturday"
    " sonntag:sunday lundi:monday mardi:tuesday mercredi:wednesday jeudi:thursday"
    " vendredi:friday samedi:saturday dimanche:sunday"
)
NUMBER = re.compile(r"[-+<>~≥≤=]*\.?\d[\d.,:/_-]*(?:%|st|nd|rd|th)?")
_GLUED = re.compile(
    r"(--?[a-z]+(?=\d)|[<>~≥≤]?\d[\d.,]*(?=-?[a-z]))-?(\d+|(?!(?:st|nd|rd|th)$)[a-z]+)"
)
_ASSIGNED = re.compile(r"([\w.-]*\w)(==?|:=)(.+)")
_ARTICLE = re.compile(r"(?:the|an?|der|die|das|les?|la)\b", re.IGNORECASE)
_BRACKETS = re.compile(r"(?<=\s)\([^)]*\)")
_EDGE, _POINTS = "()[]{}\"'“”‘’`*!?", ".,;:"


@dataclass(frozen=True)
class Said:
    """`words` in order, stemmed and without any "not", with `raw` as they were written; `terms`
    are those that say something by themselves. `whole` if no reason was left out; `order` is the
    first word where it may be a verb that tells what to do."""

    words: tuple[str, ...]
    raw: tuple[str, ...]
    terms: frozenset[str]
    negative: bool
    whole: bool
    order: str

    def relates(self, start: int, end: int | None = None) -> bool:
        """Whether a verb stands there; the first word is none, or an order."""
        return any(word in RELATIONS for word in self.words[max(1, start) : end])

    def at(self, place: int) -> str:
        return self.words[place] if 0 <= place < len(self.words) else ""


@lru_cache(maxsize=2048)
def read(text: str) -> tuple[Said, Said]:
    """What a text says without its reasons, and with them."""
    words = list(_words(text))
    whole = _said(text, words, whole=True)
    if (plain := _BRACKETS.sub(" ", text)) != text:
        words = list(_words(plain))
    end = next((at for at, (word, _) in enumerate(words) if at and word in _ASIDE), len(words))
    if plain == text and end == len(words):
        return whole, whole
    said = _said(text, words[:end], whole=False)
    leads_in = not said.words or said.words[0] in PREPOSITIONS or len(said.terms) < 2
    return (whole if leads_in else said), whole


def _said(text: str, pairs: list[tuple[str, str]], *, whole: bool) -> Said:
    negative = sum(word in _NOT for word, _ in pairs) % 2 == 1
    pairs = [pair for pair in pairs if pair[0] not in _NOT]
    words = tuple(word for word, _ in pairs)
    terms = frozenset(word for word in words if word not in _SILENT)
    raw = tuple(raw for _, raw in pairs)
    is_noun = not raw or raw[0].endswith("s") or _ARTICLE.match(text)
    return Said(words, raw, terms, negative, whole, "" if is_noun else words[0])


def _words(text: str) -> Iterable[tuple[str, str]]:
    """In order, stemmed and as written; names, paths and numbers whole, a comma or a dash as one
    of its own."""
    last = ""
    for raw in text.casefold().replace("’", "'").split():
        for word, written in _forms(raw):
            if word != "the" or last in ("is", "are"):
                yield word, written
            last = word


@lru_cache(maxsize=20_000)
def _forms(raw: str) -> tuple[tuple[str, str], ...]:
    core = raw.rstrip(_POINTS).strip(_EDGE)
    forms = [(",", ",")] if raw.startswith("(") or core in ("-", "–", "—") else []
    for part in _parts(core):
        word = _MEANT.get(part, part)
        if word.endswith("n't") or word in _NOT:
            forms.append(("not", word))
        elif word not in _FILLERS:
            term = word if word in _LEADING or not word.isalpha() else search.stem(word)
            if term in _DENIALS:
                forms.append(("not", word))
            forms.append((_DENIALS.get(term, term), core))
    if raw.endswith((",", ";")):
        forms.append((",", ","))
    elif raw.endswith(":"):
        forms.append((":", ":"))
    return tuple(forms)


def _parts(core: str) -> list[str]:
    """A word as the words that it is made of; none for bare punctuation."""
    if core in EQUALS:
        return [core]
    if assigned := _ASSIGNED.fullmatch(core):
        return [assigned[1], "=", assigned[3].strip(_EDGE) or assigned[3]]
    word = core.rstrip(_POINTS).removesuffix("'s")
    if not any(letter.isalnum() for letter in word):
        return ["%"] if word == "%" else []
    if glued := _GLUED.fullmatch(word):
        return [glued[1], glued[2]]
    if NUMBER.fullmatch(word) or re.search(r"[\d._/\\=@#+]", word) or word[0] == "-":
        return [word]
    return [part for part in word.split("-") if part]
