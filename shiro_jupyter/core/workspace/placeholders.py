"""Lines that stand for text which a writer left out."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"(?:#+|//+|\{?/\*+|--+|<!--+|;+|%+)(.*?)(?:\*+/\}?|--+>)?")
_DOTS = re.compile(r"(?<!\.)\.{3}(?!\.)|…")
_WORDS = re.compile(r"[\sa-z,.:;()\[\]<>…-]*", re.IGNORECASE)
_LEFT = {"rest", "remainder"}
_OLD = {"remaining", "existing", "previous", "original", "other"}
_KEPT = {"unchanged", "omitted"}
_WHOLE = {"code", "implementation", "logic"}
_PARTS = {
    *("file", "function", "method", "class", "body", "module", "script", "document", "content"),
    *("functions", "methods", "classes", "imports", "tests", "lines", "cells", "text", "section"),
}
_BETWEEN = {
    *("the", "this", "your", "all", "of", "and", "is", "are", "as", "in", "for", "keep", "brevity"),
    *("remains", "remain", "stays", "stay", "same", "before", "above", "below", "here", "goes"),
    *("no", "change", "changes", "everything", "else"),
}
_KNOWN = _LEFT | _OLD | _KEPT | _WHOLE | _PARTS | _BETWEEN


def placeholder(new: str, old: str) -> str:
    """The first line of `new` that only says that something was left out, empty where there is
    none; a line that stands in `old` too is the file's own."""
    own = {line.strip() for line in old.splitlines()}
    for line in map(str.strip, new.splitlines()):
        if line and line not in own and _is_placeholder(line):
            return line
    return ""


def _is_placeholder(line: str) -> bool:
    """It holds dots or such words alone; a remark on other code has other words too, and bare
    dots are Python."""
    if len(line) > 100:
        return False
    comment = _COMMENT.fullmatch(line)
    said = comment[1] if comment else line
    words = set(re.findall("[a-z]+", said.lower()))
    if not _WORDS.fullmatch(said) or not words <= _KNOWN:
        return False
    dots = _DOTS.search(said)
    if not words:
        return bool(dots and comment and _DOTS.sub("", said).strip() == "")
    if dots:
        return bool(words & (_LEFT | _OLD | _KEPT | {"same", "everything"}))
    if not comment and not (said[0] in "([<" and said[-1] in ")]>"):
        return False
    return bool(
        (words & _KEPT and len(words) > 1)
        or ({"same", "as"} <= words and words & (_LEFT | _WHOLE | _PARTS | {"everything"}))
        or (words & _LEFT and words & (_WHOLE | _PARTS))
        or (words & _OLD and words & _WHOLE)
        or ("no" in words and words & {"change", "changes"} and words & {"here", "above", "below"})
    )
