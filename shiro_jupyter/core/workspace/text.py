"""Bytes to text and back: marks, encodings, what is no text at all, and what nobody sees of it."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

# UTF-32 before UTF-16: the mark of the one begins with the mark of the other.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b"))
_PROBE = 8192
# Parts of character classes: what `str.isprintable` takes for printable and nobody sees. Fillers
# and selectors that no text needs, and what a few scripts do; not U+FE0E and U+FE0F, which choose
# between a symbol's two looks.
FILLERS = r"\u115f\u1160\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef"
IN_SCRIPTS = r"\u034f\u17b4\u17b5\u180b-\u180d\u180f"
BRAILLE_BLANK = r"\u2800"
_UNSEEN = re.compile(f"[{FILLERS}{IN_SCRIPTS}{BRAILLE_BLANK}]")


@dataclass(frozen=True)
class Text:
    """Decoded text, line endings untouched; `mark` is the byte order mark that stood before it.

    `note` tells the reader where the encoding is a guess or bytes were lost (`lossy`: such a
    text must not be written back).
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    note: str = ""
    lossy: bool = False


def decode(data: bytes) -> Text | None:
    """The text in these bytes, None where they are binary."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode_marked(data[len(mark) :], encoding, mark)
    if is_binary(data):
        return None
    try:
        return Text(data.decode("utf-8"))
    except UnicodeDecodeError:
        pass
    for encoding in ("cp1252", "latin-1"):
        try:
            return Text(data.decode(encoding), encoding, note=f"Not UTF-8; read as {encoding}.")
        except UnicodeDecodeError:
            continue
    return None


def encode(text: str, like: Text) -> bytes:
    """`text` as `like` was stored. Raises `UnicodeEncodeError` for what its encoding lacks."""
    return like.mark + text.encode(like.encoding)


def is_binary(data: bytes) -> bool:
    """A NUL, or too many control characters in the first 8 kB, in bytes without a mark."""
    head = data[:_PROBE]
    return b"\0" in head or len(head) - len(head.translate(None, _CONTROLS)) > len(head) // 10


def is_visible(text: str) -> bool:
    """Whether all of it is seen, or is a plain space."""
    return text.isprintable() and not _UNSEEN.search(text)


def _decode_marked(data: bytes, encoding: str, mark: bytes) -> Text:
    try:
        return Text(data.decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        note = f"Damaged {encoding.upper()}: some characters could not be read."
        return Text(data.decode(encoding, "replace"), encoding, mark, note, lossy=True)
