"""What may be stored: the limits of a memory and of an index, and texts that are refused."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import Path

from ..errors import TextRefused
from ..policy.credentials import looks_credential
from .index import Index, is_tag


@dataclass(frozen=True)
class Caps:
    """Characters of a text, and what one index may hold. All refusals are `TextRefused`."""

    text: int = 400
    advised: int = 120
    entries: int = 300
    bytes: int = 200_000

    def check(self, text: str, folder: Path) -> None:
        """Refuse what is blank, of several lines, or too long; `folder` is for topic files."""
        text = text.strip()
        if not text:
            raise TextRefused("The text is blank; say what to remember.")
        if "\n" in text or "\r" in text:
            raise TextRefused(
                f"A memory is one line; put the detail into a topic file (Markdown in {folder}) "
                "and remember one line that points at it."
            )
        if len(text) > self.text:
            raise TextRefused(
                f"A memory is at most {self.text} characters, this is {len(text)}; put the detail "
                f"into a topic file (Markdown in {folder})."
            )
        if any(map(_breaks_line, text)):
            raise TextRefused("The text holds control characters; type it again without them.")
        if all(map(is_tag, text.split())):
            raise TextRefused("The text is tags alone; say before them what to remember.")
        if all(unicodedata.category(each)[0] in "PZ" for each in text):
            raise TextRefused("The text holds no word; say what to remember.")

    def within(self, before: Index, after: Index, scope: str) -> Index:
        """`after`, unless it grows beyond what an index may hold."""
        entries, size = len(after.entries), len(after.raw)
        full = []
        if entries > self.entries and entries > len(before.entries):
            full.append(f"{self.entries} memories")
        if size > self.bytes and size > len(before.raw):
            full.append(f"{self.bytes // 1000} kB")
        if full:
            raise TextRefused(
                f"The {scope} memory is full (it may hold {' and '.join(full)}); remove what is "
                "stale with %forget, merge what says nearly the same, or move detail to topic "
                "files."
            )
        return after

    def advice(self, text: str) -> list[str]:
        """Sentences to tell about a text that was stored."""
        if len(text) <= self.advised:
            return []
        return [
            f"{len(text)} characters: a memory over {self.advised} is better shortened, its detail "
            "moved to a topic file."
        ]


def refuse_secret(text: str) -> None:
    if secret := looks_credential(text):
        raise TextRefused(
            f"The text looks like it holds a secret ({secret}), so it was not recorded; say where "
            "that is kept instead."
        )


def _breaks_line(character: str) -> bool:
    """Controls, line and paragraph separators, and halves of pairs, which no file can hold."""
    return character != "\t" and unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
