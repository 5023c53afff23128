"""Bytes to text and back: marks, encodings, what is no text at all, and what nobody sees of it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from ..errors import EditRefused

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
_LOST = "\ufffd"
# In these a byte that looks like ASCII may be half of a character; and a character of UTF-8.
_MULTIBYTE = ("cp932", "gb18030", "cp949", "big5", "euc_jp")
_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
# Where a text says how it is stored: Python and editors in its first two lines, XML, HTML.
_REMARK = rb"[ \t\f]*(?:#|//|;|%|/\*|<!--|--)[^\r\n]*?"
_STATED = (
    re.compile(
        rb"\A(?:(?:%b|[ \t\f]*)(?:\r\n?|\n))??%bcoding[:=][ \t]*([-\w.]+)" % (_REMARK, _REMARK)
    ),
    re.compile(rb"\A\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([-\w.]+)"),
    re.compile(rb"<(?:meta|META|Meta)\s[^>]{0,200}?(?i:charset)\s*=\s*[\"']?\s*([-\w.]+)"),
)
_STATED_IN = 1024  # bytes
_LINE_END = re.compile("-(unix|dos|mac)$")  # what Emacs adds
_ESCAPED = re.compile(
    rb"\x1b\$[@-D()*+]"
)  # ISO 2022: from here on ASCII bytes are other characters
_WRITE = "write the characters themselves."
_CONVERT = "convert the file to UTF-8 first, if its owner agrees."
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
    stated = _stated(data)
    if stated and (text := _decode_stated(data, stated)):
        return text
    with suppress(UnicodeDecodeError):
        return Text(data.decode("utf-8"))
    not_so = f"Not {stated}, as it states" if stated else "Not UTF-8"
    for encoding in ("cp1252", "latin-1"):
        with suppress(UnicodeDecodeError):
            return Text(data.decode(encoding), encoding, note=f"{not_so}; read as {encoding}.")
    return None


def encode(text: str, like: Text) -> bytes:
    """`text` as `like` was stored. Raises `UnicodeEncodeError` for what its encoding lacks."""
    return like.mark + text.encode(like.encoding)


def rewritten(data: bytes, change: Callable[[str], str]) -> tuple[str, str, bytes]:
    """The text of these bytes, that text changed, and its bytes: with the mark and in the encoding
    that they have, every byte of what is not changed being as it was.

    Raises `EditRefused` where that cannot be: for what is no text, or where the encoding lacks a
    character, or is so uncertain that the change would be another one in another reading.
    """
    old = decode(data)
    if old is None or old.lossy:
        what = "a damaged text" if old else "no text"
        raise EditRefused(f"it is {what}; change its bytes by code, if at all.")
    if old.encoding == "utf-8" and not old.mark and _ESCAPED.search(data):
        raise EditRefused(f"it is in an encoding of ISO 2022; {_CONVERT}")
    new = change(old.text)
    if not data:
        old = Text("", _stated(new.encode(errors="replace")) or "utf-8")
    if new.count(_LOST) > old.text.count(_LOST):
        raise EditRefused(f"the new text holds U+FFFD, which stands for a lost character; {_WRITE}")
    try:
        changed = encode(new, old)
    except UnicodeEncodeError as error:
        lacking = new[error.start]
        if "\ud800" <= lacking <= "\udfff":
            raise EditRefused(f"the new text holds half of a character; {_WRITE}") from None
        raise EditRefused(
            f"it is stored as {old.encoding}, which has no {lacking!r}; {_CONVERT}"
        ) from None
    if any(
        _other(data, change, codec, errors) != changed for codec, errors in _readings(data, old)
    ):
        raise EditRefused(
            f"its encoding is uncertain, and this change is not the same in each that it may be; "
            f"{_CONVERT}"
        )
    again = decode(changed)
    if again is None or again.text != new or (again.note and not old.note):
        raise EditRefused(
            "it would then be read as another text, or as none; leave out "
            "controls, and state the encoding it has."
        )
    return old.text, new, changed


def _stated(data: bytes) -> str:
    """The encoding that a text says it has, by Python's name; empty where it says none that is
    known and extends ASCII, in which that was said."""
    head = data[:_STATED_IN]
    said = next(filter(None, (each.search(head) for each in _STATED)), None)
    if not said:
        return ""
    name = _LINE_END.sub("", said[1].decode("ascii", "replace").lower().replace("_", "-"))
    with suppress(LookupError, UnicodeError):
        codec = codecs.lookup(name)
        if said[0].decode(codec.name) == said[0].decode("ascii", "replace"):
            return codec.name.removesuffix("-sig")
    return ""


def _decode_stated(data: bytes, encoding: str) -> Text | None:
    """None where it is not what it says. Where other bytes would say the same, it cannot be written
    back as it was."""
    try:
        text = data.decode(encoding)
        if text.encode(encoding) == data:
            return Text(text, encoding)
    except UnicodeError:
        return None
    note = f"Read as {encoding}, as it states; some of its characters are stored in an unusual way."
    return Text(text, encoding, note=note, lossy=True)


def _readings(data: bytes, text: Text) -> Iterator[tuple[str, str]]:
    """What else bytes may be whose encoding is a guess: part of a character of several bytes is
    taken there for a character, ASCII even."""
    if not text.note:
        return
    if _UTF8.search(data):
        yield "utf-8", "surrogateescape"
    for codec in _MULTIBYTE:
        with suppress(UnicodeDecodeError):
            data.decode(codec)
            yield codec, "strict"


def _other(data: bytes, change: Callable[[str], str], codec: str, errors: str) -> bytes | None:
    """The bytes after the change where they are read in another way, None where it fails."""
    try:
        return change(data.decode(codec, errors)).encode(codec, errors)
    except (UnicodeEncodeError, EditRefused):
        return None


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
