"""Numbers as people type and read them."""

from __future__ import annotations

from collections.abc import Sequence

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


def common_limit(sizes: Sequence[int], budget: int) -> int:
    """To which size all are to be cut so that they fit: small ones leave their part to the rest."""
    limit = max(sizes, default=0)
    for done, size in enumerate(sorted(sizes)):
        share = budget // (len(sizes) - done)
        if size > share:
            return share
        budget -= size
    return limit
