"""What a text names, so that code can tell whether a shorter wording of it lost something."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"`+([^`]+)`+|\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|(?<!\w)'([^'\n]+)'(?!\w)")
_EDGE = ".,;:!?…'\"“”‘’«»()[]{}<>*`|"
# A number, a path, a dotted or snake_case name, a tag, a flag, a call, a capital inside.
_MARKED = re.compile(r"\d|\w[./\\_@=:]+\w|[#@~./_]\w|(?<!\S)--?[A-Za-z]|\w_|[a-z][A-Z]|\w\(\)")
_LETTERS = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")
_SENTENCE_END = (".", "!", "?", ":", "…")
# Words that begin sentences and name nothing.
_COMMON = """
a added all always an and any are as at avoid because before but by call chose chosen do does
done drop every few fixed for from have how i if in is it its keep kept load make merge moved
must never no not now of on once one only our prefer put read remove run save see set should
since so some store that the then there these they this to treat try two under until use used
was we were what when where which while why with write you
"""
_OPENERS = frozenset(_COMMON.split())


def named(text: str) -> frozenset[str]:
    """The numbers, paths, identifiers, tags, names and quoted words of a text, folded.

    A capital makes a name, save of common words at the start of a sentence.
    """
    found = {_bare(word) for quoted in _QUOTED.findall(text) for word in " ".join(quoted).split()}
    for line in text.splitlines():
        opening = True
        for token in line.split():
            word = _bare(token)
            if not word:
                continue
            capital = token.strip(_EDGE)[0].isupper()
            if _MARKED.search(token) or (capital and not (opening and word in _OPENERS)):
                found.add(word)
            opening = token.endswith(_SENTENCE_END)
    return frozenset(found - {"", "i", "e.g", "i.e"})


def lost(before: str, after: str) -> list[str]:
    """What `before` names and `after` holds nowhere as a whole word, sorted."""
    kept = {*map(_bare, after.split()), *_LETTERS.findall(after.casefold())}
    return sorted(named(before) - kept - named(after))


def _bare(token: str) -> str:
    """A word without the punctuation around it, folded."""
    return re.sub(r"['’]s$", "", token.strip(_EDGE)).casefold()
