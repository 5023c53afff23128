"""Whether two memories speak of the same and claim something else, by their words alone.

Two texts are close where they agree but for one short span, and that span is what is claimed, not
what is spoken of: a measure ("5-fold | 10-fold", "2 h | 20 min", "weekly | daily") that is not a
label ("sensor 12 is ..."); words behind what leads a claim in ("are", "use", "with", "lives in");
or a "not", which "drop" and "exclude" say as well. In doubt they are not: a contradiction that
stays can be seen, a memory that is not stored is missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .index import Entry
from .wording import (
    CHOOSE,
    DEFINES,
    EQUALS,
    HOW,
    LIMITS,
    NUMBER,
    PREPOSITIONS,
    RELATIONS,
    SINGLE,
    TO,
    Said,
    read,
    stem_pairs,
    stem_set,
    word_set,
)

# What a text that tells what to do begins with: what stands behind it is spoken of.
_PUT = stem_set(
    "run build deploy save store keep put answer reply write format export read load sort send"
    " email"
)
_ORDERS = _PUT | stem_set("fill round impute clip scale encode fit train test plot join treat see")
_KEPT = stem_set(
    "store save keep write encode host locate deploy log record express measure export report code"
    " written"
)
# Whoever does one of these is the one who does.
_ROLE = stem_set("own maintain manage lead approve sign responsible zuständig") | {"the"}
_ARRANGED = _ROLE | stem_set("sort order partition group cluster split weight separate delimit")

_FURTHER = HOW | {"at"}
_SCOPES = word_set("for in of during")
_WHERE = word_set("in on at")
_NOT_IN = re.compile("un|in|im|ir|non|dis")
_HEDGES = word_set("about roughly around nearly almost approximately ca circa")
_ANTONYMS = stem_pairs(
    "first:last upper:lower min:max minimum:maximum net:gross ascending:descending left:right"
    " oversample:undersample true:false macro:micro"
)
# A trait may stand beside another one: "is nullable", "is indexed".
_TRAIT = re.compile(
    r"(?!string)[\w-]+(?:ed|en|able|ible|al|ic|ive|ous|ful|y|ing|ly|less|ary)"
    r"|read|run|built|made|sent|set"
)
_UNITS = {
    unit: family
    for family, units in (
        ("time", "s sec second ms min minut h hour day week month quarter year"),
        ("size", "b kb mb gb tb kib mib gib"),
        ("%", "% percent"),
    )
    for unit in units.split()
}
_WHEN = stem_set(
    "hourly daily nightly weekly biweekly fortnightly monthly quarterly yearly annually every each"
    " monday tuesday wednesday thursday friday saturday sunday january february march april may"
    " june july august september october november december"
)
_COUNTS = word_set("one two three four five six seven eight nine ten zero none half")
_QUANTITIES = stem_set(
    "size rate depth seed length width count number limit level degree port first last top"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_FRACTION = re.compile(r"[.%:/]")


@dataclass(frozen=True)
class _Span:
    """Neighbouring words of a text that another one does not say."""

    said: Said
    start: int
    end: int

    @property
    def words(self) -> tuple[str, ...]:
        return self.said.words[self.start : self.end]

    @property
    def length(self) -> int:
        """In words as they were written."""
        return len({*self.said.raw[self.start : self.end]})

    @property
    def before(self) -> str:
        at = self.start - 1
        return self.said.at(at - (self.said.at(at) in _HEDGES))

    @property
    def after(self) -> str:
        return self.said.at(self.end)

    @property
    def in_subject(self) -> bool:
        return self.said.relates(self.end) and not self.said.relates(0, self.start)


def closest(entry: Entry, known: Iterable[Entry]) -> Entry | None:
    """The newest memory that the entry is close to; those of the same text are none."""
    others = (each for each in reversed(list(known)) if each.folded != entry.folded)
    return next((each for each in others if close(entry.text, each.text)), None)


def close(one: str, other: str) -> bool:
    """Whether both speak of the same and only one can be meant."""
    (a, all_a), (b, all_b) = read(one), read(other)
    said_all = a is all_a and b is all_b
    return _clash(a, b) or (not said_all and _clash(all_a, all_b, words=False))


def _clash(a: Said, b: Said, *, words: bool = True) -> bool:
    """Without `words` only another measure counts: what is aside may be worded in any way."""
    shared = a.terms & b.terms
    if not shared or len(a.terms) + len(b.terms) - 2 * len(shared) > 7:
        return False
    if a.terms == b.terms:
        return a.negative != b.negative or a.whole or b.whole
    if a.negative != b.negative:
        return words and (_only_adds(a, b) or _only_adds(b, a))
    if _are_roles(a, b):
        return words
    ones, twos = _runs(a, b), _runs(b, a)
    if not ones or not twos or len(ones) + len(twos) > 3:
        return False
    one, two = ones[0], twos[0]
    if any(span.before not in _FURTHER for span in (*ones[1:], *twos[1:])):
        return False
    if (kind := _measure(one)) and kind == _measure(two):
        return _alike(one, two) and not _label(one) and not _label(two)
    return words and (_opposed(one, two) or _are_claims(one, two))


def _only_adds(less: Said, more: Said) -> bool:
    """The one says no more than the other, which goes on for a word or "for ..."."""
    if not less.terms < more.terms or len(less.terms) < 2:
        return False
    first, *rest = _runs(more, less)
    one_word = first.length == 1 and first.end == len(more.words)
    return not rest and (one_word or first.before in PREPOSITIONS)


def _runs(said: Said, other: Said) -> list[_Span]:
    """Where a text says what the other does not: neighbours, and those but for words that say
    nothing by themselves."""
    runs: list[_Span] = []
    open_ = False
    for at, word in enumerate(said.words):
        if word in said.terms and word not in other.terms:
            if open_:
                runs[-1] = _Span(said, runs[-1].start, at + 1)
            else:
                runs.append(_Span(said, at, at + 1))
            open_ = True
        elif word in said.terms or word in RELATIONS or word in PREPOSITIONS:
            open_ = False
    return runs


# --- measures


def _measure(span: _Span) -> frozenset[str]:
    """What kinds of measure a span is made of; empty where it holds anything else."""
    kinds = frozenset(_kind(word) for word in span.words if word in span.said.terms)
    if "" in kinds or kinds <= {"time", "size", "%"}:
        return frozenset()
    return frozenset({"when"}) if "when" in kinds else kinds


def _kind(word: str) -> str:
    if NUMBER.fullmatch(word) or word in _COUNTS:
        return "#"
    if word in _WHEN:
        return "when"
    if any(letter.isdigit() for letter in word):
        return re.sub(r"\d+", "#", word)
    return _UNITS.get(word, "")


def _alike(one: _Span, two: _Span) -> bool:
    """Both measure the same thing: they stand behind or before the same."""
    before = {one.before, two.before}
    return len(before) == 1 or before <= EQUALS or one.after == two.after != ""


def _label(span: _Span) -> bool:
    """The measure names what is spoken of: "sensor 12 is ...", "drop 2020"."""
    said, first = span.said, span.words[0]
    year = bool(_YEAR.fullmatch(first))
    if (year or first in _WHEN) and span.before in _SCOPES:
        return said.at(span.start - 2) not in RELATIONS
    if span.before in LIMITS | _QUANTITIES or said.relates(0, span.start) or said.order in CHOOSE:
        return False
    if not year and (_FRACTION.search(first) or {*span.words, span.after} & _UNITS.keys()):
        return False
    counts = bool(not year and NUMBER.fullmatch(first) and span.after in said.terms)
    counts = counts and not said.raw[span.end].endswith("ed")
    if span.in_subject:
        return not (counts and span.start == 0)
    follow = len(said.words) - span.end > 1 and span.after not in PREPOSITIONS
    if first in _WHEN:
        return follow
    if not year and span.before in HOW | TO:
        return False
    if said.order in _ORDERS:
        return not ((counts and span.start == 1) or span.before.startswith("-"))
    return year or (follow and span.start > 0) or len(said.terms) < 3


# --- words


def _are_claims(one: _Span, two: _Span) -> bool:
    a, b = one.words, two.words
    longest = max(one.length, two.length)
    if longest > 4 or a[0][0] == "-" or b[0][0] == "-" or DEFINES & {*a, *b}:
        return False
    lead = _lead(one)
    if not lead or lead != _lead(two):
        return False
    if lead == "use":
        return longest < 3 and bool(_topic(one) & _topic(two))
    if lead not in ("is", ":"):
        return True
    if "by" in (one.after, two.after) or longest > (2 if lead == "is" else 1):
        return False
    return not any(_TRAIT.fullmatch(span.said.raw[span.end - 1]) for span in (one, two))


def _opposed(one: _Span, two: _Span) -> bool:
    """One word each, "first" and "last" or "complete" and "incomplete", said of the same."""
    if len(one.words) > 1 or len(two.words) > 1 or one.in_subject or two.in_subject:
        return False
    a, b = one.words[0], two.words[0]
    return any(
        _ANTONYMS.get(word) == other
        or (word.endswith(other) and _NOT_IN.fullmatch(word.removesuffix(other)))
        for word, other in ((a, b), (b, a))
    )


def _lead(span: _Span) -> str:
    """What leads the span in as a claim; empty where the span is what is spoken of."""
    said = span.said
    if span.start == 0 and span.length == 1 and not said.relates(0):
        verb = span.after in _ORDERS and not said.raw[1].endswith("s")
        kind = verb or (span.after in said.terms and "for" in said.words)
        return "kind" if kind else ""
    if span.in_subject and said.order not in CHOOSE | _ORDERS:
        return ""
    leads = (k for k in reversed(range(span.start)) if said.words[k] in RELATIONS | PREPOSITIONS)
    at = next(leads, -1)
    lead, prior = said.at(at), said.at(at - 1) if at else ""
    if lead in DEFINES:
        return "means" if lead != ":" else ":" if at == span.start - 1 else ""
    if lead in EQUALS:
        return "is" if at else ""
    if lead in CHOOSE:
        return "use"
    if lead not in PREPOSITIONS or at == 0:
        return ""
    done = said.raw[at - 1].endswith(("ed", "en"))
    if prior in EQUALS | SINGLE or (done and (prior in _KEPT or lead == "at")):
        return f"{'is' if prior in EQUALS else prior} {lead}"
    if lead == "by" and done and not said.raw[at + 1].endswith("ing"):
        return "by" if prior in _ARRANGED else ""
    thing = at > 1 or not said.order or span.after in said.terms
    if (lead in HOW and thing) or (lead in TO and said.order in _PUT):
        return lead
    alone = at == 1 and not said.negative and not {*said.words[2:]} & (RELATIONS | PREPOSITIONS)
    return "in" if lead == "in" and alone else ""


def _topic(span: _Span) -> frozenset[str]:
    """What something is used for, or of what kind it is and where, of a claim that "use" leads."""
    said, rest = span.said, span.said.words[span.end :]
    cut = next((k for k, word in enumerate(rest) if word in PREPOSITIONS), len(rest))
    behind = rest[cut:] if cut or span.after not in _WHERE else ()
    use = max(k for k in range(span.start) if said.words[k] in CHOOSE)
    return said.terms.intersection(said.words[:use] + behind)


def _are_roles(a: Said, b: Said) -> bool:
    """Another one has the same part: "Anna | owns the orders table"."""
    rests = {b.words[at:] for at in range(1, 4)}
    same = next((a.words[at:] for at in range(1, 4) if a.words[at:] in rests), ())
    return len(same) > 1 and not _ROLE.isdisjoint(same)
