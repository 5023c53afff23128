"""Rules as people write them: `bash(git status *)`, `read(secrets/**)`, `write(*.ipynb)`.

A rule names a tool or an access class, and a pattern for the command, the code or the path; no
pattern means all. A path pattern works as in `.gitignore`: without a slash it fits that name in
any folder, and it covers everything below a folder it fits.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import get_args

from ..errors import SettingsError
from . import git
from .commands import read_command
from .globs import path_glob, text_glob
from .launchers import (
    Words,
    launched,
    may_be_flag,
    may_become,
    plain,
    unwrapped,
    with_modules,
)
from .subjects import Access, Subject

_RULE = re.compile(r"\s*([A-Za-z_*][\w*-]*)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_SHORT_FLAGS = re.compile(r"-[A-Za-z]+")
RULE_LENGTH = 1000
_LETTERS = {"--recursive": "r", "--force": "f"}
_EFFORT = 10_000  # a longer line is not compared word by word
_PATH_CLASSES = ("read", "write", "session")
# Code and sentences: no command to take apart.
_PLAIN_CLASSES = ("kernel", "memory", "job")


@dataclass(frozen=True)
class Rule:
    """`name` is a tool, a pattern of tool names, or an access class."""

    name: str
    pattern: str = "*"

    def __str__(self) -> str:
        return f"{self.name}({self.pattern})"

    def names(self, subject: Subject) -> bool:
        return self.name == subject.access or fnmatchcase(subject.tool, self.name)


def parse_rule(text: str) -> Rule:
    """Raises `SettingsError` for what is no rule."""
    match = _RULE.fullmatch(text)
    if not match:
        raise SettingsError(f"{text!r} is no rule; write one as bash(git status) or read(data/**).")
    if len(text) > RULE_LENGTH:
        raise SettingsError(f"The rule {text[:40]}… is too long; write a shorter one, with a *.")
    return Rule(match[1], "*" if match[2] is None else match[2].strip() or "*")


@dataclass(frozen=True)
class Rules:
    """What the settings deny, ask for and allow."""

    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()

    @classmethod
    def parse(
        cls, *, deny: Iterable[str] = (), ask: Iterable[str] = (), allow: Iterable[str] = ()
    ) -> Rules:
        return cls(*(tuple(map(parse_rule, each)) for each in (deny, ask, allow)))

    def unknown(self, tools: Collection[str]) -> list[str]:
        """A sentence for each rule that names no tool and no access class there is."""
        known = [*tools, *get_args(Access)]
        said = []
        for rule in (*self.deny, *self.ask, *self.allow):
            if rule.name.startswith("mcp__") or any(fnmatchcase(name, rule.name) for name in known):
                continue
            near = difflib.get_close_matches(rule.name, known, 1)
            hint = f"did you mean {near[0]}?" if near else "name one, such as bash or write."
            said.append(
                f"The rule {rule} names no tool and no access class, so it does nothing; {hint}"
            )
        return said


def restricts(rules: Iterable[Rule], subject: Subject) -> Rule | None:
    """The first deny or ask rule that fits any part of the subject, read as widely as can be."""
    for rule in rules:
        if not rule.names(subject):
            continue
        if subject.access in _PATH_CLASSES:
            fits = path_glob(rule.pattern, wide=True)
            if rule.pattern == "*" or any(map(fits, subject.texts)):
                return rule
        elif any(command_fits(rule.pattern, text, subject.access) for text in subject.texts):
            return rule
    return None


def permits(rules: Iterable[Rule], subject: Subject) -> bool:
    """Every part of the subject is fitted by an allow rule, read as narrowly as can be."""
    mine = [rule for rule in rules if rule.names(subject)]
    if not mine or not subject.texts:
        return False
    if subject.access in _PATH_CLASSES:
        fits = [path_glob(rule.pattern, wide=False) for rule in mine]
        return all(any(fit(text) for fit in fits) for text in subject.texts)
    return all(_text_permitted(text, subject.access, mine) for text in subject.texts)


def _text_permitted(text: str, access: Access, mine: list[Rule]) -> bool:
    if access in _PLAIN_CLASSES:
        return any(text_glob(rule.pattern)(text) for rule in mine)
    reading = read_command(text)
    if not reading.certain:
        # Only a rule for everything, or for this very text, covers what cannot be read; a star in a
        # rule is any text, and one in a command the names of files.
        exact = text.strip() if "*" not in text else None
        return any(rule.pattern in ("*", exact) for rule in mine)
    return bool(reading.commands) and all(_is_permitted(each, mine) for each in reading.commands)


def _is_permitted(words: Words, mine: list[Rule]) -> bool:
    """By a rule that names what is launched too, or by one for each: `timeout *` alone allows
    nothing to be launched. A blank of the rule stands between words, never in one."""
    text = _joined(words)
    return any(
        rule.pattern == "*"
        or all(
            len(rule.pattern.partition("*")[0]) > len(text) - len(_joined(inner))
            or _is_permitted(inner, mine)
            for inner in launched(words)
            if inner
        )
        for rule in mine
        if text_glob(rule.pattern)(text)
    )


def _joined(words: Words) -> str:
    return " ".join(re.sub(r"\s", "\0", word) for word in words)


def command_fits(pattern: str, text: str, access: Access) -> bool:
    fits = text_glob(pattern)
    if fits(text) or fits(" ".join(text.split())):
        return True
    if access in _PLAIN_CLASSES:
        return False
    for words in read_command(text).commands:
        for form in filter(None, with_modules(unwrapped(words))):
            if fits(" ".join(form)) or fits_in_any_order(pattern, form):
                return True
    return False


def fits_in_any_order(pattern: str, words: Words) -> bool:
    """`rm -rf *` fits `rm x -f -r`, and `git push *` fits `git -C . push`: the flags of the
    pattern stand somewhere, the other words as they are written."""
    wanted = wanted_of(pattern)
    fits = text_glob(" ".join(wanted.others))
    for given in _ways(plain(words)):
        flags = _flags(given)
        enough = wanted.flags <= flags if pattern.endswith("*") else wanted.flags == flags
        if enough and fits(" ".join(w for w in given if not _is_flag(w))):
            return True
    return False


@dataclass(frozen=True)
class Wanted:
    """A pattern of commands, taken apart: its command, flags, and its words without those."""

    name: str
    flags: frozenset[str]
    others: Words


@lru_cache(256)
def wanted_of(pattern: str) -> Wanted:
    words = plain(tuple(pattern.split()) or ("",))
    others = tuple(word for word in words if not _is_flag(word))
    return Wanted(words[0], frozenset(_flags(words)), others)


def _ways(words: Words) -> list[Words]:
    """What a command may come to, its name first and its own command next."""
    return git.commands(words) if words[0] == "git" else [words]


def may_become_one(rules: Iterable[Rule], subject: Subject) -> bool:
    """Whether an expansion among the words of a command may make it one that a rule is about."""
    mine = [rule for rule in rules if rule.names(subject)]
    return bool(mine) and any(
        may_fit(rule.pattern, form, reading.loose)
        for reading in map(read_command, subject.texts)
        if reading.loose
        for words in reading.commands
        for form in filter(None, with_modules(unwrapped(words)))
        for rule in mine
    )


def may_fit(pattern: str, words: Words, loose: frozenset[str]) -> bool:
    """Whether a command with loose words among its own may come to fit the pattern."""
    return any(_may_fit(pattern, way, loose) for way in _ways(plain(words)))


def _may_fit(pattern: str, given: Words, loose: frozenset[str]) -> bool:
    """By the flags of the pattern and its other words, one behind the other; a loose word may be
    any number of them."""
    wanted = wanted_of(pattern)
    if wanted.name not in (given[0], "*") or not loose.intersection(given):
        return False
    asked = wanted.others
    if len(asked) * len(given) > _EFFORT:
        return True
    options = given[: given.index("--")] if "--" in given else given
    free = any(word in loose and may_be_flag(word) for word in options)
    if not free and not wanted.flags <= _flags(given):
        return False
    places = _passed({0}, asked)
    for word in given:
        if word in loose:
            runs = {at for at in places if at < len(asked) and may_become(word, asked[at])}
            for at in range(len(asked)):
                if at in runs and (at + 1 < len(asked) and may_become(word, asked[at + 1])):
                    runs.add(at + 1)
            following = places | {at + 1 for at in runs}
        else:
            following = {
                at + 1 for at in places if at < len(asked) and text_glob(asked[at])(word)
            } | (places if _is_flag(word) else set())
        places = _passed(following | {at for at in places if asked[at : at + 1] == ("*",)}, asked)
    return len(asked) in places


def _passed(places: set[int], asked: Words) -> set[int]:
    """With those that are reached as well, since a star stands for no word too."""
    for at, word in enumerate(asked):
        if word == "*" and at in places:
            places.add(at + 1)
    return places


def _is_flag(word: str) -> bool:
    return word[:1] == "-" and word.strip("-") != "" and "*" not in word


def _flags(words: Words) -> set[str]:
    """Short ones letter by letter: `-rf` and `-f -r` alike, and `--force --recursive`, which may
    be written shorter."""
    flags = set[str]()
    for word in filter(_is_flag, words):
        long = next((each for each in _LETTERS if len(word) > 2 and each.startswith(word)), "")
        flags |= set(word[1:]) if _SHORT_FLAGS.fullmatch(word) else {_LETTERS.get(long, word)}
    return {"r" if words[0] == "rm" and flag == "R" else flag for flag in flags}
