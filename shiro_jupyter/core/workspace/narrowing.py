"""A pattern for ripgrep that matches wherever one of Python's does, and little else.

ripgrep only names the files that are worth a look: what matches in them is decided in one place,
with ripgrep and without it. It sees bytes, we see text, perhaps of another encoding; so each
character beyond ASCII becomes "some bytes beyond ASCII", and what ripgrep cannot tell (what
stands around, what was matched before) is left open. Where a text states an encoding that has
ASCII bytes in other characters, or ASCII in other bytes, that alone is a reason to look at it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

# Repeats over this are taken for "at least": a compiled pattern grows with them.
REPEATS = 100

# Ways that a quick pattern may have to match.
CHOICES = 50

_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_AT_BOUNDARY = (op.AT, op.AT_BOUNDARY)
_BOUNDARY = r"\b"
_ALL = frozenset(range(128))
_HIGH = "\\x80-\\xff"
_SPACE = frozenset(b" \t\n\r\f\v")
_MORE_SPACE = _SPACE | frozenset(range(0x1C, 0x20))
_DIGIT = frozenset(b"0123456789")
_WORD = frozenset(c for c in _ALL if chr(c).isalnum()) | {ord("_")}
# Category: what ASCII it may match, and what it matches in every mode.
_CATEGORIES = {
    op.CATEGORY_SPACE: (_MORE_SPACE, _SPACE),
    op.CATEGORY_NOT_SPACE: (_ALL - _SPACE, _ALL - _MORE_SPACE),
    op.CATEGORY_DIGIT: (_DIGIT, _DIGIT),
    op.CATEGORY_NOT_DIGIT: (_ALL - _DIGIT, _ALL - _DIGIT),
    op.CATEGORY_WORD: (_WORD, _WORD),
    op.CATEGORY_NOT_WORD: (_ALL - _WORD, _ALL - _WORD),
}
# Where case does not count, one letter with some that are beyond ASCII.
_FRIENDLY = frozenset(b"iIkKsS")
_STARTS = ((op.AT, op.AT_BEGINNING), (op.AT, op.AT_BEGINNING_STRING))
_ENDS = ((op.AT, op.AT_END), (op.AT, op.AT_END_STRING))
# What `text.decode` takes for an encoding, unless its name begins as those do in which a character
# beyond ASCII has no byte of ASCII: UTF-8, ISO 8859, Latin, ASCII. A tag may end on a later line.
_UNSURE = r"(?i:[b-hjkm-tv-z0-9]|u[^ts]|utf[-_]?7|i[^s]|iso[-_]?2)"
# Those in which text that is all ASCII may have other bytes, or more.
_OTHERWISE = (
    r"(?i:hz|idna|puny|raw|u7|uni|utf[-_]?7|(?:cs)?iso[-_]?2022|s[-_]?(?:hift[-_]?)?jis[-_x]?[02])"
)


def _stating(encoding: str) -> str:
    return (
        rf"(?-u:coding[:=][ \t]*{encoding}|<(?:\?xml|meta|META|Meta)[^>\n]*"
        rf"(?:$|(?:encoding|(?i:charset))\s*=\s*[\x22']?\s*{encoding}))"
    )


STATED, STATED_OTHERWISE = _stating(_UNSURE), _stating(_OTHERWISE)


class TooHard(Exception):
    """A part that nothing is known of: all files are worth a look."""


def narrowed(pattern: str, flags: int) -> tuple[str | None, bool]:
    """The pattern for ripgrep, None where all files are to be looked at; and whether Python's own
    matcher is done with any text in a time that grows with it alone.

    Raises `re.error`, and `RecursionError` or `OverflowError`, for what is no pattern.
    """
    parsed = _parser.parse(pattern, flags)
    # A line of ours may begin behind a carriage return or a mark, and end before one. Elsewhere an
    # anchor says nothing: two of them would want the same return.
    start = r"(?:^|\r|\xef\xbb\xbf)" if parsed and parsed[0] in _STARTS else ""
    end = r"(?:$|\r)" if parsed and parsed[-1] in _ENDS else ""
    try:
        body = _sequence(parsed, bool(parsed.state.flags & re.IGNORECASE))
    except TooHard:
        return None, False
    stated = STATED if _HIGH in body or _BOUNDARY in body else STATED_OTHERWISE
    return f"(?-u){start}{body}{end}|{stated}", _choices(parsed) <= CHOICES


def _choices(items: Iterable[Any]) -> int:
    """Between how many ways there is to choose at any place; what repeats may go any number."""
    ways = 1
    for kind, value in items:
        if kind is op.BRANCH:
            ways *= sum(map(_choices, value[1]))
        elif kind is op.SUBPATTERN:
            ways *= _choices(value[-1])
        elif kind not in _SETS and kind is not op.AT:
            return CHOICES + 1
    return ways


def _sequence(items: Iterable[Any], fold: bool) -> str:
    items = list(items)
    return "".join(
        _BOUNDARY
        if (kind, value) == _AT_BOUNDARY
        and (_is_word(items[:at], -1, fold) or _is_word(items[at + 1 :], 0, fold))
        else _item(kind, value, fold)
        for at, (kind, value) in enumerate(items)
    )


def _is_word(items: Sequence[Any], end: int, fold: bool) -> bool:
    """Whether the first (0) or last (-1) character of what these match is an ASCII letter, digit or
    underscore: then Python and ripgrep find a boundary beside it in the same places."""
    if not items:
        return False
    kind, value = items[end]
    if kind in _SETS:
        chars, beyond = _SETS[kind](value, fold)
        return not beyond and chars <= (_WORD - _FRIENDLY if fold else _WORD)
    if kind is op.BRANCH:
        return all(_is_word(each, end, fold) for each in value[1])
    if kind is op.SUBPATTERN:
        return _is_word(value[-1], end, fold or bool(value[1] & re.IGNORECASE))
    return kind in _REPEATS and value[0] > 0 and _is_word(value[-1], end, fold)


def _item(kind: Any, value: Any, fold: bool) -> str:
    if kind in _SETS:
        return _once(*_SETS[kind](value, fold))
    if kind in _REPEATS:
        least, most, inner = value
        return _repeat(least, most, inner, fold)
    if kind is op.BRANCH:
        return "(?:" + "|".join(_sequence(each, fold) for each in value[1]) + ")"
    if kind is op.SUBPATTERN:
        _, added, dropped, inner = value
        fold = (fold or bool(added & re.IGNORECASE)) and not dropped & re.IGNORECASE
        return f"(?:{_sequence(inner, fold)})"
    if kind is op.ATOMIC_GROUP:
        return f"(?:{_sequence(value, fold)})"
    if kind in (op.ASSERT, op.ASSERT_NOT, op.AT):
        return "(?:)"
    if kind is op.GROUPREF:
        return r"[^\n]*"
    if kind is op.GROUPREF_EXISTS:
        _, yes, no = value
        return f"(?:{_sequence(yes, fold)}|{_sequence(no or (), fold)})"
    raise TooHard


def _repeat(least: int, most: Any, inner: Any, fold: bool) -> str:
    low = min(least, REPEATS)
    high = int(most) if most is not op.MAXREPEAT else REPEATS + 1
    if len(inner) == 1 and inner[0][0] in _SETS:
        kind, value = inner[0]
        chars, beyond = _SETS[kind](value, fold)
        # A character beyond ASCII is up to four bytes.
        high *= 4 if beyond else 1
        body = _class(chars, beyond)
    else:
        body = f"(?:{_sequence(inner, fold)})"
    return f"{body}{{{low},{high if high <= REPEATS else ''}}}"


def _once(chars: frozenset[int], beyond: bool) -> str:
    return _class(chars, beyond) + ("{1,4}" if beyond else "")


def _class(chars: frozenset[int], beyond: bool) -> str:
    chars -= {ord("\n")}
    if not chars and not beyond:
        raise TooHard
    if len(chars) == 1 and not beyond:
        return _escaped(*chars)
    if len(chars) == 2 and not beyond and len({chr(c).lower() for c in chars}) == 1:
        both = "".join(map(_escaped, sorted(chars)))
        return f"(?:[{both}]|[{_HIGH}]{{1,4}})" if chars <= _FRIENDLY else f"[{both}]"
    return "[" + "".join(_ranges(sorted(chars))) + (_HIGH if beyond else "") + "]"


def _ranges(chars: list[int]) -> Iterator[str]:
    while chars:
        run = next((n for n in range(1, len(chars)) if chars[n] != chars[0] + n), len(chars))
        yield _escaped(chars[0]) if run == 1 else f"{_escaped(chars[0])}-{_escaped(chars[run - 1])}"
        chars = chars[run:]


def _escaped(char: int) -> str:
    return f"\\x{char:02x}"


Set = tuple[frozenset[int], bool]


def _literal(char: int, fold: bool) -> Set:
    if char >= 128:
        return (_FRIENDLY if fold else frozenset()), True
    return (_folded({char}) if fold else frozenset({char})), False


def _not_literal(char: int, fold: bool) -> Set:
    return _ALL - _literal(char, fold and char < 128)[0], True


def _any(value: None, fold: bool) -> Set:
    return _ALL, True


def _in(items: Any, fold: bool) -> Set:
    negated = items[0][0] is op.NEGATE
    parts = [_member(kind, value) for kind, value in items[negated:]]
    may = frozenset(char for each in parts for char in each[0])
    surely = frozenset(char for each in parts for char in each[1])
    beyond = any(each[2] for each in parts)
    if fold:
        may, surely = _folded(may), _folded(surely)
        may, beyond = (may | _FRIENDLY if beyond else may), beyond or not may.isdisjoint(_FRIENDLY)
    return (_ALL - surely, True) if negated else (may, beyond)


def _member(kind: Any, value: Any) -> tuple[frozenset[int], frozenset[int], bool]:
    """What ASCII it may match and surely matches, and whether it matches more."""
    if kind is op.CATEGORY:
        return *_CATEGORIES[value], True
    first, last = value if kind is op.RANGE else (value, value)
    found = frozenset(range(first, min(last, 127) + 1))
    return found, found, last >= 128


def _folded(chars: Iterable[int]) -> frozenset[int]:
    return frozenset(ord(form) for c in chars for form in (chr(c), chr(c).swapcase()))


# What matches one character: the ASCII among it, and whether there is more.
_SETS: dict[Any, Callable[[Any, bool], Set]] = {
    op.LITERAL: _literal,
    op.NOT_LITERAL: _not_literal,
    op.ANY: _any,
    op.IN: _in,
}
