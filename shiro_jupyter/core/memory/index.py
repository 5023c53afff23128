"""MEMORY.md: one bullet a memory, read and edited without touching any other byte.

    - [2026-11-30 09:12:44] (gotcha) dates are day-first (see o.md) #dates <!-- source: user -->

People edit this file by hand. Every line that is not of exactly this form (headings, plain
bullets, merge markers, bytes that are no UTF-8) is kept as it is and is no memory.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Literal, get_args

from ..errors import TextRefused

Kind = Literal["fact", "decision", "gotcha", "command"]
KINDS: tuple[Kind, ...] = get_args(Kind)
STAMP = "%Y-%m-%d %H:%M:%S"
BOM = b"\xef\xbb\xbf"

# What the trailing comment may tell, in this order; a handful of values each.
ABOUT = ("files", "notebook", "modules", "frames", "columns", "branch", "source")
ABOUT_VALUES, ABOUT_LENGTH = 5, 80

_BULLET = re.compile(r"- \[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] +([^\r\n]+)")
_KIND = re.compile(rf"\(({'|'.join(KINDS)})\) +(?=\S)")
# A tag begins with a letter, so that "see pull request #12" keeps its number.
_TAG = re.compile(r"#([^\W\d_](?:[\w./-]*\w)?)")
_TOPIC = re.compile(r"\w[\w. -]*\.md")
# Only what ends or quotes a sentence: "use C++" and "use C" are two memories.
_EDGE = " .,;:!?…'\"“”‘’«»`"
# What was meant as a memory and is none: a stamp after a bullet, not the text of a link.
_NEARLY = re.compile(r"\s*[-*+]\s*\[\s*\d[^\]]*\](?!\()")
_CONFLICT = re.compile(r"(<{7}|>{7})( |$)")


@dataclass(frozen=True)
class Entry:
    """One memory. `about` is the body of the trailing comment, never sent to a model."""

    stamp: str
    text: str
    kind: Kind = "fact"
    topic: str = ""
    tags: tuple[str, ...] = ()
    about: str = ""

    @cached_property
    def folded(self) -> str:
        """What makes two memories the same."""
        return fold(self.text)

    @cached_property
    def id(self) -> str:
        """Six hex digits of the folded text."""
        return hashlib.sha256(self.folded.encode()).hexdigest()[:6]

    @cached_property
    def recorded(self) -> Mapping[str, tuple[str, ...]]:
        """`about` by name; parts of another form are passed over."""
        parts = (part.partition(":") for part in self.about.split(";"))
        return {
            name.strip(): tuple(each.strip() for each in values.split(",") if each.strip())
            for name, colon, values in parts
            if colon
        }

    @property
    def pointed(self) -> str:
        """The text with its pointer."""
        return f"{self.text} (see {self.topic})" if self.topic else self.text

    @property
    def said(self) -> str:
        """The text with its pointer and tags."""
        return self.pointed + "".join(f" #{tag}" for tag in self.tags)

    @property
    def label(self) -> str:
        """The kind as it stands before the text, empty for a plain fact."""
        return f"({self.kind}) " if self.kind != "fact" or _KIND.match(self.said) else ""

    def line(self) -> str:
        """The bullet as it stands in the file, without a newline."""
        # A text that ends in a comment of its own gets ours after it, so that it stays text.
        about = f" <!-- {self.about} -->" if self.about or self.said.endswith("-->") else ""
        return f"- [{self.stamp}] {self.label}{self.said}{about}"


def fold(text: str) -> str:
    """Case, white space and edge punctuation folded."""
    folded = " ".join(unicodedata.normalize("NFC", text).casefold().split())
    return folded.strip(_EDGE) or folded


def is_topic_name(name: str) -> bool:
    """Whether it is the plain name of a Markdown file beside the index, which is none itself."""
    return bool(_TOPIC.fullmatch(name)) and name.casefold() != "memory.md"


@lru_cache(maxsize=4096)  # the file is read again at every operation, and few lines change
def parse_line(line: str) -> Entry | None:
    """The memory in a line without its newline, or None where it is of another form."""
    found = _BULLET.fullmatch(line)
    if not found or not _is_time(found[1]):
        return None
    rest, about = _without_comment(found[2].strip())
    kind: Kind = "fact"
    if named := _KIND.match(rest):
        kind, rest = _kind(named[1]), rest[named.end() :]
    rest, tags = _without_tags(rest)
    text, topic = _without_topic(rest)
    return Entry(found[1], text, kind, topic, tags, about) if text else None


def compose(
    text: str,
    stamp: datetime,
    kind: Kind = "fact",
    tags: Iterable[str] = (),
    topic: str = "",
    about: Mapping[str, Sequence[str]] | None = None,
) -> Entry:
    """The entry that `parse_line` reads back from its own line.

    Tags and a pointer typed at the end of the text are taken as such. Raises `TextRefused` for a
    tag or topic that is none; the text itself is the caller's to check.
    """
    rest, typed = _without_tags(text.strip())
    if topic:
        topic = topic if topic.endswith(".md") else f"{topic}.md"
        if not is_topic_name(topic):
            raise TextRefused(
                f"“{topic}” is no topic: give the plain name of a Markdown file in the memory "
                "folder."
            )
    else:
        rest, topic = _without_topic(rest)
    wanted = dict.fromkeys([*typed, *(_tag(each) for each in tags)])
    return Entry(stamp.strftime(STAMP), rest, kind, topic, tuple(wanted), _about(about or {}))


@dataclass(frozen=True)
class Broken:
    """A line, counted from 1, and what is wrong with it."""

    number: int
    fault: str
    line: bytes


@dataclass(frozen=True)
class Index:
    """The bytes of one MEMORY.md and the memories in them."""

    raw: bytes = b""
    # Position of a memory's line in `_lines`, in file order.
    found: tuple[tuple[int, Entry], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        found = []
        for number in range(len(self._lines)):
            try:
                entry = parse_line(self.line(number))
            except UnicodeDecodeError:
                continue
            if entry:
                found.append((number, entry))
        object.__setattr__(self, "found", tuple(found))

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for _, entry in self.found)

    @cached_property
    def _lines(self) -> tuple[bytes, ...]:
        """The lines with their ends, without the byte order mark; joined they are the file."""
        return tuple(re.findall(rb"[^\n]*\n|[^\n]+", self.raw.removeprefix(BOM)))

    @property
    def _mark(self) -> bytes:
        return BOM if self.raw.startswith(BOM) else b""

    def line(self, number: int) -> str:
        """The line at that position without its end. Raises `UnicodeDecodeError`."""
        return _unended(self._lines[number]).decode()

    def memory_lines(self) -> list[str]:
        """The lines of the memories, as they stand."""
        return [self.line(number) for number, _ in self.found]

    def broken(self) -> list[Broken]:
        """The lines to mend: what was meant as a memory and is none, or a merge left behind."""
        memories = {number for number, _ in self.found}
        lines = [(at, line) for at, line in enumerate(self._lines) if at not in memories]
        return [Broken(at + 1, fault, line) for at, line in lines if (fault := _fault(line))]

    def append(self, entry: Entry) -> Index:
        """With the entry as last line, in the file's own way of ending lines."""
        line = entry.line().encode()
        ended = [each for each in self._lines[-2:] if each.endswith(b"\n")]
        end = b"\r\n" if ended and ended[-1].endswith(b"\r\n") else b"\n"
        open_ended = bool(self._lines) and not self._lines[-1].endswith(b"\n")
        added = end + line if open_ended else line + end
        return Index(self.raw + added)

    def swap(self, number: int, entry: Entry) -> Index:
        """With the entry in the place of the line at that position, which keeps its end."""
        lines = list(self._lines)
        old = lines[number]
        lines[number] = entry.line().encode() + old[len(_unended(old)) :]
        return Index(self._mark + b"".join(lines))

    def remove(self, number: int) -> Index:
        """Without the line at that position; nothing else changes.

        A file without a final newline stays one, unless that would take a blank line, too.
        """
        lines = list(self._lines)
        gone = lines.pop(number)
        if number == len(lines) and lines and not gone.endswith(b"\n"):
            lines[-1] = _unended(lines[-1]) or lines[-1]
        return Index(self._mark + b"".join(lines))


def _unended(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _fault(line: bytes) -> str:
    try:
        text = _unended(line).decode()
    except UnicodeDecodeError:
        return "bytes that are no UTF-8"
    if _CONFLICT.match(text):
        return "the mark of a merge conflict"
    return "no stamp like “- [2026-11-30 09:12:44] ”" if _NEARLY.match(text) else ""


def _is_time(stamp: str) -> bool:
    try:
        datetime.fromisoformat(stamp)  # many times faster than strptime
    except ValueError:
        return False
    return True


def _kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind == name)


def _without_comment(rest: str) -> tuple[str, str]:
    start = rest.rfind("<!--")
    if start < 0 or not rest.endswith("-->") or start + 4 > len(rest) - 3:
        return rest, ""
    return rest[:start].rstrip(), rest[start + 4 : -3].strip()


def _without_tags(rest: str) -> tuple[str, tuple[str, ...]]:
    tags: list[str] = []
    while True:
        parts = rest.rsplit(maxsplit=1)
        found = _TAG.fullmatch(parts[1]) if len(parts) == 2 else None
        if not found:
            return rest.rstrip(), tuple(dict.fromkeys(reversed(tags)))
        tags.append(found[1])
        rest = parts[0]


def _without_topic(rest: str) -> tuple[str, str]:
    text, found, pointer = rest.rpartition(" (see ")
    topic = pointer.removesuffix(")")
    if not found or not text.strip() or topic == pointer or not is_topic_name(topic):
        return rest, ""
    return text.rstrip(), topic


def _tag(given: str) -> str:
    tag = re.sub(r"[^\w./-]+", "-", given.strip().removeprefix("#")).strip("-./")
    if not _TAG.fullmatch(f"#{tag}"):
        raise TextRefused(f"“{given}” is no tag: a tag is one word that begins with a letter.")
    return tag


def _about(about: Mapping[str, Sequence[str]]) -> str:
    parts = []
    for name in ABOUT:
        values = [each for each in about.get(name, ()) if _fits_comment(each)][:ABOUT_VALUES]
        if values:
            parts.append(f"{name}: {', '.join(values)}")
    return "; ".join(parts)


def _fits_comment(value: str) -> bool:
    # A value that would end the comment or split a list is left out: it is only a help to recall.
    return (
        0 < len(value) <= ABOUT_LENGTH
        and value.isprintable()
        and value == value.strip()
        and not any(mark in value for mark in (",", ";", "--", "<", ">"))
    )
