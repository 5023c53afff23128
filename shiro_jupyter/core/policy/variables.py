"""What the variables of a command line stand for, where the line itself says so."""

from __future__ import annotations

import re

from .commands import Reading
from .launchers import ASSIGNMENT

_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_LOOPS = ("for", "select")
Values = dict[str, list[str]]
_MOST = 50  # words that one word may come to


def filled(word: str, values: Values) -> list[str] | None:
    """The words that a word may come to, `None` where that is not known."""
    words = [word]
    for name in {match[1] or match[2] for match in _VARIABLE.finditer(word)}:
        if name not in values or len(words) * len(values[name]) > _MOST:
            return None
        each = re.compile(rf"\$(?:{name}(?!\w)|\{{{name}\}})")
        said = [value.replace("\\", r"\\") for value in values[name]]
        words = [each.sub(value, one) for one in words for value in said]
    return None if any(set("$`") & set(one) for one in words) else words


def values_of(reading: Reading) -> Values:
    """All that each variable is set to, of those that are set in plain words alone."""
    values = Values()
    unknown = set[str]()
    for command in reading.commands:
        words = command
        while words and words[0] in ("do", "then", "else", "{", "!", "if", "while"):
            words = words[1:]
        if words[:1] and words[0] in _LOOPS and words[2:3] == ("in",):
            values.setdefault(words[1], []).extend(words[3:])
            continue
        for word in words:
            name, sign, value = word.partition("=")
            if sign and ASSIGNMENT.match(word) and name.isidentifier():
                values.setdefault(name, []).append(value)
            else:  # `read x`, `x+=b`, `printf -v x`
                unknown |= set(re.findall(r"\w+", word)) - _expanded(word)
    return {
        name: said
        for name, said in values.items()
        if name not in unknown and not any(set("$`{") & set(each) for each in said)
    }


def _expanded(word: str) -> set[str]:
    return {match[1] or match[2] for match in _VARIABLE.finditer(word)}
