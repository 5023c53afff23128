"""What cannot be seen is made visible: text of models and tools is never trusted with a screen.

A terminal obeys escape sequences, and bidirectional overrides show a command other than the one
that runs. Both are replaced by a visible stand-in of the character.
"""

from __future__ import annotations

import re

from ..core.workspace.text import BRAILLE_BLANK, FILLERS, IN_SCRIPTS

# Controls, embeddings, overrides and isolates, zero-width and filler characters, tags, halves of
# surrogate pairs (which no stream can encode).
_NEVER = (
    rf"{FILLERS}\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u180e\u200b\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff"
)
# Joiners, marks and selectors that scripts and emoji need, but that only hide between ASCII.
_JOINERS = rf"{IN_SCRIPTS}\u200c-\u200f\u061c\ufe0e\ufe0f"
_HIDDEN = re.compile(
    rf"[{_NEVER}]|(?<=[\x00-\x7f])[{_JOINERS}]+(?=[\x00-\x7f])"
    # Plots are drawn with it, up to the ends of their lines.
    rf"|(?<=[\t -~])[{BRAILLE_BLANK}]+(?=[\t -~])"
)

# Characters of a call's summary on one line, and what stands for a line end there.
SUMMARY_SHOWN, LINE_END = 400, "⏎"

_ESCAPE_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])"
)


def visible(text: str) -> str:
    """The text with each hidden or obeyed character shown as `␛` or `⟨U+202E⟩`.

    Line feeds and tabs stay; a carriage return before a line feed is dropped.
    """
    return _HIDDEN.sub(_stand_ins, text.replace("\r\n", "\n"))


def output_text(text: str) -> str:
    """What a program wrote, as a terminal would leave it: without colours, with the last state
    of each line that it rewrote; whatever else is hidden is made visible."""
    bare = _ESCAPE_SEQUENCE.sub("", text).replace("\r\n", "\n")
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in bare.split("\n"))
    return visible("\n".join(lines))


def one_line(text: str, limit: int = 200) -> str:
    """The text on one visible line of at most `limit` characters."""
    flat = visible(" ".join(text[: 4 * limit].split()))
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def summary_line(text: str, limit: int = SUMMARY_SHOWN) -> str:
    """The summary of a call as `one_line`; the line ends of a script are told, as they count."""
    return one_line(f" {LINE_END} ".join(filter(None, map(str.strip, text.split("\n")))), limit)


def _stand_ins(hidden: re.Match[str]) -> str:
    return "".join(_stand_in(ord(character)) for character in hidden[0])


def _stand_in(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
