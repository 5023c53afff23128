"""What was found, in words for the model and the person."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

FOUND = 5  # that are told
NEAR = 3
LISTED = 15  # columns that are told where none is near
_MANY = 3_000  # columns from which on only a part is compared
_LETTERS = 60
# Attributes that pandas had once, and what does it now.
_INSTEAD = {"append": "pd.concat", "iteritems": "items", "ix": "loc", "as_matrix": "to_numpy"}
_WORD = re.compile(r"[a-z]+|\d+")


@dataclass(frozen=True)
class Finding:
    """Something that is not there. `what`: `df has no column 'x'`; `name` is the `x`, `others` are
    the columns that are there, `own` other names that may be meant."""

    line: int
    what: str
    name: str = ""
    others: Collection[str] = ()
    own: Collection[str] = ()

    @cached_property
    def near(self) -> tuple[str, ...]:
        """Names that are there, most alike first; looked for only where the finding is told."""
        if self.name in _INSTEAD and self.own:
            return (_INSTEAD[self.name],)
        return nearest(self.name, sorted({*self.others, *self.own})) if self.name else ()

    def __str__(self) -> str:
        said = f"line {self.line}: {self.what}"
        if self.near:
            return f"{said}; nearest: {', '.join(map(_cut, self.near))}"
        if not self.others:
            return said
        more = f" and {len(self.others) - LISTED:,} more" if len(self.others) > LISTED else ""
        listed = ", ".join(map(_cut, sorted(self.others)[:LISTED]))
        return f"{said}; it has {listed}{more}"


@dataclass(frozen=True)
class Verdict:
    """`certain`: what will fail; `doubtful`: what will fail if it is reached."""

    certain: tuple[Finding, ...] = ()
    doubtful: tuple[Finding, ...] = ()

    @property
    def refusal(self) -> str:
        """Why the code is not run; empty where it may be."""
        if not self.certain:
            return ""
        return f"Not run, since it would fail. {_listed(self.certain)}. Correct it and call again."

    @property
    def hint(self) -> str:
        """What is doubtful, in a few words for the person."""
        said = "; ".join(f"line {each.line}: {each.what}" for each in self.doubtful[:2])
        return f"Doubtful: {said}." if said else ""

    @property
    def warning(self) -> str:
        return f"Doubtful: {_listed(self.doubtful)}." if self.doubtful else ""


def _listed(found: tuple[Finding, ...]) -> str:
    more = f"; and {len(found) - FOUND} more" if len(found) > FOUND else ""
    return "; ".join(map(str, found[:FOUND])) + more


def nearest(name: str, names: Collection[str]) -> tuple[str, ...]:
    """Those most like it, best first; at most three."""
    key = _plain(name)
    some = names if len(names) <= _MANY else [each for each in names if _shares(key, each)]
    scored = [(_likeness(name, key, each), each) for each in list(some)[:_MANY]]
    good = sorted(((-score, each) for score, each in scored if score >= 0.6))
    return tuple(each for _, each in good[:NEAR])


def _likeness(name: str, key: str, other: str) -> float:
    theirs = _plain(other)
    if key == theirs:
        return 1.0
    words, their_words = _WORD.findall(name.lower()), _WORD.findall(other.lower())
    alike = sum(any(_alike(each, word) for word in their_words) for each in words)
    shared = 2 * alike / (len(words) + len(their_words) or 1)
    if words and their_words == words[: len(their_words)]:  # the same, and what is said beside it
        shared = max(shared, 0.6)
    matcher = difflib.SequenceMatcher(None, key, theirs, autojunk=False)
    if shared < 0.6 and matcher.real_quick_ratio() < 0.6:
        return 0.0
    return min(max(matcher.ratio(), 0.55 + 0.4 * shared if shared else 0.0), 0.99)


def _alike(one: str, two: str) -> bool:
    """Whether two words are the same, or one is the other cut short."""
    short, long = sorted((one, two), key=len)
    return short == long or (len(short) > 2 and long.startswith(short))


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _shares(key: str, other: str) -> bool:
    return key[:3] in _plain(other) or key[-3:] in _plain(other)


def _cut(name: str) -> str:
    return repr(name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…")


def missing_column(line: int, table: str, name: str, names: Collection[str]) -> Finding:
    return Finding(line, f"{table} has no column {_cut(name)}", name, names)


def missing_attribute(
    line: int, table: str, name: str, columns: Collection[str], own: Collection[str]
) -> Finding:
    if name in columns:
        return Finding(line, f"{table}.{name} is no attribute; the column is {table}[{name!r}]")
    return Finding(line, f"{table} has no column or attribute {name!r}", name, columns, own)
