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
from .commands import Reading, Words, name_of, read_command, unwrapped
from .subjects import Access, Subject

_RULE = re.compile(r"\s*([A-Za-z_*][\w*-]*)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_SHORT_FLAGS = re.compile(r"-[A-Za-z]+")
_PATH_CLASSES = ("read", "write", "session")


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
            if any(fnmatchcase(name, rule.name) for name in known):
                continue
            near = difflib.get_close_matches(rule.name, known, 1)
            hint = f" did you mean {near[0]}?" if near else ""
            said.append(f"The rule {rule} names no tool and no access class;{hint}")
        return [sentence.rstrip(";") for sentence in said]


def restricts(rules: Iterable[Rule], subject: Subject) -> Rule | None:
    """The first deny or ask rule that fits any part of the subject, read as widely as can be."""
    for rule in rules:
        if not rule.names(subject):
            continue
        if subject.access in _PATH_CLASSES:
            fits = _path_pattern(rule.pattern, True)
            if rule.pattern == "*" or any(fits.fullmatch(text) for text in subject.texts):
                return rule
        elif any(_command_fits(rule.pattern, text, subject.access) for text in subject.texts):
            return rule
    return None


def permits(rules: Iterable[Rule], subject: Subject) -> bool:
    """Every part of the subject is fitted by an allow rule, read as narrowly as can be."""
    mine = [rule for rule in rules if rule.names(subject)]
    if not mine or not subject.texts:
        return False
    if subject.access in _PATH_CLASSES:
        fits = [_path_pattern(rule.pattern, False) for rule in mine]
        return all(any(fit.fullmatch(text) for fit in fits) for text in subject.texts)
    patterns = [_text_pattern(rule.pattern) for rule in mine]
    parts: list[str] = []
    for text in subject.texts:
        if subject.access == "kernel":
            parts.append(text)
            continue
        reading = _read(text)
        if not reading.certain:
            # Only a rule for everything, or for this very text, covers what cannot be read.
            return any(rule.pattern in ("*", text.strip()) for rule in mine)
        parts += [" ".join(words) for words in reading.commands]
    return bool(parts) and all(any(each.fullmatch(part) for each in patterns) for part in parts)


def _command_fits(pattern: str, text: str, access: Access) -> bool:
    fits = _text_pattern(pattern)
    if fits.fullmatch(text) or fits.fullmatch(" ".join(text.split())):
        return True
    if access == "kernel":
        return False
    canonical = _text_pattern(" ".join(_canonical(tuple(pattern.split()))))
    for words in _read(text).commands:
        for form in unwrapped(words):
            if fits.fullmatch(" ".join(form)):
                return True
            named = (name_of(form[0]), *form[1:]) if form else ()
            if canonical.fullmatch(" ".join(_canonical(named))):
                return True
    return False


def _canonical(words: Words) -> Words:
    """`rm -r x -f` and `rm -fr x` alike: short flags in one cluster behind the command."""
    flags = sorted({letter for w in words[1:] if _SHORT_FLAGS.fullmatch(w) for letter in w[1:]})
    rest = [word for word in words[1:] if not _SHORT_FLAGS.fullmatch(word)]
    return (*words[:1], *(["-" + "".join(flags)] if flags else []), *rest)


@lru_cache(256)
def _read(text: str) -> Reading:
    return read_command(text)


@lru_cache(256)
def _text_pattern(pattern: str) -> re.Pattern[str]:
    """`*` is any text; a last ` *` also stands for nothing, so `git status *` fits the bare one."""
    pattern = " ".join(pattern.split()) if "\n" not in pattern else pattern
    optional = pattern.endswith(" *")
    body = "".join(
        ".*" if char == "*" else re.escape(char) for char in pattern.removesuffix(" *" * optional)
    )
    return re.compile(body + ("(?: .*)?" if optional else ""), re.DOTALL)


@lru_cache(256)
def _path_pattern(pattern: str, wide: bool) -> re.Pattern[str]:
    """`wide`: letter case does not count, since on some file systems it does not either."""
    anchored = "/" in pattern.rstrip("/")
    pattern = pattern.strip("/") if not pattern.startswith("/") else "/" + pattern.strip("/")
    body = ""
    for piece in re.findall(r"\*\*/|/\*\*$|\*\*|\*|\?|[^*?]", pattern):
        body += {
            "**/": "(?:.*/)?",
            "/**": "(?:/.*)?",
            "**": ".*",
            "*": "[^/]*",
            "?": "[^/]",
        }.get(piece, re.escape(piece))
    prefix = "" if anchored or pattern.startswith("**") else "(?:.*/)?"
    return re.compile(f"{prefix}{body}(?:/.*)?", re.DOTALL | (re.IGNORECASE if wide else 0))
