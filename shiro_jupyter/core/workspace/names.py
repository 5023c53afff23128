"""File names as they are shown on one line, and back."""

from __future__ import annotations

import re

from .text import is_visible

# What `printable` writes for a letter that nobody sees.
_ESCAPED = re.compile(
    r"\\(?:(?P<control>[nrt])|x(?P<byte>(?!00)[0-9a-f]{2})|u(?P<letter>(?!d[89a-f])[0-9a-f]{4})"
    r"|U(?P<far>00(?:0[1-9a-f]|10)[0-9a-f]{4}))"
)


def printable(name: str) -> str:
    """A file's name on one line, with what no wire carries and what nobody sees escaped."""
    if name.isascii() and name.isprintable():
        return name
    return "".join(each if is_visible(each) else _escaped(each) for each in name)


def _escaped(letter: str) -> str:
    """A byte that is no UTF-8 is half of a character to Python: it is shown as the byte it is."""
    if "\udc80" <= letter <= "\udcff":
        return f"\\x{ord(letter) - 0xDC00:02x}"
    if letter >= "\x80":  # `\xa0` would be a byte
        return rf"\u{ord(letter):04x}" if letter <= "\uffff" else rf"\U{ord(letter):08x}"
    return letter.encode("unicode_escape").decode()


def named(shown: str) -> str:
    """The name that `printable` shows so, where that has escaped something of it."""
    return _ESCAPED.sub(_unescaped, shown)


def _unescaped(found: re.Match[str]) -> str:
    if control := found["control"]:
        return {"n": "\n", "r": "\r", "t": "\t"}[control]
    code = int(found["byte"] or found["letter"] or found["far"], 16)
    return chr(code + 0xDC00 if found["byte"] and code >= 128 else code)
