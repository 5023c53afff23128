"""What is kept for later: told to later sessions, or steering other programs; and which words of a
command may come to name it."""

from __future__ import annotations

import re
from functools import lru_cache

from .names import STEERING_NAMES, is_steering_name
from .variables import Values, filled

_TOLD = (".shiro", "AGENTS.md")
_KEPT = re.compile(rf"(?:^|/)(?:{'|'.join(map(re.escape, _TOLD))})(?:/|$)", re.IGNORECASE)
# Code that has a file of these in mind.
_IN_CODE = re.compile(r"\bAGENTS\.md\b|\.shiro\b|\.git[/\\]hooks\b", re.IGNORECASE)
_GLOB = re.compile(r"[*?\[]")
_LONGEST = 100  # a longer pattern is not compared


def is_kept(path: str, *, word: bool = True) -> bool:
    """Whether what stands there is told to later sessions, or steers other programs; `word`: it
    may be no path."""
    return _KEPT.search(path) is not None or is_steering_name(path, word=word)


def code_keeps(code: str) -> bool:
    """Whether code names what is told to later sessions or what git runs."""
    return _IN_CODE.search(code) is not None


def may_name(word: str, values: Values) -> list[str] | None:
    """The paths that a word with an expansion in it may come to; `None` where that may be any, or
    one that is kept."""
    words = filled(word, values)
    if words is None or any("{" in each or _may_be_kept(each.lower()) for each in words):
        return None
    return words


def _may_be_kept(path: str) -> bool:
    if not _GLOB.search(path):
        return is_kept(path)
    parts = path.split("/")
    return len(path) > _LONGEST or any(
        all(_meets(part, name) for part, name in zip(parts[at:], names, strict=False))
        for names in _NAMES
        for at in range(len(parts) - len(names) + 1)
    )


_NAMES = [name.lower().split("/") for name in (*_TOLD, *STEERING_NAMES)]


def _meets(part: str, name: str) -> bool:
    """Whether a part of a pattern may be this name. A star at the front is no hidden file, and a
    bare `*.py` is not taken for the few names that end so."""
    if _GLOB.match(part) and (
        name[:1] == "." or (re.fullmatch(r"[*?]+(?:\.\w+)?", part) and name != "agents.md")
    ):
        return False
    return _common(re.sub(r"\[[^\]]*\]?", "?", part), name)


@lru_cache(4096)
def _common(one: str, other: str) -> bool:
    """Whether two patterns have a name in common."""
    if not one or not other:
        return not (one + other).strip("*")
    if one[0] == "*" or other[0] == "*":
        return _common(one[1:], other) or _common(one, other[1:])
    return (one[0] == other[0] or "?" in (one[0], other[0])) and _common(one[1:], other[1:])
