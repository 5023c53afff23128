"""Outputs of a fresh run beside the saved ones."""

from __future__ import annotations

import base64
import binascii
import html
import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Any, Literal

from ...views.visible import one_line
from .cells import joined

TOLERANCE = 1e-9  # relative
CUT = 20_000  # characters of a text that a page tells whole
HTML = 50_000  # characters of html that are compared
TEXT = 500_000  # characters of a text that are compared: of a fresh one not all is kept
SHOWN = 80  # characters of a line that differs
BEFORE = 20  # of these, before the place where two lines part

# `times`: only by times of the run, addresses in memory, temporary paths and the like.
How = Literal["same", "times", "differs"]

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_UNIT = r"(?:ns|[µμu]s|ms|s|sec(?:onds?)?|min(?:utes?)?|h|hours?)\b"
_SPENT = rf"\d+(?:\.\d+)?(?:e[-+]?\d+)?\s?{_UNIT}"
_DAY, _MONTH = (
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*",
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*",
)
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?"
# What changes with each run, by group. A moment counts as one of the run where the new one is, and
# a time as one that was spent where it is told in a form of those who tell these: a table holds
# other ones, which are data.
_TOKEN = re.compile(
    "|".join(
        (
            r"(?P<address>0x[0-9a-fA-F]{4,})",
            r"(?P<uuid>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)",
            r"(?P<path>(?:/private)?(?:/tmp|/var/folders|/var/tmp)/[^\s'\"<>:,)]+"
            r"|\b[A-Z]:\\[^\s'\"<>:,)]*\\Temp\\[^\s'\"<>:,)]+)",
            rf"(?P<day>\b\d{{4}}-\d\d-\d\d(?:[T ]{_CLOCK}(?:Z|[-+]\d\d:?\d\d)?)?"
            rf"|\b{_DAY},?\s+(?:\d+\s+)?{_MONTH}\s+\d+(?:\s+{_CLOCK})?(?:,?\s+\d{{4}})?"
            r"|datetime\.(?:datetime|date)\([^()]*\))",
            r"(?P<spent>\b0:\d\d:\d\d\.\d{6}\b"  # how a timedelta is printed
            r"|\b(?:took|elapsed|in|after|user|sys|total|Wall time)\b:?\s*"
            rf"{_SPENT}(?:\s{_SPENT})*"
            rf"|\b{_SPENT}\s±\s{_SPENT} per loop(?: \(mean ± std[^()\n]*\))?"
            r"|\[\d+:\d\d[\d:]*<[^\]\n]*\]"  # tqdm
            rf"|\b(?:{_SPENT}\s)?\d+(?:\.\d+)?\s?(?:it/s|s/it|[kM]?B/s|[mu]?s/step))",
            rf"(?P<clock>\b{_CLOCK}\b)",
            _NUMBER.pattern,
            r"\S",
        )
    )
)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_TAGS = re.compile(r"<(style|script).*?(?:</\1>|\Z)|<[^<>]*>", re.DOTALL)
_LEFT_OUT = re.compile(r"\n\[… [\d,]+ characters left out …\]\n")  # by a page
_OPAQUE = re.compile(r"<[\w.]+(?: object)?(?: at 0x[0-9a-fA-F]+)?>")
_READABLE = ("text/plain", "text/html", "text/markdown", "text/latex", "application/json")


@dataclass(frozen=True)
class Difference:
    how: How
    what: str = ""


SAME = Difference("same")
TIMES = Difference("times", "as saved, but for times or addresses")


@dataclass(frozen=True)
class _Rules:
    """`now` is when the fresh outputs came, with its time zone."""

    tolerance: float
    now: datetime


def compared(
    saved: Sequence[Mapping[str, Any]],
    fresh: Sequence[Mapping[str, Any]],
    tolerance: float = TOLERANCE,
    now: datetime | None = None,
) -> Difference:
    """How the outputs of one cell differ; the worst of them, with the first line that shows it.
    The fresh ones came `now`, a moment with its time zone."""
    rules, worst = _Rules(tolerance, now or datetime.now().astimezone()), SAME
    for before, after in zip_longest(_parts(saved), _parts(fresh)):
        if before is None or after is None:
            kind, said = (after or before or ("",))[0], "new" if before is None else "not there"
            return Difference("differs", f"{kind} is {said}")
        found = _part(before, after, rules)
        if found.how == "differs":
            return found
        if found.how == "times":
            worst = found
    return worst


# What an output shows: its kind, its mime type, and the text or data; of a value all its data.
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
    for mime, value in data.items():
        if mime.startswith("image/"):
            return [("an image", mime, value)]
    if "application/vnd.jupyter.widget-view+json" in data:
        return [("a widget", "", "")]
    return [("a value", "", data)]


def _part(was: _Part, now: _Part, rules: _Rules) -> Difference:
    if was[:2] != now[:2]:
        return Difference("differs", f"{_named(was)} became {_named(now)}")
    mime, before, after = was[1], was[2], now[2]
    if mime.startswith("image/"):
        sizes = _image_size(mime, before), _image_size(mime, after)
        if all(sizes) and sizes[0] != sizes[1]:
            return Difference("differs", f"the image was {sizes[0]} and is {sizes[1]} pixels")
        return SAME
    if was[0] == "a value":
        return _values(before, after, rules)
    return _texts(joined(before), joined(after), rules)


def _values(was: Mapping[str, Any], now: Mapping[str, Any], rules: _Rules) -> Difference:
    """By all that both can be read as."""
    forms = [{m: v for m in _READABLE if (v := _readable(m, data)) != ""} for data in (was, now)]
    both = [mime for mime in _READABLE if all(mime in form for form in forms)]
    if any(forms) and not both:
        names = [f"a value ({next(iter(form), 'not to be read')})" for form in forms]
        return Difference("differs", " became ".join(names))
    opaque = [bool(_OPAQUE.fullmatch(form.get("text/plain", ""))) for form in forms]
    if all(opaque) and len(both) > 1:
        both.remove("text/plain")
    worst = SAME
    for mime in both:
        found = _texts(forms[0][mime], forms[1][mime], rules)
        if found.how == "differs":
            return found
        worst = found if found.how == "times" else worst
    return worst


def _readable(mime: str, data: Mapping[str, Any]) -> str:
    """Empty where there is none, or it was too large to be told by the page."""
    value = data.get(mime, "")
    if mime == "application/json" and mime in data:
        told = isinstance(value, Mapping) and value.keys() == {"mime", "bytes"}
        return "" if told else json.dumps(value, sort_keys=True)
    if isinstance(value, Mapping):
        return ""
    text = joined(value)
    if mime != "text/html":
        return text
    return "" if _LEFT_OUT.search(text) else html.unescape(_TAGS.sub(" ", text[:HTML])).strip()


def _named(part: _Part) -> str:
    return f"{part[0]} ({part[1]})" if part[1] not in ("", "text/plain") else part[0]


def _texts(was: str, now: str, rules: _Rules) -> Difference:
    was, now = _kept(_plain(was), _plain(now))
    if _alike(was, now, rules.tolerance):
        return SAME
    for before, after in zip_longest(was.split("\n"), now.split("\n"), fillvalue=""):
        if _alike(before, after, rules.tolerance):
            continue
        starts = _parting(before, after, rules)
        if starts:
            told = (_from(line, at) for line, at in zip((before, after), starts, strict=True))
            return Difference("differs", "saved “{}”, now “{}”".format(*told))
    return TIMES


def _kept(was: str, now: str) -> tuple[str, str]:
    """Of a text that is long, or that the page has cut, the lines that are left whole, and the
    same of the other."""
    found = _LEFT_OUT.search(was)
    if found is None and len(was) <= TEXT:
        return was, now
    head = was[: min(TEXT, found.start() if found else TEXT)].split("\n")[:-1]
    tail = was[found.end() :].split("\n")[1:] if found else []
    if not head:
        return was[: CUT // 3], now[: CUT // 3]
    lines = now.split("\n")
    same = [*lines[: len(head)], *(lines[-len(tail) :] if tail else [])]
    return "\n".join([*head, *tail]), "\n".join(same)


def _parting(was: str, now: str, rules: _Rules) -> tuple[int, int] | None:
    """Where two lines begin to differ by more than what changes with each run."""
    ends = 0, 0
    for before, after in zip_longest(*map(_TOKEN.finditer, (was, now))):
        if before is None or after is None:
            return ends
        if not _same(before, after, rules):
            return before.start(), after.start()
        ends = before.end(), after.end()
    return None


def _same(was: re.Match[str], now: re.Match[str], rules: _Rules) -> bool:
    if _alike(was[0], now[0], rules.tolerance):
        return True
    if was.lastgroup is None or was.lastgroup != now.lastgroup:
        return False
    if was.lastgroup == "day":
        return _is_today(now[0], rules.now)
    return was.lastgroup != "clock" or _is_recent(now[0], rules.now)


def _is_today(told: str, now: datetime) -> bool:
    """Or a day beside it, in another time zone or before a run over midnight."""
    days = (now + timedelta(days=step) for step in (-1, 0, 1))
    return any(
        told.startswith(f"{day:%Y-%m-%d}")
        or f"({day.year}, {day.month}, {day.day}" in told
        or (f"{day:%b}" in told and re.search(rf"\b0?{day.day}\b", told) is not None)
        for day in days
    )


def _is_recent(told: str, now: datetime) -> bool:
    """Whether a clock showed this within the last hour, here or in UTC."""
    hour, minute, *_ = map(int, re.findall(r"\d+", told))
    clocks = ((each.hour, each.minute) for each in (now, now.astimezone(UTC)))
    return any(-1 <= 60 * (h - hour) + m - minute <= 60 for h, m in clocks)


def _from(line: str, at: int) -> str:
    """The line as it is shown: a long one from a few characters before that place."""
    is_cut = len(line) > SHOWN and at > BEFORE
    return one_line(f"…{line[at - BEFORE :]}" if is_cut else line.strip(), SHOWN)


def _plain(text: str) -> str:
    lines = _ANSI.sub("", text).replace("\r\n", "\n").rstrip().split("\n")
    return "\n".join(line.rpartition("\r")[2].rstrip() for line in lines)


def _alike(was: str, now: str, tolerance: float) -> bool:
    """Whether two texts are equal but for white space and numbers within the tolerance."""
    if was == now:
        return True
    frames = [" ".join(_NUMBER.sub("#", text).split()) for text in (was, now)]
    if frames[0] != frames[1]:
        return False
    numbers = zip(_NUMBER.findall(was), _NUMBER.findall(now), strict=True)
    return all(
        a == b or (math.isclose(float(a), float(b), rel_tol=tolerance) and math.isfinite(float(a)))
        for a, b in numbers
    )


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
