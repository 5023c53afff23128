"""Numbers as people type and read them."""

from __future__ import annotations

DIGITS = 9  # more than any number of ours has; Python itself refuses to read thousands


def whole_number(text: str) -> int | None:
    """The number that a text is, None where it is none, has a sign, or is of no use here."""
    text = text.strip()
    return int(text) if text.isdecimal() and len(text) <= DIGITS else None


def sized(size: int) -> str:
    """`12.3 kB`: a number of bytes for people and models."""
    if size < 1000:
        return f"{size} B"
    number = float(size)
    for unit in ("kB", "MB", "GB", "TB"):
        number /= 1000
        if number < 999.95 or unit == "TB":
            break
    return f"{number:.1f} {unit}"
