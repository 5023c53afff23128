"""Outputs of a fresh run beside the saved ones."""

from __future__ import annotations

import base64
import binascii
import html
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from ...views.visible import one_line
from .cells import joined

TOLERANCE = 1e-9  # relative
CUT = 20_000  # characters of a text that a page tells whole
HTML = 50_000  # characters of html that are compared, and a hundredfold of text
SHOWN = 80  # characters of a line that differs
BEFORE = 20  # of these, before the place where two lines part

# `times`: only by times, addresses in memory, temporary paths and the like.
How = Literal["same", "times", "differs"]

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_UNIT = r"(?:ns|[µμu]s|ms|s|sec(?:onds?)?|min(?:utes?)?|h|hours?)"
_PASSING = (
    re.compile(r"0x[0-9a-fA-F]{4,}"),
    re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    re.compile(r"(?:/private)?(?:/tmp|/var/folders|/var/tmp)/[^\s'\"<>:,)]+"),
    re.compile(r"\b[A-Z]:\\[^\s'\"<>:,)]*\\Temp\\[^\s'\"<>:,)]+"),
    re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[-+]\d\d:?\d\d)?)?"),
    re.compile(r"\b(?:\d+:)?\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?\b"),
    re.compile(
        r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,?\s+(?:\d+\s+)?"
        r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*\s+\d+(?:,?\s+\d{4})?"
    ),
    re.compile(rf"\b\d+(?:\.\d+)?\s?{_UNIT}\b"),
    re.compile(r"\b\d+(?:\.\d+)?\s?(?:it/s|s/it|[kM]?B/s)"),
    re.compile(r"datetime\.(?:datetime|date|time|timedelta)\([^()]*\)"),
)
_TOKEN = re.compile("|".join((*(each.pattern for each in _PASSING), _NUMBER.pattern, r"\S")))
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_TAGS = re.compile(r"<style.*?</style>|<script.*?</script>|<[^<>]*>", re.DOTALL)


@dataclass(frozen=True)
class Difference:
    how: How
    what: str = ""


SAME = Difference("same")


def compared(
    saved: Sequence[Mapping[str, Any]],
    fresh: Sequence[Mapping[str, Any]],
    tolerance: float = TOLERANCE,
) -> Difference:
    """How the outputs of one cell differ; the worst of them, with the first line that shows it."""
    worst = SAME
    for was, now in zip_longest(_parts(saved), _parts(fresh)):
        if was is None or now is None:
            kind, said = (now or was or ("", "", ""))[0], "new" if was is None else "not there"
            return Difference("differs", f"{kind} is {said}")
        found = _part(was, now, tolerance)
        if found.how == "differs":
            return found
        if found.how == "times":
            worst = found
    return worst


# What an output shows: its kind, its mime type, and the text or data.
_Part = tuple[str, str, Any]


def _parts(outputs: Sequence[Mapping[str, Any]]) -> list[_Part]:
    parts = list[_Part]()
    for output in outputs:
        match output.get("output_type"):
            case "stream":
                kind, text = str(output.get("name", "stdout")), joined(output.get("text", ""))
                if parts and parts[-1][0] == kind:
                    text = parts.pop()[2] + text
                parts.append((kind, "text/plain", text))
            case "display_data" | "execute_result":
                parts += _shown(output.get("data") or {})
            case "error":
                parts.append(("error", "text/plain", str(output.get("ename", ""))))
    # Standard streams are two, and which comes first is chance.
    return sorted(parts, key=lambda part: part[0] == "stderr")


def _shown(data: Mapping[str, Any]) -> list[_Part]:
    """An image, or the text; of html its text, where there is no other."""
    for mime, value in data.items():
        if mime.startswith("image/"):
            return [("an image", mime, value)]
    if "application/vnd.jupyter.widget-view+json" in data:
        return [("a widget", "", "")]
    if plain := data.get("text/plain"):
        text = joined(plain) if not isinstance(plain, Mapping) else ""
        if "text/html" in data and text.lstrip().startswith("<") and "object" in text:
            return [("a value", "text/html", data["text/html"])]
        return [("a value", "text/plain", text)]
    mime = next(iter(data), "")
    return [("a value", mime, data.get(mime, ""))]


def _part(was: _Part, now: _Part, tolerance: float) -> Difference:
    if was[:2] != now[:2]:
        return Difference("differs", f"{_named(was)} became {_named(now)}")
    mime, before, after = was[1], was[2], now[2]
    if mime.startswith("image/"):
        sizes = _image_size(mime, before), _image_size(mime, after)
        if all(sizes) and sizes[0] != sizes[1]:
            return Difference("differs", f"the image was {sizes[0]} and is {sizes[1]} pixels")
        return SAME
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        return SAME  # data of a renderer, or too large to be told by the page
    texts = joined(before), joined(after)
    if texts[0] == texts[1]:
        return SAME
    if mime == "text/html":
        texts = _text_of(texts[0][:HTML]), _text_of(texts[1][:HTML])
    return _texts(texts[0][: 100 * HTML], texts[1][: 100 * HTML], tolerance)


def _named(part: _Part) -> str:
    return f"{part[0]} ({part[1]})" if part[1] not in ("", "text/plain") else part[0]


def _texts(was: str, now: str, tolerance: float) -> Difference:
    was, now = _plain(was), _plain(now)
    if len(was) >= CUT:  # the page cuts out its middle
        was, now = was[: CUT // 3], now[: CUT // 3]
    if _alike(was, now, tolerance):
        return SAME
    passing = _without_passing(was), _without_passing(now)
    if _alike(*passing, tolerance):
        return Difference("times", "as saved, but for times or addresses")
    lines = zip_longest(was.split("\n"), now.split("\n"), fillvalue="")
    for before, after in lines:
        if not _alike(_without_passing(before), _without_passing(after), tolerance):
            told = _where_they_part(before, after, tolerance)
            return Difference("differs", "saved “{}”, now “{}”".format(*told))
    return Difference("differs", "its lines stand otherwise")


def _where_they_part(was: str, now: str, tolerance: float) -> tuple[str, str]:
    """Two lines that differ as they are shown: long ones from a few characters before the first
    place that does."""
    lines = " ".join(was.split()), " ".join(now.split())
    starts = [0, 0]
    if max(map(len, lines)) > SHOWN:
        for tokens in zip(*map(_TOKEN.finditer, lines), strict=False):
            starts = [token.start() for token in tokens]
            before, after = (_without_passing(token[0]) for token in tokens)
            if not _alike(before, after, tolerance):
                break
            starts = [token.end() for token in tokens]
    first, second = (
        one_line(f"…{line[start - BEFORE :]}" if start > BEFORE else line, SHOWN)
        for line, start in zip(lines, starts, strict=True)
    )
    return first, second


def _plain(text: str) -> str:
    lines = _ANSI.sub("", text).replace("\r\n", "\n").rstrip().split("\n")
    return "\n".join(line.rpartition("\r")[2].rstrip() for line in lines)


def _without_passing(text: str) -> str:
    for pattern in _PASSING:
        text = pattern.sub("§", text)
    return text


def _alike(was: str, now: str, tolerance: float) -> bool:
    """Whether two texts are equal but for white space and numbers within the tolerance."""
    if was == now:
        return True
    frames = [" ".join(_NUMBER.sub("#", text).split()) for text in (was, now)]
    if frames[0] != frames[1]:
        return False
    numbers = zip(_NUMBER.findall(was), _NUMBER.findall(now), strict=True)
    return all(
        a == b or math.isclose(float(a), float(b), rel_tol=tolerance, abs_tol=0.0)
        for a, b in numbers
    )


def _text_of(page: str) -> str:
    return html.unescape(_TAGS.sub(" ", page))


def _image_size(mime: str, data: Any) -> str:
    """`640×480`, of a PNG; empty where it is not known."""
    if mime != "image/png" or isinstance(data, Mapping):
        return ""
    try:
        head = base64.b64decode(joined(data)[:64].replace("\n", "")[:48])
        width, height = struct.unpack(">II", head[16:24])
    except (binascii.Error, ValueError, struct.error):
        return ""
    return f"{width}×{height}"
