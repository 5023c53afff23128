"""Texts that others may have written, as they stand in a prompt."""

from __future__ import annotations

import re
import unicodedata

from ..workspace.text import is_visible

# The blocks of the system text, by their tags.
MEMORY, INSTRUCTIONS = "memory", "project-instructions"
_TAG = re.compile(rf"<(?=\s*/?\s*(?:{MEMORY}|{INSTRUCTIONS}))", re.IGNORECASE)


def quoted(text: str) -> str:
    """One line for the model: nothing in it hides, nothing begins or ends a block."""
    if not is_visible(text):
        text = "".join(map(_visible, text))
    return _TAG.sub(r"<\\", text)


def _visible(character: str) -> str:
    if is_visible(character):
        return character
    if unicodedata.category(character) == "Zs" or character == "\t":
        return " "
    return f"⟨U+{ord(character):04X}⟩"
