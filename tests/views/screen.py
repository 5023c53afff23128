"""A terminal small enough to check: what stands on the screen after a stream of characters."""

from __future__ import annotations

import re
import unicodedata

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_PIECE = re.compile(r"\x1b\[(\d*)([A-Za-z])|(.)", re.DOTALL)


def screen(stream: str) -> str:
    """The lines that a person sees. Knows what the view may write, and fails on all else."""
    lines = [""]
    row = column = 0
    for piece in _PIECE.finditer(stream):
        count, command, character = piece.groups()
        if command == "J":
            lines = [*lines[:row], lines[row][:column]]
        elif command == "A":
            row -= int(count)
        elif command == "m":
            pass
        elif command:
            raise AssertionError(f"unexpected sequence {piece[0]!r}")
        elif character == "\r":
            column = 0
        elif character == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        else:
            obeyed = unicodedata.category(character) == "Cc" and character != "\t"
            assert not obeyed and character not in BIDI, f"unexpected {character!r}"
            lines[row] = lines[row][:column].ljust(column) + character + lines[row][column + 1 :]
            column += 1
        assert row >= 0
    return "\n".join(lines)
