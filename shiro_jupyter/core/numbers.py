"""Numbers as people type them."""

from __future__ import annotations

DIGITS = 9  # more than any number of ours has; Python itself refuses to read thousands


def whole_number(text: str) -> int | None:
    """The number that a text is, None where it is none, has a sign, or is of no use here."""
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) <= DIGITS else None
