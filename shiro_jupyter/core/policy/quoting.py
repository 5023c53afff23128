"""What quoted text comes to be: escapes of `$'…'`, and what is expanded though quoted."""

from __future__ import annotations

import re

# Lines are joined before `$(`, `<<` or `&&` are looked for, save in single quotes.
TORN = re.compile(r"([$<>]|[&|;(](?=(?:\\\n)+[&|;(]))(?:\\\n)+(?=\S)")
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.)|\Z)", re.S
)
_ANSI_LETTERS = dict(zip("abefnrtvE\\'\"?", "\a\b\x1b\f\n\r\t\v\x1b\\'\"?", strict=True))
_LAST = 0x10FFFF
_IN_SUBSCRIPT = re.compile(r"\w?\[|[\]\\'\"{]|\$\(|`")


def unescaped(text: str) -> tuple[str, bool]:
    """What stands between `$'` and `'`, and whether all of it is understood."""
    sure = True

    def one(match: re.Match[str]) -> str:
        nonlocal sure
        if digits := match[1] or match[2] or match[3]:
            sure &= int(digits, 16) <= _LAST
            return chr(min(int(digits, 16), _LAST))
        if match[4]:
            return chr(int(match[4], 8) & 0xFF)
        # The others stand for themselves, but those that want digits or a letter behind them.
        sure &= bool(match[5]) and match[5] not in "xuUc"
        return _ANSI_LETTERS.get(match[5] or "", match[0])

    made = _ANSI_ESCAPE.sub(one, text)
    return made, sure and "\0" not in made


def subscript_runs(word: str) -> bool:
    """Whether a substitution stands in a subscript: `test -v 'a[$(x)]'` runs x though it is
    quoted, as do printf, `[[` and what else takes a variable. Behind a quote or a brace in it the
    subscript may end anywhere."""
    depth, open_end = 0, False
    for match in _IN_SUBSCRIPT.finditer(word):
        mark = match[0]
        if mark[-1] == "[":
            depth += bool(depth) or len(mark) > 1
        elif depth and mark == "]":
            depth -= 1
        elif depth or open_end:
            if mark[-1] in "(`":
                return True
            open_end = True
    return False
